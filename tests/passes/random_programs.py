"""Random programs over tensors: numbers and views, reductions, conditions, loops and variables, always well typed.

They are built to hit rewrite rules: constants are the ones that rules look for, and values are used again and again.
"""

from __future__ import annotations

from random import Random
from typing import Any

from jitflow.ir.core import Builder, Fact, Function, Value
from jitflow.ir.dims import symbol
from jitflow.ir.dtypes import BOOL, DTYPES, DType
from jitflow.ir.types import Index, Scalar, Tensor, Variable, dims_of

__all__ = ["random_program"]

N, M = symbol("n"), symbol("m")
_DTYPES = [DTYPES[name] for name in ("f32", "f64", "i32", "i64", "u8", "bool")]
_CONSTANTS: dict[str, list[Any]] = {
    "f": [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, float("nan"), float("inf")],
    "i": [0, 1, -1, 2, 3],
    "u": [0, 1, 2, 3],
    "b": [True, False],
}
_BINARY = {
    "f": ["add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "copysign"],
    "i": ["add", "subtract", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "floor_divide"],
    "u": ["add", "subtract", "multiply", "bitwise_and", "bitwise_xor", "minimum", "remainder"],
    "b": ["logical_and", "logical_or", "logical_xor", "equal", "not_equal"],
}
_UNARY = {
    "f": ["negative", "absolute", "floor", "ceil", "rint", "sqrt", "trunc"],
    "i": ["negative", "absolute", "bitwise_not"],
    "u": ["absolute", "bitwise_not"],
    "b": ["logical_not"],
}
_COMPARISONS = ["less", "less_equal", "greater", "equal", "not_equal"]


def random_program(seed: int, length: int = 25) -> Function:
    """A program of about ``length`` ops; the same for the same seed."""
    return _Maker(Random(seed)).program(length)


class _Maker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.builder = Builder()
        self.values: list[Value] = []
        self.variables: list[Value] = []
        self.loops = 0

    def program(self, length: int) -> Function:
        shapes = [(), (N,), (N, M), (N, 3), (1,)]
        parameters = [
            Value(Tensor(dtype, dims) if dims else Scalar(dtype), f"x{number}")
            for number, (dtype, dims) in enumerate(
                (self.random.choice(_DTYPES), self.random.choice(shapes)) for _ in range(4)
            )
        ]
        dtype = self.random.choice(_DTYPES)
        parameters += [Value(Tensor(dtype, (N, M)), "y"), Value(Variable(dtype, (N, M)), "v")]
        self.values = [value for value in parameters if not isinstance(value.type, Variable)]
        self.variables = [parameters[-1]]
        self.ops(length)
        yielded = self.random.sample(self.values, min(4, len(self.values)))
        facts = (Fact(N, ">=", 2), Fact(M, ">=", 1))
        return Function("random", self.builder.region(parameters, yielded), facts)

    def ops(self, count: int) -> None:
        steps = [
            self.unary, self.binary, self.binary, self.binary, self.compare, self.select, self.cast, self.view,
            self.view, self.spread, self.reduce, self.constant, self.power, self.store, self.load, self.branch,
            self.loop, self.again,
        ]  # fmt: skip
        for _ in range(count):
            self.random.choice(steps)()

    def keep(self, value: Value) -> Value:
        self.values.append(value)
        return value

    def pick(self, kinds: str = "biuf", rank: int | None = None) -> Value | None:
        fitting = [
            value
            for value in self.values
            if value.type.dtype.kind in kinds  # type: ignore[union-attr]
            and (rank is None or len(dims_of(value.type)) >= rank)
        ]
        return self.random.choice(fitting) if fitting else None

    def partner(self, value: Value) -> Value:
        """An operand that goes with ``value``: a constant, itself, or a value of that dtype and shape."""
        dtype = _dtype(value)
        fitting = [other for other in self.values if _dtype(other) == dtype and _meets(other, value)]
        if fitting and self.random.random() < 0.6:
            return self.random.choice(fitting)
        number = self.builder.make(
            "constant", value=self.random.choice(_CONSTANTS[dtype.kind]), type=Scalar(dtype)
        )  # fmt: skip
        if isinstance(value.type, Tensor) and self.random.random() < 0.5:
            return self.builder.make("broadcast", number, dims=value.type.dims, axes=())
        return number

    def unary(self) -> None:
        value = self.pick()
        if value is not None:
            self.keep(self.builder.make(self.random.choice(_UNARY[_dtype(value).kind]), value))

    def binary(self) -> None:
        value = self.pick()
        if value is not None:
            operands = [value, self.partner(value)]
            self.random.shuffle(operands)
            self.keep(self.builder.make(self.random.choice(_BINARY[_dtype(value).kind]), *operands))

    def power(self) -> None:
        value = self.pick("f")
        if value is not None:
            exponent = self.builder.make(
                "constant", value=self.random.choice([0.0, 0.5, 1.0, 2.0, -1.0]), type=Scalar(_dtype(value))
            )
            self.keep(self.builder.make("power", value, exponent))

    def compare(self) -> None:
        value = self.pick("iuf")
        if value is not None:
            self.keep(self.builder.make(self.random.choice(_COMPARISONS), value, self.partner(value)))

    def select(self) -> None:
        value = self.pick()
        conditions = [other for other in self.values if _dtype(other) == BOOL and value and _meets(other, value)]
        if value is not None and conditions:
            arms = [value, self.partner(value)]
            self.random.shuffle(arms)
            self.keep(self.builder.make("select", self.random.choice(conditions), *arms))

    def cast(self) -> None:
        # From floats to integers the numbers out of range are undefined, so those are not cast.
        value = self.pick("biu")
        if value is not None:
            self.keep(self.builder.make("cast", value, dtype=self.random.choice(_DTYPES)))
        value = self.pick("f")
        if value is not None:
            self.keep(self.builder.make("cast", value, dtype=DTYPES[self.random.choice(["f32", "f64", "bool"])]))

    def view(self) -> None:
        value = self.pick(rank=1)
        if value is None:
            return
        assert isinstance(value.type, Tensor)
        dims = value.type.dims
        kind = self.random.choice(["transpose", "reshape", "slice", "slice"])
        if kind == "transpose":
            axes = list(range(len(dims)))
            self.random.shuffle(axes)
            self.keep(self.builder.make("transpose", value, axes=tuple(axes)))
        elif kind == "reshape":
            total = self.random.choice([dims, (*dims, 1), (1, *dims), tuple(dim for dim in dims if dim != 1)])
            if total:
                self.keep(self.builder.make("reshape", value, dims=total))
        else:
            backwards = [self.random.random() < 0.4 for _ in dims]
            starts = tuple(dim - 1 if back else 0 for dim, back in zip(dims, backwards, strict=True))
            steps = tuple(-1 if back else 1 for back in backwards)
            self.keep(self.builder.make("slice", value, starts=starts, sizes=dims, steps=steps))

    def spread(self) -> None:
        value = self.pick()
        if value is None:
            return
        dims = dims_of(value.type)
        target = self.random.choice([(N, M), (N, 3), (2, N, M)])
        for axes in ((), (0,), (1,), (0, 1), (1, 2)):
            if len(axes) == len(dims) and all(
                axis < len(target) and dim in (1, target[axis]) for axis, dim in zip(axes, dims, strict=True)
            ):
                self.keep(self.builder.make("broadcast", value, dims=target, axes=axes))
                return

    def reduce(self) -> None:
        value = self.pick("iuf", rank=1)
        if value is not None:
            axes = [axis for axis in range(len(dims_of(value.type))) if self.random.random() < 0.5]
            name = self.random.choice(["reduce_maximum", "reduce_minimum", "reduce_fmax"])
            if _dtype(value).is_integer:
                name = self.random.choice([name, "reduce_add", "reduce_multiply"])
            self.keep(self.builder.make(name, value, axes=tuple(axes)))

    def constant(self) -> None:
        dtype = self.random.choice(_DTYPES)
        number = self.random.choice(_CONSTANTS[dtype.kind])
        self.keep(self.builder.make("constant", value=number, type=Scalar(dtype)))

    def again(self) -> None:
        """The same computation once more, for common subexpressions to be found."""
        made = [op for op in self.builder.ops if "elementwise" in op.definition.traits]
        if made:
            op = self.random.choice(made)
            self.keep(self.builder.make(op.name, *op.operands, **op.attributes))

    def load(self) -> None:
        variable = self.random.choice(self.variables)
        self.keep(self.builder.make("load", variable))

    def store(self) -> None:
        variable = self.random.choice(self.variables)
        assert isinstance(variable.type, Variable)
        fitting = [
            value
            for value in self.values
            if _dtype(value) == variable.type.dtype and dims_of(value.type) in ((), variable.type.dims)
        ]
        if fitting:
            self.builder.add("store", variable, self.random.choice(fitting))
        if self.random.random() < 0.2:
            value = self.pick(rank=1)
            if value is not None:
                self.variables.append(self.builder.make("variable", value))

    def branch(self) -> None:
        conditions = [value for value in self.values if value.type == Scalar(BOOL)]
        value = self.pick()
        if not conditions or value is None:
            return
        regions = [self.inner([], value)[0] for _ in range(2)]
        (result,) = self.builder.add(
            "if", self.random.choice(conditions), types=[value.type], regions=tuple(regions)
        )  # fmt: skip
        self.keep(result)

    def loop(self) -> None:
        value = self.pick()
        if value is None:
            return
        bounds = [self.builder.make("size", dim=dim) for dim in (0, self.random.choice([0, 2, N]), 1)]
        self.loops += 1
        position, carried = Value(Index(symbol(f"i{self.loops}"))), Value(value.type)
        region, _ = self.inner([position, carried], carried)
        (result,) = self.builder.add("for", *bounds, value, types=[value.type], regions=(region,))
        self.keep(result)

    def inner(self, parameters: list[Value], like: Value) -> tuple[Any, Value]:
        """A region that yields a value of the type of ``like``."""
        outer_ops, self.builder.ops = self.builder.ops, []
        outer_values, outer_variables = list(self.values), list(self.variables)
        self.values += [value for value in parameters if not isinstance(value.type, Index)]
        for _ in range(3):
            self.random.choice([self.unary, self.binary, self.view, self.store, self.load])()
        fitting = [value for value in self.values if value.type == like.type] or [like]
        yielded = self.random.choice(fitting)
        region = self.builder.region(parameters, [yielded])
        self.builder.ops, self.values, self.variables = outer_ops, outer_values, outer_variables
        return region, yielded


def _dtype(value: Value) -> DType:
    assert isinstance(value.type, Tensor | Scalar)
    return value.type.dtype


def _meets(other: Value, value: Value) -> bool:
    """Whether the two can be operands of one elementwise op."""
    return not dims_of(other.type) or dims_of(other.type) == dims_of(value.type)
