"""The loops of a kernel, as its schedule has them.

What a loop hands from turn to turn are the partial results of the reductions that are folded in it, unless these lie in
memory (`cells.py`). A loop of blocks hands on what blocks have come to; inside of a block it is the block's own sums,
then those of deviations from its mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from jitflow.ir.core import Value
from jitflow.ir.dims import minimum
from jitflow.passes.fusion.nest import Loop
from jitflow.passes.lower.kernels.cells import Cells
from jitflow.passes.lower.kernels.chunks import Chunks
from jitflow.passes.lower.kernels.reduction import Reduction
from jitflow.passes.lower.kernels.reductions import reduction_for
from jitflow.passes.lower.kernels.sharing import share
from jitflow.passes.lower.kernels.sum_blocks import SharedBlocks, SumBlocks
from jitflow.passes.schedule.tree import (
    Deviate,
    Fold,
    For,
    Keep,
    Locate,
    Match,
    Node,
    Reduce,
    Stage,
    Store,
    When,
    walk_nodes,
)

__all__ = ["Loops"]


class Loops(SumBlocks):
    """Emits the nodes of a schedule."""

    unfolded: dict[Reduction, list[Value]] | None = None
    """Elements of a loop that is written out, which are folded behind it."""
    finished: Cells | None = None
    """Where those of the last sweep are, whose results are found once the loop along them is open."""

    def nodes(self, nodes: Sequence[Node]) -> None:
        """Emit what stands at one place, one after the other."""
        for node in nodes:
            match node:
                case For():
                    self._for(node)
                case Reduce():
                    self._reduce(node)
                case Fold():
                    self._fold(node)
                case Deviate():
                    for reduction in self.of(node.ops):
                        reduction.deviations = list(reduction.deviate(reduction.deviations))
                case Stage():
                    self._stage(node)
                case Keep():
                    self.store(self.saved[node.value], self.value(node.value))
                case Store():
                    self._store(node)
                case When():
                    self._when(node)
                case Match():
                    (reduction,) = self.of((node.op,))
                    reduction.places = [reduction.match(*reduction.places)]
                case Locate():
                    raise AssertionError("what a block has found is located at its end")

    # What is done at one place

    def _store(self, node: Store) -> None:
        computed = [self.value(value) for value in node.values]  # all before any is written over what it is made of
        past = node.past_caches or (0,) * len(computed)
        for value, number, size in zip(node.values, computed, past, strict=True):
            self.store(self.outputs[value][2], number, size)

    def _when(self, node: When) -> None:
        emitter = self.emitter
        large = emitter.emit("greater", emitter.size(node.size), emitter.size(0))
        emitter.branch(large, lambda: self.nodes(node.then), lambda: self.nodes(node.otherwise))

    def _fold(self, node: Fold) -> None:
        reductions = self.of(node.ops)
        if self.unfolded is not None:
            for reduction in reductions:
                reduction.visit_step(self.unfolded[reduction])
            return
        for reduction in sorted(reductions, key=lambda one: (not one.blocked, one.located)):
            if self.cells is not None:
                self.emitter.loc = reduction.op.loc
            if not reduction.blocked:
                reduction.step()
                if reduction.running:
                    self.emitter.store_cached(reduction.op.result, reduction.state[0])
            elif reduction.sums:
                reduction.sums = [reduction.accumulate(reduction.sums[0])]

    # Sweeps

    def _reduce(self, node: Reduce) -> None:
        emitter = self.emitter
        self.reductions = [reduction_for(op, self) for op in node.ops]
        self.handed_on = [(reduction, "state") for reduction in self.reductions]
        if node.in_memory:
            self._reduce_in_memory(node)
        else:
            for reduction in self.reductions:
                emitter.loc = reduction.op.loc
                reduction.begin()
            if any(reduction.blocked for reduction in self.reductions) and not _loops_in(node.body):
                self.block(node.body, None, None)
            else:
                self.nodes(node.body)
            for reduction in self.reductions:
                if not reduction.running:
                    emitter.store_cached(reduction.op.result, reduction.finish())
        self.kept.update(inner.value for inner in walk_nodes(node.body) if isinstance(inner, Keep))
        self.reductions, self.handed_on = (), ()

    def _reduce_in_memory(self, node: Reduce) -> None:
        assert self.vector is not None
        first, _, strip = self.taken[self.vector]
        known = isinstance(self.vector.dim, int)  # a length that varies in a loop would have memory taken in each turn
        self.handed_on = ()
        self.cells = cells = Cells(self, self.reductions, first, minimum(strip, self.vector.dim) if known else strip)
        self.along(cells.begin)
        self.nodes(node.body)
        self.cells, self.finished = None, cells

    def along(self, body: Callable[[], None]) -> None:
        """Run the body for the lanes of the strip that is open, under masks: there are many such loops to compile."""
        assert self.vector is not None
        first, last, _ = self.taken[self.vector]

        def turn(_: Sequence[Value]) -> Sequence[Value]:
            body()
            return ()

        self.emitter.loop(first, last, self.emitter.size(self.lanes), (), turn, self.vector, self.lanes, masked=True)

    # Loops

    def _for(self, node: For) -> None:
        if node.how == "chunks":
            Chunks(self, node, self.reductions, lambda: self.nodes(node.body)).run()
            return
        if node.threads != 0 and self.reductions:
            SharedBlocks(self, node).run()
            return
        if node.threads != 0:
            alone = replace(node, threads=0)

            def span(first: Value, last: Value) -> None:
                with self.taking(node.loop, first, last, node.loop.dim):
                    self._for(alone)

            share(self, node.loop.dim, node.step, node.threads, span)
            return
        inner = [loop for loop in _loops_in(node.body) if loop.loop is node.loop]
        if node.how == "lanes":
            self._vectors(node)
        elif node.how == "written out":
            self._written_out(node)
        elif not inner:
            self._run(node, *self.ends(node.loop), node.step, node.loop)
        elif inner[0].how == "written out":
            self._bands(node)
        else:
            self._tiles(node)

    def _run(
        self, node: For, start: Value, stop: Value, step: int, loop: Loop | None, body: Callable[[], None] | None = None
    ) -> None:
        """A loop turn by turn."""
        turn = self.turn(body or (lambda: self.nodes(node.body)))
        size = self.emitter.size(step)
        self.take(self.emitter.loop(start, stop, size, self.values(), turn, loop, parallel=node.parallel))

    def _tiles(self, node: For) -> None:
        """A loop that takes many positions a turn, over which loops inside of it run."""
        emitter, (start, stop) = self.emitter, self.ends(node.loop)
        *_, count = self.taken.get(node.loop, (None, None, node.loop.dim))

        def tile(first: Value, last: Value) -> None:
            with self.taking(node.loop, first, last, node.step):
                if not node.loop.reduced:
                    self.nodes(node.body)
                    self.finished = None
                elif node.while_undecided:
                    self.block_if_undecided(node.body, first, last)
                else:
                    self.block(node.body, first, last)

        def turn() -> None:
            end = emitter.emit("add", emitter.position, emitter.size(node.step))
            tile(emitter.position, emitter.arithmetic("minimum", end, stop))

        if not isinstance(count, int) or count > node.step or count == 0 or node.parallel:
            self._run(node, start, stop, node.step, None, turn)
        else:
            tile(start, stop)

    def _bands(self, node: For) -> None:
        """A loop whose positions of a turn are written out in a loop inside of it; what is left is taken one by one."""
        emitter, (start, stop) = self.emitter, self.ends(node.loop)
        whole = emitter.arithmetic("minimum", stop, emitter.size(node.loop.dim // node.step * node.step))

        def band(count: int) -> Callable[[], None]:
            def turn() -> None:
                with self.taking(node.loop, emitter.position, emitter.position, count):
                    self.nodes(node.body)

            return turn

        self._run(node, start, whole, node.step, None, band(node.step))
        if node.step > 1:
            self._run(node, whole, stop, 1, None, band(1))

    def _written_out(self, node: For) -> None:
        """A short loop without a loop; sums of all of an axis have the tree that lanes of a longer row would have."""
        emitter = self.emitter
        if node.loop in self.taken:
            first, _, count = self.taken[node.loop]
            assert isinstance(count, int)
            for row in (first, *(emitter.emit("add", first, emitter.size(number)) for number in range(1, count))):
                with emitter.step(node.loop, row):
                    self.nodes(node.body)
            return
        assert isinstance(node.loop.dim, int)
        unfolded: dict[Reduction, list[Value]] = {reduction: [] for reduction in self.reductions}
        self.unfolded = unfolded
        for position in range(node.loop.dim):
            with emitter.step(node.loop, position):
                self.nodes(node.body)
        self.unfolded = None
        for reduction, elements in unfolded.items():
            reduction.fold_steps(elements, emitter.size(node.loop.dim))

    # Vectors

    def _vectors(self, node: For) -> None:
        """The main part in whole vectors, then what is left; or all under masks."""
        emitter, loop = self.emitter, node.loop
        start, stop = self.ends(loop)
        turn = self.turn(lambda: self._vector(node))
        with self._lanes(node, node.step):
            size = emitter.size(node.step)
            if node.tail == "masked":
                self.take(emitter.loop(
                    start, stop, size, self.values(), turn, loop, node.step, masked=True, parallel=node.parallel
                ))  # fmt: skip
                return
            whole = emitter.size(loop.dim // node.step * node.step)
            main = whole if stop is emitter.size(loop.dim) else emitter.arithmetic("minimum", stop, whole)
            if not (isinstance(loop.dim, int) and loop.dim < node.step):
                self.take(emitter.loop(start, main, size, self.values(), turn, loop, node.step))
            if isinstance(loop.dim, int) and loop.dim % node.step == 0:
                return
            if node.tail == "apart":
                mask = emitter.lanes_between(whole, emitter.size(loop.dim), node.step)
                self.take(emitter.rest(main, stop, mask, self.values(), turn, loop, node.step))
        if node.tail == "narrow":
            with self._lanes(node, node.narrow):
                emitter.loop(main, stop, emitter.size(node.narrow), (), turn, loop, node.narrow, masked=True)

    def _vector(self, node: For) -> None:
        """One turn: partial results in memory are fetched and put back around it."""
        if self.finished is not None:
            self.finished.finish()
        if self.cells is not None:
            self.cells.fetch()
        self.nodes(node.body)
        if self.cells is not None:
            self.cells.put()

    @contextmanager
    def _lanes(self, node: For, lanes: int) -> Iterator[None]:
        before = self.lanes, self.masked_turns, self.ahead
        self.lanes, self.masked_turns, self.ahead = lanes, node.tail == "masked", node.ahead
        yield
        self.lanes, self.masked_turns, self.ahead = before


def _loops_in(body: tuple[Node, ...]) -> list[For]:
    return [node for node in walk_nodes(body) if isinstance(node, For)]
