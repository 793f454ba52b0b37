"""The objects that stand for values while the user's function runs: arrays, numbers, sizes.

================  =============================  ==============================================================
tracer            stands for                     what its operators do
================  =============================  ==============================================================
`ArrayTracer`     an array, 0-d ones included    NumPy's functions: `jitflow.frontend.numpy.dispatch`
`ScalarTracer`    a NumPy scalar (strong)        NumPy's functions
`NumberTracer`    a Python number (weak)         Python's arithmetic among weak ones, NumPy's with anything else
`SizeTracer`      a Python int that is a size    exact arithmetic on dims, without any op
================  =============================  ==============================================================

`isinstance(tracer, numpy.ndarray)` (or ``float``, ``int``...) is true where it would be of the value, because user code
asks. So code here and in `jitflow.frontend.numpy` tests for tracers *before* it tests for arrays and numbers.

`lift` makes an IR value of anything that NumPy takes as an operand; `wrap` makes the tracer of an IR value.

What `jitflow.frontend.numpy.dispatch` provides:

- ``apply_ufunc(ufunc, method, inputs, kwargs)`` and ``apply_function(function, args, kwargs)``;
- ``METHODS`` and ``ATTRIBUTES``: from a name to ``handler(tracer, *args, **kwargs)`` and ``handler(tracer)``;
- ``get_item(tracer, index)``;
- ``REPLACEMENTS``: from a NumPy function that does not dispatch on its arguments (``numpy.zeros``, ``numpy.array``...)
  to what runs in its place while tracing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NoReturn, SupportsIndex

import numpy as np

from jitflow.errors import (
    CompilerBug,
    UserAttributeError,
    UserError,
    UserNotImplementedError,
    UserOverflowError,
    UserRuntimeError,
    UserTypeError,
)
from jitflow.frontend.operators import BINARY, COMPARISONS, UNARY, define_operators
from jitflow.frontend.trace import Trace, active_trace, current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, Expression
from jitflow.ir.dtypes import BOOL, C128, F64, I64, DType, dtype_of
from jitflow.ir.types import Index, Scalar, Tensor

__all__ = ["ArrayTracer", "NumberTracer", "ScalarTracer", "SizeTracer", "Tracer", "constant", "dim_of", "is_weak",
           "lift", "size_of", "type_of", "wrap"]  # fmt: skip

LARGEST_LITERAL = 64
"""Elements of an array built while tracing that may become a constant in the code."""

_PYTHON_TYPES: dict[str, type] = {"bool": bool, "i64": int, "f64": float, "c128": complex}


class Tracer:
    """What stands for one IR value of one trace."""

    __slots__ = ("_trace", "_value")
    __array_priority__ = 1_000_000.0

    def __init__(self, value: Value, trace: Trace | None = None) -> None:
        self._value = value
        self._trace = current_trace() if trace is None else trace

    @property
    def value(self) -> Value:
        """The IR value. Raises `UserRuntimeError` if its trace is over."""
        if active_trace() is not self._trace:
            raise _escaped(self, self._trace)
        return self._value

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _needs_number(
            self, f"{self._describe()} was handed to code that needs the numbers themselves",
            "use NumPy functions that jitflow compiles, or do this outside the compiled function",
        )  # fmt: skip

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _dispatch().apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _dispatch().apply_function(function, args, kwargs)

    def __bool__(self) -> bool:
        raise _needs_number(
            self, f"a decision on a traced value: {self._describe()} is known only when the compiled code runs",
            "use np.where to choose between values; a decision on a shape or on an argument named in static= is fine",
        )  # fmt: skip

    def __float__(self) -> float:
        raise self._conversion("float()", ".astype(float), or leave the conversion out: arithmetic promotes")

    def __int__(self) -> int:
        raise self._conversion("int()", ".astype(int)")

    def __complex__(self) -> complex:
        raise self._conversion("complex()", ".astype(complex)")

    def __index__(self) -> int:
        raise _needs_number(
            self, f"{self._describe()} was used where Python needs the number itself: an index, a length or a repeat",
            "index arrays with it (x[i] of an array is compiled), or name the argument in static=",
        )  # fmt: skip

    def __str__(self) -> str:
        raise self._conversion("text", "leave formatting to the caller of the compiled function")

    def __format__(self, specification: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<traced {self._value.type}>"

    def __copy__(self) -> Any:
        return self.__getattr__("copy")()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__getattr__("copy")()

    def __reduce__(self) -> NoReturn:
        raise self._conversion("pickle", "do this outside the compiled function")

    def __getattr__(self, name: str) -> Any:
        # Only names that the class lacks arrive here.
        if name.startswith("__"):
            raise AttributeError(name)
        dispatch = _dispatch()
        if name in dispatch.ATTRIBUTES:
            return dispatch.ATTRIBUTES[name](self)
        if name in dispatch.METHODS:
            return partial(dispatch.METHODS[name], self)
        stands_for = self.__class__
        if hasattr(stands_for, name):
            raise located(
                UserNotImplementedError(
                    f"{stands_for.__name__}.{name} is not compiled",
                    found=f"{self._describe()}",
                    mend="write it with other NumPy functions, or do it outside the compiled function",
                )
            )
        raise located(
            UserAttributeError(f"{stands_for.__module__}.{stands_for.__name__} object has no attribute {name!r}")
        )

    def item(self, *args: Any) -> NoReturn:
        raise self._conversion(".item()", "leave it out: the value can be used as it is")

    def tolist(self) -> NoReturn:
        raise self._conversion(".tolist()", "return the array and call tolist() on the result")

    def _describe(self) -> str:
        return f"a value of type {self._value.type}"

    def _conversion(self, target: str, mend: str) -> UserError:
        return _needs_number(
            self, f"{target} of a traced value: {self._describe()} is known only when the compiled code runs", mend
        )


class ArrayTracer(Tracer):
    """An array of rank 0 or more.

    The tracer is the array object: ``x += 1`` gives the same tracer another IR value (`assign`), so every name that the
    program has for this array sees it. That is right only while no view of it exists and no caller can see it.
    """

    __slots__ = ("owned",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Value, trace: Trace | None = None, *, owned: bool = False) -> None:
        super().__init__(value, trace)
        self.owned = owned

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return np.ndarray

    @property
    def type(self) -> Tensor:
        """The type of the IR value."""
        found = self.value.type
        assert isinstance(found, Tensor)
        return found

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(size_of(dim) for dim in self.type.dims)

    @property
    def ndim(self) -> int:
        return self.type.rank

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype.numpy

    @property
    def itemsize(self) -> int:
        return self.type.dtype.itemsize

    def __len__(self) -> int:
        # The compiled function's own `len` keeps sizes symbolic; this is for C code that asks.
        if not self.ndim:
            raise located(UserTypeError("len() of unsized object"))
        return self._trace.fix(self.type.dims[0], "len() from outside the compiled function")

    def __iter__(self) -> Any:
        if not self.ndim:
            raise located(UserTypeError("iteration over a 0-d array"))
        length = self._trace.resolve(self.type.dims[0])
        if not isinstance(length, int):
            raise located(
                UserNotImplementedError(
                    f"a loop over the rows of an array whose number ({length}) is not fixed",
                    found=self._describe(),
                    mend="write it with whole-array functions; loops over arrays of any length are not compiled yet",
                )
            )
        return iter([self[position] for position in range(length)])

    def __getitem__(self, index: Any) -> Any:
        return _dispatch().get_item(self, index)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise located(
            UserNotImplementedError(
                "item assignment is not compiled yet",
                found=self._describe(),
                mend="build the result with np.where, np.concatenate or np.stack",
            )
        )

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_value", "_trace", "owned"):
            object.__setattr__(self, name, value)
            return
        raise located(
            UserNotImplementedError(
                f"assigning to the attribute {name!r} of an array is not compiled",
                mend="use the function that returns a new array (x.reshape(...), x.astype(...))",
            )
        )

    def assign(self, value: Value, what: str = "writing to an array in place") -> ArrayTracer:
        """Make the array be ``value``, of the same type, for everybody who holds it.

        Raises `UserNotImplementedError` where others could see the old elements: an argument, a captured array, a
        view, or an array of which a view exists.
        """
        if not self.owned or self.value in self._trace.viewed:
            raise located(
                UserNotImplementedError(
                    f"{what} is compiled only for arrays made in the function that have no views",
                    found="an argument, a captured array or a view" if not self.owned else "an array that has views",
                    mend="write x = x + y in place of x += y, and leave out= away",
                )
            )
        if value.type != self.value.type:
            raise CompilerBug(f"expected a value of type {self._value.type} to assign, got {value.type}")
        self._value = value
        return self


class ScalarTracer(Tracer):
    """A NumPy scalar. Python numbers are `NumberTracer`."""

    __slots__ = ()

    @property
    def __class__(self) -> type:  # type: ignore[override]
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
        return _dispatch().get_item(self, index)

    def __hash__(self) -> int:
        raise self._conversion("hash()", "do not use it as a key of a dict or set; name the argument in static=")

    def __round__(self, digits: int | None = None) -> Any:
        return _dispatch().METHODS["round"](self, 0 if digits is None else digits)


class NumberTracer(ScalarTracer):
    """A Python number: weak in NumPy's promotion, and Python's own arithmetic with its likes.

    An int or bool that was read from a global, a cell or an attribute may be *pinned*: where Python needs the number
    itself (an axis, a flag), it gets it, and a guard on its value is added. Arguments stay run-time values.
    """

    __slots__ = ("_number", "_pin")

    def __init__(self, value: Value, trace: Trace | None = None) -> None:
        super().__init__(value, trace)
        self._number: Any = None
        self._pin: Callable[[], None] | None = None

    def allow_pinning(self, number: Any, pin: Callable[[], None]) -> None:
        """``number`` is the value now; ``pin`` guards that it stays."""
        self._number, self._pin = number, pin

    def pinned(self) -> Any:
        """The number itself, None if it may not be pinned."""
        if self._pin is None or active_trace() is not self._trace:
            return None
        self._pin()
        return self._number

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

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return _PYTHON_TYPES[self._scalar.dtype.name]

    def __getattr__(self, name: str) -> Any:
        from jitflow.frontend.python_numbers import number_attribute

        if name.startswith("__"):
            raise AttributeError(name)
        return number_attribute(self, name)

    def __round__(self, digits: int | None = None) -> Any:
        return _python("round", self, digits)

    def __trunc__(self) -> Any:
        return _python("trunc", self)

    def __floor__(self) -> Any:
        return _python("floor", self)

    def __ceil__(self) -> Any:
        return _python("ceil", self)

    # A Python number has no array attributes.
    shape = property(lambda self: self.__getattr__("shape"))  # type: ignore[assignment]
    ndim = property(lambda self: self.__getattr__("ndim"))  # type: ignore[assignment]
    dtype = property(lambda self: self.__getattr__("dtype"))  # type: ignore[assignment]

    def __getitem__(self, index: Any) -> NoReturn:
        raise located(UserTypeError(f"'{self.__class__.__name__}' object is not subscriptable"))


class SizeTracer(Tracer):
    """A size: a Python int whose value is a dim.

    Arithmetic among sizes and ints is exact and free. A comparison is decided by the sizes of this call and recorded
    as a `Fact`; where Python needs the number itself (``int(n)``, a key, a list index, ``range``), an equality is.
    """

    __slots__ = ("dim",)

    def __init__(self, dim: Expression, trace: Trace | None = None) -> None:
        # The op that makes it a number is recorded only where it meets numbers (`lift`).
        self.dim = dim
        self._trace = current_trace() if trace is None else trace

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return int

    @property
    def value(self) -> Value:
        """The size as a weak i64."""
        return _size_value(self._live())

    def _live(self) -> Expression:
        if active_trace() is not self._trace:
            raise _escaped(self, self._trace)
        return self.dim

    def _describe(self) -> str:
        return f"the size {self.dim}"

    def _number(self, why: str) -> int:
        return self._trace.fix(self._live(), why)

    def __bool__(self) -> bool:
        return self._trace.decide(self._live(), "!=", 0, "a decision on a size")

    def __int__(self) -> int:
        return self._number("int() of a size")

    def __index__(self) -> int:
        return self._number("a size where Python needs the number itself")

    def __float__(self) -> float:
        return float(self._number("float() of a size"))

    def __complex__(self) -> complex:
        return complex(self._number("complex() of a size"))

    def __hash__(self) -> int:
        return hash(self._number("hashing a size"))

    def __str__(self) -> str:
        return str(self._number("the text of a size"))

    def __format__(self, specification: str) -> str:
        return format(self._number("the text of a size"), specification)

    def __repr__(self) -> str:
        return str(self) if active_trace() is self._trace else f"<size {self.dim}>"

    def __reduce__(self) -> Any:
        return int, (self._number("pickling a size"),)

    def __copy__(self) -> SizeTracer:
        return self

    def __deepcopy__(self, memo: Any) -> SizeTracer:
        return self

    def __round__(self, digits: int | None = None) -> SizeTracer:
        return self if digits is None or digits >= 0 else _python("round", self, digits)

    def __trunc__(self) -> SizeTracer:
        return self

    __floor__ = __ceil__ = __trunc__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("real", "numerator"):
            return self
        if name in ("imag", "denominator"):
            return 0 if name == "imag" else 1
        if name in ("conjugate", "__pos__"):
            return lambda: self
        return getattr(self._number(f"the attribute {name!r} of a size"), name)


# -- from values to tracers and back -----------------------------------------------------------------


def wrap(value: Value, *, owned: bool | None = None) -> Any:
    """The tracer of an IR value.

    ``owned`` says that the program holds this array alone: a new array, not a view. By default that is so unless a
    parameter or a view op made it; a function that gives back its operand's own value (``numpy.asarray``) says False,
    and a copy, whose value is its operand's too, says True.
    """
    kind = value.type
    if isinstance(kind, Tensor):
        return ArrayTracer(value, owned=_is_new(value) if owned is None else owned)
    if isinstance(kind, Scalar):
        return NumberTracer(value) if kind.weak else ScalarTracer(value)
    if isinstance(kind, Index) and kind.dim is not None:
        return size_of(kind.dim)
    raise CompilerBug(f"no tracer stands for a value of type {kind}", pass_name="trace")


def _is_new(value: Value) -> bool:
    """Whether the op added last made ``value`` as a new array."""
    ops = current_trace().builder.ops
    return bool(ops) and value in ops[-1].results and "view" not in ops[-1].definition.traits


def size_of(dim: Dim) -> Any:
    """The dim as the program sees it: an int if it is known, else a `SizeTracer`."""
    dim = current_trace().resolve(dim)
    return dim if isinstance(dim, int) else SizeTracer(dim)


def dim_of(size: Any) -> Dim:
    """The dim that a size given by the program is. Raises `UserTypeError` for what is not an integer."""
    if isinstance(size, SizeTracer):
        return size._live()
    if isinstance(size, Tracer):
        if isinstance(size, ScalarTracer) and not size._scalar.dtype.is_integer:
            raise located(UserTypeError(f"'{size.__class__.__name__}' object cannot be interpreted as an integer"))
        raise located(
            UserNotImplementedError(
                "a size that is computed from traced values",
                found=size._describe(),
                mend="compute sizes from shapes, or name the argument in static=",
            )
        )
    if isinstance(size, SupportsIndex):
        return size.__index__()
    raise located(UserTypeError(f"'{type(size).__name__}' object cannot be interpreted as an integer"))


def lift(operand: Any) -> Value:
    """The IR value of an operand: a tracer, an array, a Python number or a NumPy scalar.

    Arrays built while tracing become constants when they have up to `LARGEST_LITERAL` elements. Raises `UserTypeError`
    for anything else.
    """
    if isinstance(operand, Tracer):
        return operand.value
    kind = type(operand)
    if kind is bool:
        return constant(operand, Scalar(BOOL, True))
    if kind is int:
        if not -(1 << 63) <= operand < 1 << 63:
            raise located(
                UserOverflowError("Python int too large to convert to C long", found=str(operand),
                                  mend="Python ints are 64 bits wide in compiled code; use a float")
            )  # fmt: skip
        return constant(operand, Scalar(I64, True))
    if kind is float:
        return constant(operand, Scalar(F64, True))
    if kind is complex:
        return constant(operand, Scalar(C128, True))
    if isinstance(operand, np.generic):
        return constant(operand.item(), Scalar(element_type(operand.dtype)))
    if kind is np.ndarray:
        return _literal(operand)
    if isinstance(operand, int):  # an IntEnum
        return lift(int(operand))
    if isinstance(operand, list | tuple):
        return _literal_sequence(operand)
    raise located(
        UserTypeError(
            f"expected an array or a number, got {_article(kind.__name__)}",
            mend="convert it with np.asarray outside the compiled function",
        )
    )


def constant(number: Any, kind: Scalar | Tensor) -> Value:
    """A constant of the IR: a number, or nested tuples of numbers for a tensor."""
    return current_trace().make("constant", value=number, type=kind)


def is_weak(operand: Any) -> bool:
    """Whether NumPy would take ``operand`` as a Python number (NEP 50)."""
    if isinstance(operand, Tracer):
        return isinstance(operand, NumberTracer | SizeTracer)
    return type(operand) in (bool, int, float, complex) or (
        isinstance(operand, int | float | complex) and not isinstance(operand, np.generic)
    )


def type_of(operand: Any) -> Tensor | Scalar:
    """The type that `lift` would give, without recording a constant."""
    if isinstance(operand, SizeTracer):
        return Scalar(I64, True)
    if isinstance(operand, Tracer):
        type_ = operand.value.type
        assert isinstance(type_, Tensor | Scalar)
        return type_
    if isinstance(operand, np.generic):
        return Scalar(element_type(operand.dtype))
    if type(operand) is np.ndarray:
        return Tensor(element_type(operand.dtype), operand.shape)
    for python_type, dtype in ((bool, BOOL), (int, I64), (float, F64), (complex, C128)):
        if isinstance(operand, python_type):
            return Scalar(dtype, True)
    type_ = lift(operand).type
    assert isinstance(type_, Tensor | Scalar)
    return type_


def element_type(dtype: np.dtype[Any]) -> DType:
    """The element type of a NumPy dtype. Raises `UserTypeError` where jitflow has none."""
    found = dtype_of(dtype)
    if found is None:
        raise located(
            UserTypeError(
                f"arrays of dtype {dtype} are not compiled",
                expected="bool, integers, floats up to 64 bits and complex numbers, in native byte order",
                mend="convert the array with .astype(...) before the call",
            )
        )
    return found


def located(error: UserError) -> UserError:
    """``error`` at the user's line, if something is being traced."""
    trace = active_trace()
    return error if trace is None else trace.locate(error)


