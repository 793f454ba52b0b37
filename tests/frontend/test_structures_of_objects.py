"""Trees, caches and orders of objects as people write them: with sentinels, dicts and comparisons of their own.

Each names what was wrong.
"""

from __future__ import annotations

import heapq

import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.frontend.test_pooled_objects import outcome


class Node:
    def __init__(self, key):
        self.key, self.height = key, 1
        self.left = self.right = None


def height(node):
    return node.height if node is not None else 0


def measure(node):
    node.height = 1 + max(height(node.left), height(node.right))


def turned_right(top):
    other = top.left
    top.left, other.right = other.right, top
    measure(top)
    measure(other)
    return other


def turned_left(top):
    other = top.right
    top.right, other.left = other.left, top
    measure(top)
    measure(other)
    return other


def inserted(node, key):
    if node is None:
        return Node(key)
    if key < node.key:
        node.left = inserted(node.left, key)
    else:
        node.right = inserted(node.right, key)
    measure(node)
    leaning = height(node.left) - height(node.right)
    if leaning > 1 and key < node.left.key:
        return turned_right(node)
    if leaning < -1 and key >= node.right.key:
        return turned_left(node)
    return node


def balanced_tree(n):
    """Shared calls on both paths took each for the one on which the condition does not hold: None had no height."""
    root = None
    for i in range(n):
        root = inserted(root, (i * 7) % 10)
    return root.key, root.height, root.left.key


class Ring:
    def __init__(self, key):
        self.key, self.after = key, self


def ring_with_a_sentinel(n):
    """An object that leads to itself was a structure without an end."""
    first = Ring(-1)
    for i in range(n):
        one = Ring(i)
        one.after = first.after
        first.after = one
    return first.after.key, first.after.after.key, first.key


class Cache:
    def __init__(self, most):
        self.most = most
        self.held = {}

    def put(self, key, value):
        self.held[key] = value
        if len(self.held) > self.most:
            del self.held[min(self.held)]


def cache_of_an_object(pairs):
    """A dict that a constructor without branches makes was never one of the running program."""
    cache = Cache(2)
    for key, value in pairs:
        cache.put(key, value)
    return cache.held


class Job:
    def __init__(self, name, cost):
        self.name, self.cost = name, cost

    def __lt__(self, other):
        return (self.cost, self.name) < (other.cost, other.name)


def jobs_in_order(n):
    """Lists of such objects had no order."""
    jobs = []
    for i in range(n):
        jobs.append(Job("a" if i % 2 else "b", (i * 7) % 5))
    jobs.sort()
    first = min(jobs)
    by_key = sorted(jobs, key=lambda job: (-job.cost, job), reverse=True)
    return [(job.name, job.cost) for job in jobs], jobs.index(first), [job.name for job in by_key]


def few_jobs_in_order(a, b):
    """Nor had a list of which Python knows each item, where the run compares them; heaps asked for a decision."""
    jobs = [Job("x", a), Job("y", b)]
    waiting = []
    for job in jobs:
        heapq.heappush(waiting, job)
    jobs.sort(reverse=True)
    return [job.name for job in jobs], heapq.heappop(waiting).name


def pairs_of_several_kinds(n):
    """What has no order is an error where it is compared."""
    items = []
    for i in range(n):
        items.append(None if i % 2 else i)
    items.sort()
    return items


class Counting:
    made = 0

    def __init__(self, value):
        self.value = value

    @property
    def once(self):
        if self.value < 0:
            raise ValueError(self.value)
        self.value += 1
        return self.value


class Steady(Counting):
    @property
    def once(self):
        return self.value


def property_of_one_of_two(first, a, b):
    """Whether it was a method was found out by reading it, of each of the two, outside of the branch."""
    one, other = Counting(a), Steady(b)
    chosen = one if first else other
    return chosen.once + chosen.once, one.value, other.value


def lists_that_calls_change(n):
    """What a function's calls of itself do to lists, dicts and objects was not known: lengths were read once."""
    seen, counts, first = [], {}, Ring(0)

    def walk(k):
        if k == 0:
            seen.append(k)
            counts[len(seen)] = k
            first.key += 1
            return 0
        before = len(seen) + len(counts) + first.key
        found = walk(k - 1) + walk(k // 2)
        return found + len(seen) + len(counts) + first.key - before

    return walk(n), seen, counts, first.key


def checked_twice(n):
    """What was read again was of several kinds again, behind a check of the first read."""
    last, found = None, []
    for i in range(n):
        one = Job(None if i % 2 else "even", i)
        one.after = last
        last = one
    while last is not None:
        if last.after is not None and last.after.name is not None:
            found.append(len(last.after.name))
            last.after.name = None
        if last.name is None:
            found.append(0)
        last = last.after
    return found


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (balanced_tree, (10,)),
        (lists_that_calls_change, (4,)),
        (checked_twice, (5,)),
        (ring_with_a_sentinel, (4,)),
        (cache_of_an_object, ([(3, 1), (5, 2), (4, 3)],)),
        (jobs_in_order, (6,)),
        (jobs_in_order, (0,)),
        (few_jobs_in_order, (2, 1)),
        (pairs_of_several_kinds, (1,)),
        (pairs_of_several_kinds, (3,)),
        (property_of_one_of_two, (False, -1, 2)),
        (property_of_one_of_two, (True, 1, 2)),
    ],
)
def test_structures(function, arguments):
    assert outcome(jitflow.function(function), arguments) == outcome(function, arguments)


class Asked(Job):
    asked = 0

    def __lt__(self, other):
        self.asked += 1
        return self.cost < other.cost


def counted_comparisons(n):
    jobs = []
    for i in range(n):
        jobs.append(Asked("a", i))
    jobs.sort()
    return jobs[0].asked


def test_comparisons_that_show_how_often_python_compares():
    with pytest.raises(UserNotImplementedError, match="shows how often Python compares"):
        jitflow.function(counted_comparisons)(3)
