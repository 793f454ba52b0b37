"""Reading and writing at positions that each example has of its own.

An op that gathers or scatters has one axis of positions for all examples; where what it reads or writes to is of each
example, the number of the example is a position as well, on the axis in front of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64
from jitflow.ir.ops.indexing import axes_said
from jitflow.ir.types import Place, Variable, dims_of
from jitflow.passes.batching.examples import Examples, InTurns, Spot
from jitflow.passes.derivatives.notation import rank

__all__ = ["gathered", "load_spot", "reshape_spot", "scattered", "shown_at", "store_spot", "stored"]


def stored(e: Examples, value: Value, dims: tuple[Dim, ...]) -> Value:
    """What is stored where all examples of something of ``dims`` lie: a number that is one for all fills it."""
    return value if value not in e.made and not rank(value) else e.spread(value, dims)


def gathered(e: Examples, op: Op) -> Sequence[Value]:
    """A ``gather``: in what each example has itself, or in what all share."""
    source, *indices = op.operands
    axis, attributes = op.attributes["axis"], dict(op.attributes)
    if not any(index in e.made for index in indices):
        return (e.m("gather", e.made[source], *indices, **_behind_examples(attributes, len(indices))),)
    dims = next((dims_of(index.type) for index in indices if rank(index)), ())
    positions = [stored(e, index, dims) for index in indices]
    return (_gather(e, e.made.get(source, source), source in e.made, axis, positions, attributes),)


def _gather(
    e: Examples, source: Value, is_stacked: bool, axis: int, positions: Sequence[Value], attributes: dict[str, Any]
) -> Value:
    m = e.m
    if is_stacked:
        source = m("transpose", source, axes=_behind(axis, rank(source))) if axis else source
        attributes = _with_numbers({**attributes, "axis": axis}, len(positions))
        positions = [_numbers(e, positions), *positions]
    found = m("gather", source, *positions, **{**attributes, "axis": axis})
    return m("transpose", found, axes=(axis, *range(axis), *range(axis + 1, rank(found)))) if axis else found


def scattered(e: Examples, op: Op) -> Sequence[Value]:
    """A ``scatter``."""
    place, *indices, value = op.operands
    axis, attributes, own = op.attributes["axis"], dict(op.attributes), dims_of(place.type)
    dims = next((dims_of(index.type) for index in indices if rank(index)), ())
    value = stored(e, value, (*own[:axis], *dims, *own[axis + len(indices) :]))
    if any(index in e.made for index in indices):
        _scatter(e, e.made[place], axis, [stored(e, index, dims) for index in indices], value, attributes)
    else:
        e.m.add("scatter", e.made[place], *indices, value, **_behind_examples(attributes, len(indices)))
    return ()


def _scatter(
    e: Examples, place: Value, axis: int, positions: Sequence[Value], value: Value, attributes: dict[str, Any]
) -> None:
    m = e.m
    if axis:
        place = m("transpose", place, axes=_behind(axis, rank(place)))
        value = m("transpose", value, axes=_behind(axis, rank(value))) if rank(value) else value
    attributes = _with_numbers({**attributes, "axis": axis}, len(positions))
    m.add("scatter", place, _numbers(e, positions), *positions, value, **attributes)


def _numbers(e: Examples, positions: Sequence[Value]) -> Value:
    """The number of each example at each of its positions."""
    dims = next(dims_of(position.type) for position in positions if rank(position))
    return e.m("iota", dtype=I64, dims=dims, axis=0)


def _behind_examples(attributes: dict[str, Any], count: int) -> dict[str, Any]:
    """The attributes of the op behind the axis of the examples, which its errors do not know."""
    return {**attributes, "axis": attributes["axis"] + 1, "said": tuple(axes_said(attributes, count))}


def _with_numbers(attributes: dict[str, Any], count: int) -> dict[str, Any]:
    """The attributes of the op whose first position is the number of the example, which is always in range."""
    axis: int = attributes["axis"]
    return {**attributes, "said": (axis, *axes_said(attributes, count))}


def _behind(axis: int, rank: int) -> tuple[int, ...]:
    """The order of axes that puts the first one behind ``axis`` others."""
    return (*range(1, axis + 1), 0, *range(axis + 1, rank))


# -- places that are elsewhere in each example


def shown_at(e: Examples, spot: Spot, source: Value) -> Value:
    """What all examples show at their spots, of a value like the spot's source."""
    found = _gather(e, source, spot.is_stacked, spot.axis, spot.positions, {"mode": "clip"})
    return e.m("reshape", found, dims=(e.count, *spot.dims), assumed=True)


def load_spot(e: Examples, spot: Spot) -> Value:
    """What all examples find at their spots."""
    is_storage = isinstance(spot.source.type, Place | Variable)
    return shown_at(e, spot, e.m("load", spot.source) if is_storage else spot.source)


def store_spot(e: Examples, spot: Spot, value: Value) -> None:
    """Store a value at the spots of all examples."""
    value = stored(e, value, spot.dims)
    if not spot.is_stacked:
        raise InTurns
    if rank(value):
        own = dims_of(spot.source.type)[1:]
        behind = own[spot.axis + len(spot.positions) :]
        dims = (e.count, *own[: spot.axis], *dims_of(spot.positions[0].type)[1:], *behind)
        value = e.m("reshape", value, dims=dims, assumed=True)
    _scatter(e, spot.source, spot.axis, spot.positions, value, {"mode": "clip"})


def reshape_spot(e: Examples, spot: Spot, dims: tuple[Dim, ...]) -> Spot:
    """The spot with axes of one element left out or put in."""
    if [dim for dim in dims if dim != 1] != [dim for dim in spot.dims if dim != 1]:
        raise InTurns
    return replace(spot, dims=dims)
