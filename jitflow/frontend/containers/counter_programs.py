"""Arithmetic of counters, in Python: what is not there counts 0, and what is left counts at least 1.

Each of these functions is traced as a user's is.
"""

from __future__ import annotations

from typing import Any

from jitflow.frontend.containers.container_programs import program

__all__ = [
    "add_counter",
    "counters_added",
    "counters_joined",
    "counters_met",
    "counters_subtracted",
    "counters_within",
    "equal_counters",
    "join_counter",
    "keep_positive",
    "meet_counter",
    "subtract_counter",
]


@program
def counters_added(found: Any, one: Any, other: Any) -> Any:
    """``one + other``."""
    for key, number in one.items():
        if number + other[key] > 0:
            found[key] = number + other[key]
    for key, number in other.items():
        if key not in one and number > 0:
            found[key] = number


@program
def counters_subtracted(found: Any, one: Any, other: Any) -> Any:
    """``one - other``."""
    for key, number in one.items():
        if number - other[key] > 0:
            found[key] = number - other[key]
    for key, number in other.items():
        if key not in one and number < 0:
            found[key] = 0 - number


@program
def counters_met(found: Any, one: Any, other: Any) -> Any:
    """``one & other``."""
    for key, number in one.items():
        least = other[key] if other[key] < number else number
        if least > 0:
            found[key] = least


@program
def counters_joined(found: Any, one: Any, other: Any) -> Any:
    """``one | other``."""
    for key, number in one.items():
        most = other[key] if number < other[key] else number
        if most > 0:
            found[key] = most
    for key, number in other.items():
        if key not in one and number > 0:
            found[key] = number


@program
def add_counter(one: Any, other: Any) -> None:
    """``one += other``."""
    for key, number in other.items():
        one[key] = one[key] + number
    keep_positive(one)


@program
def subtract_counter(one: Any, other: Any) -> None:
    """``one -= other``."""
    for key, number in other.items():
        one[key] = one[key] - number
    keep_positive(one)


@program
def meet_counter(one: Any, other: Any) -> None:
    """``one &= other``."""
    for key, number in one.items():
        if other[key] < number:
            one[key] = other[key]
    keep_positive(one)


@program
def join_counter(one: Any, other: Any) -> None:
    """``one |= other``."""
    for key, number in other.items():
        if number > one[key]:
            one[key] = number
    keep_positive(one)


@program
def keep_positive(counter: Any) -> None:
    """Let go of what is not counted at least once."""
    for key in [key for key, number in counter.items() if not number > 0]:
        del counter[key]


@program
def counters_within(one: Any, other: Any, is_less: Any) -> Any:
    """``one <= other``, or ``one < other``: what is not there counts 0."""
    found = True
    differs = not is_less
    for key, number in one.items():
        if number > other[key]:
            found = False
        if number != other[key]:
            differs = True
    for key, number in other.items():
        if one[key] > number:
            found = False
        if number != one[key]:
            differs = True
    return found and differs


@program
def equal_counters(one: Any, other: Any) -> Any:
    """``one == other``: what is not there counts 0."""
    answer = True
    for key, number in one.items():
        if other[key] != number:
            answer = False
            break
    if answer:
        for key, number in other.items():
            if one[key] != number:
                answer = False
                break
    return answer
