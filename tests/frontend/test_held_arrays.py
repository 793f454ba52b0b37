"""Arrays in containers, and in objects that loops make: values, aliases and identity, as in Python."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError

PROGRAMS = []


def program(*arguments):
    """Enter a program with what it is called with."""

    def enter(function):
        PROGRAMS.append((function, arguments))
        return function

    return enter


def shown(thing, seen=None):
    """What a thing is and holds, and which of the objects in it are one."""
    seen = {} if seen is None else seen
    if thing is None or isinstance(thing, int | float | complex | np.generic):
        return type(thing).__name__, repr(thing)
    if id(thing) in seen:
        return "again", seen[id(thing)][0]
    seen[id(thing)] = len(seen), thing
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, thing.ravel().tolist()
    if isinstance(thing, dict):
        return type(thing).__name__, [(shown(key, seen), shown(item, seen)) for key, item in thing.items()]
    if isinstance(thing, list | tuple | deque):
        return type(thing).__name__, [shown(one, seen) for one in thing]
    return type(thing).__name__, [(name, shown(part, seen)) for name, part in vars(thing).items()]


X = np.arange(18.0).reshape(6, 3) - 5


class Body:
    def __init__(self, position, mass):
        self.position = np.array(position)
        self.speed = np.zeros(3)
        self.mass = mass
        self.trail = []

    def step(self, force, dt):
        self.speed += force / self.mass * dt
        self.position = self.position + self.speed * dt
        self.position[0] += 0.5
        self.trail.append(self.position.copy())


@program(X, 3)
def bodies_that_a_loop_makes(x, steps):
    bodies = [Body(row, 1.0 + i) for i, row in enumerate(x)]
    for _ in range(steps):
        for one in bodies:
            force = np.zeros(3)
            for other in bodies:
                if one is not other:
                    force += other.mass * (other.position - one.position)
            one.step(force, 0.25)
    return bodies


@program(X)
def attributes_that_are_swapped_and_shared(x):
    bodies = [Body(row, 1.0) for row in x]
    for i in range(len(bodies) - 1):
        if x[i, 0] > -3:
            one, other = bodies[i], bodies[i + 1]
            one.position, other.position = other.position, one.position
            one.speed = other.speed
            one.position += 1
    bodies[0].speed[1] = 7.0
    return bodies, bodies[1].speed, [body.position for body in bodies]


@dataclass
class Node:
    point: np.ndarray
    left: Node | None = None
    right: Node | None = None


def grown(points, axis):
    if len(points) == 0:
        return None
    points = points[points[:, axis].argsort()]
    middle = len(points) // 2
    node = Node(points[middle].copy())
    node.left, node.right = grown(points[:middle], 1 - axis), grown(points[middle + 1 :], 1 - axis)
    return node


def nearest(node, wanted, axis, best, distance):
    if node is None:
        return best, distance
    found = ((node.point - wanted) ** 2).sum()
    if found < distance:
        best, distance = node.point, found
    gap = wanted[axis] - node.point[axis]
    near, far = (node.left, node.right) if gap < 0 else (node.right, node.left)
    best, distance = nearest(near, wanted, 1 - axis, best, distance)
    if gap * gap < distance:
        best, distance = nearest(far, wanted, 1 - axis, best, distance)
    return best, distance


@program((X * 7 % 11)[:, :2], X[:2, :2])
def trees_of_points(points, wanted):
    tree = grown(points, 0)
    found = np.zeros((len(wanted), 2))
    for i in range(len(wanted)):
        best, _ = nearest(tree, wanted[i], 0, np.zeros(2), np.inf)
        found[i] = best
    return found


@program(X, [3, 1, 3, 7, 1])
def dicts_by_keys_of_the_run(x, keys):
    totals = {}
    for key in keys:
        if key not in totals:
            totals[key] = np.zeros(3)
        totals[key] += x[key % 3]
        totals[key][1:] *= 2
    means = defaultdict(lambda: np.ones(2))
    for key in keys:
        means[key % 2][0] += key
    return totals, dict(means), sum(row @ row for row in totals.values())


@program(X, 4)
def items_that_are_one_array(x, n):
    found = {}
    for i in range(n):
        found[i] = x[i] + 0
    found[0] = found[n - 1]
    part = found[n - 1][1:]
    part[0] = 200.0
    found[0] -= 1
    return found[0] is found[n - 1], found[0] is found[1], found[0], found, found[1]


@program(X, 4)
def one_of_several_arrays(x, n):
    found = {}
    for i in range(n):
        found[i] = x[i] + 0
    chosen = found[0] if x[0, 0] > 0 else found[1]
    found[1][0] = 99.0
    before = chosen[0]
    for i in range(n):
        if x[i, 1] > 0:
            chosen = found[i]
            chosen[2] = i
    found[n - 1][1] = 98.0
    return before, chosen[1], found


@program(X, 9)
def queues_of_arrays_and_numbers(x, n):
    queue, last = [], deque(maxlen=3)
    for i in range(n):
        heapq.heappush(queue, (x[i % 6] @ x[i % 6], i, x[i % 6] * 2))
        last.append((x[i % 6] + i, i))
    order, total = [], np.zeros(3)
    while queue:
        _, i, row = heapq.heappop(queue)
        order.append(i)
        total = total * 0.5 + row
    last[0][0][1] = 3.0
    return order, total, list(last)


@program(X, 5)
def lists_of_arrays_of_many_sizes(x, n):
    rows = []
    for i in range(n):
        rows.append(np.arange(i) * x[0, 0])
    rows[n - 1][0] = 5.0
    rows.sort(key=lambda row: -row.sum())
    return rows, [row.sum() for row in rows], rows[1]


@program(X, 4)
def arrays_of_lists_of_arrays(x, n):
    rows = []
    for i in range(n):
        rows.append(x[i] + 0)
        rows[0][0] += 1
    whole = np.array(rows), np.stack(rows, axis=1), np.concatenate(rows), np.mean(rows, axis=0), sum(rows)
    return whole, max(rows, key=lambda row: row[1]).sum(), rows[1:], [row * 2 for row in rows]


@program(X, 4)
def containers_in_containers(x, n):
    groups = defaultdict(list)
    for i in range(6):
        groups[i % n].append(x[i] + 1)
    return {key: np.mean(rows, axis=0) for key, rows in groups.items()}, groups[0], len(groups)


@program(X, 4)
def none_or_an_array(x, n):
    found = [None] * n
    for i in range(n):
        if x[i, 0] > -3:
            found[i] = x[i] * 2
    total, best = np.zeros(3), None
    for row in found:
        if row is not None:
            total += row
            best = row
    return total, None if best is None else best.copy(), found


@program(X.astype(np.float32), X > 0, X * 1j, 4)
def numbers_of_other_types(x, flags, z, n):
    found, marks, waves, counts = {}, {}, {}, {}
    for i in range(n):
        found[i], marks[i], waves[i], counts[i] = x[i] * 2, ~flags[i], z[i] + 1, np.arange(i, dtype=np.int16)
    for i in range(n):
        found[i][1:] += 1
        marks[i][0] = True
        waves[i] *= 1j
        counts[i] += 3
    return found, marks, waves, counts, found[0] @ found[1], counts[3].sum()


@program(X, 3)
def memory_that_is_collected(x, n):
    found = {}
    for turn in range(4000):
        for i in range(n):
            row = found[i] if i in found else np.zeros(3)
            both = np.concatenate([row, x[i]]) * 0.5
            found[i] = both[:3] + both[3:]
            kept = found[i]
            found[i] = kept * 1.0
            kept += turn
    return found, kept.copy()


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=[function.__name__ for function, _ in PROGRAMS])
def test_programs_give_what_python_gives(function, arguments):
    assert shown(jitflow.function(function)(*arguments)) == shown(function(*arguments))


def test_sizes_that_differ_make_no_array():
    def ragged(n):
        rows = []
        for i in range(n):
            rows.append(np.zeros(i + 1))
            rows[0][0] = 1
        return np.array(rows)

    with pytest.raises(ValueError, match="inhomogeneous shape") as found:
        jitflow.function(ragged)(3)
    with pytest.raises(ValueError, match="inhomogeneous shape") as wanted:
        ragged(3)
    assert str(found.value) == str(wanted.value)
    assert jitflow.function(ragged)(1).tolist() == [[1]]


def of_arguments(x, keys):
    found = {}
    for key in keys:
        found[key] = x[key]
    return found


def written_arguments(x, keys):
    found = of_arguments(x, keys)
    for key in keys:
        found[key][0] = 1
    return x.sum()


def compared_arguments(x, keys):
    found = {0: x}
    for key in keys:
        found[key] = x * 2
    return found[0] is x


def items_beside_their_container(x, keys):
    found, last = {}, x[0]
    for key in keys:
        found[key] = x[key] * 2
        if key > 1:
            last = found[key]
    return found, last


@pytest.mark.parametrize(
    "function", [of_arguments, written_arguments, compared_arguments, items_beside_their_container]
)
def test_views_and_arguments_in_containers_are_refused_where_somebody_could_tell(function):
    with pytest.raises(UserNotImplementedError) as refused:
        jitflow.function(function)(X.copy(), [3, 1, 3])
    assert "x.copy()" in refused.value.mend
