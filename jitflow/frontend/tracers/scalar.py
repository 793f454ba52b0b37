"""Numbers while a program is traced: NumPy scalars, which promote strongly, and Python numbers, which are weak."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from jitflow.errors import UserError, UserTypeError
from jitflow.frontend.recording.trace import Trace, active_trace
from jitflow.frontend.tracers.alternatives import Alternatives
from jitflow.frontend.tracers.base import Tracer, asked, class_name, lacking, located, ufunc_binary, ufunc_unary
from jitflow.frontend.tracers.operators import define_operators
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, Expression
from jitflow.ir.dtypes import BOOL
from jitflow.ir.types import Scalar

__all__ = ["NumberTracer", "ScalarTracer", "is_weak", "number_binary", "pinned"]

_PINNABLE: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod}
)
"""Operators on integers whose result Python may need as much as the operands."""

_SIZED: Mapping[str, Callable[[Any, Any], Dim]] = _PINNABLE

_PYTHON_TYPES: dict[str, type] = {"bool": bool, "i64": int, "f64": float, "c128": complex}


class ScalarTracer(Tracer):
    """A NumPy scalar. Python numbers are `NumberTracer`."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self._scalar.dtype.numpy.type

    @property
    def _scalar(self) -> Scalar:
        found = self._value.type
        assert isinstance(found, Scalar)
        return found

    @property
    def type(self) -> Scalar:
        """The type of the IR value."""
        found = self.value.type
        assert isinstance(found, Scalar)
        return found

    @property
    def weak(self) -> bool:
        """Whether this is a Python number."""
        return self._scalar.weak

    @property
    def shape(self) -> tuple[Any, ...]:
        return ()

    @property
    def ndim(self) -> int:
        return 0

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._scalar.dtype.numpy

    def __getitem__(self, index: Any) -> Any:
        return surface.get_item(self, index)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise located(UserTypeError(f"'{class_name(self)}' object does not support item assignment"))

    def __delitem__(self, index: Any) -> NoReturn:
        raise located(UserTypeError(f"'{class_name(self)}' object does not support item deletion"))

    def __iter__(self) -> NoReturn:
        raise located(UserTypeError(f"'{class_name(self)}' object is not iterable"))

    def __bool__(self) -> bool:
        number = asked(self)
        return super().__bool__() if number is None else bool(number)

    def __index__(self) -> int:
        if self._scalar.dtype == BOOL and not self.weak:
            raise located(UserTypeError("'numpy.bool' object cannot be interpreted as an integer"))
        number = asked(self)
        return super().__index__() if number is None else int(number)

    def __int__(self) -> int:
        number = asked(self)
        return super().__int__() if number is None else int(number)

    def __hash__(self) -> int:
        number = asked(self)
        if number is not None:
            return hash(number)
        error = self._conversion("hash()", "do not use it as a key of a dict or set; name the argument in static=")
        error.tells_least = True
        raise error

    def __round__(self, digits: int | None = None) -> Any:
        methods = surface.methods
        if self.dtype == np.bool_:
            raise located(UserTypeError("type numpy.bool doesn't define __round__ method"))
        if digits is None:  # to a Python int
            return surface.arithmetic("round", methods["item"](self), None)
        return methods["round"](self, digits)


