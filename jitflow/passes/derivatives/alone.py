"""Slices whose elements nothing else reads: what arrives at them is stored, where all else has to be added up.

So are the gates of a recurrent cell, which are slices of one sum, and the rows that a loop takes of an array: of the
gradient of each, a turn writes what no other turn does.

    %1 = slice %z {starts=[0], sizes=[k], ...}            store %z'[:k], %1'
    %2 = slice %z {starts=[k], sizes=[n - k], ...}  ->    store %z'[k:], %2'
"""

from __future__ import annotations

from collections import defaultdict

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.passes.analyses.extents import Extents

__all__ = ["read_alone"]


def read_alone(function: Function, region: Region) -> frozenset[Op]:
    """The slices in a region of a function of values that slices which never meet are all that reads."""
    users: defaultdict[Value, list[Op]] = defaultdict(list)
    around: dict[Op, Op | None] = {}
    home: dict[Value, Op | None] = {}
    _enter(region, None, users, around, home)
    extents: Extents | None = None
    found: set[Op] = set()
    for value, parts in users.items():
        if value not in home or any(part.name != "slice" for part in parts):
            continue
        (place, *others) = {around[part] for part in parts}
        loop = None if place is home[value] else place
        if others or (loop is not None and around[loop] is not home[value]):
            continue
        extents = extents or Extents(function)
        if extents.never_meet(parts, loop):
            found.update(parts)
    return frozenset(found)


def _enter(
    region: Region, op: Op | None, users: defaultdict[Value, list[Op]], around: dict[Op, Op | None],
    home: dict[Value, Op | None],
) -> None:  # fmt: skip
    """Learn where values of a region are made and read: in the region of which op."""
    home.update(dict.fromkeys(region.parameters, op))
    for inner in region.ops:
        around[inner] = op
        home.update(dict.fromkeys(inner.results, op))
        for operand in inner.operands:
            users[operand].append(inner)
        for part in inner.regions:
            _enter(part, inner, users, around, home)
