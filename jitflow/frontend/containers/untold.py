"""Containers of the running program that were put into others before anybody told what they hold.

As a rule somebody tells later: who asks for such an item gets that container, and puts something into it, and the trace
starts anew with its type. One that stays empty to the end of the trace may hold anything, so it is said to hold
integers; but it is an item, which must not be left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from jitflow.frontend.recording.choices import Restart, Site
from jitflow.frontend.recording.trace import Undoable, current_trace
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Container, Item, Scalar

__all__ = ["note_lacking", "note_untold", "require_told"]


class _Untold(Undoable):
    """Where such containers were made, with a type for each; or the error for one that was made by no statement."""

    def __init__(self) -> None:
        self.items: dict[Site, Container] = {}
        self.errors: list[Exception] = []

    def mark(self) -> Any:
        items, errors = dict(self.items), list(self.errors)

        def forget() -> None:
            self.items, self.errors = items, errors

        return forget


def note_untold(
    site: Site | None, held: Container, like: Container | None, error: Callable[[], Exception]
) -> Restart | None:
    """A container that was made at ``site`` is put into another one, which is not recorded before its type is known.

    If others are in its place that have a type it is ``like`` those. Returns what to raise then.
    """
    untold, number = current_trace().state(_Untold), Scalar(I64, weak=True)
    if site is not None and like is not None:
        return current_trace().begin_anew(Restart(site, like))
    if site is None:
        untold.errors.append(error())
        return None
    key = None if held.family in ("list", "deque") else number
    untold.items[site] = replace(held, key=key, item=None if held.family == "set" else number)
    return None


def note_lacking(site: Site, item: Item | None) -> None:
    """Objects lie in a pool that was made at ``site``; what no object has yet is None by ``item``."""
    if item is not None:
        current_trace().state(_Untold).items[site] = Container(item=item)


def require_told() -> None:
    """At the end of a trace: start it anew with the types of what was put into others and stayed empty."""
    trace = current_trace()
    untold = trace.state(_Untold)
    restarts = [trace.begin_anew(Restart(site, held)) for site, held in untold.items.items()]
    for problem in (*restarts, *untold.errors):
        raise problem