class NumberTracer(ScalarTracer):
    """A Python number: weak in NumPy's promotion, and Python's own arithmetic with its likes.

    An int or bool that was read from a global, a cell or an attribute may be *pinned*: where Python needs the number
    itself (an axis, a flag), it gets it, and a guard on its value is added. Arguments stay run-time values.
    """

    __slots__ = ("_number", "_pin", "_size")
    is_python_number = True

    def __init__(self, value: Value, trace: Trace | None = None) -> None:
        super().__init__(value, trace)
        self._number: Any = None
        self._pin: Callable[[], None] | None = None
        self._size: Callable[[], Dim | None] | None = None

    @property
    def is_more(self) -> bool:
        """Whether it may be pinned, or is a size that an argument determines."""
        return self._pin is not None or self._size is not None

    def allow_pinning(self, number: Any, pin: Callable[[], None]) -> None:
        """``number`` is the value now; ``pin`` guards that it stays."""
        self._number, self._pin = number, pin

    def allow_size(self, size: Callable[[], Dim | None]) -> None:
        """``size`` gives the dim that this integer is, if an argument determines it."""
        self._size = size

    def as_dim(self) -> Dim | None:
        """The dim that this integer is, None if it may be negative or only the running program knows it."""
        return None if self._size is None or active_trace() is not self._trace else self._size()

    def pinned(self) -> Any:
        """The number itself, None if it may not be pinned."""
        trace = active_trace()
        if self._pin is None or trace is not self._trace:
            return None if trace is None or trace.pins is None else trace.pins.settled.get(self._value)
        self._pin()
        return self._number

    def __repr__(self) -> str:
        pins = None if active_trace() is not self._trace else self._trace.pins
        number = None if pins is None else pins.settled.get(self._value)
        return super().__repr__() if number is None else repr(number)

    def __bool__(self) -> bool:
        number = self.pinned()
        return super().__bool__() if number is None else bool(number)

    def __index__(self) -> int:
        number = self.pinned()
        return super().__index__() if number is None else int(number)

    def __int__(self) -> int:
        number = self.pinned()
        return super().__int__() if number is None else int(number)

    def __hash__(self) -> int:
        number = self.pinned()
        return super().__hash__() if number is None else hash(number)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return _PYTHON_TYPES[self._scalar.dtype.name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(lacking(self, name))
        return surface.number_attribute(self, name)

    def __round__(self, digits: int | None = None) -> Any:
        return surface.arithmetic("round", self, digits)

    def __trunc__(self) -> Any:
        return surface.arithmetic("trunc", self)

    def __floor__(self) -> Any:
        return surface.arithmetic("floor", self)

    def __ceil__(self) -> Any:
        return surface.arithmetic("ceil", self)

    # A Python number has no array attributes.
    shape = property(lambda self: self.__getattr__("shape"))
    ndim = property(lambda self: self.__getattr__("ndim"))
    dtype = property(lambda self: self.__getattr__("dtype"))

    def __getitem__(self, index: Any) -> NoReturn:
        raise located(UserTypeError(f"'{self.__class__.__name__}' object is not subscriptable"))


def pinned(item: Any) -> Any:
    """A number itself, where it may be guarded by its value; everything else as it is."""
    number = item.pinned() if isinstance(item, NumberTracer) else None
    if number is None and isinstance(item, ScalarTracer):
        number = asked(item)
    return item if number is None else number


def is_weak(operand: Any) -> bool:
    """Whether NumPy would take ``operand`` as a Python number (NEP 50)."""
    if isinstance(operand, Tracer):
        return operand.is_python_number
    return type(operand) in (bool, int, float, complex) or (
        isinstance(operand, int | float | complex) and not isinstance(operand, np.generic)
    )


def number_binary(name: str, left: Any, right: Any) -> Any:
    """A binary operator with a Python number: Python's among its likes, NumPy's with anything else."""
    if type(left) is Alternatives or type(right) is Alternatives:
        return NotImplemented
    if _is_complex_operation(name, left, right):
        return surface.arithmetic(name, left, right)
    if is_weak(left) and is_weak(right):
        result = _pinnable_too(name, surface.arithmetic(name, left, right), left, right)
        return _sized_too(name, result, left, right)
    if _is_foreign(left) or _is_foreign(right):
        items, times = (left, right) if isinstance(right, NumberTracer) else (right, left)
        mine = (left if isinstance(left, NumberTracer) else right).__class__.__name__
        if name == "mul" and isinstance(items, _REPEATED) and mine in ("float", "complex"):
            raise _cannot_repeat(mine)
        if name == "mul" and isinstance(items, str) and times._scalar.dtype.kind in "bi" and times._pin is None:
            return surface.program_text(items) * times
        if name != "mul" or type(items) is not list or not isinstance(times, NumberTracer):
            if (trace := active_trace()) is not None:
                trace.refused_operand = mine
            return NotImplemented
        is_whole = times._scalar.dtype.kind in "bi" and times._pin is None
        return surface.repeated(items, times) if is_whole else NotImplemented
    return _numpys(name, left, right)


_OF_COMPLEX = frozenset({"add", "sub", "mul", "truediv", "pow"})
"""The arithmetic that Python's complex numbers have. Comparisons do not say which operand stood first."""


def _is_complex_operation(name: str, left: Any, right: Any) -> bool:
    """Whether a Python complex number stands before a NumPy float64: that is a float, which it takes as its like.

    The other way round, and for every other NumPy scalar, the operator is NumPy's.
    """
    return name in _OF_COMPLEX and is_weak(left) and left.__class__ is complex and right.__class__ is np.float64


def _scalar_binary(name: str, left: Any, right: Any) -> Any:
    if right is None and name in ("eq", "ne"):
        return NotImplemented
    if name in ("eq", "ne") and isinstance(right, str | bytes):
        return np.bool_(name == "ne")
    if _is_complex_operation(name, left, right):
        return surface.arithmetic(name, left, right)
    if name == "mul" and (isinstance(left, _REPEATED) or isinstance(right, _REPEATED)):
        items, times = (left, right) if isinstance(left, _REPEATED) else (right, left)
        if times.dtype.kind not in "iu":
            raise _cannot_repeat(f"numpy.{times.__class__.__name__}")
        return items * surface.methods["item"](times)
    return _numpys(name, left, right)


def _cannot_repeat(kind: str) -> UserError:
    return located(UserTypeError(f"can't multiply sequence by non-int of type '{kind}'"))


_REPEATED = (list, tuple, str, bytes)
"""What NumPy's integers repeat, as Python's do; all other sequences are arrays to them."""
_STRICT: Mapping[str, str] = MappingProxyType({"lt": "lt", "le": "lt", "gt": "gt", "ge": "gt"})
"""How the real parts are compared where complex numbers are, for each operator."""


def _numpys(name: str, left: Any, right: Any) -> Any:
    """NumPy's operator. Complex scalars have another order than the elements of arrays, where a part is nan."""
    if name not in _STRICT or not _are_complex_scalars(left.__class__, right.__class__):
        return ufunc_binary(name, left, right)
    first = ufunc_binary(_STRICT[name], left.real, right.real)
    second = ufunc_binary("and", ufunc_binary("eq", left.real, right.real), ufunc_binary(name, left.imag, right.imag))
    return ufunc_binary("or", first, second)


def _are_complex_scalars(*kinds: type) -> bool:
    """Whether the type of both is complex and one of them has it; NumPy takes the others for arrays."""
    if not all(issubclass(kind, np.generic | int | float | complex) for kind in kinds):
        return False
    known: list[Any] = [kind if issubclass(kind, np.generic) else kind() for kind in kinds]  # Python's are weak
    common = np.result_type(*known)
    return any(issubclass(kind, np.complexfloating) and common == kind for kind in kinds)


def _pinnable_too(name: str, result: Any, *operands: Any) -> Any:
    """What is computed from integers that may be pinned may be pinned: ``x[: N // 2]`` with a global ``N``."""
    function = _PINNABLE.get(name)
    traced = [operand for operand in operands if isinstance(operand, NumberTracer)]
    numbers = [operand._number if isinstance(operand, NumberTracer) else operand for operand in operands]
    may_be = all(operand._pin is not None for operand in traced) and all(type(number) is int for number in numbers)
    if function is not None and may_be and isinstance(result, NumberTracer):
        try:
            number = function(*numbers)
        except ZeroDivisionError:
            return result
        result.allow_pinning(number, lambda: _pin_all(traced))
    return result


def _sized_too(name: str, result: Any, *operands: Any) -> Any:
    """What is computed from integers that are sizes is a size, where the program uses it as one."""
    function = _SIZED.get(name)
    sized = [isinstance(operand, NumberTracer) and operand._size is not None for operand in operands]
    if function is None or not any(sized) or not isinstance(result, NumberTracer) or result._size is not None:
        return result

    def size() -> Dim | None:
        dims: list[Dim] = []
        for operand in operands:
            dim = operand.as_dim() if isinstance(operand, NumberTracer) else getattr(operand, "dim", operand)
            if not isinstance(dim, int | Expression) or isinstance(dim, bool):
                return None
            dims.append(dim)
        if name in ("floordiv", "mod") and not (isinstance(dims[1], int) and dims[1] > 0):
            return None
        return function(*dims)

    result.allow_size(size)
    return result


def _pin_all(numbers: Sequence[NumberTracer]) -> None:
    for number in numbers:
        number.pinned()


def _number_unary(name: str, operand: Any) -> Any:
    return surface.arithmetic(name, operand)


def _is_foreign(operand: Any) -> bool:
    """What Python numbers have no operators with: lists, strings, None."""
    return not isinstance(operand, Tracer | np.ndarray | np.generic | int | float | complex)


define_operators(ScalarTracer, _scalar_binary, ufunc_unary)
define_operators(NumberTracer, number_binary, _number_unary)
