"""Functions of the user's that NumPy calls for every line or element: a native loop that calls them inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.errors import UserNotImplementedError, UserValueError
from jitflow.frontend.arrays.operands import normalized_axis, refuse
from jitflow.frontend.control.explicit import map as over_items
from jitflow.frontend.control.paths import trace_path
from jitflow.frontend.numpy import creation
from jitflow.frontend.numpy.elementwise import as_tracer
from jitflow.frontend.tracers import Alternatives, Tracer, distributed, located, type_of
from jitflow.ir.types import Scalar

__all__ = ["FUNCTIONS", "REPLACEMENTS", "Vectorized"]


def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    array = as_tracer(arr)
    place = normalized_axis(axis, array.ndim)
    moved = np.moveaxis(array, place, -1)
    outer = moved.shape[:-1]
    if any(size == 0 for size in outer):
        raise UserValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    if not outer:
        return as_tracer(func1d(array, *args, **kwargs))
    found = _over_items(
        lambda row: as_tracer(func1d(row, *args, **kwargs)), moved.reshape(_product(outer), moved.shape[-1])
    )
    found = found.reshape(*outer, *found.shape[1:])
    inner = range(len(outer), found.ndim)
    return found.transpose(*range(place), *inner, *range(place, len(outer)))


class Vectorized:
    """``np.vectorize(pyfunc)``: the function gets Python numbers, but what it makes of NumPy's decides the dtypes."""

    def __init__(self, pyfunc: Any, otypes: Any = None, excluded: Any = None, signature: Any = None) -> None:
        if excluded or signature is not None:
            raise located(refuse("np.vectorize with excluded= or signature=", "write a loop over the elements"))
        self.pyfunc = pyfunc
        self.dtypes = None if otypes is None else [np.dtype(kind) for kind in otypes]

    def __call__(self, *args: Any) -> Any:
        arrays = np.broadcast_arrays(*map(as_tracer, args))
        shape = arrays[0].shape
        size = _product(shape)
        if self.dtypes is None and size == 0:
            raise located(UserValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set"))
        flat = [array.reshape(size) for array in arrays]
        dtypes, several = self._found_dtypes(flat) if self.dtypes is None else (self.dtypes, len(self.dtypes) > 1)

        def each(numbers: Sequence[Any]) -> Any:
            given = (arg if _is_numpy_scalar(arg) else number.item() for arg, number in zip(args, numbers, strict=True))
            results = self.pyfunc(*given)
            results = results if several else (results,)
            return tuple(
                distributed(creation.converter(dtype.type), (result,), {})
                for result, dtype in zip(results, dtypes, strict=True)
            )

        found = tuple(part.reshape(shape) for part in _over_items(each, tuple(flat)))
        return found if several else found[0]

    def _found_dtypes(self, flat: Sequence[Any]) -> tuple[list[Any], bool]:
        """The dtypes of the results, and whether there are several."""
        made: list[Any] = []
        trace_path(lambda: made.append(self.pyfunc(*(array[0] for array in flat))), dict)
        if not made:
            raise located(refuse("np.vectorize of a function that always raises", "call the function"))
        several = isinstance(made[0], tuple)
        results = made[0] if several else (made[0],)
        return [_dtype_of(result) for result in results], several


def _dtype_of(result: Any) -> Any:
    """The dtype of a result, which the first element decides."""
    options = [*result.options.values()] if type(result) is Alternatives else [result]
    dtypes = list(dict.fromkeys(type_of(option).dtype for option in options if isinstance(option, Tracer | float)))
    if len(dtypes) > 1:
        raise located(
            UserNotImplementedError(
                "np.vectorize of a function that chooses between dtypes, where the first element would decide for all",
                found=" and ".join(map(str, dtypes)),
                mend="name the dtypes of the results: np.vectorize(f, otypes=[float])",
            )
        )
    return dtypes[0].numpy


def _is_numpy_scalar(arg: Any) -> bool:
    """Whether the function gets an argument as it is."""
    kind = type_of(arg)
    return isinstance(kind, Scalar) and not kind.weak


def _over_items(function: Callable[[Any], Any], items: Any) -> Any:
    return over_items(function, items)


def _product(shape: Sequence[Any]) -> Any:
    size: Any = 1
    for length in shape:
        size = size * length
    return size


FUNCTIONS: Mapping[Any, Any] = MappingProxyType({np.apply_along_axis: apply_along_axis})
REPLACEMENTS: Mapping[Any, Any] = MappingProxyType({np.vectorize: Vectorized})
"""What does not dispatch on its arguments."""
