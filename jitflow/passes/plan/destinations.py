"""Parts of a concatenation that their kernel writes where they belong, so that nothing is copied.

A part qualifies if a kernel computes it and nobody else reads it; between the two only axes of size 1 may come or go,
as ``np.stack`` makes them, and sizes may be assumed that were checked before the kernel (`fuse` sees to that). A
concatenation that is part of another one, as in ``np.block``, lies there as well, and so do its parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from jitflow.ir.core import Op, Region, Value, uses
from jitflow.ir.dims import Dim, symbols
from jitflow.ir.layout import Layout, contiguous
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.fusion.axes import is_axis_view
from jitflow.passes.fusion.chain_products import chain_of
from jitflow.passes.plan.numbers import is_number_work

__all__ = ["find_destinations", "parts_of"]


def parts_of(op: Op, whole: Layout | None = None) -> Iterator[tuple[Value, Layout]]:
    """The operands of a concatenation, and where each lies in the result (which is as ``whole`` says, or C order)."""
    type, axis = op.result.type, op.attributes["axis"]
    assert isinstance(type, Tensor)
    layout = contiguous(type.dims, type.dtype.itemsize) if whole is None else whole
    position: Dim = 0
    for operand in op.operands:
        yield operand, Layout(layout.offset + position * layout.strides[axis], layout.strides)
        position = position + dims_of(operand.type)[axis]


def find_destinations(region: Region) -> tuple[dict[Value, tuple[Op, Layout]], set[Value]]:
    """For each result of a kernel or concatenation that belongs into a concatenation, that op and the layout there.

    Also the values between the two, which need no memory of their own. Regions inside are searched too.
    """
    destinations: dict[Value, tuple[Op, Layout]] = {}
    in_place: set[Value] = set()
    _search(region, uses(region), destinations, in_place)
    return destinations, in_place


def _search(
    region: Region, counts: Counter[Value], destinations: dict[Value, tuple[Op, Layout]], in_place: set[Value]
) -> None:
    producer = {result: op for op in region.body for result in op.results}
    position = {op: number for number, op in enumerate(region.body)}
    bound = {name: position[op] for op in region.body for name in _bound_by(op)}
    known_since: dict[Op, int] = {}
    """Behind which op it is known that a concatenation fits into the one that it is part of."""
    checked = [position[op] for op in region.body if any(effect.kind == "check" for effect in op.own_effects)]
    for op in reversed(region.body):  # what holds others comes behind them
        if op.name != "fusion":
            for inner in op.regions:
                _search(inner, counts, destinations, in_place)
        if op.name != "concatenate":
            continue
        holder, whole = destinations.get(op.result, (op, None))
        sizes = set(_sizes_of(holder.results))
        for operand, layout in parts_of(op, whole):
            names = (*sizes, *symbols(layout.offset))
            known_from = max([known_since.get(op, -1), *(bound.get(name, -1) for name in names)])
            chain = [operand]
            while counts[chain[-1]] == 1 and _keeps_elements(producer.get(chain[-1])):
                if "assumed" in producer[chain[-1]].attributes:
                    known_from = max([known_from, *(place for place in checked if place < position[op])])
                chain.append(producer[chain[-1]].operands[0])
            source = producer.get(chain[-1])
            if source is None or counts[chain[-1]] != 1 or not _writes_in_place(source):
                continue
            if isinstance(chain[-1].type, Tensor) and position[source] > known_from:
                destinations[chain[-1]] = (holder, _layout_of(chain[-1], operand, layout))
                known_since[source] = known_from
                in_place.update(chain)


def _writes_in_place(op: Op) -> bool:
    return op.name == "concatenate" or (op.name == "fusion" and not is_number_work(op) and chain_of(op) is None)


def _bound_by(op: Op) -> Iterator[str]:
    """The sizes that may be known only when an op is done."""
    if "binds" in op.attributes:
        yield op.attributes["binds"]
    if op.name == "recv" or (op.regions and op.name != "fusion"):
        yield from _sizes_of(op.results)


def _sizes_of(values: Sequence[Value]) -> Iterator[str]:
    """The sizes that the dims of values are made of."""
    for value in values:
        for dim in dims_of(value.type):
            yield from symbols(dim)


def _keeps_elements(op: Op | None) -> bool:
    """Whether axes of size 1 come or go, and other sizes are at most named otherwise."""
    if op is None or op.name not in ("reshape", "broadcast") or not is_axis_view(op):
        return False
    if op.name == "reshape":
        return True
    before, after = dims_of(op.operands[0].type), list(dims_of(op.result.type))
    named = [after[axis] for axis in op.attributes["axes"]]
    for axis in op.attributes["axes"]:
        after[axis] = 1
    return all((one == 1) == (other == 1) for one, other in zip(before, named, strict=True)) and set(after) <= {1}


def _layout_of(value: Value, part: Value, layout: Layout) -> Layout:
    """The part's layout for the axes of ``value``, which differs from it by axes of size 1."""
    strides = iter([s for s, dim in zip(layout.strides, dims_of(part.type), strict=True) if dim != 1])
    return Layout(layout.offset, tuple(0 if dim == 1 else next(strides) for dim in dims_of(value.type)))
