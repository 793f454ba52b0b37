"""The queues of Python's library, which programs of one thread go through graphs with."""

from __future__ import annotations

import queue
from queue import Empty, Full, LifoQueue, PriorityQueue, Queue

import pytest

import jitflow
from jitflow.errors import UserTypeError


def outcome(function, arguments):
    try:
        return repr(function(*arguments))
    except (Empty, Full, ValueError) as error:
        return repr(error)


STREETS = {"a": ["b", "c"], "b": ["a", "d"], "c": ["a", "e"], "d": ["b"], "e": ["c", "d"]}


def in_breadth(streets, start):
    waiting: Queue[str] = Queue()
    waiting.put(start)
    seen, order = {start}, []
    while not waiting.empty():
        corner = waiting.get()
        order.append(corner)
        for other in streets[corner]:
            if other not in seen:
                seen.add(other)
                waiting.put(other)
    return order


def capacities(graph, source, sink):
    waiting, parents = queue.Queue(), [-1] * len(graph)
    waiting.put((source, 0))
    while waiting.qsize():
        node, depth = waiting.get()
        for other in range(len(graph)):
            if graph[node][other] > 0 and parents[other] < 0 and other != source:
                parents[other] = node
                waiting.put((other, depth + 1))
                if other == sink:
                    return depth + 1, parents
    return -1, parents


def in_order(numbers):
    first, last = PriorityQueue(), LifoQueue(maxsize=3)
    for place, number in enumerate(numbers):
        first.put((number, place))
    found = []
    while not first.empty():
        number, place = first.get()
        found.append(place)
        if not last.full():
            last.put(number)
    return found, [last.get() for _ in range(last.qsize())], isinstance(last, Queue)


def taken_until_it_is_empty(n):
    waiting = Queue()
    for i in range(n):
        waiting.put_nowait(i * i)
    total = 0
    try:
        while True:
            total += waiting.get_nowait()
            waiting.task_done()
    except Empty:
        pass
    waiting.task_done()
    return total


def too_many(n):
    waiting = Queue(2)
    for i in range(n):
        waiting.put(i, block=False)
    return waiting.get(timeout=0.01) + waiting.get(False)


def caught_where_there_is_no_room(n):
    waiting = Queue(maxsize=2)
    try:
        for i in range(n):
            waiting.put(i, False)
    except Full:
        return -waiting.qsize()
    return waiting.qsize()


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (in_breadth, (STREETS, "a")),
        (capacities, ([[0, 3, 0], [0, 0, 2], [1, 0, 0]], 0, 2)),
        (in_order, ([2.5, 1.0, 3.0, 1.0],)),
        (in_order, ([],)),
        (taken_until_it_is_empty, (3,)),
        (too_many, (0,)),
        (too_many, (2,)),
        (too_many, (3,)),
        (caught_where_there_is_no_room, (1,)),
        (caught_where_there_is_no_room, (4,)),
    ],
)
def test_queues(function, arguments):
    assert outcome(jitflow.function(function), arguments) == outcome(function, arguments)


def test_a_queue_is_not_returned():
    def made(n):
        waiting = Queue()
        waiting.put(n)
        return waiting

    with pytest.raises(UserTypeError, match="the result cannot be returned"):
        jitflow.function(made)(2)
