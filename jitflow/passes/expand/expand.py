"""Expand: every elementwise op becomes primitives that backends emit; `primitives.py` is the contract.

One forward sweep: an op is expanded where it stands, and what its expansion applies in turn is expanded on the spot,
so nothing is visited twice. Complex numbers are split into their parts first, where there are any. Python's numbers
lose their weakness (promotion is over), with their checks made explicit. Scalars beside vectors are splatted. What is
long and stands in a host program several times becomes a function that it calls.

Before and after, for two lanes::

    kernel @floor_divide(%0: u32x2, %1: u32x2) {      kernel @floor_divide(%0: u32x2, %1: u32x2) {
      %2: u32x2 = floor_divide %0, %1                   %2: u32 = constant {value=0, type=<u32>}
      yield %2                                          %3: u32x2 = splat %2 {lanes=2}
    }                                                   %4: u32 = constant {value=1, type=<u32>}
                                                        %5: u32x2 = splat %4 {lanes=2}
                                                        %6: boolx2 = equal %1, %3
                                                        %7: u32x2 = select %6, %5, %1
                                                        %8: u32x2 = divide_truncated %0, %7
                                                        %9: u32x2 = select %6, %3, %8
                                                        yield %9
                                                      }

It relies on types that are right, and it does not look at values: an expansion of a constant operand is left to the
simplifications of the backend.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.dtypes import DTYPES, DType
from jitflow.ir.types import Scalar, Type, Vector
from jitflow.passes.expand import EXPANSIONS
from jitflow.passes.expand.arithmetic import ARITHMETIC
from jitflow.passes.expand.builder_machine import BuilderMachine
from jitflow.passes.expand.casts import expand_cast
from jitflow.passes.expand.checked import expand_checked
from jitflow.passes.expand.notation import Number
from jitflow.passes.expand.primitives import FOLDS, dtype_class, dtype_name, is_primitive
from jitflow.passes.expand.rewrite import Rewriter
from jitflow.passes.expand.split_complex import has_complex, split_complex
from jitflow.passes.expand.term import Term

__all__ = ["expand"]


def expand(function: Function) -> Function:
    """A kernel, or a host program and its kernels, in primitives only."""
    functions = tuple(expand(inner) for inner in function.functions)
    if has_complex(function):
        function = split_complex(function)
    shared = _shared_functions(function)
    return replace(_Expander(shared).function(function), functions=(*functions, *shared.values()))


def _shared_functions(function: Function) -> dict[tuple[str, str], Function]:
    """By name and dtype, the long functions that a host program computes of numbers in several places.

    They become functions that it calls. Kernels have no such: a vector function would need a call in every loop.
    """
    if function.layer != "host":
        return {}
    found = Counter(key for key in map(_shareable, walk(function.region)) if key is not None)
    return {key[:2]: _number_function(*key) for key, places in found.items() if places > 1}


def _shareable(op: Op) -> tuple[str, str, int] | None:
    """Name, dtype and arity of a function of numbers that has a long expansion."""
    if op.name not in EXPANSIONS or op.attributes.get("checked"):
        return None
    types = {value.type.dtype.name for value in (*op.operands, *op.results) if isinstance(value.type, Scalar)}
    if len(types) != 1 or not types <= {"f32", "f64"}:
        return None
    return op.name, types.pop(), len(op.operands)


_CALLED = MappingProxyType({"called": True})


@functools.cache
def _number_function(name: str, dtype: str, arity: int) -> Function:
    """One long function on its own, the same in every program."""
    machine = ExpandingMachine()
    parameters = tuple(Value(Scalar(DTYPES[dtype]), "x") for _ in range(arity))
    machine.shape_like(parameters[0].type)
    region = machine.builder.region(parameters, (machine.apply(name, *parameters),))
    return Function(f"{name}_{dtype}", Region(parameters, (*machine.constants, *region.ops)), (), "loop", _CALLED)


Expansion = Callable[..., Value]

_PREDICATES = frozenset(
    "less less_equal greater greater_equal equal not_equal isnan isinf isfinite signbit "
    "logical_and logical_or logical_xor logical_not".split()
)


class ExpandingMachine(BuilderMachine):
    """Where `apply` and `convert` go on expanding until primitives are left."""

    def apply(self, name: str, *operands: Value, **attributes: Any) -> Value:
        if name == "cast":
            return self.convert(operands[0], attributes["dtype"].name)
        if name == "bitcast":
            return self._reinterpret(operands[0], attributes["dtype"])
        expansion = _expansion(name, dtype_name(operands[-1].type))
        return expansion(self, *operands)

    def convert(self, x: Value, dtype: str) -> Value:
        return expand_cast(Term(self, x), dtype).value

    def _reinterpret(self, x: Value, dtype: DType) -> Value:
        if "bool" in (self.dtype(x), dtype.name):
            return self.convert(x, dtype.name)
        return self.bitcast(x, dtype.name)


@functools.cache
def _expansion(name: str, dtype: str) -> Expansion:
    """How to make the op ``name`` for operands of a dtype, on a machine."""
    kind = dtype_class(dtype)
    if name in ARITHMETIC.get(kind, {}):
        return _on_terms(ARITHMETIC[kind][name])
    if kind == "float" and name in EXPANSIONS:
        return EXPANSIONS[name]
    if is_primitive(name, dtype):
        return _as_predicate(name) if name in _PREDICATES else _as_primitive(name)
    if kind == "half":
        return _through_f32(name)
    raise CompilerBug(f"expected an op that has an expansion for {dtype}, got {name}", pass_name="expand")


def _on_terms(build: Callable[..., Number]) -> Expansion:
    return lambda machine, *operands: build(*(Term(machine, operand) for operand in operands)).value


def _as_primitive(name: str) -> Expansion:
    return lambda machine, *operands: machine.primitive(name, *operands)


def _as_predicate(name: str) -> Expansion:
    return lambda machine, *operands: machine.predicate(name, *operands)


_EXTREMES = frozenset({"maximum", "minimum", "fmax", "fmin"})
"""Of two zeros the second one is taken, but for f16, where NumPy takes the first."""


def _through_f32(name: str) -> Expansion:
    def expand_half(machine: ExpandingMachine, *operands: Value) -> Value:
        dtype = machine.dtype(operands[0])
        if dtype == "f16" and name in _EXTREMES:
            operands = operands[::-1]
        wide = machine.apply(name, *(machine.convert(operand, "f32") for operand in operands))
        return wide if machine.dtype(wide) == "bool" else machine.convert(wide, dtype)

    return expand_half


class _Expander(Rewriter):
    """The sweep."""

    def __init__(self, shared: Mapping[tuple[str, str], Function]) -> None:
        super().__init__(ExpandingMachine())
        self.shared = shared
        self.numbers: dict[Value, Any] = {}
        """What the constants so far are."""

    def types(self, type: Type) -> tuple[Type, ...]:
        return (Scalar(type.dtype),) if isinstance(type, Scalar) and type.weak else (type,)

    def op(self, op: Op) -> None:
        if "elementwise" in op.definition.traits:
            self.replaced[op.result] = (self.elementwise(op),)
        elif op.name == "constant":
            self.constant(op)
        elif op.name == "fold_lanes":
            self.fold_lanes(op)
        else:
            self.copy(op)

    def elementwise(self, op: Op) -> Value:
        machine = self.machine
        machine.shape_like(op.result.type)
        operands = tuple(machine.splat(operand) for operand in self.operands(op))
        if op.name == "copy":
            return operands[0]
        if op.name == "select":
            return machine.primitive("select", *operands)
        key = _shareable(op)
        if key is not None and key[:2] in self.shared:
            callee = MappingProxyType({"function": self.shared[key[:2]].name})
            return machine.emit("call", operands, (machine.type(key[1]),), callee)[0]
        if op.attributes.get("checked"):
            known = [self.numbers.get(operand) for operand in op.operands]
            return expand_checked(op.name, tuple(Term(machine, operand) for operand in operands), known).value
        if op.name in ("cast", "bitcast"):
            return machine.apply(op.name, *operands, dtype=op.attributes["dtype"])
        return machine.apply(op.name, *operands)

    def constant(self, op: Op) -> None:
        (type,) = self.types(op.result.type)
        self.numbers[op.result] = op.attributes["value"]
        if type is not op.result.type:
            op = replace(op, attributes=MappingProxyType({**op.attributes, "type": type}))
        self.copy(op)

    def fold_lanes(self, op: Op) -> None:
        """Folds that a backend has are kept; the others go lane by lane in the same order, halves onto each other."""
        (vector,) = self.operands(op)
        assert isinstance(vector.type, Vector)
        combine, dtype = op.attributes["combine"], vector.type.dtype.name
        if combine in FOLDS.get(dtype_class(dtype), ()):
            self.copy(op)
            return
        machine = self.machine
        machine.shape_like(Scalar(vector.type.dtype))
        lanes = [
            machine.emit("extract_lane", (vector, machine.constant(lane, "index")), (Scalar(vector.type.dtype),))[0]
            for lane in range(vector.type.lanes)
        ]
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [machine.apply(combine, *pair) for pair in zip(lanes[:half], lanes[half:], strict=True)]
        self.replaced[op.result] = (lanes[0],)
