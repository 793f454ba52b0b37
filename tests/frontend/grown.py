"""Containers that the running program makes longer, so that it alone knows how long they are."""

from __future__ import annotations

from collections import deque


def grown_list(n: int) -> list[int]:
    found = []
    for k in range(n):
        if k > -1:
            found.append(k)
    return found


def grown_deque(n: int) -> deque[int]:
    found: deque[int] = deque()
    for k in range(n):
        if k > -1:
            found.append(k)
    return found


def grown_dict(n: int) -> dict[int, int]:
    found = {}
    for k in range(n):
        found[k * n] = k
    return found


def grown_text(n: int) -> str:
    found = ""
    for k in range(n):
        found += chr(97 + k)
    return found
