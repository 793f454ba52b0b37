"""Lists, deques, dicts and sets of the running program do what Python's do: values, order, identity and errors.

Programs that follow a script of random operations are compiled once and run on many scripts.
"""

from __future__ import annotations

import bisect
import heapq
import resource
from collections import Counter, defaultdict, deque

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.truth.whole.same import assert_does_what_python_does

X = np.array([3, 1, 3, 7, -1, 10**6, 3, 1])


# -- scripts --------------------------------------------------------------------------------------------------


def follows_a_script_on_a_dict(codes, keys):
    """All that is seen is mixed into one number, order included."""
    held, seen = {}, 0
    for i in range(len(codes)):
        code, key = codes[i], int(keys[i])
        if code < 4:
            held[key] = i
        elif code == 4:
            seen = (seen * 31 + held.get(key, -7)) % 1000003
        elif code == 5:
            seen = (seen * 31 + held.pop(key, -9)) % 1000003
        elif code == 6 and key in held:
            del held[key]
        elif code == 7:
            seen = (seen * 31 + held.setdefault(key, -i) + len(held)) % 1000003
        elif code == 8:
            for other, item in held.items():
                seen = (seen * 33 + other % 1009 * 7 + item) % 1000003
        elif code == 9 and len(held) > 40:
            held.clear()
    return held, seen, len(held)


def follows_a_script_on_a_set(codes, keys):
    held, seen = set(), 0
    for i in range(len(codes)):
        code, key = codes[i], int(keys[i])
        if code < 5:
            held.add(key)
        elif code < 7:
            held.discard(key)
        elif code == 7:
            seen = (seen * 31 + (key in held) + len(held)) % 1000003
        elif code == 8:
            for other in held:
                seen = (seen * 33 + other) % 1000003
        elif code == 9 and len(held) > 60:
            held.clear()
    return sorted(held), seen, len(held)


def follows_a_script_on_a_set_of_pairs(codes, keys):
    held, seen = set(), 0.0
    for i in range(len(codes)):
        code, key = codes[i], int(keys[i])
        pair = (key % 17 - 1, float(key) / 4)
        if code < 6:
            held.add(pair)
        elif code < 8:
            held.discard(pair)
        else:
            for one, other in held:
                seen = (seen * 33 + one + other) % 1000003
    return seen, len(held)


def follows_a_script_on_a_deque(codes, keys):
    held, seen = deque(), 0
    for i in range(len(codes)):
        code, key = codes[i], int(keys[i])
        if code < 2:
            held.append(key)
        elif code < 4:
            held.appendleft(key)
        elif code == 4 and held:
            seen = (seen * 31 + held.pop()) % 1000003
        elif code == 5 and held:
            seen = (seen * 31 + held.popleft()) % 1000003
        elif code == 6 and held:
            held[key % len(held)] = i
        elif code == 7:
            held.insert(key % 9 - 4, key)
        elif code == 8 and held:
            del held[key % len(held)]
        elif code == 9:
            for other in held:
                seen = (seen * 33 + other) % 1000003
    return held, seen


def follows_a_script_on_a_heap(codes, keys):
    heap, row, seen = [], [], 0
    for i in range(len(codes)):
        code, key = codes[i], int(keys[i])
        if code < 5:
            heapq.heappush(heap, (key, i))
        elif code < 7 and heap:
            found = heapq.heappop(heap)
            seen = (seen * 31 + found[0] + found[1]) % 1000003
        elif code == 7 and heap:
            seen = (seen * 31 + heapq.heappushpop(heap, (key, i))[0]) % 1000003
        else:
            bisect.insort(row, key)
            seen = (seen + bisect.bisect_left(row, key + 3)) % 1000003
    return heap, row, seen


SCRIPTS = [follows_a_script_on_a_dict, follows_a_script_on_a_set, follows_a_script_on_a_set_of_pairs,
           follows_a_script_on_a_deque, follows_a_script_on_a_heap]  # fmt: skip


