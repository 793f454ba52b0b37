"""Blocks of what is reduced: what the elements of one come to, and what that changes in what blocks have come to.

A loop of blocks hands on what blocks have come to; inside of a block it is the block's own sums, then those of
deviations from its mean. Neither asks for the blocks before it. So where columns are too few to be shared, threads
share blocks of rows, and write down what each comes to, which is joined in order: one thread adds in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.passes.lower.kernels.cells import Cells
from jitflow.passes.lower.kernels.chunks import Chunks
from jitflow.passes.lower.kernels.reduction import Reduction
from jitflow.passes.lower.kernels.staging import Staging
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.tree import Deviate, For, Locate, Node, walk_nodes

__all__ = ["SumBlocks", "Turn"]

Turn = Callable[[Sequence[Value]], Sequence[Value]]


class SumBlocks(Staging):
    """The reductions of the sweep that is open, and its blocks."""

    reductions: Sequence[Reduction] = ()
    """Those of the open sweep."""
    handed_on: Sequence[tuple[Reduction, str]] = ()
    """What loops hand from turn to turn: lists of values of reductions, by name."""
    cells: Cells | None = None
    """Where the partial results of the open sweep are, if that is in memory."""

    def nodes(self, nodes: Sequence[Node]) -> None:
        """Emit what stands at one place, one after the other."""
        raise NotImplementedError

    def along(self, body: Callable[[], None]) -> None:
        """Run the body for the lanes of the strip that is open."""
        raise NotImplementedError

    def of(self, ops: Sequence[Op]) -> list[Reduction]:
        """The reductions of the open sweep that these are."""
        return [reduction for reduction in self.reductions if reduction.op in ops]

    def block_if_undecided(self, body: Sequence[Node], first: Value, last: Value) -> None:
        """A block, unless nothing can change any more what is folded."""
        emitter = self.emitter
        undecided = None
        for reduction in self.reductions:
            one = reduction.undecided()
            undecided = one if undecided is None else emitter.elementwise("logical_or", undecided, one)
        assert undecided is not None
        before = self.values()

        def block() -> Sequence[Value]:
            self.block(body, first, last)
            return self.values()

        self.take(emitter.either(undecided, block, lambda: before))

    def block(self, body: Sequence[Node], first: Value | None, last: Value | None) -> None:
        """Plain sums of a block, and what they change in the sums of blocks."""
        if self.cells is not None:
            self.nodes(body)
            if any(reduction.blocked for reduction in self.reductions):
                self.along(self.cells.combine)
            return
        self.sum_up(body, first, last)
        self.join(body, first)

    def sum_up(self, body: Sequence[Node], first: Value | None, last: Value | None) -> None:
        """Find what the elements of a block come to."""
        for reduction in self._leading:
            reduction.sums = [reduction.partial()]
        centred = [node for node in body if any(isinstance(inner, Deviate) for inner in walk_nodes((node,)))]
        plain = [(reduction, "state") for reduction in self.reductions if not reduction.blocked]
        with self.handing_on([*((reduction, "sums") for reduction in self._leading), *plain]):
            self.nodes([node for node in body if node not in centred and not isinstance(node, Locate)])
        if centred:
            self.centre(first, last)
            for reduction in self._centred:
                reduction.deviations = list(reduction.no_deviations())
            with self.handing_on([(reduction, "deviations") for reduction in self._centred]):
                self.nodes(centred)

    def centre(self, first: Value | None, last: Value | None) -> None:
        """The mean of a block, of what its elements come to."""
        count = self.emitter.emit("subtract", last, first) if first and last else self.emitter.size(1)
        for reduction in self._centred:
            reduction.centre(self._folded[reduction.operand].sums[0], count)

    def join(self, body: Sequence[Node], first: Value | None) -> None:
        """Add a block to those before it."""
        for reduction in self._centred:
            reduction.combine_moments(reduction.deviations, reduction.count)
        for reduction in self._blocked:
            if not (reduction.second_phase or reduction.located):
                reduction.combine(self._folded[reduction.operand].sums[0], first)
        for node in body:
            if isinstance(node, Locate):
                self._locate(node, first)
        for reduction in self._blocked:
            reduction.sums = []

    @property
    def _blocked(self) -> list[Reduction]:
        return [reduction for reduction in self.reductions if reduction.blocked]

    @property
    def _centred(self) -> list[Reduction]:
        return [reduction for reduction in self._blocked if reduction.second_phase]

    @property
    def _folded(self) -> dict[Value, Reduction]:
        """By what is summed up, the one reduction that has its sums."""
        return {reduction.operand: reduction for reduction in self._blocked if not reduction.located}

    @property
    def _leading(self) -> list[Reduction]:
        return [*self._folded.values(), *(reduction for reduction in self._blocked if reduction.located)]

    @property
    def of_a_block(self) -> list[tuple[Reduction, str]]:
        """What a block comes to by itself, in lists of values of reductions, by name."""
        sums = [(reduction, "sums") for reduction in self._leading]
        return [*sums, *((reduction, "deviations") for reduction in self._centred)]

    def _locate(self, node: Locate, first: Value | None) -> None:
        """Search a block that has a better extreme for its position; few blocks have one."""
        assert first is not None
        (reduction,) = self.of((node.op,))
        extreme = reduction.extreme(reduction.sums[0])

        def search() -> Sequence[Value]:
            reduction.begin_search(extreme, first)
            with self.handing_on([(reduction, "places")]):
                self.nodes(node.body)
            return [extreme, reduction.place(reduction.places[0], first)]

        state = reduction.state
        reduction.state = list(self.emitter.either(reduction.is_better(extreme), search, lambda: state))

    # What is handed on

    @contextmanager
    def handing_on(self, what: Sequence[tuple[Reduction, str]]) -> Iterator[None]:
        """Inside of this, loops hand on other values of reductions."""
        before, self.handed_on = self.handed_on, what
        yield
        self.handed_on = before

    def turn(self, body: Callable[[], None]) -> Turn:
        """A turn of a loop that hands on what there is to hand on."""

        def turn(values: Sequence[Value]) -> Sequence[Value]:
            self.take(values)
            body()
            return self.values()

        return turn

    def values(self) -> list[Value]:
        """What is handed on, as it is now."""
        return [value for reduction, name in self.handed_on for value in getattr(reduction, name)]

    def take(self, values: Sequence[Value]) -> None:
        """Let these be what is handed on."""
        for reduction, name in self.handed_on:
            count = len(getattr(reduction, name))
            setattr(reduction, name, list(values[:count]))
            values = values[count:]


class SharedBlocks(Chunks):
    """Blocks that threads share; all of its reductions are blocked, and none is located."""

    most = cost.MOST_BLOCKS

    def __init__(self, lowering: SumBlocks, node: For) -> None:
        self.blocks = lowering
        super().__init__(lowering, node, lowering.reductions, lambda: None)
        self.length = node.step

    def run(self) -> None:
        """Emit the loop, after which each reduction has its state."""
        self.blocks.take(self._share())

    def _nothing(self) -> list[Value]:
        return self.blocks.values()

    def _of_nothing(self, initial: Sequence[Value]) -> Sequence[Value]:
        for reduction, name in self.blocks.of_a_block:
            setattr(reduction, name, [reduction.partial()] if name == "sums" else list(reduction.no_deviations()))
        return self._block_values()

    def _block_values(self) -> list[Value]:
        with self.blocks.handing_on(self.blocks.of_a_block):
            return self.blocks.values()

    def _chunk(self, first: Value, length: Dim = 0) -> list[Value]:
        last = self._last(first)
        with self.lowering.taking(self.loop, first, last, self.length):
            self.blocks.sum_up(self.node.body, first, last)
        return self._block_values()

    def _last(self, first: Value) -> Value:
        end = self.emitter.arithmetic("add", first, self.emitter.size(self.length))
        return self.emitter.arithmetic("minimum", end, self.stop)

    def _joined(self, before: Sequence[Value], states: Sequence[Value], first: Value) -> Sequence[Value]:
        self.blocks.take(before)
        with self.blocks.handing_on(self.blocks.of_a_block):
            self.blocks.take(states)
        self.blocks.centre(first, self._last(first))
        self.blocks.join((), first)
        return self.blocks.values()