def _size_value(dim: Dim) -> Value:
    trace = current_trace()
    return trace.make("cast", trace.make("size", dim=dim), dtype=I64, weak=True)


def _literal(array: np.ndarray[Any, Any]) -> Value:
    dtype = element_type(array.dtype)
    if array.size > LARGEST_LITERAL:
        raise located(
            UserNotImplementedError(
                f"an array of {array.size} elements was computed while tracing",
                found=f"an array of shape {array.shape} that depends on no traced value",
                expected=f"at most {LARGEST_LITERAL} elements, which become constants of the code",
                mend="compute it before the call and pass it as an argument, or keep it in a global variable",
            )
        )
    return constant(_tuples(array.tolist()), Tensor(dtype, array.shape))


def _literal_sequence(items: list[Any] | tuple[Any, ...]) -> Value:
    if any(isinstance(item, Tracer | list | tuple) for item in items):
        replacement = _dispatch().REPLACEMENTS[np.array]
        return lift(replacement(items))
    array = np.asarray(items)
    if array.dtype.kind not in "biufc":
        raise located(UserTypeError(f"expected numbers, got {_article(type(items).__name__)} of dtype {array.dtype}"))
    return _literal(array)


def _tuples(items: Any) -> Any:
    return tuple(_tuples(item) for item in items) if isinstance(items, list) else items


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


