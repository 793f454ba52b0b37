"""Positions that each example computes: what they show is gathered, and scattered where it is stored.

A number that becomes a size of one example is an array for all of them, and the size itself is nowhere. What mentions
it without a rule takes turns, and binds the size for the example whose turn it is (`turns.py`).

    %0: index[p] = to_index %k {binds="p"}
    %1: f64[1] = slice %x {starts=[p], sizes=[1]}    ->    %1: f64[n] = gather %xs, (iota), %ks {axis=0, mode="clip"}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, Expression, Symbol, symbol
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Place, dims_of
from jitflow.passes.batching.examples import Examples, InTurns, Spot
from jitflow.passes.batching.indexing import shown_at

__all__ = ["POSITIONS"]


def _to_index(e: Examples, op: Op) -> Sequence[Value]:
    e.sizes[op.attributes["binds"]] = e.m.cast(e.made[op.operands[0]], I64)
    return ()


def _size(e: Examples, op: Op) -> Sequence[Value]:
    e.made[op.result] = _number(e, op.attributes["dim"])
    return ()


def _number(e: Examples, dim: Dim) -> Value:
    """A dim that varies, for each example."""
    m, total = e.m, None
    assert isinstance(dim, Expression)
    for monomial, coefficient in dim.terms:
        factor: Value | None = None
        for atom in monomial:
            if isinstance(atom, Symbol):
                if atom.name in e.varying.sizes and atom.name not in e.sizes:
                    raise InTurns
                own = e.sizes.get(atom.name)
                own = m("cast", m.size(symbol(atom.name)), dtype=I64) if own is None else own
            else:
                operands = [_number(e, one) if isinstance(one, Expression) else m.number(one, I64)
                            for one in atom.operands]  # fmt: skip
                own = operands[0]
                for operand in operands[1:]:
                    own = m(_OPERATORS[atom.operator], own, operand)
            factor = own if factor is None else m("multiply", factor, own)
        term = m.number(coefficient, I64) if factor is None else m("multiply", factor, coefficient)
        total = term if total is None else m("add", total, term)
    assert total is not None
    return total


_OPERATORS = {"//": "floor_divide", "%": "remainder", "min": "minimum", "max": "maximum"}


def _slice(e: Examples, op: Op) -> Sequence[Value]:
    starts, sizes, steps = (op.attributes[name] for name in ("starts", "sizes", "steps"))
    varying = [axis for axis, start in enumerate(starts) if e.varying.has(start)]
    (operand,) = op.operands
    is_single = all(sizes[axis] == 1 for axis in varying)
    is_line = varying == [*range(varying[0], varying[-1] + 1)] if varying else False
    if any(map(e.varying.has, sizes)) or not is_line or not (is_single or len(varying) == 1):
        raise InTurns
    own, is_stacked = dims_of(operand.type), operand in e.made
    each = [(0, own[axis], 1) if axis in varying else (starts[axis], sizes[axis], steps[axis])
            for axis in range(len(own))]  # fmt: skip
    names = zip(("starts", "sizes", "steps"), zip(*[(0, e.count, 1)] * is_stacked, *each, strict=True), strict=True)
    source = e.m("slice", e.made.get(operand, operand), **dict(names))
    positions = [_number(e, starts[axis]) for axis in varying]
    if not is_single:
        size = sizes[varying[0]]
        line = e.m("multiply", e.m("iota", dtype=I64, dims=(e.count, size), axis=1), steps[varying[0]])
        positions = [e.m("add", e.m("broadcast", positions[0], dims=(e.count, size), axes=(0,)), line)]
    spot = Spot(source, is_stacked, varying[0], tuple(positions), tuple(sizes))
    if isinstance(op.result.type, Place):
        e.spots[op.result] = spot
    else:
        e.made[op.result] = shown_at(e, spot, source)
    return ()


POSITIONS: dict[str, Callable[[Examples, Op], Sequence[Value]]] = {
    "to_index": _to_index,
    "size": _size,
    "slice": _slice,
}
"""The rules of ops that bind or mention sizes which vary; they enter their results themselves."""