def run_scripts(program, seeds):
    compiled = jitflow.function(program)
    for seed in seeds:
        random = np.random.default_rng(seed)
        length = int(random.choice([0, 1, 7, 60, 600, 3000]))
        keys = random.integers(-(2 ** random.integers(1, 62)), 2 ** random.integers(1, 62), length)
        script = random.integers(0, 10, length), keys if seed % 2 else keys % 97
        assert repr(compiled(*script)) == repr(program(*script)), (program.__name__, seed)


@pytest.mark.parametrize("program", SCRIPTS, ids=lambda program: program.__name__)
def test_random_scripts(program):
    run_scripts(program, range(25))


@pytest.mark.stress
@pytest.mark.parametrize("program", SCRIPTS, ids=lambda program: program.__name__)
def test_many_random_scripts(program):
    run_scripts(program, range(25, 2000))


# -- programs -------------------------------------------------------------------------------------------------


def searches_breadth_first(n):
    queue, distance, order = deque([0]), {0: 0}, []
    while queue:
        node = queue.popleft()
        order.append(node)
        for other in (2 * node + 1, 3 * node + 2):
            if other < n and other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    return order, distance


def counts_and_groups(n):
    counter, kinds, groups = Counter(), defaultdict(int), defaultdict(list)
    for i in range(n):
        counter[i * i % 7] += 1
        kinds[i % 3] += i
        groups[i * i % 5].append((i, i / 2))
    return counter, kinds, groups, counter[99], len(kinds)


def fills_tables(n):
    table, neighbours = [[0] * 3 for _ in range(n)], [[] for _ in range(n)]
    for i in range(n):
        table[i][i % 3] = i
        for j in range(i):
            neighbours[j].append(i)
    neighbours.append(table[0])
    return table, neighbours, sum(len(row) for row in neighbours)


def shares_a_row(n):
    row, rows = [0], []
    for i in range(n):
        rows.append(row)
        row.append(i)
    return rows, row


def joins_and_finds(n):
    parent = list(range(n))

    def find(node):
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for i in range(n):
        parent[find(i)] = find(i * i % n)
    return parent, len(set(parent)), sorted(parent, key=lambda node: -node % 5)


def swaps_and_keeps_the_best(n):
    best, current, following = None, [], []
    for i in range(n):
        following.append(i)
        if i == 3:
            best = current
        current, following = following, current
    return best, current, following


def cuts_and_joins(n):
    items = [i for i in range(n) if i % 3 != 1]
    part, backward = items[1:4], items[::-1]
    part.append(9)
    joined = part + backward
    items.insert(2, 77)
    del items[0]
    items.remove(77)
    items.reverse()
    joined.sort(reverse=True)
    return items, part, backward, joined, items == part, 3 in items, joined.count(9), joined.index(9), max(items)


def makes_them_where_nothing_is_raised(n):
    if n >= 1:
        counts, found = {}, set()
        for k in range(n):
            counts[k % 3] = counts.get(k % 3, 0) + 1
            found.add(k * k % 5)
        pairs, again = counts.items(), found
    else:
        raise ValueError("expected a positive number")
    again.add(n)
    return counts[0], len(found), sum([key * count for key, count in pairs]), again is found


def takes_from_sets_until_they_are_empty(n):
    """Of which a trace takes in vain as well, and gives back what it took."""
    numbers, texts, found = {5, 3, 9, 17}, {"a", "b", "c"}, 0
    numbers.discard(3)
    while numbers:
        found = found * 3 + numbers.pop() * n
        if found == 5 * n:
            numbers.update((3, 11))
    while texts:
        found = found * 3 + ord(texts.pop()) * n
    return found