# -- operators -----------------------------------------------------------------------------------------


def _ufunc_binary(name: str, left: Any, right: Any) -> Any:
    return _dispatch().apply_ufunc(BINARY.get(name) or COMPARISONS[name], "__call__", (left, right), {})


def _ufunc_unary(name: str, operand: Any) -> Any:
    return _dispatch().apply_ufunc(UNARY[name], "__call__", (operand,), {})


def _ufunc_in_place(name: str, target: Any, operand: Any) -> Any:
    return _dispatch().apply_ufunc(BINARY[name], "__call__", (target, operand), {"out": (target,)})


def _number_binary(name: str, left: Any, right: Any) -> Any:
    if is_weak(left) and is_weak(right):
        return _python(name, left, right)
    if _is_foreign(left) or _is_foreign(right):
        return NotImplemented
    return _ufunc_binary(name, left, right)


def _number_unary(name: str, operand: Any) -> Any:
    return _python(name, operand)


def _is_foreign(operand: Any) -> bool:
    """What Python numbers have no operators with: lists, strings, None."""
    return not isinstance(operand, Tracer | np.ndarray | np.generic | int | float | complex)


def _size_binary(name: str, left: Any, right: Any) -> Any:
    from jitflow.frontend.sizes import size_operation

    if _is_size(left) and _is_size(right):
        result = size_operation(name, left, right)
        if result is not NotImplemented:
            return result
    elif name == "mul" and (isinstance(left, list | tuple | str) or isinstance(right, list | tuple | str)):
        return left * int(right) if isinstance(right, SizeTracer) else int(left) * right
    return _number_binary(name, left, right)


