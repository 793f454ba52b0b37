"""Sinking loads: a part of a loaded array is loaded alone, from a part of the place.

What arrives at ``x[i]`` is then added to one element of the shadow, rather than to an array as large as ``x`` that is
added to the shadow. It holds as long as nothing has written to the place since it was loaded.

    %0: f64[n] = load %p                              %2: place f64[1] = slice %p
    %1: f64[1] = slice %0 {starts=[i]}       ->       %1: f64[1] = load %2

What is gathered from a loaded array is loaded where it is gathered, so that what arrives at ``x[ids]`` can be added to
the elements of the shadow too.
"""

from __future__ import annotations

from dataclasses import replace

from jitflow.ir.core import Op, Region, Value
from jitflow.ir.effects import Access, Effects
from jitflow.ir.ops import OPS
from jitflow.ir.types import Place, Tensor, dims_of

__all__ = ["sink_loads"]

_Loaded = dict[Value, Value]
"""The place that each loaded value was loaded from, as long as that still holds it."""


def sink_loads(region: Region, effects: Effects) -> tuple[Region, dict[Op, Value]]:
    """The region with loads of parts for parts of loads, and the places from which its gathers read."""
    gathers: dict[Op, Value] = {}
    return _sunk(region, effects, {}, gathers), gathers


def _sunk(region: Region, effects: Effects, outside: _Loaded, gathers: dict[Op, Value]) -> Region:
    loaded = dict(outside)
    ops: list[Op] = []
    for op in region.ops:
        if op.regions:
            writes = [access for access in effects.of(op) if access.kind in ("writes", "external")]
            inside = loaded if op.name == "if" else _unwritten(loaded, writes, effects)
            op = replace(op, regions=tuple(_sunk(inner, effects, inside, gathers) for inner in op.regions))
            loaded = _unwritten(loaded, writes, effects)
        elif op.name == "load":
            loaded[op.result] = op.operands[0]
        elif op.name == "gather" and op.operands[0] in loaded:
            place, whole = loaded[op.operands[0]], Value(op.operands[0].type)
            ops.append(Op(OPS["load"], (place,), (whole,), loc=op.loc))
            op = replace(op, operands=(whole, *op.operands[1:]))
            gathers[op] = place
        elif op.operands and op.operands[0] in loaded and _is_part(op):
            place = loaded[op.operands[0]]
            kind = op.result.type
            assert isinstance(kind, Tensor)
            shown = Value(Place(kind.dtype, kind.dims))
            effects.sets[shown] = effects.places(place)
            ops.append(replace(op, operands=(place,), results=(shown,)))
            op = Op(OPS["load"], (shown,), op.results, loc=op.loc)
            loaded[op.result] = shown
        else:
            writes = [access for access in effects.of(op) if access.kind in ("writes", "external")]
            loaded = _unwritten(loaded, writes, effects)
        ops.append(op)
    return Region(region.parameters, tuple(ops))


def _is_part(op: Op) -> bool:
    """Whether an op shows each element once, and can show it in memory."""
    if op.name == "reshape":
        return all(dim == 1 for value in (op.result, op.operands[0]) for dim in dims_of(value.type))
    return op.name in ("slice", "transpose", "diagonal")


def _unwritten(loaded: _Loaded, writes: list[Access], effects: Effects) -> _Loaded:
    if not writes or not loaded:
        return loaded
    if any(access.kind == "external" for access in writes):
        return {}
    return {
        value: place
        for value, place in loaded.items()
        if not any(effects.overlap(effects.access("reads", place), access) for access in writes)
    }
