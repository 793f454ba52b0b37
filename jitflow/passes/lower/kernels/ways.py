"""One fusion becomes one kernel, and on a GPU as many as its schedule has ways, and each way has parts.

A processor chooses between the ways of a schedule while a kernel runs. On a GPU they are kernels, of which the host
program launches one, since what a kernel is launched with hangs on the way: how many threads, and how they are spread.

What teams of threads have come to, who share a reduction over the whole grid, is known when all of them have ended.
So the kernel ends there, with what each chunk came to in scratch memory, and the next one begins by joining that:

    reduce %2 { for i by 65536 in chunks in parallel { ... } }  ->  kernel 1: for chunk, in parallel: ... write %cells
    for i by 32 in lanes in parallel { store %4 }                   kernel 2: for chunk: read %cells, and join; write it
                                                                    kernel 3: for i by 32, in parallel: store %4

What is joined, in the order of the chunks, is written for all workers of the kernels behind, if there are any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.layout import Layout
from jitflow.ir.types import Scalar, Tensor, Vector
from jitflow.passes.fusion.nest import Access, Loop, Nest
from jitflow.passes.lower.kernels.chunks import Chunks
from jitflow.passes.lower.kernels.kernel import Kernel, KernelLowering
from jitflow.passes.lower.kernels.reductions import reduction_for
from jitflow.passes.schedule.folding import chunk_positions
from jitflow.passes.schedule.target import CPU, Target
from jitflow.passes.schedule.tree import For, Keep, Node, Reduce, Store, When, walk_nodes
from jitflow.records import dataclass

__all__ = ["lower_nest"]

_Body = tuple[Node, ...]


def lower_nest(
    op: Op, nest: Nest, target: Target = CPU, *, name: str, backwards: bool = False,
    into: Mapping[int, Layout] = MappingProxyType({}), used: Collection[int] = ()
) -> Kernel:  # fmt: skip
    """Lower the ``fusion`` op.

    ``into`` says how results (by position) lie that go into a part of memory that exists; those that are ``used`` the
    program works on next.
    """
    if not target.distributed:
        return KernelLowering(op, nest, target, backwards, into, used).run(name)
    numbers = iter(range(1 << 16))

    def kernel(way: int, part: int) -> tuple[PartKernel, Kernel]:
        number = next(numbers)
        lowering = PartKernel(op, nest, target, backwards, into, used)
        lowering.way, lowering.part, lowering.base = way, part, name
        return lowering, lowering.run(f"{name}_{number}" if number else name)

    def ways(way: int) -> Kernel:
        lowering, first = kernel(way, 0)
        following = tuple(kernel(way, part)[1] for part in range(1, lowering.part_count))
        instead = ways(way + 1) if way + 1 < len(lowering.conditions) else None
        return replace(first, following=following, choice=lowering.conditions[way], instead=instead)

    return ways(0)


class PartKernel(KernelLowering):
    """A part of a way of a schedule for a GPU."""

    way = 0
    part = 0
    base = ""
    """What the schedule is called."""
    conditions: Sequence[Dim] = ()
    """Of all ways, when each is gone, if none before it is."""
    part_count = 1
    _now: _Part

    def emit_loops(self, name: str) -> None:
        """Find this part of this way, and emit it."""
        schedule = self.choose_schedule(self.base)
        ways = list(_ways(schedule.body))
        self.conditions = [condition for condition, _ in ways]
        body = ways[self.way][1]
        parts = _parts(body)
        self.part_count = len(parts)
        self._now = parts[self.part]
        self._cells: dict[Reduce, tuple[Loop, list[Access], list[Access]]] = {}
        self.emit_schedule(schedule, body, self._now.body)

    def begin(self, body: _Body) -> None:
        super().begin(body)
        for node in walk_nodes(body):
            if isinstance(node, Reduce) and _spread(node) is not None:
                self._make_cells(node)

    def _make_cells(self, node: Reduce) -> None:
        """Scratch memory for what each chunk of a sweep comes to, chunk by chunk, and for what all of them do."""
        chunks = _spread(node)
        assert chunks is not None
        length = chunk_positions(self.joined, chunks.step)
        numbers = Loop((chunks.loop.dim + length - 1) // length, reduced=True)
        states = [state for op in node.ops for state in reduction_for(op, self).nothing()]
        self._cells[node] = numbers, [self._cell(state, numbers) for state in states], [*map(self._cell, states)]

    def _cell(self, state: Value, *numbers: Loop) -> Access:
        assert isinstance(state.type, Scalar | Vector)
        dtype, strides = state.type.dtype, dict[Loop, Dim]()
        total: Dim = dtype.itemsize
        for loop in (*reversed(self.outer), *numbers):
            strides[loop] = total
            total = total * loop.dim
        key = Value(Tensor(dtype, ()), "cells")
        self.scratch.append((self.buffer_for(key, dtype), total))
        return Access(key, dtype, 0, strides)

    def _reduce(self, node: Reduce) -> None:
        chunks = _spread(node)
        if chunks is None:
            super()._reduce(node)
            return
        self.reductions = [reduction_for(op, self) for op in node.ops]
        self.handed_on = [(reduction, "state") for reduction in self.reductions]
        walk = Chunks(self, chunks, self.reductions, lambda: self.nodes(chunks.body))
        numbers, cells, joined = self._cells[node]
        if node is self._now.fills:
            walk.fill(cells, numbers)
        elif node is self._now.joins:
            walk.join(cells, numbers)
        else:
            for reduction in self.reductions:
                reduction.begin()
            walk.take([self.load(cell) for cell in joined])
        if node is self._now.joins and self._now.is_followed:
            for cell, state in zip(joined, self.values(), strict=True):
                self.store(cell, state)
        elif node is not self._now.fills:
            for reduction in self.reductions:
                self.emitter.store_cached(reduction.op.result, reduction.finish())
            self.kept.update(inner.value for inner in walk_nodes(node.body) if isinstance(inner, Keep))
        self.reductions, self.handed_on = (), ()


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What a kernel does: the nodes, which of the sweeps in them teams share, and which has been and is joined.

    ``is_followed``: what is joined is for the kernels behind. The other sweeps are known.
    """

    body: _Body
    fills: Node | None = None
    joins: Node | None = None
    is_followed: bool = False


