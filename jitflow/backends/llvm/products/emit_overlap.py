"""Tiles of matrix products, multiplied while the processor divides.

A division or a root keeps one part of a processor busy for many cycles, in which the others could multiply. They look
only so far ahead that the two must alternate every few instructions. So the sums of a block stay in registers while the
work on the block before is done, one turn of the region after the other, with one step along the inner axis after each:

    turn:    the region for a vector;  a step, if one is left;  until all vectors are done
    alone:   steps, until none is left
    done:    the sums go to the block

It is written into each kernel, since the region is, but only for whole blocks; `emit_blocks` has the others. The bits
are those of its blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emission.emit_control import phi
from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.emission.prefetch import prefetch
from jitflow.backends.llvm.emission.types import element_type
from jitflow.ir.core import Op

__all__ = ["OVERLAP_EMISSION"]


def _overlap_block(out: Emitter, op: Op) -> Sequence[str]:
    block = _Block(out, op)
    (region,) = op.regions
    start, stop = map(out.operand, op.operands[-2:])
    turn, some, joined, test, alone, done = map(out.label, ("turn", "some", "joined", "test", "alone", "done"))
    before, first = out.block, block.at_first()
    out.branch(out.let(f"icmp slt i64 {start}, {stop}"), turn, test)

    out.begin(turn)
    position, state = _Phis(out, ["i64", "i64"]), _Phis(out, block.types)
    out.operands.update(zip(region.parameters, position.names, strict=True))
    out.emit_region(region)
    out.branch(block.is_left(state.names), some, joined)
    worked = out.block
    out.begin(some)
    stepped = block.step(state.names)
    out.jump(joined)
    out.begin(joined)
    either = _merged(out, block.types, (state.names, worked), (stepped, some))
    following = _following(out, op, *position.names)
    out.branch(out.let(f"icmp slt i64 {following[0]}, {stop}"), turn, test)
    position.come(([start, "0"], before), (following, joined))
    state.come((first, before), (either, joined))

    out.begin(test)
    left = _merged(out, block.types, (first, before), (either, joined))
    out.branch(block.is_left(left), alone, done)
    out.begin(alone)
    state = _Phis(out, block.types)
    stepped = block.step(state.names)
    out.branch(block.is_left(stepped), alone, done)
    state.come((left, test), (stepped, alone))
    out.begin(done)
    block.store(_merged(out, block.types, (left, test), (stepped, alone)))
    return ()


_Way = tuple[Sequence[str], str]
"""Operands, and the block from which they come."""


def _merged(out: Emitter, types: Sequence[str], *ways: _Way) -> list[str]:
    """Values at the start of a block, by the block that was left."""
    return [
        out.let(phi(type, *((operands[number], block) for operands, block in ways)))
        for number, type in enumerate(types)
    ]


def _following(out: Emitter, op: Op, row: str, column: str) -> list[str]:
    """The next row and column that the region takes."""
    beyond = out.let(f"add nsw i64 {column}, {op.attributes['lanes']}")
    is_last = out.let(f"icmp eq i64 {beyond}, {op.attributes['columns']}")
    down = out.let(f"zext i1 {is_last} to i64")
    return [out.let(f"add nsw i64 {row}, {down}"), out.let(f"select i1 {is_last}, i64 0, i64 {beyond}")]


class _Phis:
    """Values at the start of a block, where it is known only later what comes into them."""

    def __init__(self, out: Emitter, types: Sequence[str]) -> None:
        self.out, self.types = out, types
        self.names = [f"%p{out.fresh()}" for _ in types]
        self.lines = [out.reserve() for _ in types]

    def come(self, *ways: _Way) -> None:
        """Say what comes: operands, and the block that was left."""
        for number, (name, line, type) in enumerate(zip(self.names, self.lines, self.types, strict=True)):
            incoming = [(operands[number], block) for operands, block in ways]
            self.out.lines[line] = f"  {name} = {phi(type, *incoming)}"


class _Block:
    """What steps have made of it: how many are left, how far the left and the right matrix are behind, and the sums."""

    def __init__(self, out: Emitter, op: Op) -> None:
        self.out = out
        block, block_at, pitch, left, left_at, row_stride, left_step, right, right_at, right_step, steps = map(
            out.operand, op.operands[:-2]
        )
        dtype = op.attributes["dtype"]
        self.itemsize, self.element = dtype.itemsize, element_type(dtype)
        self.lanes = op.attributes["lanes"]
        self.bytes = self.lanes * self.itemsize
        self.vector = f"<{self.lanes} x {self.element}>"
        self.rows, self.columns = range(op.attributes["rows"]), range(op.attributes["columns"] // self.lanes)
        self.types = ["i64", "i64", "ptr", *(self.vector for _ in self.rows for _ in self.columns)]
        self.lines = self._lines(out.at(block, block_at), pitch)
        self.factors = self._lines(out.at(left, left_at), row_stride)
        self.right, self.steps, self.left_step, self.right_step = out.at(right, right_at), steps, left_step, right_step
        self.ahead = out.let(f"mul i64 {left_step}, {op.attributes['ahead']}")

    def _lines(self, first: str, stride: str) -> list[str]:
        """Where the rows of a matrix begin."""
        lines = [first]
        for _ in self.rows[1:]:
            lines.append(self.out.at(lines[-1], stride))
        return lines

    def at_first(self) -> list[str]:
        """What there is before the first step."""
        return [self.steps, "0", self.right, *("zeroinitializer" for _ in self.types[3:])]

    def is_left(self, state: Sequence[str]) -> str:
        """Whether another step is left."""
        return self.out.let(f"icmp sgt i64 {state[0]}, 0")

    def step(self, state: Sequence[str]) -> list[str]:
        """One step along the inner axis, and what there is then."""
        out, (rest, at, right, *sums) = self.out, state
        places = [out.at(right, str(column * self.bytes)) for column in self.columns]
        vectors = [out.let(f"load {self.vector}, ptr {place}, align {self.itemsize}") for place in places]
        prefetch(out, out.at(out.at(self.factors[-1], at), self.ahead))
        following: list[str] = []
        for row in self.rows:
            number = out.let(f"load {self.element}, ptr {out.at(self.factors[row], at)}, align {self.itemsize}")
            factor = out.splat(self.element, number, self.lanes)
            for vector in vectors:
                arguments = [f"{self.vector} {operand}" for operand in (factor, vector, sums[len(following)])]
                following.append(out.call(self.vector, f"llvm.fma.v{self.lanes}f{8 * self.itemsize}", *arguments))
        return [
            out.let(f"sub i64 {rest}, 1"),
            out.let(f"add i64 {at}, {self.left_step}"),
            out.at(right, self.right_step),
            *following,
        ]

    def store(self, state: Sequence[str]) -> None:
        """The sums go to the block."""
        out, sums = self.out, iter(state[3:])
        for line in self.lines:
            for column in self.columns:
                there = out.at(line, str(column * self.bytes))
                out.do(f"store {self.vector} {next(sums)}, ptr {there}, align {self.itemsize}")


OVERLAP_EMISSION: dict[str, Emission] = {"overlap_block": _overlap_block}