def _size_unary(name: str, operand: SizeTracer) -> Any:
    from jitflow.frontend.sizes import size_unary

    return size_unary(name, operand)


def _is_size(operand: Any) -> bool:
    return isinstance(operand, SizeTracer) or type(operand) in (int, bool)


def _python(name: str, *operands: Any) -> Any:
    from jitflow.frontend.python_numbers import apply

    return apply(name, *operands)


define_operators(ArrayTracer, _ufunc_binary, _ufunc_unary, _ufunc_in_place)
define_operators(ScalarTracer, _ufunc_binary, _ufunc_unary)
define_operators(NumberTracer, _number_binary, _number_unary)
define_operators(SizeTracer, _size_binary, _size_unary)


# -- errors ----------------------------------------------------------------------------------------------


def _escaped(tracer: Tracer, trace: Trace) -> UserError:
    return located(
        UserRuntimeError(
            f"a traced value outlived the function that it belongs to: {tracer._describe()} of {trace.name}",
            expected="values that leave a compiled function to be returned by it",
            mend="return the value; do not keep it in a global, an attribute or a list that outlives the call",
        )
    )


def _needs_number(tracer: Tracer, message: str, mend: str) -> UserError:
    if active_trace() is not tracer._trace:
        return _escaped(tracer, tracer._trace)
    return located(UserNotImplementedError(message, mend=mend))


@cache
def _dispatch() -> Any:
    # Imported late: the functions of NumPy are written in terms of the tracers.
    from jitflow.frontend.numpy import dispatch

    return dispatch
