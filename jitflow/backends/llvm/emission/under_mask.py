"""Accesses under a mask, round which whole vectors branch where it is not free (`processor.free_masks`).

A branch that goes one way costs nothing. Reads that follow each other take it together:

    whole:  loads without a mask    ->    done:  what was loaded, by where it comes from
    some:   loads under the mask    ->
"""

from __future__ import annotations

from collections.abc import Callable

from jitflow.backends.llvm.emission.emit_control import phi
from jitflow.backends.llvm.emission.emitter import UNLIKELY, Emitter, Line
from jitflow.backends.llvm.emission.types import Number, memory_type
from jitflow.ir.core import Op
from jitflow.records import dataclass

__all__ = ["Fork", "mask_of", "under_mask"]


@dataclass(eq=False)
class Fork:
    """A branch round a mask: the lines of both ways, and of what comes of them."""

    below: Op
    """What the mask is."""
    number: int
    """What came up before is known on both ways."""
    labels: tuple[str, str]
    whole: list[Line]
    some: list[Line]
    joined: list[Line]
    again: str
    """The mask, for the second way alone, rather than kept in a register for it."""
    end: str
    """The block behind."""

    def goes_on(self, out: Emitter, below: Op, op: Op) -> bool:
        """Whether an access under the same mask may be done on these ways, at an address that is known in front."""
        follows = self.below is below and self.end == out.block
        return follows and all(out.came_up(out.operand(value)) < self.number for value in op.operands[:2])


def mask_of(out: Emitter, op: Op, position: int) -> str | None:
    """The mask that may stand behind the other operands."""
    return out.operand(op.operands[position]) if len(op.operands) > position else None


def under_mask(
    out: Emitter, op: Op, position: int, access: Callable[[str | None], str | None], loaded: Number | None = None,
    *, joins: bool = False, stretched: bool = False,
) -> str:  # fmt: skip
    """An access under the mask at a position; what it ``loaded``.

    One that ``joins`` is the load of a buffer at an offset, and takes the branch that the load before it took. One that
    has to be ``stretched`` over pairs never goes without a mask that is free: that takes several instructions for each
    access, and loops with them were three times slower.
    """
    mask, is_free = mask_of(out, op, position), out.module.target.free_masks and not stretched
    below = None if mask is None else out.producers.get(op.operands[position])
    if below is None or is_free or not below.attributes.get("mostly"):
        return access(mask) or ""
    fork = out.fork if joins and out.fork is not None and out.fork.goes_on(out, below, op) else _fork(out, below)
    with out.into(fork.whole):
        found = access(None)
    with out.into(fork.some):
        found_some = access(fork.again)
    if loaded is None or found is None or found_some is None:
        return ""
    name, ways = f"%v{out.fresh()}", zip((found, found_some), fork.labels, strict=True)
    fork.joined.append(f"  {name} = {phi(memory_type(loaded), *ways)}")
    return name


def _fork(out: Emitter, below: Op) -> Fork:
    number, whole, some, done = out.fresh(), *(out.label(hint) for hint in ("whole", "some", "done"))
    left, lanes = out.operand(below.operands[0]), below.attributes["lanes"]
    out.branch(out.let(f"icmp sge i64 {left}, {lanes}"), whole, some, UNLIKELY)
    out.begin(whole)
    in_whole = out.place()
    out.jump(done)
    with out.cold(some):
        (again,) = out.rows["lanes_below"](out, below)
        in_some = out.place()
        out.jump(done)
    out.begin(done)
    joined = out.place()
    out.fork = Fork(below, number, (whole, some), in_whole, in_some, joined, again, out.block)
    return out.fork
