"""Nested lists, dicts, sets and deques as arguments: read and changed by the run, and visible to the caller."""

from __future__ import annotations

import heapq
import random
import threading
from collections import Counter, defaultdict, deque, namedtuple

import pytest

import jitflow
from jitflow.errors import UserNotImplementedError


def form(thing, seen):
    """All that can be seen of objects: types, items, order, and which are one."""
    if isinstance(thing, list | deque | dict | set):
        if id(thing) in seen:
            return seen[id(thing)]
        seen[id(thing)] = len(seen)
        items = thing.items() if isinstance(thing, dict) else thing
        return type(thing), [form(item, seen) for item in items]
    return tuple(form(item, seen) for item in thing) if isinstance(thing, tuple) else repr(thing)


def outcome(function, arguments):
    try:
        found = function(*arguments)
    except Exception as error:
        found = repr(error)
    return form((arguments, found), {})


def check(function, *makers, misses=1):
    compiled = jitflow.function(function)
    for make in makers:
        assert outcome(compiled, make()) == outcome(function, make())
    assert compiled.cache_info().misses == misses


def everything(rows, graph, weights, seen, queue, counts, k):
    """Reads, stores, appends, adds and removes of all kinds."""
    total = 0
    for row in rows:
        for item in row:
            total += item
    rows[k][0] = total
    rows[0], rows[1] = rows[1], rows[0]
    fresh = [k]
    for i in range(k):
        fresh.append(i)
    rows.append(fresh)
    graph[k].append(total)
    graph[7] = fresh
    for node in graph:
        if node not in seen:
            seen.add(node)
    seen.discard(100)
    heap = []
    for other, weight in weights[k]:
        heapq.heappush(heap, (weight, other))
    if len(heap) > 0:
        nearest = heapq.heappop(heap)[1]
        weights[k][0] = (nearest, 0.5)
        counts[nearest] += 1
    queue.append(queue.popleft())
    queue.appendleft(total)
    return rows[k], fresh, graph[7], [row for row in rows if row], len(seen), rows[k + 2][0]


def arguments(size, k):
    rows = [[i, i + 1] + [0] * (i % 3) for i in range(size)]
    graph = {i: [i + 1] for i in range(size)} if size % 2 else defaultdict(list, {i: [i + 1] for i in range(size)})
    weights = {i: [(j, j / 2 + i) for j in range(i)] for i in range(size)}
    return rows, graph, weights, {0, 100, 33, 65}, deque([5, 6, 7]), Counter([1, 2, 2]), k


def test_what_the_program_changes_is_changed_as_python_changes_it():
    makers = [lambda size=size, k=k: arguments(size, k) for size, k in ((4, 1), (6, 3), (4, 2), (40, 30), (2, 1))]
    check(everything, *makers)
    check(everything, *(lambda size=size: arguments(size, 1) for size in (3, 5)))


def sees_one_object(row, rows, others, k):
    row[k] = 70
    others[0].append(rows[0][k])
    rows[1] = rows[0]
    rows[0][0] += 1
    return row is rows[0], rows[1], others


def test_one_object_is_one_by_all_paths_and_the_rest_stays():
    def shared():
        row = [1, 2, 3]
        rows = [row, [4]]
        return row, rows, [row, row], 1

    check(sees_one_object, lambda: ([1, 2, 3], [[1, 2], [4]], [[5]], 1), shared, shared, misses=2)

    @jitflow.function
    def store(rows, k):
        rows[k][0] = 2.5

    rows = [[1000.5, 2000.5], [3.5, 4.5]]
    kept, first = [*rows], [*rows[0]]
    store(rows, 0)
    assert [a is b for a, b in zip(rows, kept, strict=True)] == [True, True]
    assert rows[0][1] is first[1]
    assert rows == [[2.5, 2000.5], [3.5, 4.5]]


def memoised(n, memory):
    if n in memory:
        return memory[n]
    if n < 2:
        return n
    memory[n] = memoised(n - 1, memory) + memoised(n - 2, memory)
    return memory[n]


def order(keys):
    found = []
    for key in keys:
        found.append(key)
    return found


def test_types_are_checked_and_sizes_are_not():
    compiled = jitflow.function(memoised)
    assert [compiled(n, {0: 0}) for n in (5, 50)] == [5, 12586269025]
    assert compiled.cache_info().misses == 1
    holed = set(range(0, 1000, 7)) - set(range(0, 500, 7))
    check(order, lambda: ({3, 65, 33, 1},), lambda: (holed,), lambda: ({-1, 2**40, 8},))
    check(order, lambda: ({(1, 2), (3, 4)},), lambda: ({0.5, -0.5, 2.0},), lambda: ([[1], []],), misses=3)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_a_call_that_fails_has_made_the_changes_before(k):
    def changes(rows, found, k):
        rows[0][0] = 99
        rows[1].append(5)
        for i in range(3):
            found[i] = rows[k][0] + i
            rows[i].append(i)
        return rows

    check(changes, lambda: ([[1], [2]], {9: 9}, k), lambda: ([[1], [2], [3]], {}, k))


