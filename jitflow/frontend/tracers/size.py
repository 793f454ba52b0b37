"""Sizes while a program is traced: exact, symbolic, without ops; decisions on them are recorded as facts."""

from __future__ import annotations

from typing import Any, SupportsIndex

from jitflow.errors import UserTypeError, UserZeroDivisionError
from jitflow.frontend.recording.trace import Trace, active_trace, current_trace
from jitflow.frontend.tracers.base import Tracer, escaped, lacking, located
from jitflow.frontend.tracers.operators import define_operators
from jitflow.frontend.tracers.scalar import NumberTracer, number_binary
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, Expression, maximum
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Scalar

__all__ = ["NEGATIVE_SIZE", "SizeTracer", "as_size", "dim_of", "size_of"]

_LARGEST_POWER = 8
_DECISION = "a decision on a size"

NEGATIVE_SIZE = "negative dimensions are not allowed"


class SizeTracer(Tracer):
    """A size: a Python int whose value is a dim.

    Arithmetic among sizes and ints is exact and free. A comparison is decided by the sizes of this call and recorded
    as a `Fact`; where Python needs the number itself (``int(n)``, a key, a list index, ``range``), an equality is.
    """

    __slots__ = ("dim",)
    is_python_number = True

    def __init__(self, dim: Expression, trace: Trace | None = None) -> None:
        # The op that makes it a number is recorded only where it meets numbers (`lift`).
        self.dim = dim
        self._trace = current_trace() if trace is None else trace

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    @property
    def value(self) -> Value:
        """The size as a weak i64."""
        return size_value(self._live())

    def _live(self) -> Expression:
        if active_trace() is not self._trace:
            raise escaped(self, self._trace)
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

    def __round__(self, digits: int | None = None) -> SizeTracer:
        return self if digits is None or digits >= 0 else surface.arithmetic("round", self, digits)

    def __trunc__(self) -> SizeTracer:
        return self

    __floor__ = __ceil__ = __trunc__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(lacking(self, name))
        if name in ("real", "numerator"):
            return self
        if name in ("imag", "denominator"):
            return 0 if name == "imag" else 1
        if name in ("conjugate", "__pos__"):
            return lambda: self
        if not hasattr(int, name):
            raise AttributeError(lacking(self, name))
        return getattr(self._number(f"the attribute {name!r} of a size"), name)


def size_of(dim: Dim) -> Any:
    """The dim as the program sees it: an int if it is known, else a `SizeTracer`."""
    trace = current_trace()
    dim = trace.shortened(trace.resolve(dim))
    return dim if isinstance(dim, int) else SizeTracer(dim)


def as_size(number: Any) -> Any:
    """An integer of the program as a size, if an argument determines it and it is not negative; else as it is."""
    if isinstance(number, NumberTracer):
        dim = number.as_dim()
        return number if dim is None else size_of(dim)
    return number


def dim_of(size: Any, message: str = NEGATIVE_SIZE) -> Dim:
    """The dim that a size given by the program is. Raises `UserTypeError` for what is not an integer.

    An integer that only the running program knows is bound as a new size; the code raises ValueError if it is negative,
    with ``message``, in which ``{}`` stands for the number.
    """
    if isinstance(size, SizeTracer):
        return size._live()
    if isinstance(size, Expression):  # a dim already
        return size
    if isinstance(size, NumberTracer):
        number = size.pinned()
        if isinstance(number, int):
            return int(number)
        dim = size.as_dim()
        if dim is not None:
            return dim
    if isinstance(size, Tracer):
        given: Any = size
        dtype = getattr(given.value.type, "dtype", None)
        rank = given.ndim if hasattr(given, "ndim") and not isinstance(given, NumberTracer) else 0
        if dtype is None or not dtype.is_integer or rank:
            raise located(UserTypeError(f"'{size.__class__.__name__}' object cannot be interpreted as an integer"))
        return _bound_size(size, message)
    if isinstance(size, SupportsIndex):
        return size.__index__()
    raise located(UserTypeError(f"'{type(size).__name__}' object cannot be interpreted as an integer"))


