"""Programs with classes and functions that call themselves: few traces, each as long as the text.

Each names what was recorded again and again, or refused.
"""

from __future__ import annotations

import math

import pytest

import jitflow
from jitflow.frontend.recording.trace import Trace
from tests.frontend.test_pooled_objects import outcome


class Node:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None


class Tree:
    def put(self, node, key):
        if node is None:
            return Node(key)
        if key < node.key:
            node.left = self.put(node.left, key)
        else:
            node.right = self.put(node.right, key)
        return node


def few_keys():
    """Each turn of a short loop recorded the function that calls itself."""
    tree, root = Tree(), None
    for key in [10, 20, 30, 40, 50, 25]:
        root = tree.put(root, key)
    return root.key, root.right.key, root.right.right.left.key


class Link:
    def __init__(self, key):
        self.key, self.below, self.parent, self.is_red = key, None, None, True


class Chain:
    def __init__(self):
        self.end = Link(0)
        self.end.is_red = False
        self.root = self.moved = self.end

    def settle(self, link):
        while link.parent.is_red:
            above = link.parent.parent
            link.parent.is_red, above.is_red = False, True
            self.moved = above
            link = link.parent.parent
            if link == self.root:
                break
        self.root.is_red = False

    def add(self, key):
        link, above, place = Link(key), None, self.root
        while place != self.end:
            above, place = place, place.below
        link.below, link.parent = self.end, above
        if above is None:
            self.root = link
            link.is_red = False
            return
        above.below = link
        if above.parent is not None:
            self.settle(link)


def chained(keys):
    """A piece of a loop whose turns always raise did not carry what they change, so the loop was refused."""
    chain = Chain()
    for key in keys:
        chain.add(key)
    return chain.root.key, chain.moved.key


class Box:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def holds(self, x):
        return self.low <= x < self.high


class Cell:
    def __init__(self, box):
        self.box, self.points, self.is_split = box, [], False

    def add(self, x):
        if not self.box.holds(x):
            return False
        if len(self.points) < 2:
            self.points.append(x)
            return True
        if not self.is_split:
            middle = (self.box.low + self.box.high) / 2
            self.lower = Cell(Box(self.box.low, middle))
            self.upper = Cell(Box(middle, self.box.high))
            self.is_split = True
        return self.lower.add(x) or self.upper.add(x)


def cells(xs):
    """Objects held others of a class without a pool, and no object had all attributes at once: this was refused."""
    top = Cell(Box(0.0, 16.0))
    for x in xs:
        top.add(x)
    return top.points, top.is_split


class Step:
    def __init__(self, x):
        self.x, self.way, self.parent = x, [], None


class Search:
    def __init__(self):
        self.start, self.steps = Step(0.0), []

    def moved(self, before, x):
        step = Step(before.x)
        step.way = [step.x]
        for _ in range(math.floor(abs(x - before.x))):
            step.x += math.copysign(0.5, x - before.x)
            step.way.append(step.x)
        step.parent = before
        return step

    def run(self, xs):
        self.steps = [self.start]
        for x in xs:
            nearest = min([abs(step.x - x) for step in self.steps])
            step = self.moved(self.steps[-1], x)
            if nearest > 0.25:
                self.steps.append(step)
        return [step.x for step in self.steps], len(self.steps[-1].way)


def search(xs):
    """Slots for items that a list holds once they lie in a pool; empty lists were said to hold integers."""
    return Search().run(xs)


def letters(rows, word):
    """A function that calls itself four times was written out as deep as a number that is known went."""
    seen = set()

    def found(row, column, place):
        if place == len(word):
            return True
        if row < 0 or column < 0 or row >= len(rows) or column >= len(rows[0]) or rows[row][column] != word[place]:
            return False
        if (row, column) in seen:
            return False
        seen.add((row, column))
        is_there = (found(row + 1, column, place + 1) or found(row - 1, column, place + 1)
                    or found(row, column + 1, place + 1) or found(row, column - 1, place + 1))  # fmt: skip
        seen.remove((row, column))
        return is_there

    return found(0, 0, 0)


def scheduled(key):
    """A number of a short list from outside was asked for by each of many turns, which were written out."""
    state, place = list(range(256)), 0
    for i in range(256):
        place = (place + state[i] + key[i % len(key)]) % 256
        state[i], state[place] = state[place], state[i]
    return state


@pytest.mark.parametrize(
    ("function", "arguments", "most"),
    [
        (few_keys, (), 800),
        (chained, ([5, 3, 8, 2, 9, 1, 7],), 6000),
        (cells, ([1.0, 3.0, 9.0, 2.5, 2.25, 12.0],), 1500),
        (search, ([3.0, 1.0, 7.5, 7.25],), 9000),
        (letters, ([[1, 2, 3], [4, 5, 6]], [1, 2, 5, 4]), 3000),
        (scheduled, ([1, 2, 3, 4, 5],), 3000),
    ],
)
def test_what_is_recorded(function, arguments, most, monkeypatch):
    traces: list[int] = []
    end = Trace.end

    def counted(trace):
        traces.append(trace.recorded)
        end(trace)

    monkeypatch.setattr(Trace, "end", counted)
    assert outcome(jitflow.function(function), arguments) == outcome(function, arguments)
    assert sum(traces) < most, f"{sum(traces)} ops in {len(traces)} traces"
