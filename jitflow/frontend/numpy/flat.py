"""``array.flat``: the elements in C order, to be read and written one by one or by an index, however they lie."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.broadcasting import total_size
from jitflow.frontend.arrays.operands import ArraySource, as_value, new
from jitflow.frontend.numpy import assignment, indexing
from jitflow.frontend.numpy.shape import flat_value
from jitflow.frontend.recording import values
from jitflow.frontend.tracers.operators import COMPARISONS
from jitflow.ir.dtypes import DType

__all__ = ["Flat"]


class Flat(ArraySource):
    """What NumPy's ``flatiter`` is for a program: reading copies, writing shows in the array."""

    __hash__ = None  # type: ignore[assignment]

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
        return np.copy(self._line)

    copy = as_array

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
        assignment.set_flat(self._array, index, value)


def _define_comparisons() -> None:
    """Comparisons are those of the array of the elements."""
    for name in COMPARISONS:
        compare = getattr(operator, name)
        setattr(Flat, f"__{name}__", lambda self, other, compare=compare: compare(self.as_array(), other))


_define_comparisons()