def _bound_size(number: Tracer, message: str) -> Dim:
    trace = current_trace()
    value = trace.make("cast", number.value, dtype=I64)
    zero = trace.make("constant", value=0, type=Scalar(I64))
    enough = trace.make("greater_equal", value, zero)
    trace.add("check", enough, *[value] * message.count("{}"), error="ValueError", message=message)
    size = trace.size("size")
    trace.make("to_index", value, binds=str(size))
    return size


def size_value(dim: Dim) -> Value:
    trace = current_trace()
    return trace.make("cast", trace.make("size", dim=dim), dtype=I64, weak=True)


# -- arithmetic


def size_operation(name: str, left: Any, right: Any) -> Any:
    """``left name right`` for sizes and ints, at least one of them a `SizeTracer`.

    ``NotImplemented`` for operators whose result is no size (true division, negative powers, bits): those are
    computed on numbers.
    """
    first, second = dim_of(left), dim_of(right)
    if name == "add":
        return size_of(first + second)
    if name == "sub":
        return size_of(first - second)
    if name == "mul":
        return size_of(first * second)
    if name in ("floordiv", "mod", "divmod"):
        return _divide(name, first, second)
    if name == "pow" and isinstance(second, int) and 0 <= second <= _LARGEST_POWER:
        power: Dim = 1
        for _ in range(second):
            power = power * first
        return size_of(power)
    return _compare(name, first, second)


def size_unary(name: str, operand: SizeTracer) -> Any:
    """``-n  +n  ~n  abs(n)`` of a size."""
    dim = dim_of(operand)
    if name == "neg":
        return size_of(-dim)
    if name == "invert":
        return size_of(-dim - 1)
    if name != "abs":
        return operand
    trace = current_trace()
    if trace.is_open(dim) and trace.known(dim, ">=", 0) is None:
        return size_of(maximum(dim, -dim))
    return operand if trace.decide(dim, ">=", 0, "abs() of a size") else size_of(-dim)


def _divide(name: str, first: Dim, second: Dim) -> Any:
    trace = current_trace()
    if trace.is_open(second) and trace.known(second, "==", 0) is None:
        return NotImplemented  # a number, whose division is checked when it runs
    if trace.decide(second, "==", 0, "the division by a size"):
        words = "integer modulo by zero" if name == "mod" else "integer division or modulo by zero"
        raise located(UserZeroDivisionError(words))
    if name == "floordiv":
        return size_of(first // second)
    if name == "mod":
        return size_of(first % second)
    return size_of(first // second), size_of(first % second)


def _compare(name: str, first: Dim, second: Dim) -> Any:
    if _is_undecided(name, first, second):
        return NotImplemented  # a comparison of numbers, made when the program runs
    decide = current_trace().decide
    if name == "eq":
        return decide(first, "==", second, _DECISION)
    if name == "ne":
        return decide(first, "!=", second, _DECISION)
    if name == "lt":
        return decide(first, "<", second, _DECISION)
    if name == "ge":
        return decide(first, ">=", second, _DECISION)
    if name == "gt":
        return decide(second, "<", first, _DECISION)
    if name == "le":
        return decide(second, ">=", first, _DECISION)
    return NotImplemented


def _is_undecided(name: str, first: Dim, second: Dim) -> bool:
    trace = current_trace()
    if name in ("gt", "le"):
        first, second = second, first
    relation = {"eq": "==", "ne": "!=", "lt": "<", "gt": "<", "ge": ">=", "le": ">="}.get(name)
    if relation is None or not trace.is_open(first - second):
        return False
    return trace.known(first, relation, second) is None


def _size_binary(name: str, left: Any, right: Any) -> Any:
    if _is_size(left) and _is_size(right):
        result = size_operation(name, left, right)
        if result is not NotImplemented:
            return result
    elif name == "mul" and (isinstance(left, list | tuple | str) or isinstance(right, list | tuple | str)):
        items, times = (left, right) if isinstance(right, SizeTracer) else (right, left)
        if type(items) is list and current_trace().is_open(times.dim):
            return surface.repeated(items, times)
        return items * int(times)
    return number_binary(name, left, right)


def _is_size(operand: Any) -> bool:
    return isinstance(operand, SizeTracer) or type(operand) in (int, bool)


define_operators(SizeTracer, _size_binary, size_unary)
