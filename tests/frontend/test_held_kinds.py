"""Containers whose items are of several kinds: each comes out as what it was, in plain Python's order."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque

import numpy as np
import pytest

import jitflow

F = np.array([0.5, -1.0, 2.5, 3.0, -0.0])
X = np.array([3, 1, 4, 1, 5])


def told(thing):
    """Everything that can be seen of a result, classes included."""
    if isinstance(thing, dict):
        return type(thing), [(told(key), told(item)) for key, item in thing.items()]
    if isinstance(thing, set):
        return set, sorted(map(repr, thing))
    if isinstance(thing, list | tuple | deque):
        return type(thing), [*map(told, thing)]
    return type(thing), repr(thing)


def outcome(function, arguments):
    try:
        return told(function(*arguments))
    except (LookupError, TypeError) as error:
        return type(error), told(error.args)


def follows_a_script_on_a_list(codes, x, f):
    held, log, total = [0, None], [], 0
    for i in range(len(codes)):
        code = codes[i]
        if code == 0:
            held.append(x[i])
        elif code == 1:
            held.append(None)
        elif code == 2:
            held.insert(i % 3, x[i] - 1)
        elif code == 3 and held:
            log.append(held.pop())
        elif code == 4 and len(held) > 2:
            held[i % 3], held[1] = held[1], held[x[i] % 2]
        elif code == 5:
            total += held.count(x[i]) + (None in held)
        elif code == 6:
            for item in held:
                if item is not None and item > 1:
                    total += item
        elif code == 7:
            other = held[1:]
            other.append(int(x[i]))
            held = other
    return held, log, total


def follows_a_script_on_a_heap(codes, x, f):
    held, log = [(0, 0)], []
    for i in range(len(codes)):
        code = codes[i]
        if code < 3:
            heapq.heappush(held, (f[i], i))
        elif code < 5:
            heapq.heappush(held, (int(x[i]), x[i]))
        elif held:
            log.append(heapq.heappop(held))
    log.sort()
    return held, log, sorted(log, key=lambda pair: pair[1], reverse=True), max(log, default=None)


def follows_a_script_on_dicts(codes, x, f):
    held, found, log, seen = {0: None}, defaultdict(int), [], {1}
    for i in range(len(codes)):
        code, key = codes[i], x[i]
        if code == 0:
            held[key] = f[i]
        elif code == 1:
            held[int(key)] = None
        elif code == 2:
            found[key] += float(f[i])
        elif code == 3:
            found[i % 3] += 1
        elif code == 4:
            log.append(held.get(key))
        elif code == 5:
            held.pop(key, None)
        elif code == 6:
            seen.add(key)
        elif key in held and held[key] is None:
            log.append(held.setdefault(key, 1))
    return held, found, log, seen, held[x[0]]


@pytest.mark.parametrize("program", [follows_a_script_on_a_list, follows_a_script_on_a_heap, follows_a_script_on_dicts])
def test_a_script_of_random_operations(program):
    compiled = jitflow.function(program)
    random = np.random.default_rng(7)
    for count in (40, 3, 60, 2, 60, 40):
        f = random.choice([0.5, -1.0, 2.5, 3.0, -0.0, 0.0], count)
        script = random.integers(0, 8, count), random.integers(-2, 7, count), f
        assert outcome(compiled, script) == outcome(program, script)


def holds_complex_numbers(x, f):
    held, log = [1j], [None] * 4
    for i in range(len(f)):
        if f[i] > 0:
            held.append(complex(f[i], -0.0))
            held.append(f[i] * 1j)
            log[i % 4] = []
        elif log[i % 4] is not None:
            log[i % 4].append((x[i],))
    total = 0
    for one in held:
        total += one
    return held, log, total, sum(held)


def sorts_at_the_ends_of_int64(x, f):
    held = [2**63 - 1, 2**53 + 1, -(2**63), True]
    for i in range(len(f)):
        if f[i] < 100:
            held.append(2.0**53 + 2 * i)
            held.append(x[i])
    held.append(2.0**63)
    held.sort()
    return held, max(held), min(held), sum(held[:5]), any(held), 2.0**53 + 2 in held


def keeps_rows_of_another_kind_than_they_began_with(x, f):
    rows = [[0] * 3 for _ in range(2)]
    queue, best, pairs = deque([(0, None)]), [None] * 3, []
    for i in range(len(f)):
        rows[i % 2][i % 3] += f[i]
        queue.append((x[i], i))
        if best[i % 3] is None or best[i % 3] < f[i]:
            best[i % 3] = f[i]
        pairs.append((x[i],) if f[i] > 0 else (x[i], 0.5))
    first, depth = queue.popleft()
    return rows, list(queue), best, pairs, first, depth, np.array(rows[0] + [1.5])


def asks_for_what_is_not_there(x, f):
    held = {1: 2}
    for value in x:
        held[(int(value) + 1) % 3] = value
    return held[x[0] + 100]


def stays_empty(x, f):
    log, kinds, found, rows, nested = [], [None] * 4, {}, [], deque()
    for i in range(len(f)):
        row = []
        if f[i] > 1e6:
            row.append((i, x[i]))
        rows.append(row)
        found[i] = set()
        if f[i] > 0:
            log.append([])
            kinds[i % 4] = {}
            nested.append(row[:])
        elif kinds[i % 4] is not None:
            log.append(None)
    return log, kinds, found, rows, nested, len(log), [[] for _ in range(len(f))]


@pytest.mark.parametrize(
    "program",
    [
        stays_empty,
        holds_complex_numbers,
        sorts_at_the_ends_of_int64,
        keeps_rows_of_another_kind_than_they_began_with,
        asks_for_what_is_not_there,
    ],
)
def test_what_is_held_comes_out_as_what_it_was(program):
    compiled = jitflow.function(program)
    for _ in range(2):
        assert outcome(compiled, (X, F)) == outcome(program, (X, F))


def sums_what_is_not_none(x):
    held = [None] * 3
    for i in range(3):
        if x[i] > 0:
            held[i] = x[i] ** 2
    held.append(2)
    total = 0
    for i in range(len(held)):
        if held[i] is not None:
            total = total + held[i]
    return total


def test_a_gradient_goes_through_items_of_several_kinds():
    np.testing.assert_array_equal(jitflow.grad(sums_what_is_not_none)(np.array([1.0, -1.0, 3.0])), [2.0, 0.0, 6.0])
