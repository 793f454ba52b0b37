"""Products of bytes in the place of those of floats, where a function is quantised (`jitflow.transforms.quantisation`).

A product of which one operand is a weight, that is, computed of nothing that a call passes, is either watched, which
lets the program call out with both operands, or written with the levels of its activations and its quantised weight:

    levels: u8[m, k]  = x / scale, rounded, + zero, between 0 and 255
    sums: i32[m, n]   = matmul levels, weight          an i32 of the weight is four steps of a column
    product: f32[m, n] = (sums - correction) * scales  for each column

All of it is ordinary ops: levels are computed where the operand is, and what is below is part of what follows a
product. A nan has no level, and becomes the lowest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import compress
from typing import Any

import numpy as np

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.control.calls_out import call_out
from jitflow.frontend.outside.scopes import Layers, Weight, lines_inside
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import Trace, current_trace
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers import located, wrap
from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, evaluate, symbols
from jitflow.ir.dtypes import F32, I32, U8
from jitflow.ir.interpreter import concrete_attributes
from jitflow.ir.location import Loc
from jitflow.ir.types import sizes_of_type
from jitflow.runtime.entry.plan import Contents, IsObject
from jitflow.runtime.entry.python_guards import found_by
from jitflow.transforms.quantised_layer import GROUP, LEVELS, QuantisedLayer

__all__ = ["is_weight", "product_of_bytes", "require_unwritten"]

_DEEPEST = 32
"""Ops behind each other that a weight is computed by, at most."""
_LONGEST_TEXT = 10_000
"""Characters of what tells how a weight is computed: what is computed by more is none."""


class _Weights:
    """The memory that weights are computed of, and where they are used."""

    def __init__(self) -> None:
        self.read: dict[Value, Loc] = {}


def is_weight(value: Value) -> bool:
    """Whether an operand is computed of nothing that a call passes."""
    return _is_fixed(value, current_trace())


def product_of_bytes(first: Value, second: Value, layers: Layers) -> Value | None:
    """The product of matrices whose second one may be a weight; None where it stays one of floats."""
    trace = current_trace()
    if any(scope.is_differentiated for scope in trace.scope.around()):
        raise located(UserNotImplementedError(
            "a gradient in a function that is quantised",
            found="levels of int8 have none", mend="quantise the function that predicts, not the one that trains",
        ))  # fmt: skip
    where, weight = lines_inside(), _weight(second, trace)
    if weight is not None and _is_fixed(first, trace):
        return None
    if weight is None:
        layers.left_alone(where, "both operands depend on arguments")
    elif values.rank(first) > 2 or (trace.is_batched and layers.is_watching):
        layers.left_alone(where, "it is one of many products")
    elif layers.is_watching:
        trace.state(_Weights).read.update(dict.fromkeys(_parameters(second, trace), trace.here()))
        call_out(trace, layers.seen(weight, where), "watch", (wrap(first), wrap(second)), {}, ())
    elif (layer := layers.known(weight, where)) is not None:
        _guard(weight, trace.state(Stores).inputs)
        return _quantised(first, second, layer)
    return None


def require_unwritten() -> None:
    """Raise UserNotImplementedError where the program has written to what a weight is computed of."""
    trace = current_trace()
    for value, where in trace.state(_Weights).read.items():
        if value in trace.storage.written:
            raise UserNotImplementedError(
                "a function that is quantised writes to a weight",
                mend="quantise the function that predicts, not the one that trains", location=where,
            )  # fmt: skip


def _quantised(first: Value, second: Value, layer: QuantisedLayer) -> Value | None:
    """The product of bytes. Its columns are those of the weight, so that what it meets is known to fit.

    None where the steps do not fit, which then is an error already.
    """
    (rows, steps), columns, trace = values.dims(first), values.dims(second)[1], current_trace()
    pairs = (steps, layer.steps), (columns, len(layer.scales))
    if not all(trace.decide(dim, "==", size, "a quantised weight") for dim, size in pairs):
        return None
    levels, missing = values.reshape(_levels(first, layer), (rows, layer.steps), assumed=True), -layer.steps % GROUP
    if missing:
        nothing = values.broadcast_in(values.constant(0, U8), (rows, missing), ())
        levels = emit("concatenate", levels, nothing, axis=1)
    packed = _array(layer.packed, (len(layer.packed), columns))
    result = emit("matmul", levels, packed, dtype=I32, group=GROUP)
    if layer.correction.any():
        result = _each_column("subtract", result, _array(layer.correction, (columns,)))
    result = _each_column("multiply", values.cast(result, F32), _array(layer.scales, (columns,)))
    return values.as_array(values.cast(result, values.dtype_of_value(first)))


def _levels(value: Value, layer: QuantisedLayer) -> Value:
    """The level of each element. Comparisons with a nan are false, so it becomes the lowest."""
    scaled = emit("rint", emit("multiply", values.as_array(values.cast(value, F32)), _number(1 / layer.scale)))
    lowest, highest = _number(-layer.zero), _number(LEVELS - layer.zero)
    above = values.select(emit("greater", scaled, lowest), scaled, lowest)
    within = values.select(emit("less", above, highest), above, highest)
    return values.as_array(values.cast(emit("add", within, _number(layer.zero)), U8))


def _number(number: float) -> Value:
    return values.constant(float(np.float32(number)), F32)


def _array(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], dims: tuple[Dim, ...]) -> Value:
    trace = current_trace()
    assert trace.capture is not None
    return values.reshape(trace.capture(array), dims, assumed=True)


def _each_column(name: str, matrix: Value, row: Value) -> Value:
    return emit(name, matrix, values.broadcast_in(row, values.dims(matrix), (1,)))


# -- what a weight is computed of --------------------------------------------------------------------------


def _is_fixed(value: Value, trace: Trace) -> bool:
    """Whether a value is computed of nothing that a call passes, and of no sizes that it may pass others of."""
    return _Spelling(trace, str, holds=False).of(value) is not None


def _weight(value: Value, trace: Trace) -> Weight | None:
    """What is computed of what the program reads from outside; None if of arguments, or nobody knows how."""
    inputs = trace.state(Stores).inputs
    registers: list[int] = []

    def path(register: int) -> str:
        registers.append(register)
        return str(inputs.path(register)).removeprefix("fun.")

    spelled = _Spelling(trace, path, holds=True).of(value)
    if spelled is None:
        return None
    held = {register: _object(register, inputs) for register in registers}

    def told(register: int) -> str:
        thing = held[register]
        if not isinstance(thing, np.ndarray):
            return repr(thing)
        is_made = register in inputs.computed_registers  # anew in each trace
        return sha256(thing.tobytes()).hexdigest() if is_made else f"#{id(thing)}"

    key = f"{_Spelling(trace, told, holds=True).of(value)} {evaluate(values.dims(value)[-1], trace.hints)}"
    return Weight(spelled, key, held)


def _guard(weight: Weight, inputs: Any) -> None:
    """Let calls find the same objects and numbers: others were not quantised. What arrays hold is not looked at."""
    for register, thing in weight.held.items():
        read = inputs.reads[register]
        if isinstance(read, Contents):
            inputs.guard(IsObject(read.parent, _object(read.parent, inputs)))
        elif isinstance(thing, np.ndarray):
            inputs.guard(IsObject(register, thing))
        else:
            inputs.pin(register, thing)


def _object(register: int, inputs: Any) -> Any:
    """What a register holds at this call, an array or a number: of a path that begins outside of the arguments."""
    return found_by(inputs.reads[register], (), lambda other: _object(other, inputs))


class _Spelling:
    """How values are computed of what is read from outside, which a ``leaf`` tells of.

    It may be told to ``hold`` the sizes that weights are computed with as they are.
    """

    def __init__(self, trace: Trace, leaf: Callable[[int], str], *, holds: bool) -> None:
        self._trace, self._leaf, self._holds = trace, leaf, holds
        self._found: dict[Value, str | None] = {}

    def of(self, value: Value, depth: int = 0) -> str | None:
        if value not in self._found:
            text = self._made(value, depth)
            self._found[value] = None if text is None or len(text) > _LONGEST_TEXT else text
        return self._found[value]

    def _made(self, value: Value, depth: int) -> str | None:
        trace = self._trace
        root = trace.storage.root(value)
        if root in trace.storage.written and _position(root, trace) is None:
            return None  # what the program writes there may depend on anything
        position = _position(value, trace)
        if position is not None:
            inputs = trace.state(Stores).inputs
            register = inputs.leaves[position].register
            return None if inputs.comes_from_argument(register) else self._leaf(register)
        op = _maker(value, trace)
        if op is None or depth > _DEEPEST or op.regions or any(effect.kind != "reads" for effect in op.own_effects):
            return None
        parts = []
        for operand in _operands(op, value, trace):
            if (text := self.of(operand, depth + 1)) is None:
                return None
            parts.append(text)
        if any(_depends(option, trace, holds=self._holds) for option in op.attributes.values()):
            return None
        if op.name in ("load", "copy", "reshape"):
            return parts[0]
        options = [f"{name}={option}" for name, option in concrete_attributes(op.attributes, trace.hints).items()]
        return f"{op.name}({', '.join([*parts, *options])})"


def _position(value: Value, trace: Trace) -> int | None:
    """Which parameter of the function a value is, in memory or not."""
    parameter = trace.storage.variables.get(value, value)
    return trace.parameters.index(parameter) if parameter in trace.parameters else None


def _maker(value: Value, trace: Trace) -> Op | None:
    """The op that made a value; arrays are looked up, numbers looked for."""
    if value in trace.storage.makers:
        return trace.storage.makers[value]
    made = (op for scope in trace.scope.around() for op in scope.builder.ops)
    return next((op for op in made if value in op.results), None)


def _operands(op: Op, value: Value, trace: Trace) -> Sequence[Value]:
    """What an op computes a value of: of what is loaded, the array that the memory was made of."""
    source = trace.storage.source(value)
    return (source,) if isinstance(source, Value) else op.operands


def _parameters(value: Value, trace: Trace) -> Sequence[Value]:
    """The parameters that a weight is computed of."""
    found: dict[Value, None] = {}
    passed, left = set[Value](), [value]
    while left:
        one = left.pop()
        if one in passed:
            continue
        passed.add(one)
        if _position(one, trace) is not None:
            found[one] = None
        elif (op := _maker(one, trace)) is not None:
            left.extend(_operands(op, one, trace))
    return [*found]


def _depends(option: Any, trace: Trace, *, holds: bool) -> bool:
    """Whether an attribute has sizes that a call may pass others of; where it can, a guard ``holds`` them as they are.

    Where it is not to, only sizes of what comes from outside are those of a weight.
    """
    if isinstance(option, tuple):
        return any(_depends(one, trace, holds=holds) for one in option)
    named = symbols(option)
    if not named:
        return False
    if not holds:
        return not set(named) <= _outside_sizes(trace)
    if not set(named) <= set(trace.hints):
        return True
    return not trace.decide(option, "==", evaluate(option, trace.hints), "a quantised weight")


def _outside_sizes(trace: Trace) -> set[str]:
    """The names of sizes that arrays have which no call passes."""
    inputs = trace.state(Stores).inputs
    outside = (not inputs.comes_from_argument(leaf.register) for leaf in inputs.leaves)
    return {name for one in compress(trace.parameters, outside) for name in sizes_of_type(one.type)}
