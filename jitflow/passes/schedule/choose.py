"""Which schedule a nest gets on a processor.

Along rows (*horizontal*) lanes are partial results, which are folded at a row's end. If an outer loop is the vector
loop, every lane is an output of its own and reductions go down the reduced loops (*vertical*): in tiles of a few
vectors, so that memory is read in longer pieces, and down a matrix that no cache holds in bands of rows. A tile that
walks down the rows of such a matrix reads a few cache lines of each, and they come slowly, since processors guess only
what lies behind what was read. In bands a strip of columns keeps its sums in memory that stays in the first cache, and
a few rows at a time are added along all of it; the order of additions down a column is that of a tile. Measured on one
core: a vector times 2,500 by 2,500 numbers of f64 in 2.1 ms instead of 3.0; BLAS takes 2.1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, minimum, product
from jitflow.ir.types import Scalar, Tensor
from jitflow.passes.fusion.nest import Loop
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.folding import (
    BLOCK,
    Folding,
    chunk_elements,
    chunk_positions,
    folding_of,
    is_one_chunk,
    partial_lanes,
)
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.on_threads import OnThreads
from jitflow.passes.schedule.past_caches import past_caches
from jitflow.passes.schedule.target import Processor, Target
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
)

__all__ = ["choose", "register_lanes"]


def choose(loops: JoinedLoops, target: Target, used: Collection[Value] = ()) -> Schedule:
    """The schedule of a nest; the program works next on those of its results that are ``used``."""
    return _Choice(loops, target, used).schedule()


def _power_of_two(number: int) -> int:
    """The next one."""
    return 1 << max(number - 1, 0).bit_length()


def register_lanes(loops: JoinedLoops, target: Target) -> int:
    """How many of the widest elements a register holds."""
    return max(2, target.vector_bytes // loops.widest_item)


class _Choice(OnThreads):
    """The nest, and what is decided for all of its loops."""

    def __init__(self, loops: JoinedLoops, target: Target, used: Collection[Value]) -> None:
        self.loops, self.target, self.used = loops, target, used
        self.outer, self.reduced, self.vector = loops.outer, loops.reduced, loops.vector
        self.horizontal = self.vector is not None and self.vector.reduced
        in_order = any(loop.in_order for loop in self.reduced)
        self.tiled = bool(self.reduced) and not in_order and not target.lanes and loops.cost <= cost.LIGHT_BODY
        self.register = register_lanes(loops, target)
        if self.tiled and not self.horizontal and self.vector is not None and isinstance(self.vector.dim, int):
            self.register = min(self.register, _power_of_two(max(2, self.vector.dim)))
        self.lanes = self._lanes()
        self.masked = target.masked
        self.kept = self.keeps()

    def schedule(self) -> Schedule:
        if self.target.distributed:
            return Schedule(self.on_grid(), self.vector)
        self.by_blocks = self.has_few_columns()
        bands = 0 if self.by_blocks else self._worth_bands()
        if bands == 0:
            body = self.shared(self.along(list(self.outer)))
        elif bands == 1:
            body = self.shared(self._bands())
        else:
            # A small matrix needs no tiles, but for what is stored.
            tiles, self.lanes, self.masked = (self.lanes, self.masked), self.register, True
            in_bands = self._bands()
            if self.loops.stores(0):
                self.lanes, self.masked = tiles
            ways = in_bands, self.along(list(self.outer))
            body = (When(bands, *map(self.shared, ways)),)
        return Schedule(body, self.vector)

    def _lanes(self) -> int:
        """How many lanes the turns of a vector loop have."""
        if self.vector is None:
            return 0
        if self.horizontal:
            return partial_lanes(self.target)
        if self.target.lanes:
            return max(self.target.lanes, self.register) if self._streams() else self.target.lanes
        if self.loops.period:
            return math.lcm(self.loops.period, cost.PERIOD_LANES)
        if not self.tiled:
            return self.register * (cost.TILE if self._is_one_long_chain() else 1)
        expected = self.target.expected(self.vector.dim)
        if expected is None:
            return self.register * cost.TILE
        fewest = 1 if isinstance(self.vector.dim, int) else cost.FEWEST_OF_A_TILE
        return self.register * min(cost.TILE, max(fewest, _power_of_two(-(-expected // self.register))))

    def _is_one_long_chain(self) -> bool:
        """Whether elements are so much arithmetic that turns of several registers are worth their compilation.

        A processor overlaps turns as far as it looks ahead, which is less than such a body is long.
        """
        if self.reduced or self.vector is None or self.loops.cost < cost.LONG_CHAIN:
            return False
        row = self.target.expected(self.vector.dim)
        elements = self.target.expected(product([loop.dim for loop in self.outer]))
        return (row or 0) >= cost.TILE**2 * self.register and (elements or 0) >= cost.WORTH_COMPILING

    def _streams(self) -> bool:
        """Whether a nest does little but to move what lies side by side, of which each thread may take several."""
        vector = self.vector
        if self.reduced or vector is None or self.loops.cost > cost.LIGHT_BODY:
            return False
        if isinstance(vector.dim, int) and vector.dim < self.register:
            return False
        moved = [*map(self.loops.access, self.loops.nest.loads), *map(self.loops.output_access, self.loops.yielded)]
        return all(access.strides.get(vector, 0) in (0, access.dtype.itemsize) for access in moved)

    # Values that a later sweep needs again

    def keeps(self) -> dict[Value, Value | None]:
        """The values that a sweep keeps for a later one, each with the result in whose place it lies until then.

        None stands for scratch memory, which has room for a row. Others are computed again.
        """
        kept: dict[Value, Value | None] = {}
        for value in self.loops.saved:
            host = self._host(value, kept)
            if host is not None and (self.target.distributed or not (self.horizontal and self.outer)):
                kept[value] = host
            elif self.horizontal and isinstance(value.type, Tensor):
                kept[value] = None
        return kept

    def _host(self, value: Value, kept: dict[Value, Value | None]) -> Value | None:
        """A result of the same dtype and loops that is written no earlier than ``value`` is last needed."""
        assert isinstance(value.type, Tensor | Scalar)
        everywhere = set(self.outer) | set(self.reduced)
        for result in self.loops.yielded:
            assert isinstance(result.type, Tensor | Scalar)
            if result in kept.values() or result.type.dtype != value.type.dtype:
                continue
            is_late = self.loops.nest.stage[result] >= self.loops.last_need(value)
            if is_late and set(self.loops.loops_of(result)) == everywhere:
                return result
        return None

    # Outer loops

    def along(self, left: list[Loop]) -> tuple[Node, ...]:
        """The loops that are not reduced; what varies along some of them alone is stored outside of the others.

        Those may have no turn at all.
        """
        if not left:
            return self._row()
        loop, *inner = left
        stores = self._stores(set(self.outer) - set(left))
        if loop is self.vector:
            return (*stores, self._vectors(loop, self.along(inner), self._is_long(None)))
        return (*stores, For(loop, 1, self.along(inner), parallel=self.target.distributed))

    def _row(self) -> tuple[Node, ...]:
        """All sweeps for one position of the outer loops, and the stores of what is then known."""
        sweeps = (node for number in range(self.loops.sweeps) for node in self._sweep(number))
        return (*((Stage(self.staged),) if self.staged else ()), *sweeps, *self._stores(set(self.outer)))

    def _stores(self, along: set[Loop]) -> tuple[Node, ...]:
        """Stores of what varies along these outer loops alone."""
        ready = [value for value in self.loops.yielded if set(self.loops.loops_of(value)) == along]
        return self._store(ready)

    def _store(self, values: Sequence[Value]) -> tuple[Node, ...]:
        values = tuple(dict.fromkeys(values))
        past = tuple(map(self._past_caches, values))
        return (Store(values, past if any(size != 0 for size in past) else ()),) if values else ()

    def _past_caches(self, value: Value) -> Dim:
        if self.target.distributed or value in self.kept.values():
            return 0
        return past_caches(value, self.loops, self.lanes, used=value in self.used)

    def _is_long(self, sweep: int | None) -> bool:
        """Whether the body of a vector loop, in a sweep or around all, is long enough to be compiled only once.

        Rows of an elementwise kernel are long or the kernel is cheap: masks cost nothing that can be measured.
        """
        if self.masked and (sweep is None or not self.waits(sweep)):
            return True
        if sweep is None or self.vector in self.outer:
            rows = len(self.outer) > 1 and not self.reduced
            return rows or self.loops.cost > cost.LONG_BODY
        longest = cost.LONG_FOLD if any(self.loops.reductions(sweep)) else cost.LONG_BODY
        return self.loops.sweep_cost(sweep) > longest

    def _vectors(self, loop: Loop, body: tuple[Node, ...], masked: bool, ahead: int = 0) -> For:
        parallel = self.target.distributed and not loop.reduced
        if masked:
            return For(loop, self.lanes, body, "lanes", "masked", parallel=parallel, ahead=ahead)
        if not loop.reduced and self.tiled:
            expected = self.target.expected(loop.dim)
            if expected is not None and self.register < expected < self.lanes:  # one turn is all there is
                return For(loop, self.lanes, body, "lanes", "masked", ahead=ahead)
            return For(loop, self.lanes, body, "lanes", "narrow", narrow=self.register, ahead=ahead)
        return For(loop, self.lanes, body, "lanes", "apart", ahead=ahead)

    # Sweeps

    def _sweep(self, number: int) -> tuple[Node, ...]:
        """The reduced loops of one sweep."""
        ops = tuple(self.loops.reductions(number))
        stores = self._store(self.loops.stores(number))
        keeps = [
            Keep(value, into, self.on_chip) for value, into in self.kept.items() if self.loops.saved[value] == number
        ]
        visit = (*keeps, *stores)
        if not ops and not visit:
            return ()
        body = self._chunks(number, ops, self._reduced(number, list(self.reduced), ops, visit))
        return (Reduce(ops, body),) if ops else body

    def _chunks(self, sweep: int, ops: tuple[Op, ...], body: tuple[Node, ...]) -> tuple[Node, ...]:
        """The loops of a sweep in chunks, if all of an array is reduced, which threads share.

        Where one thread does all, what reduces nothing needs no chunks.
        """
        if self.target.distributed:
            for chunk in reversed(self.chunks if ops or not self.is_spread else ()):
                body = (replace(chunk, body=body),)
            return body
        elements = chunk_elements(self.loops, self.target, [self.folding(op) for op in ops])
        if elements == 0 or is_one_chunk(self.loops, elements) or (not ops and self.target.threads == 1):
            return body
        inside = product([chunk_positions(self.loops, elements), *(loop.dim for loop in self.reduced[1:])])
        work = inside * (self.loops.sweep_cost(sweep) + cost.FOR_MEMORY) if self.target.threads > 1 else 0
        return (For(self.reduced[0], elements, body, "chunks", threads=work),)

    def _reduced(
        self, sweep: int, left: Sequence[Loop], ops: tuple[Op, ...], visit: tuple[Node, ...]
    ) -> tuple[Node, ...]:
        fold = ((Fold(ops),) if ops else ()) + visit
        if len(left) > 1:
            inside = self._reduced(sweep, left[1:], ops, visit)
            return (For(left[0], 1, inside, parallel=self.is_spread and not ops),)
        loop = left[0] if left else None
        foldings = {op: self.folding(op) for op in ops}
        vertical = loop is not self.vector and self.vector is not None
        if loop is not None and vertical and cost.is_short(self.reduced):
            return (For(loop, 1, fold, "written out"),)
        blocked = any(folding.blocked for folding in foldings.values())
        early = loop is not None and self._may_end_early(foldings, visit)
        staged = (Stage(tuple(self.loops.uneven)),) if self.loops.uneven else ()
        if blocked or early or staged:
            inside = (*staged, *self._block(sweep, loop, foldings, visit))
            if loop is None:
                return inside
            around = For(loop, BLOCK if blocked or staged else cost.UNDECIDED, inside, while_undecided=early)
            return (self.spread(sweep, around),)
        return self._steps(sweep, loop, fold, self._ahead if ops else 0)

    def folding(self, op: Op) -> Folding:
        return folding_of(op, self.loops, distributed=self.target.distributed)

    def _may_end_early(self, foldings: dict[Op, Folding], visit: tuple[Node, ...]) -> bool:
        """Whether a sweep has nothing to do but to decide reductions: it stores nothing, and no element may fail."""
        return (
            all(folding.has_last_word for folding in foldings.values())
            and not self.target.distributed
            and not visit
            and not any(op.own_effects for op in self.loops.nest.computed)
        )

    def _steps(self, sweep: int, loop: Loop | None, body: tuple[Node, ...], ahead: int = 0) -> tuple[Node, ...]:
        """The innermost reduced loop, or what of it lies in a block."""
        if loop is None:
            return body
        if loop is not self.vector:
            alone = not any(self.loops.reductions(sweep))
            turns = For(loop, 1, body, parallel=self.is_spread and alone)
            return (self.spread(sweep, turns) if alone else turns,)
        ahead = ahead if self.horizontal and not self.target.distributed else 0
        vectors = self._vectors(loop, body, self._is_long(sweep), ahead)
        if not self.is_spread or any(self.loops.reductions(sweep)):
            return (vectors,)
        return (replace(vectors, parallel=True, step=max(self.register, self.lanes)),)

    @property
    def _ahead(self) -> int:
        """How many elements in advance memory is asked for that is read on and on."""
        return (self.target.processor or Processor()).reads_ahead

    def _block(
        self, sweep: int, loop: Loop | None, foldings: dict[Op, Folding], visit: tuple[Node, ...]
    ) -> tuple[Node, ...]:
        """One block; what takes the place of values that it reads is written when it reads them last.

        A block that is read twice asks for memory in its second pass alone, when memory would rest. That keeps memory
        busy while a block is read again from the cache, while lanes are folded, and at the borders of pages, where
        processors stop guessing. Measured on one core: mean and variance of 40 MB in 1.5 ms instead of 2.3; reading
        takes 1.4. Where processors run ahead by themselves (Zen 4) it costs: there 40 MB take 1.35 ms without and 1.65
        with it, though of what lies in the caches the mean and variance take 5 % longer.
        """
        fold = (Fold(tuple(foldings)),) if foldings else ()
        centred = tuple(op for op, folding in foldings.items() if folding.centred)
        late = bool(centred) and any(isinstance(n, Store) and set(n.values) & set(self.kept.values()) for n in visit)
        ahead = self._ahead
        body = self._steps(sweep, loop, fold if late else fold + visit, 0 if centred else ahead)
        if centred:
            again = (Deviate(centred), *(visit if late else ()))
            body += self._steps(sweep, loop, again, cost.AHEAD_OF_BLOCKS if ahead else 0)
        located = [op for op, folding in foldings.items() if folding.located]
        return (*body, *(Locate(op, self._steps(sweep, loop, (Match(op),))) for op in located))

    # Bands

    def _worth_bands(self) -> Dim:
        """1 where a nest reduces a large matrix to a row, else 0; which of them may depend on sizes."""
        loops, outer, reduced = self.loops, self.outer, self.reduced
        if self.target.distributed or self.target.masked or loops.period:
            return 0
        if len(outer) != 1 or len(reduced) != 1 or self.vector is not outer[0] or cost.is_short(reduced):
            return 0
        ops = loops.reductions(0)
        plain = not any(f.centred or f.located or f.finds_place for f in map(self.folding, ops))
        if loops.sweeps != 1 or not ops or not plain or reduced[0].in_order:
            return 0
        columns, rows = (loop.dim for loop in (*outer, *reduced))
        # Of rows no longer than a tile, tiles write all along.
        large, fewest = (cost.LARGE_STORED, self.lanes + 1) if loops.stores(0) else (cost.LARGE, cost.FEWEST_COLUMNS)
        parts = (columns * rows * loops.widest_item // large, columns // fewest,
                 rows // cost.FEWEST_ROWS)  # fmt: skip
        return product([minimum(part, 1) for part in parts])

    def _bands(self) -> tuple[Node, ...]:
        """A reduction down the rows of a large matrix, a strip of columns at a time, in vectors of one register.

        What is stored element by element is written on the way: in tiles it would go to memory in pieces of many rows.
        """
        (columns,), (rows,) = self.outer, self.reduced
        ops = tuple(self.loops.reductions(0))
        visit = (Fold(ops), *self._store(self.loops.stores(0)))

        def along(*body: Node) -> For:
            return For(columns, self.register, body, "lanes", "masked")

        band = cost.BAND if self.loops.cost <= cost.LIGHT_ROW else 1
        added = For(rows, band, (along(For(rows, 1, visit, "written out")),))
        reduced = Reduce(ops, (For(rows, BLOCK, (added,)),), in_memory=True)
        return (*self._stores(set()), For(columns, cost.STRIP, (reduced, along(*self._stores(set(self.outer))))))
