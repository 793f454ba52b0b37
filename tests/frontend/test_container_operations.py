"""What everyday Python does to whole lists, sets and dicts of the running program: slices, algebra, `itertools`."""

from __future__ import annotations

import bisect
import copy
import functools
import heapq
import itertools
import operator
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import pytest

import jitflow
from jitflow.runtime.objects.returned_containers import set_of
from jitflow.runtime.objects.set_orders import fill_in_order, order_of_adding
from tests.truth.whole.same import assert_does_what_python_does

X = np.array([5, 3, 8, 1, 9, 2, 7, 3])


def above(x, limit):
    return [int(v) for v in x if v > limit]


# -- sets -----------------------------------------------------------------------------------------------------


def follows_a_script_on_two_sets(codes, keys):
    """All orders show in the lists."""
    one, other, seen = set(), {-1, 5}, []
    for i in range(len(codes)):
        code, key = int(codes[i]), int(keys[i])
        if code < 4:
            one.add(key)
        elif code < 6:
            other.add(key)
        elif code == 6:
            one.discard(key)
        elif code == 7 and one:
            seen.append(one.pop())
        elif code == 8:
            one, other = one | other, one
        elif code == 9:
            one = one - other
        elif code == 10:
            other = other ^ one
        elif code == 11:
            one &= other
        elif code == 12:
            one -= other
        elif code == 13:
            one = set(other)
        elif code == 14:
            other = one & other
        elif code == 15:
            other |= one
        seen.append(len(one) * 100 + len(other) + (one <= other) + (one == other) + one.isdisjoint(other))
    return list(one), list(other), seen


def test_sets_keep_pythons_order_through_their_algebra():
    draw = np.random.default_rng(4)
    scripts = [(draw.integers(0, 16, 60), draw.integers(0, 10 ** (1 + n % 4), 60)) for n in range(60)]
    assert_does_what_python_does(follows_a_script_on_two_sets, scripts)


def displays(a, b, x):
    one = {a, b, (a + b) % 8}
    pairs = {(a, b), (b, a)}
    for v in x:
        one.add(int(v))
        pairs.add((int(v), a))
    return list(one), list(pairs), list({int(v) * 8 for v in x}), {int(v): i for i, v in enumerate(x)}


def test_displays_and_comprehensions_of_sets_are_in_pythons_order():
    assert_does_what_python_does(displays, [(8, 0, X), (0, 8, X), (3, 3, X), (1, 17, X[:0])])


def test_a_set_is_made_in_any_order_that_it_had():
    draw = np.random.default_rng(5)
    for number in range(60):
        held = set()
        for key in draw.integers(0, 1000, 3 + number % 20).tolist():
            held.add((key, key % 7) if number % 2 else key * 0.5)
        order = order_of_adding([*held])
        assert order is not None
        made = set()
        fill_in_order(made, [*held])
        assert [*made] == [*held]
        assert [*functools.reduce(lambda all, key: (all.add(key), all)[1], order, set())] == [*held]
        copied = held | {-1}  # whose table has another size
        fill_in_order(made := set(), [*copied])
        assert [*made] == [*copied]


def test_sets_of_few_keys_have_the_order_that_joining_and_removing_gave_them():
    """One of twenty frozensets was refused, and now and then a set had another order."""
    draw = np.random.default_rng(6)
    for number in range(600):
        some = draw.choice(40, 1 + number % 7, replace=False).tolist()
        sets = (
            {*some},
            {*some} | {*some[:3]},
            ({*some} | {71, 72}) - {71},
            frozenset(some),
            frozenset(some[:2]) | {*some},
        )
        for held in (*sets, sets[1] - {some[0]}, frozenset(sets[0]), frozenset(sets[1])):
            made = set_of(type(held)(), [*held])
            assert (type(made), [*made]) == (type(held), [*held])


# -- lists ----------------------------------------------------------------------------------------------------


