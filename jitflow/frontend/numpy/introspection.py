"""Questions about arrays that are answered while tracing: shapes, dtypes, kinds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserAttributeError, UserKeyError, UserNotImplementedError
from jitflow.frontend.arrays import broadcasting, layouts, promotion
from jitflow.frontend.arrays.operands import as_value, normalized_axes, numpy_says, operand, refuse
from jitflow.frontend.numpy.shape import broadcast_shapes
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import product
from jitflow.ir.dtypes import DType

__all__ = ["FUNCTIONS", "REPLACEMENTS", "size"]


def shape(a: Any) -> tuple[Any, ...]:
    return tuple(tracers.size_of(dim) for dim in values.dims(as_value(a)))


def ndim(a: Any) -> int:
    return values.rank(as_value(a))


def size(a: Any, axis: Any = None) -> Any:
    value = as_value(a)
    dims = values.dims(value)
    if axis is None:
        return tracers.size_of(broadcasting.total_size(value))
    return tracers.size_of(product([dims[place] for place in normalized_axes(axis, len(dims))]))


def nbytes(a: Any) -> Any:
    value = as_value(a)
    return tracers.size_of(broadcasting.total_size(value) * values.dtype_of_value(value).itemsize)


class Flags:
    """``x.flags``: how the elements lie in memory. Who owns it, and who may write to it, the program does not know."""

    def __init__(self, array: Any) -> None:
        self._value = as_value(array)

    @property
    def c_contiguous(self) -> bool:
        return self._lies_in_order(self._value)

    @property
    def f_contiguous(self) -> bool:
        return self._lies_in_order(values.transpose(self._value, range(values.rank(self._value))[::-1]))

    fortran = f_contiguous

    @property
    def fnc(self) -> bool:
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        return self.f_contiguous or self.c_contiguous

    aligned = True

    def __getattr__(self, name: str) -> Any:
        if name in ("contiguous", "owndata", "writeable", "writebackifcopy", "behaved", "carray", "farray", "num"):
            return self.c_contiguous if name == "contiguous" else self._refuse(name)
        raise UserAttributeError(f"'numpy._core.multiarray.flagsobj' object has no attribute '{name}'")

    def __getitem__(self, key: Any) -> Any:
        if key not in _FLAGS:
            raise UserKeyError("Unknown flag")
        return getattr(self, _FLAGS[key])

    def _lies_in_order(self, value: Value) -> bool:
        trace = current_trace()
        for dim in values.dims(value):
            if trace.known(dim, ">=", 1) is None and trace.is_open(dim):
                self._refuse("contiguous")
            if not trace.decide(dim, ">=", 1, "the flags of an array"):
                return True
        found = None if trace.storage.imitations.shows(value) else layouts.is_contiguous(value)
        return self._refuse("contiguous") if found is None else found

    def _refuse(self, name: str) -> NoReturn:
        raise UserNotImplementedError(
            f"x.flags.{name} of an array of which the program does not know it",
            mend="ask outside of the compiled function; np.ascontiguousarray(x) copies only where it must",
        )


_FLAGS = {"C": "c_contiguous", "F": "f_contiguous", "A": "aligned", "O": "owndata", "W": "writeable", "FA": "farray",
          "CA": "carray", "B": "behaved", "X": "writebackifcopy"}  # fmt: skip
_FLAGS |= {name.upper(): name for name in (*_FLAGS.values(), "contiguous", "fortran", "fnc", "forc")}
_FLAGS["FORTRAN"] = "f_contiguous"


class Broadcast:
    """``np.broadcast(x, y)``, of which the program may know the shape."""

    def __init__(self, *args: Any) -> None:
        self.shape = np.broadcast_shapes(*(shape(item) for item in args))
        self.nd = self.ndim = len(self.shape)
        self.numiter = len(args)

    @property
    def size(self) -> Any:
        return tracers.size_of(product([tracers.dim_of(item) for item in self.shape]))

    def __getattr__(self, name: str) -> Any:
        raise refuse(f"np.broadcast(...).{name}", "use np.broadcast_arrays, and .flat of what it gives")

    def __iter__(self) -> Any:
        return self.__getattr__("__iter__")


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """NumPy's answer, tracers being arrays or weak numbers of their dtypes."""
    items = [_placeholder(item) for item in arrays_and_dtypes]
    return promotion.result_dtype(*items).numpy


def _placeholder(item: Any) -> Any:
    if isinstance(item, tracers.Tracer | np.ndarray | np.generic | int | float | complex):
        return operand(item)
    return _element_type(item)


def _element_type(dtype: Any) -> DType:
    return tracers.element_type(numpy_says(np.dtype, dtype))


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    source = from_.dtype if isinstance(from_, tracers.ArrayTracer | tracers.ScalarTracer) else from_
    return numpy_says(np.can_cast, source, to, casting)


def _is_complex(x: Any) -> bool:
    return x is not None and values.dtype_of_value(as_value(x)).is_complex


def isrealobj(x: Any) -> bool:
    return not _is_complex(x)


def isscalar(element: Any) -> bool:
    if isinstance(element, tracers.Tracer):
        return not isinstance(element, tracers.ArrayTracer)
    return np.isscalar(element)


def common_type(*arrays: Any) -> Any:
    return numpy_says(np.common_type, *(np.zeros(1, array.dtype) for array in arrays))


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.shape: shape,
        np.ndim: ndim,
        np.size: size,
        np.result_type: result_type,
        np.can_cast: can_cast,
        np.iscomplexobj: _is_complex,
        np.isrealobj: isrealobj,
        np.common_type: common_type,
    }
)

REPLACEMENTS: Mapping[Any, Any] = MappingProxyType(
    {np.isscalar: isscalar, np.broadcast_shapes: broadcast_shapes, np.broadcast: Broadcast}
)
"""Functions that do not dispatch on their arguments."""