PROGRAMS = {
    takes_from_sets_until_they_are_empty: [(1,), (2,)],
    makes_them_where_nothing_is_raised: [(7,), (0,)],
    searches_breadth_first: [(40,), (1,)],
    counts_and_groups: [(12,), (1,)],
    fills_tables: [(7,), (40,)],
    shares_a_row: [(3,), (30,)],
    joins_and_finds: [(30,), (20,)],
    swaps_and_keeps_the_best: [(2,), (9,)],
    cuts_and_joins: [(12,), (30,)],
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_it_does_what_python_does(program):
    assert_does_what_python_does(program, PROGRAMS[program])


def test_objects_keep_their_identity():
    rows, row = jitflow.function(shares_a_row)(30)
    assert all(one is row for one in rows)


# -- errors ---------------------------------------------------------------------------------------------------


def looks_for_what_is_not_there(n):
    held = {}
    for i in range(n):
        held[i, i + 1] = i
    return held[n, n]


def adds_to_what_it_goes_through(n):
    held = {}
    for i in range(n):
        held[i] = i
    for key in held:
        held[key + n] = 1
    return held


def adds_to_the_set_that_it_goes_through(n):
    held = set()
    for i in range(n):
        held.add(i)
    for key in held:
        held.add(key + n)
    return held


def pops_too_often(n):
    held = deque()
    for i in range(n):
        held.append(i)
    while n >= 0:
        held.popleft()
        n -= 1
    return held


@pytest.mark.parametrize(
    "program",
    [looks_for_what_is_not_there, adds_to_what_it_goes_through, adds_to_the_set_that_it_goes_through, pops_too_often],
    ids=lambda program: program.__name__,
)
def test_it_raises_what_python_raises(program):
    raised = []
    for function in (program, jitflow.function(program)):
        with pytest.raises(Exception) as caught:
            function(5)
        raised.append((caught.value.args, caught.type.__mro__[-4:]))
    assert raised[0][0] == raised[1][0]
    assert isinstance(caught.value, raised[0][1][0])


def mixes_keys(x):
    held = {}
    for item in x:
        held[int(item)] = 1
        held[item / 2] = 2
    return held


def test_keys_of_several_types_are_refused():
    with pytest.raises(UserNotImplementedError, match="of keys of several types"):
        jitflow.function(mixes_keys)(X)
    with pytest.raises(UserNotImplementedError, match="a set that the running program changes, of keys of several"):
        jitflow.function(lambda x: {1} | {2, 3} | {x[0], x[1]} | {int(x[0])})(X)


# -- memory ---------------------------------------------------------------------------------------------------


def makes_some_in_each_turn(n):
    total = 0
    kept = []
    for i in range(n):
        held, row = set(), [i]
        held.add(i)
        held.add(total % 5)
        row.append(len(held))
        if i % 1000 == 0:
            kept.append(row)
        total += row[-1]
    return total, [row[0] for row in kept]


def test_a_million_turns_take_no_more_memory_than_a_few():
    compiled = jitflow.function(makes_some_in_each_turn)
    assert compiled(3000) == makes_some_in_each_turn(3000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _, kept = compiled(1_000_000)
    assert kept == list(range(0, 1_000_000, 1000))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def holds_rows(n, front):
    pairs, triples, fives, sevens = deque(), deque(), deque(), deque()
    last = []
    for i in range(n):
        if i % 3 == front:
            pairs.appendleft((i, -i))
            triples.appendleft((i, -i, 2 * i))
            fives.appendleft((i, 1, 2, 3, i))
            sevens.appendleft((i, 1, 2, 3, 4, 5, i))
        else:
            pairs.append((i, i))
            triples.append((i, i, i))
            fives.append((i, 5, 6, 7, i))
            sevens.append((i, 5, 6, 7, 8, 9, i))
        last.insert(i // 2, (i, i + 1, i + 2))
    return list(pairs), list(triples), list(fives), list(sevens), last


def test_entries_of_all_widths_have_room():
    compiled = jitflow.function(holds_rows)
    for n in (0, 1, 2, 3, 4, 7, 8, 9, 16, 17, 33, 39):
        for front in (0, 5):
            assert compiled(n, front) == holds_rows(n, front)


def keeps_what_is_new(x):
    seen = set()
    for value in x:
        seen.add(float(value))
    return len(seen)


def test_nan_is_no_key():
    compiled = jitflow.function(keeps_what_is_new)
    assert compiled(np.array([1.0, 2.0, 1.0])) == 2
    with pytest.raises(NotImplementedError, match="nan as a key of a set"):
        compiled(np.array([1.0, np.nan, np.nan]))