def lists(x, k):
    a, b = above(x, 2), above(x, 6)
    c = a[:]
    c[1:3] = [10, 20, 30]
    d = a.copy()
    del d[::2]
    e = a[::-1]
    e[::2] = [0] * len(e[::2])
    first, *rest = a
    *most, last = rest
    pairs = [(v % 3, i) for i, v in enumerate(a)]
    best = max(pairs), min(pairs, key=lambda pair: pair[1]), sorted(pairs, key=lambda pair: (-pair[0], pair[1]))
    orders = a == b, a != c, a < b, b <= a, a[:2] > b, a >= a
    return c, d, e, first, most, last, best, orders, a[k:] + a[:k], [*b, k, *a], a[-k:] * 2


def rows(n):
    table = [[i * j for j in range(n)] for i in range(n)]
    other = [row[:] for row in table]
    other[0][0] = 7
    return [v for row in table for v in row], other, sum(map(sum, table))


def grouped(x):
    a = above(x, 1)
    held = deque(a)
    held.rotate(3)
    held.extendleft(itertools.chain(a[:2], [1]))
    groups = [(k, sum(g)) for k, g in itertools.groupby(sorted(a), key=lambda v: v // 3)]
    sums = list(itertools.accumulate(a)), list(itertools.accumulate(a, max)), functools.reduce(operator.mul, a)
    pairs = [q - p for p, q in itertools.pairwise(a)], [p * q for p, q in itertools.combinations(a, 2)]
    others = list(itertools.permutations(a[:4], 2)), sum(p * q for p, q in itertools.product(a, range(len(a))))
    ends = list(itertools.islice(a, 1, None, 2)), list(itertools.zip_longest(a, [1, 2], fillvalue=0))
    taken = list(itertools.takewhile(lambda v: v < 9, a)), list(zip(itertools.count(2), a, itertools.repeat(1)))
    return held, groups, sums, pairs, others, ends, taken, heapq.nsmallest(2, a), list(map(abs, a))


def counted(x):
    a = above(x, 0)
    one, other = Counter(v % 3 for v in a), Counter(a)
    joined = {k: v for k, v in dict(itertools.pairwise(a)).items() if v > 2} | {1: 1}
    return one + other, other - one, one & other, one | other, one.most_common(2), list(one.elements()), joined


def counted_beside_pythons(x):
    """What is changed in place stays the same object; what is written as it is stands on either side."""
    one, known = Counter(above(x, 0)), Counter([3, 3, 3, 8, 4])
    same, found = one, [one + known, known - one, known & one, one | known, +one, -Counter(above(x, 3))]
    one += known
    del one[99], one[9]
    less = one.copy()
    less &= known
    less -= Counter(above(x, 7))
    less |= Counter([6])
    asked = less <= one, one < less, one >= known, one > one, one == known, known == known
    return same is one, one, less, known, found, asked


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (lists, [(X, 2), (X[::-1], 1)]),
        (rows, [(4,), (1,)]),
        (grouped, [(X,), (X[2:],)]),
        (counted, [(X,), (X[:1],)]),
        (counted_beside_pythons, [(X,), (X[:0],)]),
    ],
)
def test_what_is_done_to_whole_containers_is_what_python_does(function, calls):
    assert_does_what_python_does(function, calls)


def taken_apart(x, limit):
    a, b = above(x, limit)
    return a + b


def stored(x, limit):
    a = above(x, limit)
    a[::2] = [1]
    return a


def popped(x, limit):
    held = set(above(x, limit))
    return held.pop(), held.pop()


@pytest.mark.parametrize("function", [taken_apart, stored, popped])
def test_errors_are_pythons(function):
    assert_does_what_python_does(function, [(X, limit) for limit in (7, 8, 9, 2)])


def mine(numbers):
    """Of a list of the caller's: a part that rises, by recursion."""
    if len(numbers) <= 1:
        return numbers
    longest = []
    rest = [numbers[0], *mine([v for v in numbers[1:] if v >= numbers[0]])]
    if len(rest) > len(longest):
        return rest
    return longest


def test_lists_that_are_not_told_meet_those_that_are():
    compiled = jitflow.function(mine)
    for numbers in ([3, 1, 4, 1, 5, 9, 2, 6], [2], []):
        assert compiled(numbers) == mine(numbers)


class Box:
    def __init__(self, held):
        self.held = held


