"""Sweeps: the reduced loops of a kernel, at one position of its outer loops.

The innermost loop in memory is the *vector loop*. If it is an outer loop, every lane is an output of its own and
reductions run lane by lane down the reduced loops (*vertical*); if it is reduced, lanes are partial results that are
folded at the end of a row (*horizontal*). Horizontal reductions always use 32 lanes and fixed blocks, so their bits do
not depend on what else the kernel computes.

    sweep 0: for block of a row by 1,024:  for column by 32: ...  (main part without, tail with a mask)
             combine the block with those before it
    fold the lanes
    sweep 1: ...

Long rows are folded in chunks, which threads may share (`chunks.py`).

Where nothing but `any`, `all` and their like comes of a sweep, blocks behind the one that decides them are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from jitflow.ir.core import Value
from jitflow.passes.fusion.nest import Loop
from jitflow.passes.lower.chunks import Chunks
from jitflow.passes.lower.elements import Elements
from jitflow.passes.lower.reductions import BLOCK, Reduction, reduction_for
from jitflow.passes.lower.schedule import is_short
from jitflow.passes.lower.sharing import Span

__all__ = ["Sweeps"]

UNDECIDED = 4 * BLOCK
"""Elements after which a sweep asks whether any of those to come could change what it folds."""
AHEAD, AHEAD_OF_BLOCKS = BLOCK // 2, 2 * BLOCK
"""How many elements in advance of a blocked reduction memory is asked for: where blocks are read once, and where they
are read twice. What is asked for too early drives out of the first cache what is about to be read."""


class Sweeps(Elements):
    """The vector loop, and the reduced loops around it."""

    span: Span | None = None
    """How threads share the kernel, if they do."""
    writes_over_saved = False
    """Whether results of this sweep take the place of values that it reads: written when it reads them last."""

    # The vector loop

    def ends(self, loop: Loop) -> tuple[Value, Value]:
        """From where to where a loop runs."""
        return self.bounds.get(loop) or (self.emitter.size(0), self.emitter.size(loop.dim))

    def vector_loop(
        self, loop: Loop, carried: Sequence[Value], body: Callable[[Sequence[Value]], Sequence[Value]]
    ) -> Sequence[Value]:
        """The main part in whole vectors, then one masked step for what is left.

        Under masks throughout if the body is long, since compiling it twice would cost more than the masks.
        """
        emitter = self.emitter
        step = emitter.size(self.lanes)
        start, stop = self.ends(loop)
        if self.is_long():
            return emitter.loop(
                start, stop, step, carried, body, loop, self.lanes, masked=True,
                parallel=self.target.distributed and not loop.reduced,
            )  # fmt: skip
        main = self._whole_vectors(loop)
        if loop in self.bounds:
            main = emitter.arithmetic("minimum", stop, main)
        if not (isinstance(loop.dim, int) and loop.dim < self.lanes):
            carried = emitter.loop(start, main, step, carried, body, loop, self.lanes)
        if not (isinstance(loop.dim, int) and loop.dim % self.lanes == 0):
            carried = self._rest(main, loop, carried, body)
        return carried

    def _rest(
        self, main: Value, loop: Loop, carried: Sequence[Value], body: Callable[[Sequence[Value]], Sequence[Value]]
    ) -> Sequence[Value]:
        """What whole vectors have left: one turn under a mask, or, of a tile, narrower turns, which compile faster."""
        emitter, (_, stop) = self.emitter, self.ends(loop)
        narrow = self.register_lanes
        if self.horizontal or not self.tiled:
            mask = emitter.lanes_between(main, stop, self.lanes)
            return emitter.rest(main, stop, mask, carried, body, loop, self.lanes)
        wide, self.lanes = self.lanes, narrow
        emitter.loop(main, stop, emitter.size(narrow), (), body, loop, narrow, masked=True)
        self.lanes = wide
        return ()

    def _whole_vectors(self, loop: Loop) -> Value:
        """The largest multiple of the lanes that is not above the loop's length."""
        return self.emitter.size(loop.dim // self.lanes * self.lanes)

    # Sweeps

    def run_sweep(self, number: int) -> None:
        emitter = self.emitter
        reductions = [reduction_for(op, self) for op in self.schedule.reductions(number)]
        stores = self.schedule.stores(number)
        saves = [value for value in self.saved if self.schedule.saved[value] == number]
        if not reductions and not stores and not saves:
            return
        for reduction in reductions:
            emitter.loc = reduction.op.loc
            reduction.begin()
        self.writes_over_saved = any(value in self.hosts for value in stores)

        def visit() -> None:
            for value in saves:
                self.store(self.saved[value], self.value(value, saving=True))
            results = [self.value(value) for value in stores]  # all read before any is written over what it hosts
            for value, result in zip(stores, results, strict=True):
                self.store(self.outputs[value][2], result, last=value not in self.hosts)

        Chunks(self, reductions, visit).run()
        for reduction in reductions:
            result = reduction.finish()
            emitter.store_cached(reduction.op.result, result)

    def reduced_loops(
        self, loops: list[Loop], reductions: list[Reduction], visit: Callable[[], None], carried: Sequence[Value]
    ) -> Sequence[Value]:
        emitter = self.emitter
        if len(loops) > 1:
            loop, *inner = loops
            return emitter.loop(
                *self.ends(loop), emitter.size(1), carried,
                lambda values: self.reduced_loops(inner, reductions, visit, values), loop,
            )  # fmt: skip
        innermost = loops[0] if loops else None
        if (
            innermost is not None
            and innermost is not self.vector
            and self.vector is not None
            and is_short(self.reduced)
        ):
            return self._written_out(innermost, reductions, visit, carried)
        if any(reduction.blocked for reduction in reductions) or self.may_end_early(innermost, reductions):
            return self._blocks(innermost, reductions, visit, carried)

        def body(values: Sequence[Value]) -> Sequence[Value]:
            rest = values
            for reduction in reductions:
                rest = reduction.take(rest)
                reduction.step()
            visit()
            return [state for reduction in reductions for state in reduction.state]

        if innermost is None:
            return body(carried)
        if innermost is self.vector:
            return self.vector_loop(innermost, carried, body)
        return emitter.loop(*self.ends(innermost), emitter.size(1), carried, body, innermost)

    def may_end_early(self, innermost: Loop | None, reductions: list[Reduction]) -> bool:
        """Whether a sweep has nothing to do but to decide reductions: it stores nothing, and no element may fail."""
        writes = self.schedule.stores(self.sweep) or self.sweep in self.schedule.saved.values()
        return (
            innermost is not None
            and all(reduction.has_last_word for reduction in reductions)
            and not self.target.distributed
            and not writes
            and not any(op.own_effects for op in self.nest.computed)
        )

    def _written_out(
        self, loop: Loop, reductions: list[Reduction], visit: Callable[[], None], carried: Sequence[Value]
    ) -> Sequence[Value]:
        """A short reduced loop without a loop; sums have the tree that lanes of a longer row would have."""
        rest = carried
        for reduction in reductions:
            rest = reduction.take(rest)
        elements: dict[Reduction, list[Value]] = {reduction: [] for reduction in reductions}
        assert isinstance(loop.dim, int)
        for position in range(loop.dim):
            with self.emitter.step(loop, position):
                for reduction, taken in elements.items():
                    reduction.visit_step(taken)
                visit()
        for reduction, taken in elements.items():
            reduction.fold_steps(taken, self.emitter.size(loop.dim))
        return [state for reduction in reductions for state in reduction.state]

    def _blocks(
        self, loop: Loop | None, reductions: list[Reduction], visit: Callable[[], None], carried: Sequence[Value]
    ) -> Sequence[Value]:
        """The innermost reduced loop in blocks: plain partial results inside, combined with care between them.

        Once all is decided, blocks are left out.
        """
        emitter = self.emitter
        if loop is None:
            return self._block(None, None, None, reductions, visit, carried)
        start, stop = self.ends(loop)
        ends_early = self.may_end_early(loop, reductions)
        size = emitter.size(BLOCK if any(reduction.blocked for reduction in reductions) else UNDECIDED)

        def one_block(values: Sequence[Value]) -> Sequence[Value]:
            first = emitter.scope.index
            assert first is not None
            last = emitter.arithmetic("minimum", emitter.emit("add", first, size), stop)
            if not ends_early:
                return self._block(loop, first, last, reductions, visit, values)
            rest, undecided = values, None
            for reduction in reductions:
                rest = reduction.take(rest)
                one = reduction.undecided()
                undecided = one if undecided is None else emitter.elementwise("logical_or", undecided, one)
            assert undecided is not None
            return emitter.either(
                undecided, lambda: self._block(loop, first, last, reductions, visit, values), lambda: values
            )

        return emitter.loop(start, stop, size, carried, one_block)

    def _block(
        self,
        loop: Loop | None,
        first: Value | None,
        last: Value | None,
        reductions: list[Reduction],
        visit: Callable[[], None],
        carried: Sequence[Value],
    ) -> Sequence[Value]:
        rest = carried
        for reduction in reductions:
            rest = reduction.take(rest)
        sums = {reduction.operand: reduction for reduction in reductions if reduction.blocked and not reduction.located}
        located = [reduction for reduction in reductions if reduction.located]
        folding = [*sums.values(), *located]
        partials = [reduction.partial() for reduction in folding]
        plain = [reduction for reduction in reductions if not reduction.blocked]

        def body(values: Sequence[Value]) -> Sequence[Value]:
            following = [
                reduction.accumulate(partial)
                for partial, reduction in zip(values[: len(folding)], folding, strict=True)
            ]
            rest = values[len(folding) :]
            for reduction in plain:
                rest = reduction.take(rest)
                reduction.step()
            if not late:
                visit()
            return [*following, *(state for reduction in plain for state in reduction.state)]

        centred = [reduction for reduction in reductions if reduction.second_phase]
        late = bool(centred) and self.writes_over_saved
        with self._reading_ahead(0 if centred else AHEAD):
            results = self._steps(loop, first, last, [*partials, *(state for r in plain for state in r.state)], body)
        totals = dict(zip(sums, results[: len(sums)], strict=True))
        extremes = results[len(sums) : len(folding)]
        rest = results[len(folding) :]
        for reduction in plain:
            rest = reduction.take(rest)
        count = self._count(first, last)

        def deviate(values: Sequence[Value]) -> Sequence[Value]:
            following = [s for r, pair in zip(centred, _pairs(values), strict=True) for s in r.deviate(pair)]
            if late:
                visit()
            return following

        for reduction in centred:
            reduction.centre(totals[reduction.operand], count)
        if centred:
            with self._reading_ahead(AHEAD_OF_BLOCKS):
                values = self._steps(loop, first, last, [s for r in centred for s in r.deviations()], deviate)
            for reduction, pair in zip(centred, _pairs(values), strict=True):
                reduction.combine_moments(pair, count)
        for reduction in reductions:
            if reduction.blocked and not (reduction.second_phase or reduction.located):
                reduction.combine(totals[reduction.operand], first)
        for reduction, lanes in zip(located, extremes, strict=True):
            self._locate(reduction, lanes, loop, first, last)
        return [state for reduction in reductions for state in reduction.state]

    def _locate(
        self, reduction: Reduction, lanes: Value, loop: Loop | None, first: Value | None, last: Value | None
    ) -> None:
        """Search a block that has a better extreme for its position; few blocks have one."""
        assert first is not None
        extreme = reduction.extreme(lanes)

        def search() -> Sequence[Value]:
            found = self._steps(
                loop, first, last, [reduction.nowhere()], lambda places: [reduction.match(places[0], extreme, first)]
            )
            return [extreme, reduction.place(found[0], first)]

        found = self.emitter.either(reduction.is_better(extreme), search, lambda: reduction.state)
        reduction.state = list(found)

    @contextmanager
    def _reading_ahead(self, distance: int) -> Iterator[None]:
        """Inside, operands of the blocks to come are brought near.

        That keeps memory busy while a block is read again from the cache, while lanes are folded, and at the borders of
        pages, where processors stop guessing. A block that is read twice asks in its second pass alone, when memory
        would rest. Measured on one core: mean and variance of 40 MB in 1.5 ms instead of 2.3; reading takes 1.4.
        """
        if self.horizontal and not self.target.distributed:
            self.ahead = distance
        yield
        self.ahead = 0

    def _steps(
        self,
        loop: Loop | None,
        first: Value | None,
        last: Value | None,
        carried: Sequence[Value],
        body: Callable[[Sequence[Value]], Sequence[Value]],
    ) -> Sequence[Value]:
        """The steps of one block.

        Whole vectors and what is left over go into the same partial results, so the bits do not depend on whether both
        are one loop.
        """
        emitter = self.emitter
        if loop is None or first is None or last is None:
            return body(carried)
        if loop is not self.vector:
            return emitter.loop(first, last, emitter.size(1), carried, body, loop)
        step = emitter.size(self.lanes)
        if self.is_long():
            return emitter.loop(first, last, step, carried, body, loop, self.lanes, masked=True)
        whole = emitter.arithmetic("minimum", last, self._whole_vectors(loop))
        carried = emitter.loop(first, whole, step, carried, body, loop, self.lanes)
        mask = emitter.lanes_between(self._whole_vectors(loop), emitter.size(loop.dim), self.lanes)
        return emitter.rest(whole, last, mask, carried, body, loop, self.lanes)

    def _count(self, first: Value | None, last: Value | None) -> Value:
        if first is None or last is None:
            return self.emitter.size(1)
        return self.emitter.emit("subtract", last, first)


def _pairs(values: Sequence[Value]) -> list[tuple[Value, Value]]:
    return [(values[position], values[position + 1]) for position in range(0, len(values), 2)]
