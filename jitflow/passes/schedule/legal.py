"""What a schedule may not say: these hold of each, whoever made it.

1. A loop inside of another one of its axis takes fewer positions a turn, and the other a multiple of that.
2. Lanes run along the vector loop alone, nothing inside of them does, and where it is reduced they are as many as the
   reduction has partial results.
3. A result is stored once, where its loops and no others are open down to single positions or lanes, and what it is
   made of is known: reductions behind their sweep, running ones behind their fold.
4. A reduction has one sweep, which stands where the loops of its result are open, and in it one fold, where all
   reduced loops are open as well, in the order of the nest.
5. Blocks are those of the reduction: a reduced loop takes `BLOCK` positions, once, if anything in it is blocked, and
   then the innermost of them does. What is centred is gone over once more in each block, what is located looked for.
   Where all of an array is reduced, there are the reduction's chunks around. On a GPU any reduction may be in chunks
   that warps share, and these in larger ones that teams share.
6. A reduced loop is written out if it is short and lanes are outputs, or where the loop around it takes as many.
7. Partial results lie in memory in a loop that takes a strip of the vector loop, if they are one number or sum a lane;
   inside of the reduced loops are lanes, and in these the positions of a band, written out.
8. A value is kept in a sweep before those that need it, in scratch memory or in a result of its dtype and loops that is
   stored last. On a GPU it may be kept on the chip, if it is one row, and so may rows of operands without gaps, which
   are brought there before the sweeps. On a processor, operands that do not go on evenly along what is reduced are
   brought into scratch memory, at the beginning of each block.
9. Threads share a loop that no other is around, along which all results vary. Where lanes are outputs they may share
   the one reduced loop instead: its blocks, if all that a sweep folds is blocked, or what of it a sweep visits.
10. What is written past the caches is memory of the program's own, and a vector of it is some of whole cache lines, or
    a part of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from jitflow.errors import UserValueError
from jitflow.ir.core import Op, Value
from jitflow.ir.types import Scalar, Tensor
from jitflow.passes.fusion.nest import Loop, is_folded
from jitflow.passes.schedule.cost import is_short
from jitflow.passes.schedule.folding import (
    BLOCK,
    Folding,
    chunk_elements,
    folding_of,
    grid_chunks,
    is_one_chunk,
    partial_lanes,
)
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.past_caches import may_pass_caches
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.text import ScheduleNames
from jitflow.passes.schedule.tree import (
    Deviate,
    Fold,
    For,
    Keep,
    Locate,
    Match,
    Node,
    Reduce,
    Schedule,
    Stage,
    Store,
    When,
    walk_nodes,
)

__all__ = ["check_schedule"]


def check_schedule(schedule: Schedule, loops: JoinedLoops, target: Target, names: ScheduleNames) -> None:
    """Raise `UserValueError` with the first thing that a schedule may not say."""
    _Check(loops, target, names).whole(schedule.body)


class _Check:
    """A walk over a tree, which knows the open loops and what is known so far."""

    def __init__(self, loops: JoinedLoops, target: Target, names: ScheduleNames) -> None:
        self.loops, self.target, self.names = loops, target, names
        self.open: list[For] = []
        self.sweep: Reduce | None = None
        self.known: set[Op] = set()
        self.folding: set[Op] = set()
        """What is folded so far."""
        self.kept: set[Value] = set()
        self.stored: list[Value] = []

    def whole(self, body: Sequence[Node]) -> None:
        """A tree, or one of several that sizes choose from."""
        if len(body) == 1 and isinstance(body[0], When):
            for way in (body[0].then, body[0].otherwise):
                _Check(self.loops, self.target, self.names).whole(way)
            return
        self.nodes(body)
        for value in self.loops.yielded:
            if value not in self.stored:
                self.fail(f"{self.name(value)} is not stored")

    def nodes(self, body: Sequence[Node]) -> None:
        for node in body:
            match node:
                case For():
                    self.loop(node)
                case Reduce():
                    self.reduce(node)
                case Store():
                    for number, value in enumerate(node.values):
                        self.store(value)
                        if node.past_caches and node.past_caches[number] != 0:
                            self.past_caches(value)
                case Stage():
                    self.stage(node)
                case Keep():
                    self.keep(node)
                case When():
                    self.fail("sizes choose between whole schedules alone")
                case Fold() | Deviate() | Match() | Locate() if self.sweep is None:
                    self.fail("there is no sweep around what is folded")
                case Locate():
                    self.nodes(node.body)
                case Fold():
                    self.folding.update(node.ops)
                case _:
                    pass

    # Loops

    def loop(self, node: For) -> None:
        around = [loop for loop in self.open if loop.loop is node.loop]
        name = self.names.loops[node.loop]
        in_chunk = bool(around) and around[-1].how == "chunks" and self.target.distributed
        if (
            node.step < 1
            or (around and around[-1].step % node.step and not in_chunk)
            or (around and around[-1].how == "lanes")
        ):
            self.fail(f"the loop {name} by {node.step} does not fit into the one around it")
        if around and around[-1].step == node.step and node.how != "written out" and not in_chunk:
            self.fail(f"the loop {name} by {node.step} takes as many positions as the one around it")
        if node.threads != 0 and node.how != "chunks" and not (self._may_be_shared(node.loop) or self._is_spread(node)):
            self.fail(f"threads cannot share the loop {name}")
        if node.how == "chunks":
            ops = () if self.sweep is None else self.sweep.ops
            if not (self._is_chunk_of_grid(node) if self.target.distributed else self._is_chunk(node, ops)):
                self.fail(f"the loop {name} has no chunks of {node.step}")
        elif node.how == "lanes":
            self.lanes(node)
        elif node.how == "written out":
            if node.step != 1 or (not around and not (is_short(self.loops.reduced) and self._is_vertical(node.loop))):
                self.fail(f"the loop {name} is not short")
        elif node.loop is self.loops.vector and not _loops_of(node.body, node.loop) and self.target.lanes:
            self.fail(f"the loop {name} is one of lanes")
        if node.loop.reduced and self.sweep is None and any(isinstance(n, Reduce) for n in walk_nodes(node.body)):
            self.fail(f"a sweep begins inside of the reduced loop {name}")
        if self.loops.uneven and node.loop.reduced and not _loops_of(node.body, node.loop):
            block = self._block()
            if block is None or not isinstance(block.body[0], Stage):
                self.fail(f"the loop {name} needs operands in scratch memory, a block of {BLOCK} at a time")
        self.open.append(node)
        self.nodes(node.body)
        self.open.pop()

    def _block(self) -> For | None:
        """The open loop that takes blocks of what is reduced."""
        return next((one for one in self.open if one.loop.reduced and one.step == BLOCK and one.how == "serial"), None)

    def lanes(self, node: For) -> None:
        if node.loop is not self.loops.vector or any(one.loop is node.loop for one in walk_nodes(node.body)
                                                     if isinstance(one, For)):  # fmt: skip
            self.fail(f"lanes cannot run along {self.names.loops[node.loop]}")
        partial = partial_lanes(self.target)
        folds = node.loop.reduced and not (node.parallel and self.sweep is None)
        if node.step < 2 or (folds and (node.step != partial or node.tail == "narrow")):
            self.fail(f"rows are folded in {partial} lanes, not in {node.step}")
        if node.tail == "narrow" and (node.narrow < 2 or node.step % node.narrow):
            self.fail(f"{node.step} lanes have no tail of {node.narrow}")

    def _is_chunk(self, node: For, ops: Sequence[Op]) -> bool:
        return not self.open and node.step == self._chunk(ops)

    def _is_chunk_of_grid(self, node: For) -> bool:
        """Whether teams or warps of a GPU may share these chunks, where they stand."""
        large, small = grid_chunks(self.loops)
        around = [loop for loop in self.open if loop.loop.reduced]
        if any(loop.how != "chunks" or not loop.parallel for loop in around) or node.loop is not self.loops.reduced[0]:
            return False
        return node.step == large and not around if node.parallel else node.step == small and node.threads != 0

    def _chunk(self, ops: Sequence[Op]) -> int:
        """How many elements a chunk of what these reduce has, 0 if there are no chunks."""
        foldings = [folding_of(op, self.loops, distributed=self.target.distributed) for op in ops]
        return chunk_elements(self.loops, self.target, foldings)

    def _may_be_shared(self, loop: Loop) -> bool:
        varying = all(loop in self.loops.loops_of(value) for value in self.loops.yielded)
        return not self.open and not loop.reduced and varying

    def _is_spread(self, node: For) -> bool:
        """Whether a loop goes over blocks of rows, or over rows of which nothing is folded, that threads may share."""
        if self.loops.reduced != [node.loop] or not self._is_vertical(node.loop) or self.target.distributed:
            return False
        if (
            node.loop.in_order
            or any(one.threads != 0 for one in self.open)
            or set(self.single()) != set(self.loops.outer)
        ):
            return False
        if self.sweep is None:
            return True
        foldings = [folding_of(op, self.loops, distributed=False) for op in self.sweep.ops]
        blocked = all(folding.blocked and not folding.located for folding in foldings)
        return blocked and node.step == BLOCK and not self.sweep.in_memory

    def _is_vertical(self, loop: Loop) -> bool:
        return loop.reduced and self.loops.vector is not None and not self.loops.vector.reduced

    # Results

    def store(self, value: Value) -> None:
        if value in self.stored:
            self.fail(f"{self.name(value)} is stored twice")
        if value not in self.loops.yielded or set(self.single()) != set(self.loops.loops_of(value)):
            self.fail(f"{self.name(value)} cannot be stored here")
        self.needs(value)
        self.stored.append(value)

    def past_caches(self, value: Value) -> None:
        lanes = next((node.step for node in self.open if node.how == "lanes"), 0)
        if not may_pass_caches(value, self.loops, lanes):
            self.fail(f"{self.name(value)} cannot be written past the caches")

    def stage(self, node: Stage) -> None:
        if not self.target.distributed:
            block = self._block()
            if block is None or block is not self.open[-1] or set(node.values) != set(self.loops.uneven):
                self.fail("what does not go on evenly is brought into scratch memory at the beginning of each block")
            return
        if self.sweep is not None or set(self.single()) != set(self.loops.outer):
            self.fail("rows are brought to the chip where their loops are open, before the sweeps")
        for value in node.values:
            self.on_chip(value)
            access = self.loops.access(self.loops.nest.access(value)) if value in self.loops.nest.layouts else None
            if access is None or access.strides.get(self.loops.reduced[0], 0) != access.dtype.itemsize:
                self.fail(f"rows of {self.name(value)} are not brought to the chip")

    def on_chip(self, value: Value) -> None:
        if (
            not self.target.distributed
            or len(self.loops.reduced) != 1
            or self.loops.vector is not self.loops.reduced[0]
        ):
            self.fail(f"{self.name(value)} has no place on the chip")

    def keep(self, node: Keep) -> None:
        loops, into = self.loops, node.into
        if node.on_chip:
            self.on_chip(node.value)
        if self.sweep is None or set(self.single()) != {*loops.outer, *loops.reduced}:
            self.fail(f"{self.name(node.value)} cannot be kept here")
        self.needs(node.value)
        self.kept.add(node.value)
        if into is None:
            return
        fits = into in loops.yielded and _dtype(into) == _dtype(node.value)
        if not fits or set(loops.loops_of(into)) != set(self.single()) or into in self.stored:
            self.fail(f"{self.name(node.value)} cannot be kept in {self.name(into)}")
        if loops.nest.stage[into] < loops.last_need(node.value):
            self.fail(f"{self.name(into)} is stored before {self.name(node.value)} is read")

    def single(self) -> list[Loop]:
        """The loops that are open down to single positions or lanes; fails where one is only taken in part."""
        found = [node.loop for node in self.open if node.step == 1 or node.how == "lanes"]
        for node in self.open:
            if node.loop not in found:
                self.fail(f"positions of {self.names.loops[node.loop]} are taken, and no loop runs over them")
        return found

    def needs(self, value: Value) -> None:
        """All reductions behind a value are known."""
        seen: set[Value] = set()
        left = [value]
        while left:
            value = self.loops.nest.origin(left.pop())
            op = self.loops.nest.producer.get(value)
            if value in seen or op is None or value in self.loops.nest.layouts:
                continue
            seen.add(value)
            if not is_folded(op):
                left += op.operands
            elif op not in self.known and not ("accumulation" in op.definition.traits and op in self.folding):
                self.fail(f"{self.name(value)} is not known yet")

    # Sweeps

    def reduce(self, node: Reduce) -> None:
        if self.sweep is not None:
            self.fail("a sweep stands in another")
        strip = [loop for loop in self.open if loop.loop is self.loops.vector and loop.how != "lanes"]
        around = {loop.loop for loop in self.open}
        if around != set(self.loops.outer) or (bool(strip) != node.in_memory):
            self.fail("a sweep stands where the loops of its results are open" + ", or a strip of them" * bool(strip))
        foldings = {op: folding_of(op, self.loops, distributed=self.target.distributed) for op in node.ops}
        for op, folding in foldings.items():
            if op in self.known:
                self.fail(f"{self.name(op.result)} has two sweeps")
            self.needs(op.operands[0])
            self.folded(node, op, folding)
        self.sweep = node
        self.nodes(node.body)
        self.sweep = None
        self.known.update(node.ops)

    def folded(self, node: Reduce, op: Op, folding: Folding) -> None:
        """One reduction of a sweep: its fold, its blocks, and what else it needs."""
        name = self.name(op.result)
        paths = [path for path in _paths(node.body, ()) if isinstance(path[-1], Fold) and op in path[-1].ops]
        if len(paths) != 1:
            self.fail(f"{name} is folded {len(paths)} times")
        along = [one for one in paths[0] if isinstance(one, For)]
        reduced = list(dict.fromkeys(one.loop for one in along if one.loop.reduced and one.how != "chunks"))
        if reduced != self.loops.reduced or any(not _is_covered(loop, along) for loop in reduced):
            self.fail(f"{name} is not folded along all that it reduces, in the order of the nest")
        chunk = self._chunk(node.ops)
        free = self.target.distributed or is_one_chunk(self.loops, chunk)
        if bool(chunk) != any(one.how == "chunks" for one in along) and not free:
            self.fail(f"{name} is folded in chunks of {chunk}")
        whole = [one for one in along if one.how == "written out" and not _has_around(one, along)]
        if whole and self.loops.reduced and not is_short(self.loops.reduced):
            self.fail(f"the loops of {name} are not short")
        blocks = [one.step for one in along if one.loop.reduced and one.step > 1 and _has_inside(one, along)
                  and one.how != "chunks" and not _is_band(one, along)]  # fmt: skip
        if len(blocks) > 1 or (folding.blocked and reduced and not whole and blocks != [BLOCK]):
            self.fail(f"{name} is folded in blocks of {BLOCK}")
        inside = list(walk_nodes(node.body))
        if folding.centred and not whole and not any(isinstance(n, Deviate) and op in n.ops for n in inside):
            self.fail(f"{name} takes a second look at each block")
        if folding.located and not any(isinstance(n, Locate) and n.op is op for n in inside):
            self.fail(f"{name} is looked for in blocks")
        lanes = [number for number, one in enumerate(along) if one.how == "lanes" or one.how == "written out"]
        if any(along[one].loop.in_order for one in lanes) or (node.in_memory and any(one.in_order for one in reduced)):
            self.fail(f"{name} goes on from one element to the next")
        is_one_number = not (folding.centred or folding.located or folding.finds_place)
        if node.in_memory and (not is_one_number or lanes != [len(along) - 2, len(along) - 1]):
            self.fail(f"{name} cannot lie in memory")

    def name(self, value: Value) -> str:
        return self.names.text([value])

    def fail(self, what: str) -> NoReturn:
        raise UserValueError(f"the schedule cannot be followed: {what}")


def _paths(body: Sequence[Node], around: tuple[Node, ...]) -> list[tuple[Node, ...]]:
    """From the outermost node to each leaf."""
    found: list[tuple[Node, ...]] = []
    for node in body:
        if isinstance(node, For | Reduce | Locate):
            found += _paths(node.body, (*around, node))
        else:
            found.append((*around, node))
    return found


def _is_covered(loop: Loop, along: Sequence[For]) -> bool:
    return any(one.loop is loop and (one.step == 1 or one.how == "lanes") for one in along)


def _has_inside(node: For, along: Sequence[For]) -> bool:
    return any(one.loop is node.loop for one in along[along.index(node) + 1 :])


def _has_around(node: For, along: Sequence[For]) -> bool:
    return any(one.loop is node.loop for one in along[: along.index(node)])


def _is_band(node: For, along: Sequence[For]) -> bool:
    """Whether what a loop takes is written out."""
    inside = [one for one in along[along.index(node) + 1 :] if one.loop is node.loop]
    return inside[0].how == "written out"


def _loops_of(body: tuple[Node, ...], loop: Loop) -> list[For]:
    return [node for node in walk_nodes(body) if isinstance(node, For) and node.loop is loop]


def _dtype(value: Value) -> object:
    assert isinstance(value.type, Tensor | Scalar)
    return value.type.dtype
