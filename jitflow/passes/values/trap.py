"""Stops a program at the first op that makes a nan or an infinity: `jitflow.function(check="nan")`.

An op *makes* a nan where its result is nan and nothing that it was computed from is, and an infinity where its result
is infinite and all that it was computed from is finite. These are IEEE's invalid operation, division by zero and
overflow, at which NumPy's ``np.errstate`` raises FloatingPointError; what is handed on, chosen, or stands in the
program as a constant, such as an infinite sentinel, is not made. For elementwise ops and reductions that is asked
element by element, of other ops as a whole.

    %y: f64[n] = log %x           ->          %y: f64[n] = log %x
                                              %3: bool = ...some element made
                                              if %3 { ...the first position, and what stands there
                                                check %false, ... {error="UserFloatingPointError"} }

The function must not be simplified yet, since branches that are computed both ways would be asked for what the program
never computes; once derivatives are written out, the pass runs again for the ops of the reverse sweep, which have the
lines of the forward ones. What has been checked once is not checked again. No op overtakes a check, so the first that
fails is the first in the program; it costs most of fusion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import Index, Scalar, Tensor, dims_of

__all__ = ["trap"]

_HANDS_ON = frozenset(
    "copy select bitcast complex real imag conjugate negative copysign flush floor ceil trunc rint sign "
    "maximum minimum fmax fmin".split()
)
"""Elementwise ops whose results are finite if their operands are."""

_NAMES = {
    "reduce_add": "sum",
    "reduce_multiply": "prod",
    "reduce_m2": "var",
    "accumulate_add": "cumsum",
    "accumulate_multiply": "cumprod",
    "scatter": "add",
    "contract": "einsum",
}
"""What users call ops that are no function of NumPy's by their own names."""

_OTHERS = frozenset({"reduce_add", "reduce_multiply", "reduce_m2", "accumulate_add", "accumulate_multiply", "matmul",
                     "contract", "host_call"})  # fmt: skip


def trap(function: Function) -> Function:
    """The function with a check behind each op that may make a nan or an infinity."""
    return replace(function, region=_trapped(function.region, _checked(function.region)))


def _checked(region: Region) -> set[Value]:
    """The results that have their check already, which reports them first."""
    gathered = {op.result: op.operands[0] for op in walk(region) if op.name == "gather"}
    reported = [
        op.operands[1]
        for op in walk(region)
        if op.name == "check" and op.attributes["error"] == "UserFloatingPointError"
    ]
    return {gathered.get(value, value) for value in reported}


def _trapped(region: Region, checked: set[Value]) -> Region:
    builder = Builder()
    for op in region.ops:
        builder.loc = op.loc
        if op.name == "scatter" and op.attributes.get("combine") == "add" and _is_float(op.operands[0]):
            _scatter(builder, op)
            continue
        builder.ops.append(replace(op, regions=tuple(_trapped(inner, checked) for inner in op.regions)))
        for result in op.results:
            if _may_make(op) and _is_float(result) and result not in checked:
                _Trap(builder, op).check(result)
    return Region(region.parameters, tuple(builder.ops))


def _is_float(value: Value) -> bool:
    dtype = getattr(value.type, "dtype", BOOL)
    return not isinstance(value.type, Index) and dtype.kind in "fc"


def _may_make(op: Op) -> bool:
    return op.name in _OTHERS or ("elementwise" in op.definition.traits and op.name not in _HANDS_ON)


def _scatter(builder: Builder, op: Op) -> None:
    """Adding to elements of storage: what they were and what is added, against what they are then."""
    place, *indices, values = op.operands
    which = {"axis": op.attributes["axis"], "mode": op.attributes.get("mode", "raise")}
    before = builder.make("gather", builder.make("load", place), *indices, **which)
    builder.ops.append(op)
    after = builder.make("gather", builder.make("load", place), *indices, **which)
    whole = dims_of(values.type) in ((), dims_of(after.type))
    _Trap(builder, op, (before, values), "elements" if whole else "all").check(after)


