"""Questions about arrays that are answered while tracing: shapes, dtypes, kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserAttributeError, UserKeyError, UserNotImplementedError
from jitflow.frontend.arrays import broadcasting, layouts, promotion
from jitflow.frontend.arrays.operands import as_value, normalized_axes, numpy_says, operand, refuse, static_int
from jitflow.frontend.numpy.shape import broadcast_shapes
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import product
from jitflow.ir.dtypes import DType
from jitflow.runtime.entry.guard_tests import is_read_only, is_writeable
from jitflow.runtime.entry.plan import EqualsConstant, Made, Satisfies

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
    """``x.flags``: how the elements lie in memory, and whether it may be written to. Who owns it nobody knows."""

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

    @property
    def writeable(self) -> bool:
        storage = current_trace().storage
        if storage.is_read_only(self._value):
            return False
        answers = {_may_write(root) for root in storage.behind(self._value)}
        return self._refuse("writeable") if len(answers) > 1 else answers.pop()

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_value":
            raise refuse(f"x.flags.{name} = {value!r}", "set it outside of the compiled function")
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in ("contiguous", "owndata", "writebackifcopy", "behaved", "carray", "farray", "num"):
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


def _may_write(root: Value) -> bool:
    """Whether an array may be written to: one of the caller's is asked at each call."""
    trace, inputs = current_trace(), current_trace().state(Stores).inputs
    if not trace.storage.is_parameter(root):
        return True
    register = inputs.leaves[trace.storage.classes[root][0]].register
    found = is_writeable(inputs.found.get(register))
    test, text = (is_writeable, "may be written to") if found else (is_read_only, "is read-only")
    inputs.guard(Satisfies(register, test, text))
    return found


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


def min_scalar_type(a: Any, /) -> np.dtype[Any]:
    if isinstance(a, tracers.ArrayTracer) and a.ndim:
        return a.dtype
    dtype = values.dtype_of_value(as_value(a))
    if not dtype.is_integer:
        if dtype.kind == "b":
            return np.dtype(bool)
        raise refuse("np.min_scalar_type of a number of the run that is no integer", "name the dtype")
    is_numpys = isinstance(a, tracers.ArrayTracer) or not getattr(a, "weak", True)
    return np.min_scalar_type(static_int(a.item() if is_numpys else a, "the number"))


def _shares_memory(question: Callable[..., bool], a: Any, b: Any, /, max_work: Any = None) -> bool:
    """`numpy.shares_memory` and `may_share_memory`."""
    first, second = as_value(a), as_value(b)
    storage = current_trace().storage
    mine, others = storage.behind(first), storage.behind(second)
    if len(mine) > 1 or len(others) > 1 or any(map(storage.imitations.shows, (first, second))):
        raise _unknown_memory()
    (one,), (other,) = mine, others
    if one is other and (_is_whole(first, one) or _is_whole(second, one)):
        return not any(_is_empty(value) for value in (first, second))
    if one is other or (storage.is_parameter(one) and storage.is_parameter(other)):
        return _share_at_this_call(question, first, second)
    return False


def _share_at_this_call(question: Callable[..., bool], first: Value, second: Value) -> bool:
    """Whether two arguments share memory, which each call asks."""
    trace, inputs = current_trace(), current_trace().state(Stores).inputs
    if not all(map(trace.storage.is_parameter, (first, second))):
        raise _unknown_memory()
    registers = tuple(inputs.leaves[trace.storage.classes[value][0]].register for value in (first, second))
    found = [inputs.found.get(register) for register in registers]
    if not all(type(array) is np.ndarray for array in found):
        raise _unknown_memory()
    text = " and ".join(map(inputs.path, registers))
    asked = inputs.register_asked(f"{question.__name__} of {text}", registers, Made(question, registers))
    answer = question(*found)
    inputs.guard(EqualsConstant(asked, answer, bool))
    return answer


def _unknown_memory() -> UserNotImplementedError:
    return refuse("np.shares_memory of these views",
                  "ask outside of the compiled function")  # fmt: skip


def _is_whole(value: Value, root: Value) -> bool:
    """Whether a view shows all elements of its memory."""
    is_as_large = broadcasting.total_size(value) == broadcasting.total_size(root)
    return bool(is_as_large) and not current_trace().storage.repeats(value)


def _is_empty(value: Value) -> bool:
    return any(not current_trace().decide(dim, ">=", 1, "whether memory is shared") for dim in values.dims(value))


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
        np.min_scalar_type: min_scalar_type,
        np.shares_memory: partial(_shares_memory, np.shares_memory),
        np.may_share_memory: partial(_shares_memory, np.may_share_memory),
    }
)

REPLACEMENTS: Mapping[Any, Any] = MappingProxyType(
    {np.isscalar: isscalar, np.broadcast_shapes: broadcast_shapes, np.broadcast: Broadcast}
)
"""Functions that do not dispatch on their arguments."""
