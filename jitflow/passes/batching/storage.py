"""What an example stores: every variable and every tape that a region makes holds what all examples have there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64
from jitflow.ir.ops.derivative import stacked_of
from jitflow.ir.types import dims_of
from jitflow.passes.batching.examples import Examples, InTurns
from jitflow.passes.derivatives.notation import rank

__all__ = ["STORAGE", "gathered"]


def _variable(e: Examples, op: Op) -> Sequence[Value]:
    return (e.m("variable", e.stacked(op.operands[0])),)


def _load(e: Examples, op: Op) -> Sequence[Value]:
    return (e.m("load", e.made[op.operands[0]]),)


def _store(e: Examples, op: Op) -> Sequence[Value]:
    place, value = op.operands
    e.m.add("store", e.made[place], _stored(e, value, dims_of(place.type)))
    return ()


def _stored(e: Examples, value: Value, dims: tuple[Dim, ...]) -> Value:
    """What is stored where all examples of something of ``dims`` lie: a number that is one for all fills it."""
    return value if value not in e.made and not rank(value) else e.spread(value, dims)


def _tape(e: Examples, op: Op) -> Sequence[Value]:
    return e.m.add("tape", dtype=op.attributes["dtype"])


def _push(e: Examples, op: Op) -> Sequence[Value]:
    tape, value = op.operands
    e.m.add("push", e.made[tape], e.stacked(value))
    return ()


def _pop(e: Examples, op: Op) -> Sequence[Value]:
    return e.m.add("pop", e.made[op.operands[0]], types=[stacked_of(op.result.type, e.count)])


def _positions(e: Examples, indices: Sequence[Value], dims: tuple[Dim, ...]) -> list[Value]:
    """Positions for all examples, if one of them varies: those that are one for all examples repeat."""
    return [index if index not in e.made and not rank(index) else e.spread(index, dims) for index in indices]


def _behind(axis: int, rank: int) -> tuple[int, ...]:
    """The order of axes that puts the first one behind ``axis`` others."""
    return (*range(1, axis + 1), 0, *range(axis + 1, rank))


def _in_front(axis: int, rank: int) -> tuple[int, ...]:
    """The order of axes that puts the one behind ``axis`` others first."""
    return (axis, *range(axis), *range(axis + 1, rank))


def gathered(e: Examples, op: Op) -> Value:
    """Each example reads at its own positions, in what it has itself or in what all share."""
    source, *indices = op.operands
    axis, attributes, m = op.attributes["axis"], dict(op.attributes), e.m
    if not any(index in e.made for index in indices):
        return m("gather", e.made[source], *indices, **{**attributes, "axis": axis + 1})
    dims = next((dims_of(index.type) for index in indices if rank(index)), ())
    positions = _positions(e, indices, dims)
    whole = e.made.get(source)
    if whole is None:
        found = m("gather", source, *positions, **attributes)
    else:
        moved = m("transpose", whole, axes=_behind(axis, rank(whole))) if axis else whole
        found = m("gather", moved, _own_numbers(e, dims), *positions, **attributes)
    return m("transpose", found, axes=_in_front(axis, rank(found))) if axis else found


def _own_numbers(e: Examples, dims: tuple[Dim, ...]) -> Value:
    """The number of each example at each of its positions."""
    return e.m("iota", dtype=I64, dims=(e.count, *dims), axis=0)


def _scatter(e: Examples, op: Op) -> Sequence[Value]:
    place, *indices, value = op.operands
    axis, attributes, m = op.attributes["axis"], dict(op.attributes), e.m
    own = dims_of(place.type)
    dims = next((dims_of(index.type) for index in indices if rank(index)), ())
    value = _stored(e, value, (*own[:axis], *dims, *own[axis + len(indices) :]))
    whole = e.made[place]
    if not any(index in e.made for index in indices):
        if attributes.get("mode") == "clip" and not dims:
            raise InTurns
        m.add("scatter", whole, *indices, value, **{**attributes, "axis": axis + 1})
        return ()
    if axis:
        whole = m("transpose", whole, axes=_behind(axis, rank(whole)))
        value = m("transpose", value, axes=_behind(axis, rank(value))) if rank(value) else value
    m.add("scatter", whole, _own_numbers(e, dims), *_positions(e, indices, dims), value, **attributes)
    return ()


STORAGE: dict[str, Callable[[Examples, Op], Sequence[Value]]] = {
    "variable": _variable,
    "load": _load,
    "store": _store,
    "scatter": _scatter,
    "tape": _tape,
    "push": _push,
    "pop": _pop,
}
