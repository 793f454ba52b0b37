"""The examples of a `vmap`, all at once: what varies gets an axis for them in front.

    %y: f64[n] = vmap %xs (%x: f64[k]) {              %1: f64[n, k] = sin %xs
      %1: f64[k] = sin %x                       ->    %y: f64[n] = reduce_add %1 {axes=[1]}
      %2: f64 = reduce_add %1 {axes=[0]}
      yield %2
    }

What is the same for every example stays as it is. What varies has a rule, by which its op becomes one op, or a few, on
all examples. Where there is none, a loop runs over the examples (`turns.py`): what a branch or a loop decides for each
by itself, routines, what a run decides the size of. So a check that an example does not come to is not done for it, and
a rule is a matter of speed alone. Where ops must stay in the order of the examples, since something outside changes in
the region, the loop is around all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.errors import UserError, UserValueError
from jitflow.ir.core import Builder, Op, Region, Value, walk, walk_inside
from jitflow.ir.effects import Effects
from jitflow.ir.ops.derivative import stacked_of
from jitflow.ir.types import Container, Index, Tensor, dims_of, sizes_of_type
from jitflow.passes.batching.control import REGIONS
from jitflow.passes.batching.examples import Anew, Examples, InTurns
from jitflow.passes.batching.positions import POSITIONS
from jitflow.passes.batching.rules import RULES
from jitflow.passes.batching.turns import end_of_run, take_turns
from jitflow.passes.batching.varying import Varying
from jitflow.passes.derivatives.notation import Notation

__all__ = ["batch"]

_TABLE = RULES | REGIONS


def batch(op: Op, fresh: Callable[[str], str], known: frozenset[str]) -> tuple[list[Op], list[Value]]:
    """The ops that a `vmap` becomes, and its results. ``known`` are the sizes that are bound around it."""
    (region,) = op.regions
    turns: set[Op] = set()
    while True:
        try:
            return _batched(op, region, Varying(region, known, turns), turns, fresh)
        except Anew:
            continue


def _batched(
    op: Op, region: Region, varying: Varying, turns: set[Op], fresh: Callable[[str], str]
) -> tuple[list[Op], list[Value]]:
    stacked = region.yielded[: len(region.yielded) - op.attributes.get("shared", 0)]
    producers = {result: inner for inner in walk(region) for result in inner.results}
    for number, value in enumerate(region.yielded):
        inside = [producers[value]] if value in producers else []
        loc = next((one.loc for one in (*inside, op, *walk(region)) if one.loc.file), op.loc)
        if not varying.sizes.isdisjoint(sizes_of_type(value.type)):
            raise _ragged().at(loc)
        if number >= len(stacked) and value in varying:
            raise _mapped().at(loc)
    m = Notation(Builder(loc=op.loc), fresh)
    examples = Examples(dims_of(op.operands[0].type)[0], varying, producers, m, turns, _write)
    examples.made.update(zip(region.parameters, op.operands, strict=True))
    try:
        if _is_ordered(region):
            raise InTurns
        _write(examples, region)
    except InTurns:
        m.builder.ops.clear()
        examples = Examples(examples.count, varying, producers, m, turns, _write)
        examples.made.update(zip(region.parameters, op.operands, strict=True))
        _take_turns(examples, region, 0, len(region.body))
    m.builder.loc = op.loc
    results = _owned(examples, stacked)
    return m.builder.ops, [*results, *region.yielded[len(stacked) :]]


def _ragged() -> UserError:
    return UserValueError(
        "the results of the examples of a jitflow.vmap may differ in shape, and cannot be stacked",
        mend="say the shape if it is the same for all, y.reshape(6); otherwise return an array that is padded to one, "
        "or a sum or a count; k elements from a start that differs are x[start + np.arange(k)]",
    )


def _mapped() -> UserError:
    return UserValueError(
        "vmap has mapped a result for which out_axes says None",
        expected="a result that is the same for every example",
        mend="say in out_axes where its axis of the examples is to be",
    )


def _is_ordered(region: Region) -> bool:
    """Whether examples come one after the other: what one of them does to something outside, the next may find."""
    own = {result for op in walk(region) if op.name in ("variable", "tape") for result in op.results}
    effects = Effects(region)
    accesses = [access for op in region.body for access in effects.of(op)]
    return any(
        access.kind == "external" or (access.kind == "writes" and not access.places <= own) for access in accesses
    )


def _owned(examples: Examples, values: Sequence[Value]) -> list[Value]:
    """All examples of what the region yields, as arrays each of which shows nothing else."""
    found: list[Value] = []
    shown: set[Value] = set()
    for value in values:
        made = base = examples.stacked(value)
        producers = {result: op for op in examples.m.builder.ops for result in op.results}
        while base in producers and "view" in producers[base].definition.traits:
            base = producers[base].operands[0]
        is_own = base in producers and value in examples.made and base not in shown
        shown.add(base)
        found.append(made if is_own else examples.m("copy", made))
    return found


def _write(examples: Examples, region: Region) -> None:
    """Append what the ops of a region become."""
    body, place = region.body, 0
    while place < len(body):
        op = body[place]
        examples.m.builder.loc = op.loc
        if not examples.varying.touches(op):
            examples.m.builder.ops.append(op)
            place += 1
        elif _by_rule(examples, op):
            place += 1
        else:
            end = end_of_run(region, place, examples.varying)
            _take_turns(examples, region, place, end)
            place = end


def _take_turns(examples: Examples, region: Region, start: int, end: int) -> None:
    """Append what the ops from ``start`` to ``end`` of a region become, which are one run."""
    varying, run = examples.varying, region.ops[start:end]
    turned = [op for op in run if varying.touches(op)]
    later = [one for op in region.ops[end:] for one in (op, *walk_inside(op))]
    others = [one for op in run if not varying.touches(op) for one in (op, *walk_inside(op))]
    needed = {value for op in (*later, *others) for value in op.operands}
    sizes = {name for op in (*later, *others) for name in op.sizes}
    found = {
        op
        for op in turned
        if any(result in needed and result not in varying for result in op.results)
        or not sizes.isdisjoint(set(varying.bound(op)) - varying.sizes)
    }
    if not found <= examples.turns:
        examples.turns |= found
        raise Anew
    take_turns(examples, run, [value for op in turned for value in op.results if value in needed])


def _by_rule(examples: Examples, op: Op) -> bool:
    """Append what an op becomes by its rule; false if there is none for it as it is."""
    varying, made, ops = examples.varying, examples.made, examples.m.builder.ops
    rule = _TABLE.get(op.name)
    if op.name == "to_index" or varying.mentions(op):
        rule = POSITIONS.get(op.name)
    elif any(isinstance(value.type, Index | Container) for value in op.results):
        rule = None
    known = made.keys() | (examples.spots.keys() if op.name in _OF_SPOTS else ())
    if rule is None or any(value in varying and value not in known for value in op.operands):
        return False
    before = len(ops)
    try:
        found = rule(examples, op)
    except InTurns:
        del ops[before:]
        return False
    for result, value in zip(op.results, found, strict=False):
        if result in varying:
            dims = dims_of(stacked_of(result.type, examples.count)) if isinstance(value.type, Tensor) else ()
            made[result] = examples.m.named(value, dims) if dims else value
    return True


_OF_SPOTS = ("reshape", "load", "store")
