"""The machine that writes IR: a primitive becomes an op on scalars or vectors.

`BuilderMachine` is the `Machine` for which the expansions are written, over a `Builder`. Its methods add one op each
and never ask whether a backend has it: by the protocol they are called for primitives only. Beyond the protocol it has
what the expansions of whole ops ask for (`notation.py`): `apply` adds *any* elementwise op, in whatever way the machine
in use treats it (`ExpandingMachine` in `expand.py` expands it on the spot); `repeat_while` makes a loop.

A constant has the shape of what is being expanded, which the machine is told by `shape_like`. Constants of a function
are made once and collected in `constants`; the pass puts them in front of everything else, so that they can be used
inside and after any region.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

from jitflow.ir.core import NO_ATTRIBUTES, Attributes, Builder, Op, Region, Value
from jitflow.ir.dtypes import BOOL, DTYPES
from jitflow.ir.types import Index, Scalar, Type, Vector
from jitflow.passes.expand.primitives import INDEX, dtype_name

__all__ = ["BuilderMachine"]


class BuilderMachine:
    """`Machine` over a `Builder`; values are `Value` objects of type `Scalar`, `Vector` or `Index`."""

    def __init__(self, builder: Builder | None = None) -> None:
        self.builder = Builder() if builder is None else builder
        self.constants: list[Op] = []
        self._constants: dict[tuple[str, str, int], Value] = {}
        self._lanes = 0
        self._types: dict[tuple[str, int], Type] = {}
        self._cast_attributes = {name: MappingProxyType({"dtype": dtype}) for name, dtype in DTYPES.items()}

    # -- shapes and types

    def shape_like(self, type: Type) -> None:
        """From now on values have the lanes of this type."""
        self._lanes = type.lanes if isinstance(type, Vector) else 0

    def type(self, dtype: str) -> Type:
        """The type of a value of this dtype in the present shape."""
        key = (dtype, self._lanes)
        known = self._types.get(key)
        if known is None:
            known = self._types[key] = self._make_type(dtype)
        return known

    def _make_type(self, dtype: str) -> Type:
        if dtype == INDEX:
            return Index()
        if self._lanes:
            return Vector(DTYPES[dtype], self._lanes)
        return Scalar(DTYPES[dtype])

    def dtype(self, x: Value) -> str:
        return dtype_name(x.type)

    # -- ops

    def emit(
        self,
        name: str,
        operands: tuple[Value, ...],
        types: Sequence[Type],
        attributes: Attributes = NO_ATTRIBUTES,
        regions: tuple[Region, ...] = (),
    ) -> tuple[Value, ...]:
        """Add an op as it is. The types are the caller's word: inferring them again would double the compile time."""
        results = tuple(Value(type) for type in types)
        builder = self.builder
        builder.ops.append(Op(builder.table[name], operands, results, attributes, regions, builder.loc))
        return results

    def primitive(self, name: str, *operands: Value) -> Value:
        """Add an op whose result has its last operand's dtype."""
        return self.emit(name, operands, (self.type(dtype_name(operands[-1].type)),))[0]

    def predicate(self, name: str, *operands: Value) -> Value:
        """Add an op whose result is a mask."""
        return self.emit(name, operands, (self.type("bool"),))[0]

    def apply(self, name: str, *operands: Value, **attributes: Any) -> Value:
        """Add any elementwise op, primitive or not, its type inferred from the table."""
        return self.builder.make(name, *operands, **attributes)

    def convert(self, x: Value, dtype: str) -> Value:
        """Convert as NumPy's ``astype`` does, whatever the value; `cast` asks for values in range."""
        return self.apply("cast", x, dtype=DTYPES[dtype])

    def constant(self, value: complex, dtype: str) -> Value:
        key = (dtype, repr(value), self._lanes)
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self._make_constant(value, dtype)
        return known

    def _make_constant(self, value: complex, dtype: str) -> Value:
        table, loc = self.builder.table, self.builder.loc
        if dtype == INDEX:
            assert isinstance(value, int)
            size = Value(Index(value))
            self.constants.append(Op(table["size"], (), (size,), MappingProxyType({"dim": value}), (), loc))
            return size
        type = Scalar(DTYPES[dtype])
        scalar = Value(type)
        attributes = MappingProxyType({"value": value, "type": type})
        self.constants.append(Op(table["constant"], (), (scalar,), attributes, (), loc))
        if not self._lanes:
            return scalar
        vector = Value(Vector(type.dtype, self._lanes))
        lanes = MappingProxyType({"lanes": self._lanes})
        self.constants.append(Op(table["splat"], (scalar,), (vector,), lanes, (), loc))
        return vector

    # -- control flow

    def region(self, build: Callable[..., Sequence[Value]], types: Sequence[Type] = ()) -> Region:
        """A region with parameters of these types, whose ops ``build`` adds and whose results it returns."""
        parameters = tuple(Value(type) for type in types)
        outside, self.builder.ops = self.builder.ops, []
        try:
            return self.builder.region(parameters, tuple(build(*parameters)))
        finally:
            self.builder.ops = outside

    def any(self, mask: Value) -> Value:
        """Whether any lane is set, as a scalar."""
        if not isinstance(mask.type, Vector):
            return mask
        return self.emit("any_lane", (mask,), (Scalar(BOOL),))[0]

    def if_any(
        self, mask: Value, then: Callable[[], tuple[Value, ...]], otherwise: tuple[Value, ...]
    ) -> tuple[Value, ...]:
        condition = self.any(mask)
        regions = (self.region(then), self.region(lambda: otherwise))
        return self.emit("if", (condition,), [value.type for value in otherwise], regions=regions)

    def repeat_while(
        self,
        condition: Callable[..., Value],
        body: Callable[..., tuple[Value, ...]],
        values: tuple[Value, ...],
    ) -> tuple[Value, ...]:
        """While ``condition`` of the values is set in any lane, replace them by ``body`` of them, in all lanes."""
        types = [value.type for value in values]
        regions = (
            self.region(lambda *carried: (self.any(condition(*carried)),), types),
            self.region(body, types),
        )
        return self.emit("while", values, types, regions=regions)

    def in_rare_lanes(self, mask: Value, compute: Callable[[Value], Value], x: Value, otherwise: Value) -> Value:
        """While a lane is set, compute the first one as a scalar, put it in its place, and clear its bit."""
        if not isinstance(mask.type, Vector):
            return self.if_any(mask, lambda: (compute(x),), (otherwise,))[0]
        lanes = self._lanes

        def settle_first(mask: Value, result: Value) -> tuple[Value, ...]:
            (lane,) = self.emit("first_lane", (mask,), (Index(),))
            self._lanes = 0
            (argument,) = self.emit("extract_lane", (x, lane), (self.type(self.dtype(x)),))
            value = compute(argument)
            following = self.add(lane, self.constant(1, INDEX))
            self._lanes = lanes
            (done,) = self.emit("lanes_below", (following,), (mask.type,), MappingProxyType({"lanes": lanes}))
            left = self.logical_and(mask, self.logical_not(done))
            return left, self.select(self.logical_and(mask, done), self.splat(value), result)

        return self.repeat_while(lambda mask, result: mask, settle_first, (mask, otherwise))[1]

    def check(self, failing: Value, error: str, message: str) -> None:
        """Raise ``error`` with this message if ``failing`` is set in any lane."""
        condition = self.emit("logical_not", (self.any(failing),), (Scalar(BOOL),))[0]
        escaped = message.replace("{", "{{").replace("}", "}}")
        self.emit("check", (condition,), (), MappingProxyType({"error": error, "message": escaped}))

    def splat(self, x: Value) -> Value:
        """A scalar in every lane of the present shape; vectors stay what they are."""
        if not self._lanes or not isinstance(x.type, Scalar):
            return x
        return self.emit("splat", (x,), (Vector(x.type.dtype, self._lanes),), MappingProxyType({"lanes": self._lanes}))[
            0
        ]

    # -- the primitives of the protocol

    def add(self, a: Value, b: Value) -> Value:
        return self.primitive("add", a, b)

    def subtract(self, a: Value, b: Value) -> Value:
        return self.primitive("subtract", a, b)

    def multiply(self, a: Value, b: Value) -> Value:
        return self.primitive("multiply", a, b)

    def divide(self, a: Value, b: Value) -> Value:
        return self.primitive("divide", a, b)

    def negative(self, x: Value) -> Value:
        return self.primitive("negative", x)

    def absolute(self, x: Value) -> Value:
        return self.primitive("absolute", x)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return self.primitive("fma", a, b, c)

    def sqrt(self, x: Value) -> Value:
        return self.primitive("sqrt", x)

    def floor(self, x: Value) -> Value:
        return self.primitive("floor", x)

    def ceil(self, x: Value) -> Value:
        return self.primitive("ceil", x)

    def trunc(self, x: Value) -> Value:
        return self.primitive("trunc", x)

    def rint(self, x: Value) -> Value:
        return self.primitive("rint", x)

    def copysign(self, magnitude: Value, sign: Value) -> Value:
        return self.primitive("copysign", magnitude, sign)

    def less(self, a: Value, b: Value) -> Value:
        return self.predicate("less", a, b)

    def less_equal(self, a: Value, b: Value) -> Value:
        return self.predicate("less_equal", a, b)

    def greater(self, a: Value, b: Value) -> Value:
        return self.predicate("greater", a, b)

    def greater_equal(self, a: Value, b: Value) -> Value:
        return self.predicate("greater_equal", a, b)

    def equal(self, a: Value, b: Value) -> Value:
        return self.predicate("equal", a, b)

    def not_equal(self, a: Value, b: Value) -> Value:
        return self.predicate("not_equal", a, b)

    def select(self, mask: Value, a: Value, b: Value) -> Value:
        return self.primitive("select", mask, a, b)

    def logical_and(self, a: Value, b: Value) -> Value:
        return self.primitive("logical_and", a, b)

    def logical_or(self, a: Value, b: Value) -> Value:
        return self.primitive("logical_or", a, b)

    def logical_xor(self, a: Value, b: Value) -> Value:
        return self.primitive("logical_xor", a, b)

    def logical_not(self, x: Value) -> Value:
        return self.primitive("logical_not", x)

    def bitwise_and(self, a: Value, b: Value) -> Value:
        return self.primitive("bitwise_and", a, b)

    def bitwise_or(self, a: Value, b: Value) -> Value:
        return self.primitive("bitwise_or", a, b)

    def bitwise_xor(self, a: Value, b: Value) -> Value:
        return self.primitive("bitwise_xor", a, b)

    def bitwise_not(self, x: Value) -> Value:
        return self.primitive("bitwise_not", x)

    def left_shift(self, x: Value, amount: Value) -> Value:
        return self.primitive("left_shift", x, amount)

    def right_shift(self, x: Value, amount: Value) -> Value:
        return self.primitive("right_shift", x, amount)

    def multiply_high(self, a: Value, b: Value) -> Value:
        return self.primitive("multiply_high", a, b)

    def cast(self, x: Value, dtype: str) -> Value:
        return self.emit("cast", (x,), (self.type(dtype),), self._cast_attributes[dtype])[0]

    def bitcast(self, x: Value, dtype: str) -> Value:
        return self.emit("bitcast", (x,), (self.type(dtype),), self._cast_attributes[dtype])[0]
