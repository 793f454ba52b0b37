"""What a schedule takes, in nanoseconds, on one core: a roof of arithmetic or memory, whichever is higher.

Arithmetic is what is computed, read and written in each turn, at so many vector instructions in a nanosecond; a turn
that folds takes at least as long as an addition is waited for; and loops, masks and folded lanes take their own time.
Memory is what each operand and result has of bytes, at the bandwidth of the smallest cache that holds all of them, once
more for each turn around that goes over an operand again; pieces that are read side by side come more slowly the
shorter they are. Sizes are those that are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, evaluate
from jitflow.passes.fusion.nest import Access, Loop
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.products import Blocks
from jitflow.passes.schedule.target import Processor
from jitflow.passes.schedule.tree import Deviate, Fold, For, Keep, Locate, Node, Reduce, Schedule, Store, When
from jitflow.records import dataclass

__all__ = ["Price", "price", "price_product"]


@dataclass(frozen=True, slots=True)
class Price:
    """Nanoseconds of arithmetic, and of memory."""

    arithmetic: float
    memory: float

    @property
    def total(self) -> float:
        """The higher of both."""
        return max(self.arithmetic, self.memory)


def price(schedule: Schedule, loops: JoinedLoops, processor: Processor, sizes: Mapping[str, int]) -> Price:
    """What a schedule takes, with numbers for all sizes. Raises KeyError for a size that is not given."""
    pricing = _Pricing(loops, processor, sizes)
    return Price(pricing.nodes(schedule.body, {}), pricing.memory(schedule.body))


def price_product(blocks: Blocks, count: Dim, processor: Processor, sizes: Mapping[str, int]) -> Price:
    """What so many products take, each in such blocks. Raises KeyError for a size that is not given.

    A step of a block multiplies and adds, or waits for what it reads; what is read and written is counted once.
    """
    factors, vectors = blocks.factors, blocks.columns // blocks.lanes
    number, rows, inner, columns = (evaluate(dim, sizes) for dim in (count, *factors.sizes))
    steps = -(-rows // blocks.rows) * -(-columns // blocks.columns) * inner
    instructions = max(blocks.rows * vectors, blocks.rows + vectors)
    nbytes = number * (rows * inner + inner * columns + rows * columns) * factors.itemsize
    return Price(number * steps * instructions / processor.instructions, nbytes / processor.bandwidth(nbytes))


class _Pricing:
    """The walk over a schedule; ``taken`` says how many positions the open loops have taken."""

    def __init__(self, loops: JoinedLoops, processor: Processor, sizes: Mapping[str, int]) -> None:
        self.loops, self.processor, self.sizes = loops, processor, sizes
        self.known: set[Value] = set()
        self.along: Loop | None = None
        """The innermost loop: what does not vary along it is computed in front of it."""

    def size(self, dim: Dim) -> int:
        """A size as a number."""
        return evaluate(dim, self.sizes)

    # Arithmetic

    def nodes(self, body: Sequence[Node], taken: Mapping[Loop, int], registers: float = 1) -> float:
        """All that stands at one place."""
        total = 0.0
        for node in body:
            match node:
                case For():
                    total += self._for(node, taken, registers)
                case Reduce():
                    horizontal = self.loops.vector is not None and self.loops.vector.reduced
                    total += self.nodes(node.body, taken, registers) + cost.FOLDING * len(node.ops) * horizontal
                case Locate():
                    total += cost.REST
                case When():
                    total += self.nodes(node.then if self.size(node.size) else node.otherwise, taken)
                case Fold() | Deviate():
                    values = [op.operands[0] for op in node.ops]
                    total += max(self._instructions(values, len(values)) * registers / self._rate, cost.LATENCY)
                case Keep():
                    total += self._instructions([node.value], 1) * registers / self._rate
                case Store():
                    total += self._instructions(node.values, len(node.values)) * registers / self._rate
                case _:
                    pass
        return total

    @property
    def _rate(self) -> float:
        return self.processor.instructions

    def _for(self, node: For, taken: Mapping[Loop, int], registers: float) -> float:
        extent = taken.get(node.loop, self.size(node.loop.dim))
        step = min(node.step, extent) or 1
        inside, around = {**taken, node.loop: step}, self.along
        self.along = node.loop
        total = self._turns(node, extent, step, inside, registers)
        self.along = around
        return total

    def _turns(self, node: For, extent: int, step: int, inside: Mapping[Loop, int], registers: float) -> float:
        if node.how != "lanes":
            self.known = set()
            beside = cost.TURN * (node.how != "written out")
            return -(-extent // step) * (beside + self.nodes(node.body, inside, registers))
        registers = max(1.0, node.step * self.loops.widest_item / self.processor.vector_bytes)
        self.known = set()
        turn = cost.TURN + self.nodes(node.body, inside, registers)
        masks = cost.MASKING * len(self.loops.nest.layouts) * registers / self._rate
        if node.tail == "masked":
            return -(-extent // node.step) * (turn + masks)
        whole, left = divmod(extent, node.step)
        if node.tail == "narrow":
            return whole * turn + -(-left // node.narrow) * (turn * node.narrow / node.step + masks)
        return whole * turn + (turn + masks + cost.REST if left else 0)

    def _instructions(self, values: Sequence[Value], done: int) -> float:
        """Of what these values need that is not known here yet, and of so many ops that take them."""
        nest, total, left = self.loops.nest, float(done), list(values)
        while left:
            value = nest.origin(left.pop())
            if value in self.known or (self.along is not None and not self.loops.varies(value, self.along)):
                continue
            self.known.add(value)
            op = nest.producer.get(value)
            if value in nest.layouts:
                total += 1
            elif op is not None and "reduction" not in op.definition.traits:
                total += cost.cost_of(op)
                left += op.operands
        return total

    # Memory

    def memory(self, body: Sequence[Node]) -> float:
        """What is moved, at the bandwidth of where it is."""
        accesses = [self.loops.access(load) for load in self.loops.nest.loads]
        accesses += [self.loops.output_access(value) for value in self.loops.yielded]
        whole = sum(map(self._bytes, accesses))
        return sum(self._moved(access, whole) for access in accesses) * self._slower(body, whole)

    def _bytes(self, access: Access) -> int:
        total = access.dtype.itemsize
        for loop, stride in access.strides.items():
            total *= self.size(loop.dim) if stride != 0 else 1
        return total

    def _moved(self, access: Access, whole: int) -> float:
        """Nanoseconds: once from where all that the kernel touches is, and again from where the operand itself is."""
        own = self._bytes(access)
        again = 1
        for loop in self.loops.outer:
            again *= self.size(loop.dim) if access.strides.get(loop, 0) == 0 else 1
        rest = (again - 1) * own / self.processor.bandwidth(own) if own > self.processor.caches[0] else 0
        return own / self.processor.bandwidth(whole) + rest

    def _slower(self, body: Sequence[Node], whole: int) -> float:
        """How many times as long reading takes in pieces as short as lanes, which tiles go down rows in."""
        vector = self.loops.vector
        if whole <= self.processor.caches[-2] or vector is None or vector.reduced or not self.loops.reduced:
            return 1
        node = body[0]
        while isinstance(node, When):
            node = (node.then if self.size(node.size) else node.otherwise)[0]
        if not isinstance(node, For) or node.loop is not vector:
            return 1
        return 1 + cost.SHORT_PIECE / (node.step * self.loops.widest_item)