def _ways(body: _Body) -> Iterator[tuple[Dim, _Body]]:
    """The ways of a schedule, each with the size that is 1 where it is gone, if none before it is."""
    (node,) = body if len(body) == 1 else (None,)
    if not isinstance(node, When):
        yield 1, body
        return
    for condition, way in _ways(node.then):
        yield condition * node.size, way
    yield from _ways(node.otherwise)


def _spread(node: Node) -> For | None:
    """The chunks of a sweep that teams share."""
    if isinstance(node, Reduce) and len(node.body) == 1:
        (inside,) = node.body
        if isinstance(inside, For) and inside.how == "chunks" and inside.parallel:
            return inside
    return None


def _parts(body: _Body) -> list[_Part]:
    """What each kernel does: one sweep, behind those that are known by then; the last stores what is left."""
    if any(_spread(node) is not None for node in body):
        stores = tuple(node for node in body if isinstance(node, Store))
        sweeps: list[Node] = [node for node in body if not isinstance(node, Store)]
        parts: list[_Part] = []
        known: _Body = ()
        for node in sweeps:
            last = stores if node is sweeps[-1] else ()
            if isinstance(node, Reduce):
                known = (*known, node)
                parts += [_Part(known, fills=node), _Part((*known, *last), None, node, node is not sweeps[-1])]
            else:
                parts.append(_Part((*known, node, *last)))
        return parts
    for number, node in enumerate(body):
        if isinstance(node, For) and len(inner := _parts(node.body)) > 1:
            around = [replace(part, body=(replace(node, body=part.body),)) for part in inner]
            whole = (*body[:number], *around[-1].body, *body[number + 1 :])
            return [*around[:-1], replace(around[-1], body=whole)]
    return [_Part(body)]
