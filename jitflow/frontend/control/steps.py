"""A source: what has a number of items, each found by its position. And the plainest one, the numbers of a range.

A source knows how many items it has and gives the item at a position, which may be the position of a rolled loop. It
can also be iterated by Python itself, which takes its length as a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.arrays.runtime_sizes import bind, integer
from jitflow.frontend.outside.special_methods import answer_of
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import begin_anew_rewritten, located
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64

__all__ = ["Source", "Steps", "Stepwise", "bound_of", "class_of_iterator", "is_integer", "is_size", "python_int"]


class Source:
    """``count`` items; ``span`` is the dim that the count is where there is an item at all."""

    count: Dim
    span: Dim
    once = True
    used = False
    taken: Any = 0
    """How many items `next` has taken."""
    stands_for: type | None = None
    """The class of iterators of Python's that it is to the program."""

    def gone_through(self) -> Source:
        """What a loop over it goes through."""
        return self

    def end(self) -> None:
        """The loop that went through the items has been traced."""

    def require_end(self) -> None:
        """The loop may be left before its end. Raises where that is refused."""

    def begin(self) -> None:
        """The program goes through the items. Raises where it has done so before, and Python would go on from there."""
        if self.once and self.used:
            raise located(
                UserNotImplementedError(
                    "an iterator that the program has gone through, or into, before",
                    mend="make it anew where it is used: write zip(...) or enumerate(...) in the head of the loop",
                )
            )
        self.used = True

    def item(self, position: Any) -> Any:
        """The item at a position: an int or a size below the count."""
        raise NotImplementedError

    def __len__(self) -> int:
        return current_trace().fix(self.count, "the length of a range")

    def __iter__(self) -> Iterator[Any]:
        self.begin()
        items, first, trace = self.gone_through(), self.taken, current_trace()
        if trace.is_open(items.count):
            begin_anew_rewritten(trace)
        turns = trace.fix_turns(items.count, "an iteration by Python")
        return iter([items.item(position) for position in range(first if type(first) is int else int(first), turns)])

    def __getitem__(self, position: Any) -> Any:
        if type(self).item is Source.item:
            raise located(UserTypeError(f"'{self.__class__.__name__}' object is not subscriptable"))
        return self.item(position)


class Stepwise:
    """An iterator that jitflow makes of others."""

    stands_for: type = type(iter(()))
    """The class of iterators of Python's that it is to the program."""

    def step(self) -> Any:
        """The next item. Raises StopIteration, at once or when the program runs, if there is none."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        begin_anew_rewritten(current_trace())
        raise located(
            UserNotImplementedError(
                f"an iteration by Python of {self.stands_for.__name__}(...) of things of the running program",
                mend="make a list of it before: list(...)",
            )
        )


def class_of_iterator(thing: Any) -> type | None:
    """The class of iterators of Python's that something is to the program; None if it stands for none."""
    return thing.stands_for if isinstance(thing, Source | Stepwise) else None


class Steps(Source):
    """The numbers from a start to a stop by a step that is not 0, or of no use where it is."""

    once = False

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.step = start, step
        known = [tracers.dim_of(item) if is_size(item) else None for item in (start, stop, step)]
        first, last, pace = known
        trace = current_trace()
        forward = None if pace is None else _leads_up(pace)
        if pace is None or forward is None:
            self.count = self.span = _count_of_steps(*(integer(item) for item in (start, stop, step)))
            return
        if first is not None and last is not None:
            span = last - first if forward else first - last
        else:
            one, other = (integer(item) for item in (start, stop))
            number = values.emit("subtract", other, one) if forward else values.emit("subtract", one, other)
            span = bind(values.emit("maximum", number, values.constant(0, I64)), "count")
        self.count, self.span = trace.not_negative(span), span
        if pace not in (1, -1):
            width = pace if forward else -pace
            self.count = self.span = (self.count + (width - 1)) // width

    def item(self, position: Any) -> Any:
        offset = position if _is_one(self.step) else position * self.step
        if not isinstance(self.start, tracers.Tracer) or is_size(self.start) or not is_size(offset):
            return self.start + offset
        numbers = [values.as_scalar(tracers.lift(python_int(part))) for part in (self.start, offset)]
        return tracers.wrap(values.emit("add", *numbers))  # which comes before the stop, so it fits


def _leads_up(pace: Dim) -> bool | None:
    """Whether a step is above 0, or below; None if only the running program knows."""
    known = current_trace().known
    return True if known(pace, ">=", 1) else False if known(-pace, ">=", 1) else None


def _count_of_steps(start: Value, stop: Value, step: Value) -> Dim:
    """How many steps there are where only the running program knows the step, and whether it leads up or down."""
    zero, one = values.constant(0, I64), values.constant(1, I64)
    up = values.emit("greater", step, zero)
    ahead = [values.emit("subtract", *pair) for pair in ((stop, start), (start, stop))]
    width = values.emit("maximum", values.emit("absolute", step), one)
    last = values.emit("subtract", values.emit("select", up, *ahead), one)
    count = values.emit("add", values.emit("floor_divide", last, width), one)
    return bind(values.emit("maximum", count, zero), "count")


def is_size(item: Any) -> bool:
    """Whether it is a known int or a size."""
    kind: type = type(item)  # a traced number says that it is an int
    return issubclass(kind, int | tracers.SizeTracer)


def _is_one(step: Any) -> bool:
    return not isinstance(step, tracers.Tracer) and step == 1


def bound_of(bound: Any) -> Any:
    """A bound of a range: a size, or Python's int. Raises TypeError for what is no integer."""
    if type(bound) is tracers.Alternatives:
        return bound.each(python_int)
    answer = answer_of(bound, "__index__")
    size = tracers.as_size(pinned(bound if answer is None else answer))
    if issubclass(type(size), np.integer):  # a traced number says that it is one
        return int(size)
    if not isinstance(size, int) and not is_integer(size):
        kind = size.__class__.__name__
        raise located(UserTypeError(f"'{kind}' object cannot be interpreted as an integer"))
    is_number = isinstance(size, tracers.Tracer) and not is_size(size)
    return tracers.wrap(as_weak(values.as_scalar(tracers.lift(size)), I64)) if is_number else size


def python_int(bound: Any) -> Any:
    """Python's int, whatever integer it is."""
    return tracers.wrap(as_weak(values.as_scalar(tracers.lift(bound_of(bound))), I64))


def is_integer(thing: Any) -> bool:
    """Whether it is an integer, known or of the running program."""
    if not isinstance(thing, tracers.Tracer):
        return type(thing) is int
    return bool(values.dtype_of_value(tracers.lift(thing)).is_integer)
