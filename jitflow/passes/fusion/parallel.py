"""Parallel: loops that run kernels, whose turns may run at the same time, are marked so.

    for %0, %n, %1 (%i: index[i]) {                   for %0, %n, %1 {parallel=true} (%i: index[i]) {
      %2 = slice %x {starts=[i, 0], ...}                ...
      %3 = matmul %2, %w                       ->
      %4 = slice %y {starts=[i, 0], ...}
      store %4, %3
    }                                                 }

Turns may do so if they hand nothing on, and if each writes to elements of its own, by slices that never meet those of
another turn (`jitflow.passes.analyses.extents`), and reads of what is written nothing but these. A turn that may fail
must write to what the program itself has made: later turns have written by then, which nobody may see. Loops over
elements, which run no kernels, are told by their bytes instead (`scalar_loops/spread.py`).

The attribute ``turns`` of the function says of loops that are not marked why not. Lowering lets threads share marked
ones (`lower/control.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.effects import Effects
from jitflow.ir.types import Index, Place, Tensor, Variable
from jitflow.passes.analyses.extents import Extents, renames
from jitflow.records import dataclass

__all__ = ["parallel"]

_KERNELS = frozenset(("matmul", "contract"))
_ALLOWED = frozenset((
    *_KERNELS, "fusion", "load", "store", "check", "variable", "empty", "for", "if", "yield", "to_index", "size",
    "constant",
))  # fmt: skip
"""Beside arithmetic on numbers, and views."""


def parallel(function: Function) -> Function:
    """The function with its parallel loops marked; the attribute ``turns`` says why others are none."""
    if not any(op.name == "for" for op in walk(function.region)):
        return function
    marking = _Marking(function, Effects(function), Extents(function))
    region = marking.region(function.region)
    attributes = {**function.attributes, **({"turns": tuple(marking.said)} if marking.said else {})}
    return replace(function, region=region, attributes=MappingProxyType(attributes))


@dataclass(slots=True)
class _Marking:
    function: Function
    effects: Effects
    extents: Extents
    said: list[str] = field(default_factory=list)

    def region(self, region: Region) -> Region:
        return Region(region.parameters, tuple(self._op(op) for op in region.ops))

    def _op(self, op: Op) -> Op:
        if not op.regions or op.name == "fusion":
            return op
        if op.name == "for" and not op.attributes.get("parallel") and any(map(_is_kernel, _ops_of(op))):
            reason = self._why_not(op)
            if reason:
                self.said.append(f"loop ({op.loc}): on one thread: {reason}")
            else:
                op = replace(op, attributes=MappingProxyType({**op.attributes, "parallel": True}))
        return replace(op, regions=tuple(map(self.region, op.regions)))

    def _why_not(self, loop: Op) -> str:
        """Why turns are not known to be independent; nothing if they are."""
        if loop.results:
            return "turns hand on what they have computed"
        step = loop.operands[2].type
        if not isinstance(step, Index) or step.dim != 1:
            return "it does not go from one position to the next"
        inside = list(_ops_of(loop))
        odd = next((op for op in inside if not _is_allowed(op)), None)
        if odd is not None:
            return f"{odd.name} is done in the order of the turns"
        made = {op.result for op in inside if op.name == "variable"}
        stores = [op for op in inside if op.name == "store" and not self.effects.places(op.operands[0]) <= made]
        if any(len(self.effects.places(store.operands[0])) != 1 for store in stores):
            return "where it writes to is decided in it"
        written = {next(iter(self.effects.places(store.operands[0]))) for store in stores}
        visible = self.effects.visible
        seen = [one for one in written if visible is None or one in visible or not isinstance(one.type, Variable)]
        if seen and self.function.attributes.get("overlap"):
            return "what it writes to may be what it reads"
        if seen and any(access.kind == "check" for op in inside for access in self.effects.of(op)):
            return "a turn may fail, and who calls would see what later ones have written"
        if all(self._are_apart(loop, inside, variable) for variable in written):
            return ""
        return "turns may write where others read or write"

    def _are_apart(self, loop: Op, inside: Sequence[Op], variable: Value) -> bool:
        """Whether all that a turn touches of a variable are slices that no other turn touches."""
        whole, made, parts = {variable}, set[Value](), list[Op]()
        for op in inside:
            if not any(self._shows(operand, variable) for operand in op.operands):
                continue
            if op.operands[0] not in whole:
                if op.operands[0] not in made:
                    return False  # a view from in front of the loop
            elif renames(op):
                whole.add(op.result)
            elif op.name == "slice":
                parts.append(op)
            else:
                return False
            made.update(op.results)
        return self.extents.turns_never_meet(parts, loop)

    def _shows(self, value: Value, variable: Value) -> bool:
        return isinstance(value.type, Variable | Place) and variable in self.effects.places(value)


def _ops_of(op: Op) -> Iterator[Op]:
    """The ops inside of an op, kernels as a whole."""
    for region in op.regions:
        for inner in region.ops:
            yield inner
            if inner.name != "fusion":
                yield from _ops_of(inner)


def _is_kernel(op: Op) -> bool:
    return op.name in _KERNELS or (op.name == "fusion" and any(isinstance(one.type, Tensor) for one in op.results))


def _is_allowed(op: Op) -> bool:
    return op.name in _ALLOWED or bool(op.definition.traits & {"view", "elementwise"})
