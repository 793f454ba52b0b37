"""``array.flat``: the elements in C order, to be read and written one by one or by an index, however they lie."""

from __future__ import annotations

from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.operands import as_value, new, refuse
from jitflow.frontend.numpy import assignment, indexing
from jitflow.frontend.numpy.shape import flat_value

__all__ = ["Flat"]


class Flat:
    """What NumPy's ``flatiter`` is for a program: reading copies, writing shows in the array."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def base(self) -> Any:
        """The array."""
        return self._array

    def __len__(self) -> int:
        return len(new(flat_value(as_value(self._array))))

    def __iter__(self) -> Any:
        return iter(new(flat_value(as_value(self._array))))

    def __getitem__(self, index: Any) -> Any:
        found = indexing.get_item(new(flat_value(as_value(self._array))), index)
        return np.copy(found) if isinstance(found, tracers.ArrayTracer) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        assignment.set_flat(self._array, index, value)

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise refuse("an iterator over the elements as an array", "use x.ravel()")