class _Trap:
    """The check of one result."""

    def __init__(self, builder: Builder, op: Op, operands: Sequence[Value] | None = None, how: str = "") -> None:
        self.builder = builder
        self.name = op.attributes["routine"] if op.name == "host_call" else _NAMES.get(op.name, op.name)
        self.operands = [value for value in (op.operands if operands is None else operands) if _is_float(value)]
        elementwise, folds = "elementwise" in op.definition.traits, "reduction" in op.definition.traits
        self.how = how or ("elements" if elementwise else "axes" if folds else "all")
        self.axes: tuple[int, ...] = op.attributes.get("axes", ())
        self.shown = op.operands

    def check(self, result: Value) -> None:
        """Build the check of a result."""
        dims = dims_of(result.type)
        if not dims:
            self._fail(self.make("logical_not", self._made(result)), result, ())
            return
        made, axes = self._made(result), tuple(range(len(dims)))
        some = self.make("reduce_logical_or", made, axes=axes)
        outer, self.builder = self.builder, Builder(loc=self.builder.loc)
        first = self.make("reduce_argmax", made, axes=axes)
        self._fail(self.make("constant", value=False, type=Scalar(BOOL)), result, self._position(first, dims))
        failing, self.builder = self.builder.region((), ()), outer
        nothing = Builder(loc=outer.loc).region((), ())
        outer.add("if", some, types=(), regions=(failing, nothing), rare=0)

    def make(self, name: str, *operands: Value, **keywords: Any) -> Value:
        return self.builder.make(name, *operands, **keywords)

    def _made(self, result: Value) -> Value:
        """Whether the op made each element of the result."""
        make = self.make
        new, beyond = make("isnan", result), make("isinf", result)
        for operand in self.operands:
            nan = self._of_operand("reduce_logical_or", make("isnan", operand))
            new = make("logical_and", new, make("logical_not", nan))
            finite = self._of_operand("reduce_logical_and", make("isfinite", operand))
            beyond = make("logical_and", beyond, finite)
        return make("logical_or", new, beyond)

    def _of_operand(self, fold: str, marks: Value) -> Value:
        """What is known of an operand, for each element of the result."""
        rank = len(dims_of(marks.type))
        if self.how == "elements" or not rank:
            return marks
        return self.make(fold, marks, axes=self.axes if self.how == "axes" else tuple(range(rank)))

    def _position(self, number: Value, dims: Sequence[Dim]) -> list[Value]:
        """The position of an element by its number in C order."""
        position: list[Value] = []
        for dim in reversed(dims):
            size = self.make("cast", self.make("size", dim=dim), dtype=I64)
            position.insert(0, self.make("remainder", number, size))
            number = self.make("floor_divide", number, size)
        return position

    def _fail(self, fine: Value, result: Value, where: Sequence[Value]) -> None:
        """The check itself: what was made, of which numbers or of arrays of which sizes, and where."""
        shown: list[Value] = []
        text = f"{self.name} made {self._number(result, where, shown)}"
        if self.how == "elements":
            of = [self._number(value, where, shown) for value in self.operands]
        else:
            of = [f"an array of shape {self._shape(value, shown)}" for value in self.shown]
        text += f" of {' and '.join(of)}" if of else ""
        if where:
            shown += where
            text += f", at [{', '.join('{}' for _ in where)}] of an array of shape {self._shape(result, shown)}"
        self.builder.add("check", fine, *shown, error="UserFloatingPointError", message=text)

    def _number(self, value: Value, where: Sequence[Value], shown: list[Value]) -> str:
        if dims_of(value.type):
            value = self.make("gather", value, *where, axis=0, mode="clip")
        is_complex = isinstance(value.type, Scalar | Tensor) and value.type.dtype.is_complex
        shown += [self.make("real", value), self.make("imag", value)] if is_complex else [value]
        return "complex({}, {})" if is_complex else "{}"

    def _shape(self, value: Value, shown: list[Value]) -> str:
        dims = dims_of(value.type)
        shown += [self.make("size", dim=dim) for dim in dims]
        return f"({', '.join('{}' for _ in dims)}{',' * (len(dims) == 1)})"
