"""``array.flat``: the elements in C order, to be read and written one by one or by an index, however they lie."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays import layouts
from jitflow.frontend.arrays.broadcasting import total_size
from jitflow.frontend.arrays.operands import ArraySource, as_value, new, view
from jitflow.frontend.numpy import assignment, indexing
from jitflow.frontend.numpy.shape import flat_value
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.operators import COMPARISONS
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.dtypes import DType

__all__ = ["Flat"]


class Flat(ArraySource):
    """What NumPy's ``flatiter`` is for a program: reading copies, writing shows in the array.

    NumPy's array of it shows the array if that is contiguous, also where a copy is asked for.
    """

    __hash__ = None  # type: ignore[assignment]
    is_shown = True

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def base(self) -> Any:
        """The array."""
        return self._array

    @property
    def _line(self) -> Any:
        """The elements, one behind the other."""
        return new(flat_value(as_value(self._array)))

    def as_array(self, dtype: DType | None = None) -> Any:
        value = as_value(self._array)
        found = view(flat_value(layouts.in_order(value, "an array made of x.flat")))
        if layouts.is_contiguous(value) is False:
            current_trace().storage.make_read_only(found.value)
        return found

    def copy(self) -> Any:
        """An array of its own."""
        return np.copy(self._line)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        return surface.apply_ufunc(ufunc, method, inputs, keywords)

    def truth(self) -> Any:
        return values.emit("greater", values.size(total_size(as_value(self._array))), values.size(0))

    def __len__(self) -> int:
        return len(self._line)

    def __iter__(self) -> Any:
        return iter(self._line)

    def __getitem__(self, index: Any) -> Any:
        found = indexing.get_item(self._line, index)
        return np.copy(found) if isinstance(found, tracers.ArrayTracer) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        current_trace().storage.require_writeable(as_value(self._array), "underlying array")
        assignment.set_flat(self._array, index, value)


def _define_comparisons() -> None:
    """Comparisons are those of the array of the elements."""
    for name in COMPARISONS:
        compare = getattr(operator, name)
        setattr(Flat, f"__{name}__", lambda self, other, compare=compare: compare(self.as_array(), other))


_define_comparisons()
