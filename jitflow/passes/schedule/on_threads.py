"""Which loops of a nest threads share: the outermost one, or what is reduced where columns are few."""

from __future__ import annotations

from dataclasses import replace

from jitflow.ir.dims import product
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.folding import BLOCK
from jitflow.passes.schedule.grids import OnGrid
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.tree import For, Node

__all__ = ["OnThreads"]


class OnThreads(OnGrid):
    """What a choice of schedules adds for threads."""

    target: Target
    by_blocks = False
    """Whether threads share blocks of rows, and not columns."""

    def shared(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """The nodes with the outermost loop shared by threads, if it is worth that.

        Not if a result does not vary along it, which all threads would write.
        """
        if not self.outer or self.by_blocks:
            return nodes
        outermost, *inner = self.outer
        nest = self.loops.nest
        if any(outermost not in self.loops.loops_of(value) for value in self.loops.yielded):
            return nodes
        accesses = len(nest.layouts) + len(self.loops.yielded)
        volume = product([loop.dim for loop in (*inner, *self.reduced)])
        work = volume * (self.loops.cost + cost.FOR_MEMORY * accesses)

        def shared(node: Node) -> Node:
            if not isinstance(node, For) or node.loop is not outermost:
                return node
            worth = cost.worth_threads(outermost.dim, node.step, work, self.target.threads)
            return replace(node, threads=work) if worth else node

        return tuple(map(shared, nodes))

    def has_few_columns(self) -> bool:
        """Whether there are fewer turns of columns than threads, and so many rows that these share them instead.

        Tables are long at the first call as well as later: wide ones that follow a small one had better be shared by
        columns.
        """
        if self.horizontal or self.vector is None or len(self.outer) != 1 or len(self.reduced) != 1:
            return False
        if self.reduced[0].in_order or not any(map(self._can_spread, range(self.loops.sweeps))):
            return False
        columns, rows = (self.target.expected(loop.dim) for loop in (self.vector, self.reduced[0]))
        if columns is None or rows is None:
            return False
        return columns <= self.lanes * (self.target.threads - 1) and rows >= cost.FEWEST_BLOCKS * BLOCK

    def _can_spread(self, sweep: int) -> bool:
        """Whether there are blocks in a sweep, which do not ask for those before, and nothing but these is folded."""
        foldings = list(map(self.folding, self.loops.reductions(sweep)))
        return bool(foldings) and all(one.blocked and not one.located for one in foldings)

    def spread(self, sweep: int, loop: For) -> For:
        """A loop of a sweep, shared if columns are few: blocks that are summed up, or rows if nothing is."""
        if not self.by_blocks or (any(self.loops.reductions(sweep)) and not self._can_spread(sweep)):
            return loop
        work = self.lanes * (self.loops.sweep_cost(sweep) + cost.FOR_MEMORY)
        worth = cost.worth_threads(loop.loop.dim, loop.step, work, self.target.threads)
        return replace(loop, threads=loop.step * work) if worth else loop
