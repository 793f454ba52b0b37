"""Contractions leave out the zeros around what their windows show.

A convolution with padding is a contraction of windows of an array among zeros, and so is the gradient of any
convolution by its inputs. Where windows reach into the zeros, a contraction need not multiply; and since it finds each
element by an offset, it need not have the zeros in memory either. So the windows are told to it, with how far they
begin ``before`` the array, and it reads what is there.

It needs to know for each row which of its steps are left out (`passes/lower/kernels/slid_rows.py`): so of the axis of
windows and that of their elements, one is an axis of rows and the other one of steps. Everything else about windows
stays as it is: what others read as well, they read in memory. Relies on `contract`, which has put windows on the left.

    %1: f32[n, m + 2] = concatenate %0, %x, %0 {axis=1}
    %2: f32[n, m, 3] = window %1 {axes=[1], counts=[m]...}
    %3: f32[n, m] = contract %2, %w {...}                  ->  %3: f32[n, m] = contract %x, %w {axes=[1], before=[1]...}
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.dims import Dim
from jitflow.ir.renaming import renamed_by
from jitflow.ir.types import dims_of
from jitflow.passes.values.dce import dce
from jitflow.records import dataclass

__all__ = ["crop"]

_FIELDS = {"axes": "axis", "counts": "count", "sizes": "size", "steps": "step", "dilations": "dilation",
           "before": "before"}  # fmt: skip
"""What a contraction says of windows, by the names of attributes."""


def crop(function: Function) -> Function:
    """Let contractions read what lies among zeros, and remove the zeros that nobody else reads."""
    if not any(op.name == "contract" for op in walk(function.region)):
        return function
    made = {result: op for op in walk(function.region) for result in op.results}
    region = _cropped(function.region, made)
    return function if region is function.region else dce(replace(function, region=region))


def _cropped(region: Region, made: dict[Value, Op]) -> Region:
    ops = [new for op in region.ops for new in (_contraction(op, made) if op.name == "contract" else _inside(op, made))]
    same = len(ops) == len(region.ops) and all(new is old for new, old in zip(ops, region.ops, strict=True))
    return region if same else Region(region.parameters, tuple(ops))


def _inside(op: Op, made: dict[Value, Op]) -> list[Op]:
    regions = tuple(_cropped(region, made) for region in op.regions)
    same = all(new is old for new, old in zip(regions, op.regions, strict=True))
    return [op if same else replace(op, regions=regions)]


@dataclass(frozen=True, slots=True)
class _Slid:
    """Along one axis of an array: windows, and how far the first one begins before it."""

    axis: int
    count: Dim
    size: Dim
    step: int
    dilation: int
    before: Dim

    def sliced(self, places: tuple[Dim, Dim, int], taps: tuple[Dim, Dim, int]) -> _Slid:
        """Some of the windows, and some elements of each: from where on, how many, and how far apart."""
        (first, count, apart), (tap, size, pace) = places, taps
        before = self.before - first * self.step - tap * self.dilation
        return _Slid(self.axis, count, size, self.step * apart, self.dilation * pace, before)


def _contraction(op: Op, made: dict[Value, Op]) -> list[Op]:
    found = None if "axes" in op.attributes else _windows(op.operands[0], made)
    if found is None:
        return [op]
    array, slid, dims = found
    whole, rank = array, len(dims)
    places = {one.axis: number for number, one in enumerate(slid) if _is_told_by_rows(op, one, rank + number)}
    while (around := _among_zeros(array, made)) is not None and around[0] in places:
        axis, before, array = around
        number = places[axis]
        slid[number] = replace(slid[number], before=slid[number].before + before)
    if array is whole:
        return [op]
    windows = {name: tuple(getattr(one, field) for one in slid) for name, field in _FIELDS.items()}
    builder = Builder()
    builder.loc = op.loc
    own = dims_of(array.type)
    names = tuple(own[axis] if dim is None else dim for axis, dim in enumerate(dims))
    if names != own:
        array = builder.make("broadcast", array, dims=names, axes=tuple(range(rank)), assumed=True)
    operands, attributes = (array, op.operands[1]), MappingProxyType({**op.attributes, **windows})
    return [*builder.ops, replace(op, operands=operands, attributes=attributes)]


def _windows(value: Value, made: dict[Value, Op]) -> tuple[Value, list[_Slid], list[Dim | None]] | None:
    """The array whose windows a value shows, these, and the names of its other sizes.

    None for a value that shows something else.
    """
    above = list[Op]()
    op = made.get(value)
    while op is not None and (op.name == "slice" or renamed_by(op) is not None):
        above.append(op)
        op = made.get(op.operands[0])
    if op is None or op.name != "window":
        return None
    figures = (op.attributes[name] for name in list(_FIELDS)[:-1])
    slid = [_Slid(axis, count, size, step, dilation, 0)
            for axis, count, size, step, dilation in zip(*figures, strict=True)]  # fmt: skip
    whole, shown = op.operands[0], dims_of(op.result.type)
    rank = len(dims_of(whole.type))
    alone = set(range(rank)) - {one.axis for one in slid}
    if (part := made.get(whole)) is not None and part.name == "slice":  # to what windows reach
        starts, steps = part.attributes["starts"], part.attributes["steps"]
        uncut = all(dims_of(part.operands[0].type)[axis] == dims_of(whole.type)[axis] for axis in alone)
        if uncut and all(step == 1 for step in steps):
            whole, slid = part.operands[0], [replace(one, before=-starts[one.axis]) for one in slid]
    for part in reversed(above):
        after = dims_of(part.result.type)
        cuts = [(0, dim, 1) for dim in after]
        if part.name == "slice":
            cuts = list(zip(*(part.attributes[name] for name in ("starts", "sizes", "steps")), strict=True))
            if any(step < 1 for *_, step in cuts) or any(cuts[axis] != (0, shown[axis], 1) for axis in alone):
                return None
        slid = [one.sliced(cuts[one.axis], cuts[rank + number]) for number, one in enumerate(slid)]
        shown = after
    return whole, slid, [shown[axis] if axis in alone else None for axis in range(rank)]


def _is_told_by_rows(op: Op, one: _Slid, tap: int) -> bool:
    """Whether of the axis of some windows and that of their elements, one is of rows and the other of steps."""
    left, right, kept = (op.attributes[name] for name in ("left", "right", "kept"))
    rows, steps = set(left) - set(right), set(left) - set(kept)
    place, element = left[one.axis], left[tap]
    meets = (place in rows and element in steps) or (element in rows and place in steps)
    return meets and one.count != 1 and one.size != 1


def _among_zeros(value: Value, made: dict[Value, Op]) -> tuple[int, Dim, Value] | None:
    """The axis along which an array stands among zeros, how many stand before it, and the array."""
    op = made.get(value)
    if op is None or op.name != "concatenate":
        return None
    axis, others = op.attributes["axis"], [operand for operand in op.operands if not _is_zero(operand, made)]
    if len(others) != 1:
        return None
    place = op.operands.index(others[0])
    before: Dim = sum((dims_of(operand.type)[axis] for operand in op.operands[:place]), start=0)
    return axis, before, others[0]


def _is_zero(value: Value, made: dict[Value, Op]) -> bool:
    """Whether all of an array is 0, which has no sign."""
    op = made.get(value)
    while op is not None and op.name in ("broadcast", "copy"):
        op = made.get(op.operands[0])
    if op is None or op.name != "constant":
        return False
    number = op.attributes["value"]
    return number == 0 and math.copysign(1.0, number) > 0
