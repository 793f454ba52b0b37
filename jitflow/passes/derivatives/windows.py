"""Rules of windows and of contractions.

The adjoint of windows adds each of their elements to where it came from. Of windows that are contracted, that is a
contraction as well: with one axis, steps of s and dilations of d, ``y[i] = sum_k x[s i + d k] w[k]`` has the adjoint

    x'[p] = sum of y'[i] w[k] over all i, k with s i + d k = p

The positions ``p = s q + r`` of one *phase* r get the taps ``k = k0 + (s / g) j``, where g is the common divisor of s
and d, and for each phase that is ``x'[s q + r] = sum_j y'[q - e - (d / g) j] w[k]``: windows of y' among zeros,
contracted with w in reversed order. So no array is made that has an element for each element of each window. Other
windows are added element by element of a window, each to a slice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, symbol
from jitflow.ir.types import Index, Tensor, dims_of
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank
from jitflow.passes.derivatives.rules import Arriving, Change, Part, given, total
from jitflow.records import dataclass

__all__ = ["contract", "contract_tangent", "windows"]


def contract(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """Each operand gets the contraction of the cotangent with the other one."""
    (left, right), cotangent = op.operands, given(cotangents)
    of_left, of_right, kept = (op.attributes[name] for name in ("left", "right", "kept"))
    first = m("contract", cotangent, _conjugate(m, right), left=kept, right=of_right, kept=of_left)
    second = m("contract", _conjugate(m, left), cotangent, left=of_left, right=kept, kept=of_right)
    return first, second


def contract_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    """The rule of products."""
    (left, right), (first, second) = op.operands, tangents
    attributes = dict(op.attributes)
    parts = (
        first and m("contract", first, right, **attributes),
        second and m("contract", left, second, **attributes),
    )
    return (total(m, parts),)


def _conjugate(m: Notation, value: Value) -> Value:
    return m("conjugate", value) if dtype_of(value).is_complex else value


def windows(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """What arrives at the array that windows show."""
    cotangent = given(cotangents)
    adjoint = _Adjoint.of_product(m, op, cotangent)
    if adjoint is None:
        return (Part(partial(_add_elements, op, cotangent)),)
    if all(step == 1 for step in op.attributes["steps"]):
        return (adjoint.phase(m, next(iter(adjoint.phases()))),)
    return (Part(adjoint.add_to),)


# -- windows that are contracted


@dataclass(frozen=True)
class _Phase:
    """Along one axis: positions ``first + step q`` of an array, and the taps ``tap + pace j`` that reach them."""

    first: int
    tap: int
    pace: int
    taps: Dim
    count: Dim
    delay: int
    dilation: int


@dataclass(frozen=True, eq=False)
class _Adjoint:
    """The adjoint of windows whose cotangent is a contraction of ``moved``, which has no taps, with ``fixed``.

    ``labels`` are those of moved, of fixed, and of the windows.
    """

    op: Op
    moved: Value
    fixed: Value
    labels: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

    @staticmethod
    def of_product(m: Notation, op: Op, cotangent: Value) -> _Adjoint | None:
        """The adjoint, if the cotangent is such a contraction."""
        made = next((one for one in reversed(m.builder.ops) if cotangent in one.results), None)
        if made is None or made.name != "contract":
            return None
        of_left, of_right, kept = (made.attributes[name] for name in ("left", "right", "kept"))
        outer = len(dims_of(op.operands[0].type))
        counts, taps = {kept[axis] for axis in op.attributes["axes"]}, set(kept[outer:])
        left, right = made.operands
        alone, fixed = set(of_left) - set(of_right), set(of_right) - set(of_left)
        if counts <= alone and taps <= fixed:
            return _Adjoint(op, left, right, (of_left, of_right, kept))
        if counts <= fixed and taps <= alone:
            return _Adjoint(op, right, left, (of_right, of_left, kept))
        return None

    def phases(self) -> Iterator[tuple[_Phase, ...]]:
        """One phase for each axis, in all combinations that any tap reaches."""
        attributes, dims = self.op.attributes, dims_of(self.op.operands[0].type)
        along: list[list[_Phase]] = []
        names = ("axes", "sizes", "steps", "dilations")
        for axis, size, step, dilation in zip(*(attributes[name] for name in names), strict=True):
            common = math.gcd(step, dilation)
            pace = step // common
            found = []
            for tap in range(pace):
                first, delay = tap * dilation % step, tap * dilation // step
                taps, count = (size - tap + pace - 1) // pace, (dims[axis] - first + step - 1) // step
                if taps != 0:
                    found.append(_Phase(first, tap, pace, taps, count, delay, dilation // common))
            along.append(found)
        yield from product(*along)

    def phase(self, m: Notation, phases: tuple[_Phase, ...]) -> Value:
        """What arrives at the positions of one phase along each axis."""
        of_moved, of_fixed, kept = self.labels
        axes, outer = self.op.attributes["axes"], len(dims_of(self.op.operands[0].type))
        moved_axes = tuple(of_moved.index(kept[axis]) for axis in axes)
        taps = kept[outer:]
        fixed_axes = tuple(map(of_fixed.index, taps))
        shown = m(
            "window", self._among_zeros(m, phases, moved_axes), axes=moved_axes,
            counts=tuple(phase.count for phase in phases), sizes=tuple(phase.taps for phase in phases),
            steps=(1,) * len(axes), dilations=tuple(phase.dilation for phase in phases),
        )  # fmt: skip
        dims = dims_of(self.fixed.type)
        starts: list[Dim] = [0] * len(dims)
        sizes, steps = list(dims), [1] * len(dims)
        for axis, phase in zip(fixed_axes, phases, strict=True):
            starts[axis] = phase.tap + (phase.taps - 1) * phase.pace
            sizes[axis], steps[axis] = phase.taps, -phase.pace
        turned = m("slice", self.fixed, starts=tuple(starts), sizes=tuple(sizes), steps=tuple(steps))
        return m("contract", shown, turned, left=(*of_moved, *taps), right=of_fixed, kept=kept[:outer])

    def _among_zeros(self, m: Notation, phases: tuple[_Phase, ...], axes: tuple[int, ...]) -> Value:
        """The cotangent that moves, with zeros where windows reach beyond it."""
        found = self.moved
        for axis, phase in zip(axes, phases, strict=True):
            dims = dims_of(found.type)
            before, whole = (
                phase.delay + (phase.taps - 1) * phase.dilation,
                phase.count + (phase.taps - 1) * phase.dilation,
            )
            around = (before, whole - before - dims[axis])
            if around != (0, 0):
                shapes = ((*dims[:axis], count, *dims[axis + 1 :]) for count in around)
                first, last = (m.zeros(Tensor(dtype_of(found), shape)) for shape in shapes)
                found = m("concatenate", first, found, last, axis=axis)
        return found

    def add_to(self, m: Notation, place: Value) -> None:
        """Add what arrives at each phase to the elements of it."""
        dims, attributes = dims_of(place.type), self.op.attributes
        for phases in self.phases():
            starts: list[Dim] = [0] * len(dims)
            sizes, steps = list(dims), [1] * len(dims)
            for axis, phase, step in zip(attributes["axes"], phases, attributes["steps"], strict=True):
                starts[axis], sizes[axis], steps[axis] = phase.first, phase.count, step
            part = m("slice", place, starts=tuple(starts), sizes=tuple(sizes), steps=tuple(steps))
            m.increase(part, self.phase(m, phases))


# -- other windows


def _add_elements(op: Op, cotangent: Value, m: Notation, place: Value) -> None:
    """Add each element of all windows to the slice that it shows."""
    _add_along(m, op, cotangent, place, ())


def _add_along(m: Notation, op: Op, cotangent: Value, place: Value, taps: tuple[Dim, ...]) -> None:
    sizes = op.attributes["sizes"]
    if len(taps) == len(sizes):
        _add_element(m, op, cotangent, place, taps)
        return
    size = sizes[len(taps)]
    if isinstance(size, int):
        for number in range(size):
            _add_along(m, op, cotangent, place, (*taps, number))
        return
    inside, tap = m.inside(), symbol(m.fresh("tap"))
    _add_along(inside, op, cotangent, place, (*taps, tap))
    position = Value(Index(tap), "tap")
    bounds = (m.size(0), m.size(size), m.size(1))
    m.add("for", *bounds, types=(), regions=(inside.builder.region((position,), ()),))


def _add_element(m: Notation, op: Op, cotangent: Value, place: Value, taps: tuple[Dim, ...]) -> None:
    attributes, dims, outer = op.attributes, dims_of(place.type), rank(cotangent) - len(taps)
    starts: list[Dim] = [0] * len(dims)
    sizes, steps = list(dims), [1] * len(dims)
    names = ("axes", "counts", "steps", "dilations")
    for axis, count, step, dilation, tap in zip(*(attributes[name] for name in names), taps, strict=True):
        starts[axis], sizes[axis], steps[axis] = tap * dilation, count, step
    shown = dims_of(cotangent.type)[:outer]
    element = m(
        "slice", cotangent, starts=(*(0,) * outer, *taps), sizes=(*shown, *(1,) * len(taps)),
        steps=(1,) * rank(cotangent),
    )  # fmt: skip
    part = m("slice", place, starts=tuple(starts), sizes=tuple(sizes), steps=tuple(steps))
    m.increase(part, m("reshape", element, dims=shown))
