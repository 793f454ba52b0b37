"""Expand: every elementwise op becomes primitives that backends emit; `primitives.py` is the contract.

One forward sweep: an op is expanded where it stands, and what its expansion applies in turn is expanded on the spot,
so nothing is visited twice. Complex numbers are split into their parts first, where there are any. Python's numbers
lose their weakness (promotion is over), with their checks made explicit. Scalars beside vectors are splatted.
Elementary functions of single numbers stay as they are: they are the C library's (`single.py`).

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
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Value, walk
from jitflow.ir.dtypes import DType
from jitflow.ir.types import Container, Scalar, Type, Vector
from jitflow.passes.expand import EXPANSIONS
from jitflow.passes.expand.arithmetic import ARITHMETIC
from jitflow.passes.expand.builder_machine import BuilderMachine
from jitflow.passes.expand.casts import expand_cast
from jitflow.passes.expand.checked import expand_checked
from jitflow.passes.expand.notation import Number
from jitflow.passes.expand.primitives import FOLDS, dtype_class, dtype_name, is_primitive
from jitflow.passes.expand.rewrite import Rewriter
from jitflow.passes.expand.single import LIBRARY_FUNCTIONS, PYTHON_FUNCTIONS, SINGLE_FUNCTIONS
from jitflow.passes.expand.split_complex import has_complex, split_complex
from jitflow.passes.expand.term import Term

__all__ = ["expand"]


def expand(function: Function) -> Function:
    """A kernel, or a host program and its kernels, in primitives only."""
    functions = tuple(expand(inner) for inner in function.functions)
    if has_complex(function):
        function = split_complex(function)
    return replace(_Expander(_is_of_numbers(function)).function(function), functions=functions)


def _is_of_numbers(function: Function) -> bool:
    """Whether it is the processor's scalar code, in which all arithmetic is of single numbers."""
    attributes = function.attributes
    return function.layer == "host" or bool(attributes.get("scalar") and not attributes.get("distributed"))


Expansion = Callable[..., Value]

_PREDICATES = frozenset(
    "less less_equal greater greater_equal equal not_equal isnan isinf isfinite signbit "
    "logical_and logical_or logical_xor logical_not add_overflows subtract_overflows multiply_overflows".split()
)


class ExpandingMachine(BuilderMachine):
    """Where `apply` and `convert` go on expanding until primitives are left."""

    single = weak = False
    """Whether what is expanded is of one number, of Python's own."""

    def apply(self, name: str, *operands: Value, **attributes: Any) -> Value:
        if name == "cast":
            return self.convert(operands[0], attributes["dtype"].name)
        if name == "bitcast":
            return self._reinterpret(operands[0], attributes["dtype"])
        dtype = dtype_name(operands[-1].type)
        expansion = (self.single and _of_single(name, dtype, self.weak)) or _expansion(name, dtype)
        return expansion(self, *operands)

    def convert(self, x: Value, dtype: str) -> Value:
        return expand_cast(Term(self, x), dtype).value

    def _reinterpret(self, x: Value, dtype: DType) -> Value:
        if "bool" in (self.dtype(x), dtype.name):
            return self.convert(x, dtype.name)
        return self.bitcast(x, dtype.name)


@functools.cache
def _of_single(name: str, dtype: str, weak: bool) -> Expansion | None:
    """How to make the op of one number, if that is done otherwise than for the lanes of a vector."""
    if dtype_class(dtype) != "float":
        return None
    if name in LIBRARY_FUNCTIONS:
        return _as_primitive(name)
    made = SINGLE_FUNCTIONS.get(name) or (PYTHON_FUNCTIONS.get(name) if weak else None)
    return _on_terms(made) if made is not None else None


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


def _is_weak(op: Op) -> bool:
    """Whether the op is of Python's own numbers."""
    type = op.result.type
    return (isinstance(type, Scalar) and type.weak) or op.attributes.get("single") == "python"


_STOPPING = frozenset({"check", "for", "while", "call", "launch"})


def _is_along_elements(op: Op) -> bool:
    """Whether this is a loop whose turns hand nothing on, and go to the end: LLVM makes vectors of it."""
    if op.name != "for" or op.results:
        return False
    return not any(inner.name in _STOPPING or inner.attributes.get("checked") for inner in walk(op.regions[0]))


class _Expander(Rewriter):
    """The sweep."""

    machine: ExpandingMachine

    def __init__(self, of_numbers: bool) -> None:
        super().__init__(ExpandingMachine())
        self.of_numbers = of_numbers
        self.along_elements = False
        """Whether the loop around works on elements, one a turn, as the lanes of a vector do."""
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
            outside, self.along_elements = self.along_elements, self.along_elements or _is_along_elements(op)
            self.copy(op)
            self.along_elements = outside

    def elementwise(self, op: Op) -> Value:
        machine = self.machine
        machine.shape_like(op.result.type)
        machine.weak = _is_weak(op)
        machine.single = self._is_single(op)
        operands = tuple(machine.splat(operand) for operand in self.operands(op))
        if op.name == "copy":
            return operands[0]
        if op.name == "select" and isinstance(op.result.type, Container):
            return machine.emit("select", operands, (op.result.type,))[0]
        if op.name == "select":
            return machine.primitive("select", *operands)
        if op.attributes.get("checked"):
            known = [self.numbers.get(operand) for operand in op.operands]
            return expand_checked(op.name, tuple(Term(machine, operand) for operand in operands), known).value
        if op.name in ("cast", "bitcast"):
            return machine.apply(op.name, *operands, dtype=op.attributes["dtype"])
        return machine.apply(op.name, *operands)

    def _is_single(self, op: Op) -> bool:
        """Whether the op is of one number. What NumPy computes of elements one by one has the bits of vectors."""
        if not self.of_numbers:
            return "single" in op.attributes
        return self.machine.weak or not self.along_elements

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
