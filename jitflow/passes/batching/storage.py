"""What an example stores: every variable and every tape that a region makes holds what all examples have there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.ops.derivative import stacked_of
from jitflow.ir.types import dims_of
from jitflow.passes.batching.examples import Examples
from jitflow.passes.batching.indexing import load_spot, scattered, store_spot, stored

__all__ = ["STORAGE"]


def _variable(e: Examples, op: Op) -> Sequence[Value]:
    return (e.m("variable", e.stacked(op.operands[0])),)


def _load(e: Examples, op: Op) -> Sequence[Value]:
    (place,) = op.operands
    return (load_spot(e, e.spots[place]) if place in e.spots else e.m("load", e.made[place]),)


def _store(e: Examples, op: Op) -> Sequence[Value]:
    place, value = op.operands
    if place in e.spots:
        store_spot(e, e.spots[place], value)
    else:
        e.m.add("store", e.made[place], stored(e, value, dims_of(place.type)))
    return ()


def _tape(e: Examples, op: Op) -> Sequence[Value]:
    return e.m.add("tape", dtype=op.attributes["dtype"])


def _push(e: Examples, op: Op) -> Sequence[Value]:
    tape, value = op.operands
    e.m.add("push", e.made[tape], e.stacked(value))
    return ()


def _pop(e: Examples, op: Op) -> Sequence[Value]:
    return e.m.add("pop", e.made[op.operands[0]], types=[stacked_of(op.result.type, e.count)])


STORAGE: dict[str, Callable[[Examples, Op], Sequence[Value]]] = {
    "variable": _variable,
    "load": _load,
    "store": _store,
    "scatter": scattered,
    "tape": _tape,
    "push": _push,
    "pop": _pop,
}
