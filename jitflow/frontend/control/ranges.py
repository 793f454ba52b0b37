"""``range`` of numbers of the running program: all that Python's own has, of which every answer may be an op.

Paths hand one on as its three numbers (`control/leaves.py`), and so it leaves the function.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.control.range_programs as programs
import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.frontend.arrays.operands import ArraySource
from jitflow.frontend.arrays.runtime_sizes import integer
from jitflow.frontend.control.logic import not_
from jitflow.frontend.control.steps import Steps, bound_of, is_integer, is_size
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.dtypes import I64, DType

__all__ = ["Range", "contains_number", "length_of", "range_of", "slice_within", "start_stop_step", "traced_range"]

_ZERO_STEP = "range() arg 3 must not be zero"


class Range(ArraySource):
    """``range(start, stop, step)`` of sizes and Python's ints."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step
        self.steps = Steps(start, stop, step)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return builtins.range

    @property
    def length(self) -> Any:
        """``len(self)``."""
        return tracers.size_of(self.steps.count)

    def truth(self) -> Any:
        return values.emit("greater", values.size(self.steps.count), values.size(0))

    def __bool__(self) -> bool:
        return bool(self.length)

    def __len__(self) -> int:
        return current_trace().fix(self.steps.count, "the length of a range")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.steps)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            bounds = slice_within(self.length, position)
            return traced_range(*surface.written(programs.part)(*start_stop_step(self), *bounds))
        if not _is_index(position):
            name = position.__class__.__name__
            raise located(UserTypeError(f"range indices must be integers or slices, not {name}"))
        return self.steps.item(surface.written(programs.place)(self.length, bound_of(position)))

    def __contains__(self, item: Any) -> bool:
        return bool(self.contains(item))

    def contains(self, item: Any) -> Any:
        """``item in self``."""
        return contains_number(self, item)

    def index(self, item: Any) -> Any:
        """``range.index``."""
        return surface.written(programs.index)(*start_stop_step(self), item, self.contains(item))

    def count(self, item: Any) -> Any:
        """``range.count``."""
        return self.contains(item) * 1

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, range | Range):
            return NotImplemented
        theirs = length_of(other)
        return surface.written(programs.equal)(self.length, self.start, self.step, theirs, other.start, other.step)

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else not_(same)

    def __hash__(self) -> NoReturn:
        raise located(
            UserNotImplementedError(
                "a range of numbers that only the running program knows, as a key", mend="take its start and stop"
            )
        )

    def as_array(self, dtype: DType | None = None) -> Any:
        found = tracers.wrap(values.iota(I64, (self.steps.count,)), owned=True)
        return np.add(self.start, found * self.step, dtype=np.int64)


def traced_range(*bounds: Any) -> Any:
    """`range`."""
    if not 1 <= len(bounds) <= 3:
        return builtins.range(*bounds)
    sizes = [bound_of(bound) for bound in bounds]
    start, stop, step = (0, *sizes, 1) if len(sizes) == 1 else (*sizes, 1)[:3]
    _require_not_zero(step)
    return range_of(start, stop, step)


def _require_not_zero(step: Any) -> None:
    trace = current_trace()
    dim = tracers.dim_of(step) if is_size(step) else None
    if dim is None or trace.is_open(dim):
        values.check(values.emit("not_equal", integer(step), values.constant(0, I64)), ValueError, _ZERO_STEP)
    elif not trace.decide(dim, ">=", 1, "the step of a range") and trace.decide(dim, "==", 0, "the step of a range"):
        raise located(UserValueError(_ZERO_STEP))


def range_of(start: Any, stop: Any, step: Any) -> Any:
    """The range of these numbers, of which the last is not 0: Python's own if all are known."""
    known = not any(isinstance(number, tracers.Tracer) for number in (start, stop, step))
    return builtins.range(start, stop, step) if known else Range(start, stop, step)


def contains_number(numbers: Any, item: Any) -> Any:
    """``item in numbers``, which are a range, by arithmetic: nothing but a number is in it."""
    if isinstance(item, tracers.ArrayTracer) and values.rank(item.value):
        return any(item == number for number in numbers)  # which raises, as NumPy does
    kind = item.__class__
    if not issubclass(kind, int | float | complex | np.number | np.bool | np.ndarray):
        return False
    is_complex = issubclass(kind, complex | np.complexfloating)
    is_complex = is_complex or (isinstance(item, tracers.ArrayTracer) and item.dtype.kind == "c")
    contains = programs.contains_complex if is_complex else programs.contains
    return surface.written(contains)(*start_stop_step(numbers), item)


def start_stop_step(thing: Any) -> tuple[Any, Any, Any]:
    """What a range or a slice is made of."""
    return thing.start, thing.stop, thing.step


def length_of(numbers: Any) -> Any:
    """``len(numbers)`` of a range, which may be Python's own."""
    return numbers.length if type(numbers) is Range else len(numbers)


def slice_within(length: Any, position: slice) -> Any:
    """``position.indices(length)``."""
    given = [None if bound is None else bound_of(bound) for bound in start_stop_step(position)]
    return surface.written(programs.bounds)(length, *given)


def _is_index(position: Any) -> bool:
    return is_integer(position) or isinstance(position, bool | np.integer)
