"""``np.mgrid[0:n, 0:m]`` and its like: objects of NumPy whose index says what to make.

They are no functions, so what stands for them is an object with an index of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.operands import as_value, dtype_argument, new, operand, refuse
from jitflow.frontend.arrays.promotion import result_dtype
from jitflow.frontend.numpy.elementwise import as_tracer, astype
from jitflow.frontend.numpy.joining import concatenate
from jitflow.frontend.numpy.ranges import arange, linspace
from jitflow.frontend.recording import values

__all__ = ["OBJECTS", "Indexed"]


class Indexed:
    """What ``make(items)`` gives for each index."""

    __slots__ = ("_make", "_name")

    def __init__(self, name: str, make: Callable[[Any], Any]) -> None:
        self._name = name
        self._make = make

    def __getitem__(self, index: Any) -> Any:
        return self._make(index)

    def __repr__(self) -> str:
        return f"<numpy.{self._name}>"


# -- grids --------------------------------------------------------------------------------------------------


def _line(item: slice, dtype: Any = None) -> Any:
    """The numbers of one axis: a range, or, with a complex step, that many from end to end."""
    start = 0 if item.start is None else item.start
    if isinstance(item.step, complex):
        count = int(abs(item.step))
        step = (item.stop - start) / float(count - 1) if count != 1 else 1
        positions = arange(0, count, 1)
        kind = np.result_type(_sample(start), _sample(item.stop), abs(item.step)) if dtype is None else dtype
        return astype(positions, kind) * step + start
    step = 1 if item.step is None else item.step
    if dtype is None:
        return arange(start, item.stop, step)
    positions = arange(arange(start, item.stop, step).shape[0])
    return astype(positions, dtype) * step + start


def _sample(number: Any) -> Any:
    """A number of the type of one that may be traced."""
    if isinstance(number, tracers.SizeTracer):
        return 0
    if isinstance(number, tracers.Tracer):
        zero = values.dtype_of_value(number.value).numpy.type(0)
        return zero.item() if values.is_weak(number.value) else zero
    return number


def _grid(index: Any, *, sparse: bool) -> Any:
    if isinstance(index, slice):
        return _line(index)
    parts = [part for item in index for part in (0 if item.start is None else item.start, item.stop, _step(item))]
    dtype = np.result_type(*(_sample(part) for part in parts), 0)
    lines = [_line(item, dtype) for item in index]
    rank = len(lines)
    spread = [np.reshape(line, tuple(-1 if axis == place else 1 for axis in range(rank)))
              for place, line in enumerate(lines)]  # fmt: skip
    if sparse:
        return tuple(spread)
    return np.stack([astype(line, dtype) for line in np.broadcast_arrays(*spread)])


def _step(item: slice) -> Any:
    return 1 if item.step is None else abs(item.step) if isinstance(item.step, complex) else item.step


# -- joining by index -----------------------------------------------------------------------------------------


def _joined(index: Any, *, columns: bool) -> Any:
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(item, str) for item in items):
        raise refuse("a string in the index of np.r_ or np.c_", "use np.concatenate with its axis")
    given = [_line_of(item) for item in items]
    dtype = result_dtype(*(operand(item) for item in given))
    parts = [_part(item, dtype, columns=columns) for item in given]
    return concatenate(parts, axis=-1 if columns else 0)


def _line_of(item: Any) -> Any:
    if not isinstance(item, slice):
        return item
    if isinstance(item.step, complex):
        return linspace(0 if item.start is None else item.start, item.stop, int(abs(item.step)))
    return _line(item)


def _part(item: Any, dtype: Any, *, columns: bool) -> Any:
    """An item as an array of one axis at least, or, for columns, of two."""
    array = as_tracer(new(values.as_array(values.cast(as_value(item), dtype_argument(dtype)))))
    if columns and array.ndim < 2:
        return np.reshape(array, (-1, 1))
    return np.reshape(array, (1,)) if array.ndim == 0 else array


OBJECTS: Mapping[Any, Indexed] = MappingProxyType(
    {
        np.mgrid: Indexed("mgrid", lambda index: _grid(index, sparse=False)),
        np.ogrid: Indexed("ogrid", lambda index: _grid(index, sparse=True)),
        np.r_: Indexed("r_", lambda index: _joined(index, columns=False)),
        np.c_: Indexed("c_", lambda index: _joined(index, columns=True)),
    }
)
