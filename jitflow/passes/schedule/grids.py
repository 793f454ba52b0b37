"""How a nest with reductions runs on a GPU: who takes what of a row, and what stays on the chip.

A row is a warp's, as long as it is short. A long one is a team's, whose warps share blocks of it; and where there are
few of them, or all of an array is one, teams of the whole grid share chunks, which the next kernel joins. Down the
rows, where lanes are columns, it is the same with pieces of columns. A row that sweeps read more than once is brought
to the chip by copies of 16 bytes a thread, and what a sweep keeps for a later one stays there as well: so softmax and
layer norm go over memory once. Which way is gone depends on the shape alone, so the bits do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import cast

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.types import Tensor
from jitflow.passes.fusion.nest import Loop
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.folding import Folding, chunks_on_chip, grid_chunks
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.tree import For, Node, When

__all__ = ["OnGrid"]


class OnGrid:
    """What a choice of schedules adds for GPUs."""

    loops: JoinedLoops
    outer: list[Loop]
    reduced: list[Loop]
    vector: Loop | None
    horizontal: bool
    kept: dict[Value, Value | None]
    chunks: tuple[For, ...] = ()
    """The chunks of what is reduced: those that teams share, and in these those of a team's warps."""
    staged: tuple[Value, ...] = ()
    """The operands whose rows are on the chip."""
    lanes: int
    on_chip = False
    """Whether what sweeps keep is there too."""

    def along(self, left: list[Loop]) -> tuple[Node, ...]:
        """All that is done along these outer loops."""
        raise NotImplementedError

    def keeps(self) -> dict[Value, Value | None]:
        """What sweeps keep, and where, if not on the chip."""
        raise NotImplementedError

    def folding(self, op: Op) -> Folding:
        """How a reduction folds."""
        raise NotImplementedError

    def on_grid(self) -> tuple[Node, ...]:
        """On a GPU: a row a warp, or a team of warps where rows are long, or many teams where few rows are.

        A row that is needed more than once stays on the chip if there is room for it.
        """
        if not self.reduced or self.vector is None or self.reduced[0].in_order:
            return self.along(list(self.outer))
        length = product([loop.dim for loop in self.reduced])
        if any(op.own_effects for op in self.loops.nest.computed):
            return self._way((), cost.ROOM_OF_A_WARP, length)
        outputs = product([loop.dim for loop in self.outer])
        large, small = grid_chunks(self.loops)
        limit, few = (cost.LONGEST_OF_A_WARP, cost.FEW_ROWS) if self.horizontal else (
            cost.DEEPEST_OF_A_WARP, cost.FEW_COLUMNS)  # fmt: skip
        is_long = cost.exceeds(length, limit)
        if not self.horizontal:
            is_long = is_long * (1 - cost.exceeds(outputs, cost.MANY_COLUMNS))
        is_huge = cost.exceeds(length, cost.LONG * large) * (1 - cost.exceeds(outputs, few))
        if self.outer and self.loops.sweeps > 1:  # not worth a kernel for each sweep, and the time to compile them
            is_huge = 0
        if chunks_on_chip(self.loops, self.lanes) == 0:
            is_huge = is_long = 0
        first = self.reduced[0]
        team = For(first, small, (), "chunks", threads=cost.TEAM)
        teams = For(first, large, (), "chunks", parallel=True)
        return _when(is_huge, lambda: self._way((teams, team), 0, length),
                     lambda: _when(is_long, lambda: self._way((team,), cost.ROOM_OF_A_TEAM, length),
                                   lambda: self._way((), cost.ROOM_OF_A_WARP, limit)))  # fmt: skip

    def _way(self, chunks: tuple[For, ...], room: int, longest: Dim) -> tuple[Node, ...]:
        """A way in such chunks, and where there is so much room on the chip for a row one that keeps it there."""
        self.chunks, self.staged, self.kept = chunks, (), self.keeps()
        away = self.along(list(self.outer))
        if room == 0 or not self.horizontal or len(self.reduced) != 1:
            return away
        self.kept = dict.fromkeys(self.kept)
        self.staged = self._read_again()
        values = (*self.staged, *self.kept)
        if not values:
            return away
        self.on_chip = True
        near = self.along(list(self.outer))
        self.on_chip = False
        most, needed = (sum([_room(value, length) for value in values], start=cast(Dim, 0))
                        for length in (longest, self.reduced[0].dim))  # fmt: skip
        if isinstance(most, int) and most <= room:
            return near
        return _when(1 - cost.exceeds(needed, room), lambda: near, lambda: away)

    def _read_again(self) -> tuple[Value, ...]:
        """The operands whose rows lie without gaps that sweeps read more than once."""
        reads: Counter[Value] = Counter()
        for sweep in range(self.loops.sweeps):
            seen: set[Value] = set()
            left = [*(op.operands[0] for op in self.loops.reductions(sweep)), *self.loops.stores(sweep)]
            while left:
                value = self.loops.nest.origin(left.pop())
                op = self.loops.nest.producer.get(value)
                if value in seen or (value in self.kept and self.loops.saved[value] < sweep):
                    continue
                seen.add(value)
                if value in self.loops.nest.layouts:
                    reads[value] += 1 + any(self.folding(op).centred for op in self.loops.reductions(sweep))
                elif op is not None and "reduction" not in op.definition.traits:
                    left += op.operands[1:] if op.name == "gather" else op.operands
        return tuple(value for value, count in reads.items() if count > 1 and self._lies_in_rows(value))

    def _lies_in_rows(self, value: Value) -> bool:
        access = self.loops.access(self.loops.nest.access(value))
        is_one_a_row = any(access.strides.get(loop, 0) != 0 for loop in self.outer) or not self.outer
        return is_one_a_row and access.strides.get(self.reduced[0], 0) == access.dtype.itemsize

    def waits(self, sweep: int) -> bool:
        """Whether each fold of a sweep waits for the one before, and so for its load, if a mask stands between them."""
        return bool(self.loops.reductions(sweep)) and self.horizontal and self.loops.sweep_cost(sweep) <= cost.LONG_FOLD

    @property
    def is_spread(self) -> bool:
        """Whether teams of the whole grid share what is reduced."""
        return any(chunk.parallel for chunk in self.chunks)


def _room(value: Value, count: Dim) -> Dim:
    """Bytes of so many elements of a value, up to where others may begin."""
    assert isinstance(value.type, Tensor)
    return (count * value.type.dtype.itemsize + 15) // 16 * 16


def _when(
    size: Dim, then: Callable[[], tuple[Node, ...]], otherwise: Callable[[], tuple[Node, ...]]
) -> tuple[Node, ...]:
    """One of two ways, or both where sizes that are not known choose."""
    if isinstance(size, int):
        return then() if size else otherwise()
    return (When(size, then(), otherwise()),)