def copied(rows, words, n):
    """Copies in which one object is one, of the caller's and of what the run makes, three deep and in an object."""
    twice = [rows[0], rows[0], rows[1]]
    apart = copy.deepcopy(twice)
    apart[0][0] = 7
    told, boxed = copy.deepcopy(words), copy.deepcopy(Box(rows))
    told["a"].append(n)
    boxed.held[0].append(3)
    row, table = [1], []
    for i in range(n):
        if i % 3 == 0:
            row = [i]
        table.append([row, row])
    again = copy.deepcopy(table)
    sets = copy.deepcopy([{i, 40 * i} for i in range(n)])
    for i in range(n):
        again[i][0].append(i)
        sets[i].add(n)
    shallow = copy.copy(words)
    shallow["b"] = [n]
    return rows, words, twice, apart, apart[0] is apart[1], told, boxed.held, table, again, sets, shallow


def test_copies_share_nothing_but_what_the_original_shares():
    calls = [([[1, 2], [3, 4]], {"a": [1.5], "b": []}, n) for n in (8, 3)]
    assert_does_what_python_does(copied, calls)
    box = Box([1])
    with pytest.raises(jitflow.UserError, match="a copy of box, an object of class Box"):
        jitflow.function(lambda box: copy.deepcopy(box).held)(box)


