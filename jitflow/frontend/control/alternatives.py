"""What a function returns on one path is of another kind than what it returns on another: both leave it.

    if not mask.any():
        return None             an `Alternatives` of None and of an f64, with a number that says which
    return x[mask].mean()

The kinds have numbers of their own in a trace; tuples and lists of the same kinds are one kind. Where paths meet, each
brings the number of its kind and the values of that kind; the values of other kinds are unbound on it. So merging
(`merge.py`) and loops (`rolling.py`) treat the whole as a structure like any other, and nothing is converted: 0 stays
Python's int though the other path returns a NumPy scalar.

An array that the caller passed is a kind of its own, as a constant is: what leaves the function is that very object.

Only what leaves the compiled function may be an alternative. A value that the program goes on with has one type.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from types import FrameType
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.kinds import kind_of
from jitflow.frontend.locate import frontend_path, is_internal
from jitflow.frontend.objects import array_fields, is_constant
from jitflow.frontend.syntax import is_block
from jitflow.frontend.trace import current_trace
from jitflow.ir.types import Tensor

__all__ = ["Alternatives", "Passed", "aligned", "leaves_the_function", "returning_function"]

_DRIVER = frontend_path("function.py")
_CONTAINERS = (tuple, list)


@dataclass(frozen=True, eq=False)
class Passed:
    """An array that the caller passed, which is returned as the object that it is."""

    array: Any

    def __eq__(self, other: object) -> bool:
        return type(other) is Passed and other.array is self.array

    def __hash__(self) -> int:
        return id(self.array)

    def __repr__(self) -> str:
        return f"Passed({id(self.array)})"


@dataclass(frozen=True, eq=False)
class Alternatives:
    """One of ``options``, the things by the number of their kind: the one with the number ``chosen``."""

    chosen: Any
    options: Mapping[int, Any]

    @property
    def traced(self) -> tuple[int, ...]:
        """The kinds of which the running program makes the value; the others are constants."""
        return tuple(number for number, thing in self.options.items() if not _is_plain(thing))

    @property
    def values(self) -> tuple[Any, ...]:
        """What the running program makes, in the order of the kinds."""
        return tuple(value for number in self.traced for value in _values_in(self.options[number]))

    def holding(self, values: Iterable[Any]) -> Alternatives:
        """The same kinds with other `values`; the first is the number that is chosen."""
        chosen, *rest = values
        left = iter(rest)
        options = {number: _with_values(thing, left) if number in self.traced else thing
                   for number, thing in self.options.items()}  # fmt: skip
        return Alternatives(chosen, options)

    @property
    def shape(self) -> Any:
        """What does not change from path to path, in a form that can be compared as text."""
        return tuple(self.options), tuple(_with_values(thing, repeat(UNBOUND)) for thing in self.options.values())


def _values_in(thing: Any) -> Iterator[Any]:
    """What stands in containers that is no constant, or the thing itself."""
    if type(thing) in _CONTAINERS:
        for item in thing:
            yield from () if _is_plain(item) else _values_in(item)
    elif array_fields(type(thing)):
        yield from (getattr(thing, name) for name in array_fields(type(thing)))
    else:
        yield thing


def _with_values(thing: Any, values: Iterator[Any]) -> Any:
    if type(thing) in _CONTAINERS:
        return type(thing)([item if _is_plain(item) else _with_values(item, values) for item in thing])
    if array_fields(type(thing)):
        return type(thing)(**{name: next(values) for name in array_fields(type(thing))})
    return thing if _is_plain(thing) else next(values)


def leaves_the_function() -> bool:
    """Whether the innermost function of the user's that runs is the one that is being compiled."""
    frame: Any = sys._getframe(1)
    while frame is not None and (is_internal(frame.f_code.co_filename) or is_block(frame.f_code)):
        frame = frame.f_back
    return frame is not None and frame.f_back is not None and frame.f_back.f_code.co_filename == _DRIVER


def returning_function() -> FrameType | None:
    """The call of a function that is about to return, if nothing of it runs behind a ``return``."""
    frame: Any = sys._getframe(1)
    while frame is not None and (is_internal(frame.f_code.co_filename) or is_block(frame.f_code)):
        if is_block(frame.f_code) and frame.f_code.co_exceptiontable:
            return None
        frame = frame.f_back
    return None if frame is None or frame.f_code.co_exceptiontable else frame


