"""Named tuples as items and keys of what the running program changes."""

from __future__ import annotations

import heapq
from collections import deque, namedtuple
from typing import NamedTuple

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from jitflow.ir.dtypes import F64, I64
from jitflow.ir.named_types import Named
from jitflow.ir.parser import parse_type
from jitflow.ir.types import Container, Scalar
from tests.truth.whole.same import assert_does_what_python_does

CALLS = [(np.array([3, 1, 2, 5]),), (np.array([1, 1]),)]

Point = namedtuple("Point", "x y")


class Record(NamedTuple):
    """With a list."""

    key: int
    tags: list


class Edge(NamedTuple):
    """With methods, and a default."""

    start: int
    end: int
    weight: float = 1.0

    def flipped(self):
        return Edge(self.end, self.start, self.weight)


class Backward(NamedTuple):
    """With an order of its own."""

    key: int

    def __lt__(self, other):
        return self.key > other.key


def tags_records(numbers):
    records = []
    for number in numbers:
        records.append(Record(int(number), []))
    for number in numbers:
        records[int(number) % len(records)].tags.append(int(number))
    return records


def goes_through_edges(numbers):
    edges = []
    for number in numbers.tolist():
        edges.append(Edge(number, number + 1))
        edges.append(edges[-1].flipped())
    total = 0.0
    for start, _, weight in edges:
        total += start * weight
    return total, edges[0], sorted(edges), edges[-1]._replace(weight=None)


def keeps_them_by_key(numbers):
    found = {}
    for number in numbers.tolist():
        found[number] = Edge(number, 1, number * 2.0)
    return max(found.values(), key=lambda edge: edge.weight), found


def counts_points(numbers):
    seen, queue = {}, deque([Point(0, 0)])
    while queue:
        point = queue.popleft()
        seen[point] = seen.get(point, 0) + 1
        if point.x < numbers[0]:
            queue.append(Point(point.x + 1, point.y))
            queue.append(Point(point.x + 1, point.y + 1))
    return seen, [point.y for point in seen], Point(1, 1) in seen


def keeps_what_may_lack(numbers):
    points = [Point(number, None) if number > 2 else Point(number, 2) for number in numbers.tolist() if number > 0]
    mixed = []
    for number in numbers.tolist():
        mixed.append(Point(number, 0) if number > 1 else (number, 0))
    return points, [point.y is None for point in points], mixed


def takes_the_least(numbers):
    heap, order = [], []
    for number in numbers.tolist():
        heapq.heappush(heap, Point(number, 0.5))
    while heap:
        point = heapq.heappop(heap)
        order.append(point)
        if point.x == 2:
            heapq.heappush(heap, Point(4, 1.5))
    return order, isinstance(order[0], Point), len(order[0])


@pytest.mark.parametrize("program", [
    tags_records, goes_through_edges, keeps_them_by_key, counts_points, keeps_what_may_lack, takes_the_least,
])  # fmt: skip
def test_they_are_items(program):
    assert_does_what_python_does(program, CALLS)


def test_those_with_an_order_of_their_own_are_refused():
    def program(numbers):
        found = []
        for number in numbers.tolist():
            if number > 1:
                found.append(Backward(number))
        return sorted(found)

    with pytest.raises(UserNotImplementedError, match="of other items than"):
        jitflow.function(program)(CALLS[0][0])


def test_their_types_are_read_as_they_are_printed():
    held = Container(item=Named(Point, (Scalar(I64, True), Scalar(F64))))
    assert str(held) == "list<Point(int, f64)>"
    assert parse_type(str(held)) == held