def grows(history, memory, links, heap, k):
    """What is empty when the call begins tells no type, until something is put into it."""
    heapq.heapify(heap)
    for i in range(k):
        if i % 2 == 0:
            history.append((i, i / 2))
        if (i, k) not in memory:
            memory[i, k] = i * 1.5
        links[i % 3].append(i * 0.5)
        heapq.heappush(heap, i)
    return history[::-1], heap[0]


def test_what_is_empty_is_of_the_type_that_is_put_there():
    check(grows, *(lambda k=k: ([], {}, {0: [], 1: [], 2: []}, [5, 3, 8], k) for k in (5, 9)))


def looks_on(number):
    """A call out, in front of which everything is told."""


def writes_texts(rows, history, k):
    """Texts and containers are told beside those of the caller's, more than once."""
    line, lines = "", []
    for row in rows:
        line += str(len(row)) + ","
        lines.append(line)
        rows[k].append(len(line))
        if len(row) > k:
            history.append([len(row), rows[0][0]])
    jitflow.callback(looks_on)(len(line))
    history.append([k])
    return line, lines, {text: number for number, text in enumerate(lines)}, rows[k], history


def test_texts_are_told_beside_containers_of_the_caller() -> None:
    check(writes_texts, *(lambda size=size, k=k: (arguments(size, k)[0], [[0]], k) for size, k in ((20, 2), (33, 5))))


def test_one_list_that_is_passed_twice_is_one():
    def moved(one, other):
        one.append(other.pop())
        return one is other, other

    ours, theirs = [1, 2, 3], [1, 2, 3]
    assert jitflow.function(moved)(ours, ours) == moved(theirs, theirs)
    assert ours == theirs


class Pair(namedtuple("Pair", "a b")):
    factor = 3

    def product(self):
        return self.a * self.factor


def test_a_named_tuple_with_attributes_beside_its_fields_is_refused():
    compiled, pair = jitflow.function(lambda pair: pair.product()), Pair(2.0, 1.0)
    assert compiled(pair) == 6
    pair.factor = 5
    with pytest.raises(UserNotImplementedError, match="Pair, which a compiled function cannot take"):
        compiled(pair)


def test_tuples_of_what_the_caller_passes():
    def grown(items, more):
        pairs = []
        for item in more:
            items.append([item])
            pairs.append((tuple(items), tuple(items[-1])) if item > 1 else None)
        return tuple(items), items, tuple(tuple(item) for item in items), pairs, tuple(more[:0])

    check(grown, *(lambda n=n: ([[7]], [3, 1, 2, 5][:n]) for n in (4, 0, 1)), misses=3)


def test_a_dict_that_another_thread_changes_meanwhile():
    table, over = dict.fromkeys(range(300), 1.0), threading.Event()

    def change():
        while not over.is_set():
            for key in range(1000, 1400):
                table[key] = 1.0
            for key in range(1000, 1400):
                del table[key]

    compiled, changing = jitflow.function(lambda table: sum(table.values())), threading.Thread(target=change)
    compiled(table)
    changing.start()
    try:
        assert all(300 <= compiled(table) <= 700 for _ in range(200))
    finally:
        over.set()
        changing.join()


def moves_keys_between_sets(sets, n):
    for i in range(n):
        sets[i % len(sets)].add(i * 8)
        if sets[0]:
            sets[-1].add(sets[0].pop())
        sets[1].discard(i * 16)


def with_a_history(draw):
    """A set whose table tells of keys that were there."""
    keys = set()
    for _ in range(draw.randint(0, 60)):
        what = draw.randrange(6)
        if what < 3:
            keys.add(draw.randint(0, 12) * 8)
        elif what == 3:
            keys.discard(draw.randint(0, 12) * 8)
        elif what == 4 and keys:
            keys.pop()
        elif draw.random() < 0.3:
            keys.update(range(0, draw.randint(0, 400), 8))
    return keys


def test_sets_lie_as_if_python_had_changed_them():
    """What is popped next and where further keys come to stand follow from all that was ever done to a set."""
    compiled = jitflow.function(moves_keys_between_sets)
    for seed in range(60):
        draws = random.Random(seed), random.Random(seed)
        ours, plain = ([with_a_history(draw) for _ in range(3)] for draw in draws)
        compiled(ours, seed % 15)
        moves_keys_between_sets(plain, seed % 15)
        for keys in (*ours, *plain):
            keys.update(range(0, 8 * (seed % 40), 24))
        assert [[keys.pop() for _ in range(len(keys))] for keys in ours] == [
            [keys.pop() for _ in range(len(keys))] for keys in plain
        ]
