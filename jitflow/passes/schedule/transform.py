"""Transformations: other schedules of the same nest, with the same bits.

Each is a small pure function from a schedule to another one, at a node of it. They do not ask whether what they make is
legal; `moves` gives what is, one step away, for whoever looks for a better schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from jitflow.errors import UserValueError
from jitflow.ir.dims import Dim
from jitflow.passes.schedule.folding import BLOCK
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.legal import check_schedule
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.text import ScheduleNames
from jitflow.passes.schedule.tree import Fold, For, Locate, Node, Reduce, Schedule, Tail, When, walk_nodes

__all__ = ["in_memory", "moves", "reorder", "share", "split", "with_lanes", "with_tail"]


def split(schedule: Schedule, node: For, step: int) -> Schedule:
    """A loop takes ``step`` positions a turn, and runs over these inside."""
    outside = For(node.loop, step, (replace(node, threads=0),), threads=node.threads, parallel=node.parallel)
    return _with(schedule, node, (outside,))


def reorder(schedule: Schedule, node: For) -> Schedule:
    """A loop changes places with the one that is all there is inside of it."""
    (inside,) = node.body
    assert isinstance(inside, For)
    return _with(schedule, node, (replace(inside, body=(replace(node, body=inside.body),)),))


def with_lanes(schedule: Schedule, lanes: int) -> Schedule:
    """Vectors of another width."""
    return _each(schedule, lambda node: replace(node, step=lanes, narrow=min(node.narrow, lanes)))


def with_tail(schedule: Schedule, tail: Tail, narrow: int = 0) -> Schedule:
    """Another end of vector loops."""
    return _each(schedule, lambda node: replace(node, tail=tail, narrow=narrow))


def share(schedule: Schedule, node: For, work: Dim) -> Schedule:
    """Threads share a loop, with so much work at a position; 0 for not at all."""
    return _with(schedule, node, (replace(node, threads=work),))


def in_memory(schedule: Schedule, node: For, strip: int, band: int, lanes: int) -> Schedule:
    """A vertical reduction down the rows of a matrix: along a strip of columns, some rows at a time."""
    reduced, *behind = node.body
    assert isinstance(reduced, Reduce)
    rows = next(inner.loop for inner in walk_nodes(reduced.body) if isinstance(inner, For))

    def along(*body: Node) -> For:
        return For(node.loop, lanes, body, "lanes", "masked")

    added = For(rows, band, (along(For(rows, 1, (Fold(reduced.ops),), "written out")),))
    summed = Reduce(reduced.ops, (For(rows, BLOCK, (added,)),), in_memory=True)
    return _with(schedule, node, (For(node.loop, strip, (summed, along(*behind))),))


def moves(
    schedule: Schedule, loops: JoinedLoops, target: Target, names: ScheduleNames
) -> Iterator[tuple[str, Schedule]]:
    """What is legal one step away, with what the step was."""
    for what, candidate in _candidates(schedule, loops):
        try:
            check_schedule(candidate, loops, target, names)
        except UserValueError:
            continue
        yield what, candidate


def _candidates(schedule: Schedule, loops: JoinedLoops) -> Iterator[tuple[str, Schedule]]:
    fors = [node for node in walk_nodes(schedule.body) if isinstance(node, For)]
    if any(isinstance(node, When) for node in schedule.body):
        return
    for node in fors:
        name = f"{node.step} of {node.loop.dim}"
        for step in (2, 7, 64, 1024):
            if node.how != "written out" and step > node.step:
                yield f"split {name} by {step}", split(schedule, node, step * node.step if node.step > 1 else step)
        if len(node.body) == 1 and isinstance(node.body[0], For):
            yield f"reorder {name}", reorder(schedule, node)
        yield f"share {name}", share(schedule, node, 64 if node.threads == 0 else 0)
        if node.how == "lanes" and node.body and isinstance(node.body[0], Reduce) and len(loops.reduced) == 1:
            for band in (1, 3, 4):
                yield f"in memory {name}, {band}", in_memory(schedule, node, 128, band, 16)
    for lanes in (4, 8, 16, 32, 64):
        yield f"{lanes} lanes", with_lanes(schedule, lanes)
    yield "masked", with_tail(schedule, "masked")
    yield "apart", with_tail(schedule, "apart")
    yield "narrow", with_tail(schedule, "narrow", 4)


_Change = Callable[[tuple[Node, ...]], tuple[Node, ...]]


def _inside(node: Node, change: _Change) -> Node:
    """A node with what is inside of it changed."""
    if isinstance(node, For | Reduce | Locate):
        return replace(node, body=change(node.body))
    if isinstance(node, When):
        return replace(node, then=change(node.then), otherwise=change(node.otherwise))
    return node


def _each(schedule: Schedule, change: Callable[[For], For]) -> Schedule:
    """Change each loop of lanes."""

    def changed(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        found = (_inside(node, changed) for node in nodes)
        return tuple(change(node) if isinstance(node, For) and node.how == "lanes" else node for node in found)

    return replace(schedule, body=changed(schedule.body))


def _with(schedule: Schedule, old: Node, new: tuple[Node, ...]) -> Schedule:
    """Others in the place of one node."""

    def changed(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(one for node in nodes for one in (new if node is old else (_inside(node, changed),)))

    return replace(schedule, body=changed(schedule.body))
