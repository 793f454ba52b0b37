"""What makes items: factories of defaultdicts and of fields of dataclasses, and helpers that return displays."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.truth.whole.same import assert_does_what_python_does

EDGES = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [0, 1]])


@dataclass
class Node:
    """With containers of its own."""

    key: int
    near: list = field(default_factory=list)
    far: dict = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    times: Counter = field(default_factory=Counter)
    recent: deque = field(default_factory=deque)


class Stack:
    """Made for each key."""

    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)


def makes_a_row():
    return [0, 0.5]


def counts_pairs(edges):
    pairs = defaultdict(lambda: defaultdict(int))
    for one, other in edges.tolist():
        pairs[one][other] += 1
    return {one: dict(others) for one, others in pairs.items()}


def adds_weights(edges):
    def graph(pairs):
        weights = defaultdict(partial(defaultdict, float))
        for one, other in pairs:
            weights[one][other] += 0.5
        return weights

    there, back = graph(edges.tolist()), graph([(other, one) for one, other in edges.tolist()])
    chosen = there if len(edges) > 3 else back
    return sum(chosen[0].values()), sum(back[3].values()), len(chosen)


def makes_rows(edges):
    rows = defaultdict(lambda: [0, 0.0])
    for one, other in edges.tolist():
        rows[one][0] += 1
        rows[one][1] += other / 2
    return dict(rows)


def begins_with_what_is_there(edges):
    def begun():
        return [7]

    rows = defaultdict(begun)
    for one, other in edges.tolist():
        rows[one].append(other)
    return dict(rows)


def numbers_what_it_meets(edges):
    numbers = defaultdict(lambda: len(numbers))
    return [(numbers[one], numbers[other]) for one, other in edges.tolist()], dict(numbers)


def makes_objects(edges):
    stacks = defaultdict(Stack)
    for one, other in edges.tolist():
        stacks[one].push(other)
    return sorted((key, stack.items) for key, stack in stacks.items())


def meets_nodes(edges):
    nodes = {}
    for one, other in edges.tolist():
        if one not in nodes:
            nodes[one] = Node(one)
        node = nodes[one]
        node.near.append(other)
        node.far[other % 2][0] += 1
        node.times[other] += 1
        node.recent.append(other)
    return [(node.key, node.near, dict(node.far), node.times[1], list(node.recent)) for node in nodes.values()]


def asks_a_helper(edges):
    rows = {}
    for one, other in edges.tolist():
        if one not in rows:
            rows[one] = makes_a_row()
        rows[one][0] += other
    return rows


@pytest.mark.parametrize("program", [
    counts_pairs, adds_weights, makes_rows, begins_with_what_is_there, numbers_what_it_meets, makes_objects,
    meets_nodes, asks_a_helper,
])  # fmt: skip
def test_containers_that_factories_make_may_change(program):
    """All were refused: nobody knew where the containers are made."""
    assert_does_what_python_does(program, [(EDGES,), (EDGES[:2],)])


def test_a_function_for_missing_keys_is_not_returned():
    """A defaultdict came back with another factory."""

    def program(edges):
        pairs = defaultdict(lambda: defaultdict(int))
        for one, other in edges.tolist():
            pairs[one][other] += 1
        return pairs

    with pytest.raises(UserNotImplementedError, match="returned or handed on with a function for keys"):
        jitflow.function(program)(EDGES)