def by_their_classes(numbers, table, rows, n):
    """Methods read from the class change what the caller passes and what the run makes; containers of all classes."""
    list.append(numbers, n)
    list.sort(numbers)
    dict.setdefault(table, "c", []).append(n)
    dict.__setitem__(table, "d", [n])
    made, words = [], defaultdict(list)
    for i in range(n):
        list.append(made, i)
    words["x"].append(n)
    counts = Counter("abca")
    fresh = list(map(list, rows))
    fresh[0].append(n)
    divisors = functools.reduce(list.__add__, [[i, n // i] for i in range(1, n) if n % i == 0], [])
    joined = list.__add__([0], made), set.__or__({0}, set(made)), divisors
    kinds = {1, 33} | {2}, frozenset((1, 2)), joined, deque(numbers, 2), OrderedDict(z=n, a=1), words, counts
    return numbers, table, made, fresh, kinds, list(map(str.upper, "a b".split())), words.default_factory is list


def changed_later(numbers, x, grid, n):
    """Lists in order and those of arrays are changed, and sets of items of the run are asked in a comparison."""
    ordered, listed, first = sorted(numbers), x.tolist(), sorted(x)
    ordered.append(9)
    listed[0] += 1
    for _ in range(n):
        first.insert(0, first.pop())
    asked = [i for i in range(len(grid)) if n in {grid[i][0], grid[0][i]}]
    return ordered, listed, first, numbers, asked, 3 in {1, 2}, n not in {3, 4, 5}


def test_lists_that_are_told_in_order_can_change():
    calls = [([3, 1, 2], np.array([5, 4]), [[1, 2], [2, 4]], n) for n in (2, 3)]
    assert_does_what_python_does(changed_later, calls)


def test_methods_of_classes_and_containers_of_all_classes():
    calls = [([3, 1, 2], {"a": [1]}, [[1], [2, 3]], n) for n in (2, 7)]
    assert_does_what_python_does(by_their_classes, calls)
    with pytest.raises(TypeError, match="descriptor 'append' for 'list' objects doesn't apply to a 'int' object"):
        jitflow.function(lambda n: list.append(n, 1))(3)
    with pytest.raises(TypeError, match=r'can only concatenate list \(not "tuple"\) to list'):
        jitflow.function(lambda n: list.__add__([n], (n,)))(3)


# -- lists that Python has made -------------------------------------------------------------------------------


def bisects_what_is_sorted(x):
    items, numbers = sorted(x.tolist()), sorted(x)
    bisect.insort(numbers, 4)
    bisect.insort_left(items, 4, 1, 3)
    rest = list(reversed(x.tolist()))
    bisect.insort(rest, int(x[1]) + 1)
    return items, numbers, rest, bisect.bisect_left(items, 3), bisect.bisect(items, x[0]), bisect.bisect(items, 99)


def bisects_by_keys(x):
    pairs, numbers = sorted((int(v), -k) for k, v in enumerate(x)), sorted(x.tolist(), reverse=True)
    bisect.insort(pairs, (3, 7), key=operator.itemgetter(0))
    bisect.insort_left(numbers, 4, key=lambda v: -v)
    return pairs, numbers, bisect.bisect(pairs, 3, key=lambda pair: pair[0]), bisect.bisect_left(x, 2, key=lambda v: v)


def heaps_what_is_sorted(x):
    items, pairs = sorted(x.tolist(), reverse=True), sorted((int(v) % 4, k) for k, v in enumerate(x))
    heapq.heapify(items)
    heapq.heappush(pairs, (2, 9))
    taken = heapq.heappop(items), heapq.heapreplace(items, 6), heapq.heappushpop(items, -9), heapq.heappop(pairs)
    return items, pairs, taken


def searches_arrays(xs, v):
    first = bisect.bisect_left(xs, v)
    return first, bisect.bisect(xs, v), bisect.bisect_right(xs, v, 1), bisect.bisect_left(xs, v, 0, 2), type(first)


@pytest.mark.parametrize("xs", [[0.0, 1.0, 1.0, 2.5], [3, 1, 2, 5], [7.0, 7.0]])
def test_an_array_is_searched_as_a_list_is(xs):
    compiled = jitflow.function(searches_arrays)
    for v in (1.0, -3, 2, 10.5, np.float64(2.5), np.nan):
        assert repr(compiled(np.array(xs), v)) == repr(searches_arrays(np.array(xs), v))


@pytest.mark.parametrize("program", [bisects_what_is_sorted, bisects_by_keys, heaps_what_is_sorted])
def test_functions_of_lists_that_python_has_made(program):
    assert_does_what_python_does(program, [(X,), (X[::-1] - 5,), (X * 1.5,)])


# -- generator expressions in each other ----------------------------------------------------------------------


def sums_of_generators(x):
    w = 3
    total = sum(v * v + w for v in (w + 1 for w in x if w > 2) if v < 9)
    pairs = sum(a * b for a, b in ((u, v) for u in x for v in x[:2] if u > v))
    return total, pairs, w, next((v for v in (w for w in x if w > 4) if v > 5), None)


def containers_of_generators(x):
    items = [v * 2 for v in (w for w in (int(u) + 1 for u in x if u > 2) if w < 9)]
    table = {int(k): v for k, v in ((w // 2, w) for w in x if w > 2)}
    found = any(v > 8 for v in (w + 1 for w in x if w < 3)), all(v > 2 for v in (w for w in x if w > 2))
    return items, table, found, sorted(v for v in (w for w in x if w > 2)), max(v for v in (abs(w) for w in x) if v)


@pytest.mark.parametrize("program", [sums_of_generators, containers_of_generators])
def test_generator_expressions_in_each_other(program):
    assert_does_what_python_does(program, [(X,), (X[::-1] - 2,), (X * 1.5,)])


def test_a_lambda_with_a_comprehension_is_a_function_like_others():
    """A lambda has no statement for the loop that a comprehension becomes, so it was Python's own, and refused."""
    positive = lambda x: [int(v) for v in x if v > 4]  # noqa: E731 - this is about lambdas
    assert jitflow.function(positive)(X) == positive(X)


def cheapest_way(graph, start, end):
    heap, seen = [(0, start, [start])], set()
    while heap:
        cost, node, path = heapq.heappop(heap)
        if node == end:
            return cost, path
        if node not in seen:
            seen.add(node)
            for other in graph[node]:
                heapq.heappush(heap, (cost + graph[node][other], other, [*path, other]))
    return None


def test_heaps_compare_lists_of_numbers_as_python_does():
    graph = {0: {1: 1, 2: 4, 3: 1}, 1: {0: 1, 2: 2}, 2: {0: 4}, 3: {2: 2}, 4: {}}
    assert_does_what_python_does(cheapest_way, [(graph, 0, 2), (graph, 1, 3), (graph, 2, 4)])
