"""`functools.cmp_to_key`: keys that a function of the program's compares.

Python's sorting asks whether one key is less than another, which the function answers by a number. What only the
running program knows is sorted by a program that asks the same question, and is stable as Python's is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from jitflow.frontend.recording.trace import active_trace

__all__ = ["COMPARED_BY", "ComparedBy"]


class ComparedBy:
    """What ``cmp_to_key(compare)`` gives: makes keys of items."""

    def __init__(self, compare: Callable[[Any, Any], Any]) -> None:
        self.compare = compare

    def __call__(self, obj: Any) -> _Key:
        return _Key(obj, self.compare)


class _Key:
    """A key, which holds its item."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, obj: Any, compare: Callable[[Any, Any], Any]) -> None:
        self.obj, self._compare = obj, compare

    def __lt__(self, other: Any) -> Any:
        return self._compare(self.obj, other.obj) < 0

    def __gt__(self, other: Any) -> Any:
        return self._compare(self.obj, other.obj) > 0

    def __le__(self, other: Any) -> Any:
        return self._compare(self.obj, other.obj) <= 0

    def __ge__(self, other: Any) -> Any:
        return self._compare(self.obj, other.obj) >= 0

    def __eq__(self, other: object) -> Any:
        return self._compare(self.obj, other.obj) == 0  # type: ignore[attr-defined]


def _cmp_to_key(mycmp: Callable[[Any, Any], Any]) -> Any:
    return functools.cmp_to_key(mycmp) if active_trace() is None else ComparedBy(mycmp)


COMPARED_BY: Mapping[Any, Any] = {functools.cmp_to_key: _cmp_to_key}