def aligned(things: Sequence[Any]) -> list[Any]:
    """The things that a local is on several paths, in one structure, if they become so by alternatives."""
    bound = [thing for thing in things if thing is not UNBOUND]
    kind = type(bound[0]) if bound else None
    if kind in _CONTAINERS and all(type(thing) is kind and len(thing) == len(bound[0]) for thing in bound):
        count = len(bound[0])
        columns = [aligned([UNBOUND if thing is UNBOUND else thing[place] for thing in things])
                   for place in range(count)]  # fmt: skip
        rows = list(zip(*columns, strict=True)) if columns else [()] * len(things)
        return [UNBOUND if thing is UNBOUND else kind(row) for thing, row in zip(things, rows, strict=True)]
    given, things = things, [*map(_with_passed, things)]
    bound = [thing for thing in things if thing is not UNBOUND]
    keys = {key for thing in bound for key in _keys(thing)}
    known = current_trace().kinds_returned
    if None in keys:
        return list(given)
    partly = len(bound) < len(things) and any(key[0] == "constant" for key in keys)
    mixed = len({isinstance(thing, Alternatives) for thing in bound}) > 1
    if not (len(keys) > 1 or partly or mixed):
        return list(given)
    numbers = sorted(known.setdefault(key, len(known)) for key in keys)
    absent = {known[key]: key[1] for key in keys if key[0] == "constant"}
    for thing in bound:
        options = thing.options.items() if isinstance(thing, Alternatives) else [(known[_keys(thing)[0]], thing)]
        absent |= {number: _unbound(option) for number, option in options if _holds_values(option)}
    return [thing if thing is UNBOUND else _among(thing, numbers, absent) for thing in things]


def _with_passed(thing: Any) -> Any:
    """The thing, with the arrays that the caller passed marked as such."""
    if type(thing) in _CONTAINERS:
        items = [*map(_with_passed, thing)]
        return thing if all(item is other for item, other in zip(items, thing, strict=True)) else type(thing)(items)
    return Passed(thing) if isinstance(thing, tracers.ArrayTracer) and current_trace().is_passed(thing) else thing


def _holds_values(thing: Any) -> bool:
    """Whether it is a container, or an object around arrays."""
    return type(thing) in _CONTAINERS or bool(array_fields(type(thing)))


def _unbound(thing: Any) -> Any:
    """What a container is on a path that does not return it: of the same shape, nothing in it but constants."""
    if type(thing) in _CONTAINERS:
        return type(thing)(map(_unbound, thing))
    if array_fields(type(thing)):
        return _with_values(thing, repeat(UNBOUND))
    return thing if _is_plain(thing) else UNBOUND


def _among(thing: Any, numbers: Sequence[int], absent: Mapping[int, Any]) -> Alternatives:
    if isinstance(thing, Alternatives):
        own, chosen = thing.options, thing.chosen
    else:
        ((key,), known) = (_keys(thing), current_trace().kinds_returned)
        own, chosen = {known[key]: thing}, known[key]
    options = {number: own.get(number, absent.get(number, UNBOUND)) for number in numbers}
    return Alternatives(chosen, options)


def _keys(thing: Any) -> list[Any]:
    """What tells the kinds of a thing from others; None for what cannot be an alternative."""
    if isinstance(thing, Alternatives):
        return [key for key, number in current_trace().kinds_returned.items() if number in thing.options]
    kind = kind_of(thing)
    if kind is not None:
        return [("array", kind.dtype, len(kind.dims)) if isinstance(kind, Tensor) else ("number", kind)]
    if array_fields(type(thing)):
        return [(type(thing), *(_keys(getattr(thing, name))[0] for name in array_fields(type(thing))))]
    if type(thing) in _CONTAINERS:
        inner = tuple(key for item in thing for key in _keys(item))
        several = len(inner) > len(thing) or None in inner
        return [None] if several else [(type(thing), inner)]
    return [("constant", thing)] if _is_plain(thing) and isinstance(thing, Hashable) else [None]


def _is_plain(thing: Any) -> bool:
    """Whether it is a constant, and no number, or an array that the caller passed."""
    if type(thing) is Passed:
        return True
    return not isinstance(thing, tracers.Tracer) and is_constant(thing) and kind_of(thing) is None
