"""Functions that call themselves on a decision of the run, beside plain Python."""

from __future__ import annotations

import functools
import random
import sys
import threading

import numpy as np
import pytest

import jitflow
from tests.truth.whole.same import assert_does_what_python_does

PROGRAMS = {}
X = np.random.default_rng(5).random(40)


def program(*calls):
    """Enter a program and the arguments of its calls."""

    def enter(function):
        PROGRAMS[function.__name__] = function, calls
        return function

    return enter


# -- numbers --------------------------------------------------------------------------------------------------


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def run(n):
    """Names of something else in the module, of the same letters, and of none."""
    return 0 if n == 0 else guard(n - 1) + 1


def guard(n):
    return 0 if n == 0 else _run(n - 1) + __(n // 2)


def _run(n):
    return 0 if n == 0 else run(n - 1) * 2


def __(n):  # noqa: N807
    return 0 if n == 0 else run(n - 1) + __(n // 2)


def female(n):
    return 1 if n == 0 else n - male(female(n - 1))


def male(n):
    return 0 if n == 0 else n - female(male(n - 1))


def power(x, n):
    if n == 0:
        return 1
    half = power(x, n // 2)
    return half * half * x if n % 2 else half * half


@program((7, 1.5), (0, 2.0), (12, 0.5))
def numbers(n, x):
    """Direct, mutual, nested; results that are of one kind at the end of a recursion, and of another on the way."""
    return fibonacci(n), ackermann(2, n), is_even(n), is_odd(n), female(n), male(n), run(n), power(x, n)


def factorial(n, result=1):
    return result if n == 0 else factorial(n - 1, result=result * n)


def without_end(n):
    return without_end(n + 1) * 2


@program((5,), (20,))
def a_default_and_a_keyword(n):
    return factorial(n)


@program((1,))
def no_end_at_all(n):
    return without_end(n)


def takes_off(items):
    if len(items) == 0:
        return [7]
    first = items.pop(0)
    rest = takes_off(items.copy())
    rest.append(first)
    return rest


def adds_up(record, n):
    if n == 0:
        return 0
    record["total"] += n
    return record["total"] + adds_up(record, n - 1)


def cuts(n, prices):
    best = 0
    for i in range(1, n + 1):
        best = max(best, prices[i - 1] + cuts(n - i, prices))
    return best


@functools.cache
def kept(n):
    return n if n < 2 else kept(n - 1) + kept(n - 2)


@program((80, "kitten", "sitting"), (3, "", "abc"))
def results_that_are_remembered(n, word, other):
    """Computed each time, these would take years. A key may be known, of the run, or no number."""

    @functools.cache
    def distance(i, j):
        if i == len(word) or j == len(other):
            return len(word) - i + len(other) - j
        return min(1 + distance(i + 1, j), 1 + distance(i, j + 1), (word[i] != other[j]) + distance(i + 1, j + 1))

    @functools.cache
    def ways(k, left):
        if left <= 0:
            return int(left == 0)
        return ways(k, left - k) + (ways(k + 1, left) if k < left else 0)

    return kept(n), distance(0, 0), ways(1, n), kept(n // 2) if n > 10 else kept(5)


@program(([3, 1, 2], {"total": 1}, 3), ([], {"total": 0}, 0))
def changes_what_the_caller_passes(items, record, n):
    return takes_off(items), adds_up(record, n)


@program((3, [1, 5, 8]), (0, [2]))
def indexes_what_the_caller_passes(n, prices):
    return cuts(n, prices)


class Growth:
    def __init__(self, rate):
        self.rate, self.calls = rate, 0

    def after(self, n):
        self.calls += 1
        return 1 if n == 0 else self.after(n - 1) * self.rate


GROWTH = Growth(3)


def test_methods_of_objects_outside_call_themselves():
    def program(n):
        return GROWTH.after(n)

    compiled, GROWTH.calls = jitflow.function(program), 0
    assert (compiled(4), compiled(2), GROWTH.calls) == (81, 9, 8)


# -- arrays ---------------------------------------------------------------------------------------------------


def sort(a, low, high):
    if low < high:
        i = low
        for j in range(low, high):
            if a[j] < a[high]:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        sort(a, low, i - 1)
        sort(a, i + 1, high)


def reverse(a):
    if len(a) > 1:
        a[0], a[-1] = a[-1], a[0]
        reverse(a[1:-1])


@program((X,), (X[:1],), (X[::-2],))
def in_place(a):
    sort(a, 0, len(a) - 1)
    reverse(a[3:])
    return a[0]


def merged(a):
    if len(a) < 2:
        return a
    left, right = merged(a[: len(a) // 2]), merged(a[len(a) // 2 :])
    out, i, j = np.empty(len(a)), 0, 0
    for k in range(len(a)):
        if j == len(right) or (i < len(left) and left[i] <= right[j]):
            out[k] = left[i]
            i += 1
        else:
            out[k] = right[j]
            j += 1
    return out


@program((X,), (X[:1],), (X[:9],))
def arrays_that_calls_give(a):
    return merged(a), merged(a[1:]) * 2


def placed(board, row):
    if row == len(board):
        return 1
    count = 0
    for column in range(len(board)):
        for before in range(row):
            if board[before] == column or abs(board[before] - column) == row - before:
                break
        else:
            board[row] = column
            count += placed(board, row + 1)
    return count


def filled(grid, i, j):
    if i < 0 or j < 0 or i >= grid.shape[0] or j >= grid.shape[1] or grid[i, j] != 0:
        return 0
    grid[i, j] = 7
    return 1 + filled(grid, i + 1, j) + filled(grid, i - 1, j) + filled(grid, i, j + 1) + filled(grid, i, j - 1)


def remembered(n, memo):
    if memo[n] < 0:
        memo[n] = n if n < 2 else remembered(n - 1, memo) + remembered(n - 2, memo)
    return memo[n]


@program((6, (X.reshape(5, 8) < 0.3).astype(int)), (4, np.zeros((3, 4), int)))
def searches(n, grid):
    return placed(np.zeros(n, int), 0), filled(grid, 1, 2), remembered(n * 5, np.full(n * 5 + 1, -1))


def root(parents, node):
    return node if parents[node] == node else root(parents, parents[node])


@program((np.array([1, 1, 0, 2]), 3), (np.array([0]), 0), (np.array([1, 9]), 0))
def a_number_of_another_kind_in_each_call(parents, node):
    return root(parents, node)


# -- what is around the function ------------------------------------------------------------------------------


class Counter:
    def __init__(self, limit):
        self.limit, self.found = limit, 0

    def search(self, k, total):
        if k == self.limit:
            if total % 3 == 0:
                self.found += 1
            return
        self.search(k + 1, total + k)
        self.search(k + 1, total)


@program((5,), (0,))
def locals_and_objects(n):
    count, visited = 0, []

    def walk(k, mode):
        nonlocal count
        if k <= 0:
            return None
        count += k
        visited.append(count)
        walk(k - 2, "left" if mode == "right" else "right")
        if mode == "left":
            visited.append(-k)
        return k

    last = walk(n, "left")
    counter = Counter(n)
    counter.search(0, 0)
    return count, visited, last, counter.found


class Halves:
    def upper(self, x):
        y = np.sqrt(x * 2 + 1)
        large = y > 2.1
        if large.any():
            y[large] = self.lower(x[large])
        return y

    def lower(self, x):
        y = np.exp(x * 2)
        large = y > 20.1
        if large.any():
            y[large] = self.upper(x[large] - 1)
        return y


HALVES = Halves()


@program((np.arange(5.0),), (np.arange(2.0),))
def methods_that_call_each_other(x):
    return HALVES.upper(x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recursion_does_what_python_does(name):
    function, calls = PROGRAMS[name]
    assert_does_what_python_does(function, calls)


# -- depth ----------------------------------------------------------------------------------------------------


@jitflow.function
def depth(n):
    return 0 if n == 0 else depth(n - 1) + 1


@jitflow.function
def in_turns(n):
    return is_even(n)


def test_a_recursion_is_as_deep_as_the_limit_allows():
    before = sys.getrecursionlimit()
    try:
        for limit in (before, 400, 3000):
            sys.setrecursionlimit(limit)
            assert depth(limit - 1) == limit - 1
            assert in_turns(limit - 2) is (limit % 2 == 0)
            for function, argument in ((depth, limit), (in_turns, limit + 1)):
                with pytest.raises(RecursionError, match="maximum recursion depth exceeded") as caught:
                    function(argument)
                assert type(caught.value) is RecursionError
            assert depth(10) == 10
    finally:
        sys.setrecursionlimit(before)


def test_no_stack_overflows_on_any_thread():
    depth(1)
    found = []

    def go():
        for n in (50, 10**9):
            try:
                found.append(depth(n))
            except RecursionError as error:
                found.append(type(error))

    limit, size = sys.getrecursionlimit(), threading.stack_size(1 << 18)
    sys.setrecursionlimit(10**8)
    try:
        threads = [threading.Thread(target=go) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        go()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    assert sorted(found, key=str) == sorted([50, RecursionError] * 3, key=str)


# -- random programs ------------------------------------------------------------------------------------------


def random_program(seed: int) -> str:
    """Two functions that call themselves and each other, each time with less, beside an array that they write to."""
    choose = random.Random(seed)

    def number(depth: int) -> str:
        kinds = ["n", "x", "a[n % 3]", str(choose.randint(0, 3)), "x * 0.5", "n // 2"]
        if depth == 0 or choose.random() < 0.3:
            return choose.choice(kinds)
        if choose.random() < 0.45:
            return f"{choose.choice('fg')}(n - {choose.randint(1, 3)}, {number(depth - 1)}, a)"
        return f"({number(depth - 1)} {choose.choice('+-')} {number(depth - 1)})"

    def block(indent: str) -> list[str]:
        lines = []
        for _ in range(choose.randint(1, 3)):
            kind = choose.random()
            if kind < 0.3:
                lines.append(f"{indent}a[{choose.randint(0, 2)}] = {number(1)}")
            elif kind < 0.6:
                lines.append(f"{indent}x = {number(2)}")
            elif kind < 0.8:
                lines += [f"{indent}if {number(0)} > {number(0)}:", f"{indent}    return {number(1)}"]
            else:
                lines += [f"{indent}for i in range(2):", f"{indent}    x = x + {number(1)} * i"]
        return lines

    text = []
    for name in "fg":
        text += [f"def {name}(n, x, a):", "    if n <= 0:", f"        return {choose.choice(['x', '0.0', 'n'])}"]
        text += [*block("    "), f"    return {number(2)}"]
    return "\n".join([*text, "def program(n, x, a):", f"    return {number(1)}, f(n, x, a), g(n - 1, a[1], a)", ""])


def check_random_program(seed, folder):
    path = folder / f"program_{seed}.py"
    path.write_text(random_program(seed))
    names: dict[str, object] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    calls = [(n, 0.75, np.array([1.5, -2.0, 0.25])) for n in (4, 1)]
    assert_does_what_python_does(names["program"], calls)


@pytest.mark.parametrize("seed", range(3))
def test_a_random_recursion_does_what_python_does(seed, tmp_path):
    check_random_program(seed, tmp_path)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_random_recursions_do_what_python_does(seed, tmp_path):
    check_random_program(seed, tmp_path)


def moves(n, a, b, c):
    if n == 0:
        return []
    return [*moves(n - 1, a, c, b), (a, c), *moves(n - 1, b, a, c)]


def a_tree(x, n):
    def build(depth):
        if depth == 0:
            return {"leaf": x * n}
        return {"left": build(depth - 1), "right": build(depth - 1)}

    return build(n)


def subsets(items, n):
    if n == 0:
        return [[]]
    without = subsets(items, n - 1)
    return without + [[*one, items[n - 1]] for one in without]


def codes(n):
    return [""] if n == 0 else ["0" + code for code in codes(n - 1)] + ["1" + code for code in reversed(codes(n - 1))]


@pytest.mark.parametrize(
    ("program", "call"),
    [(moves, lambda f, n: f(n, 0, 1, 2)), (moves, lambda f, n: f(n, "a", "b", "c")),
     (a_tree, lambda f, n: f(np.ones(2), n)), (subsets, lambda f, n: f([1.5, 2.5, 4.0], n)),
     (codes, lambda f, n: f(n))],
)  # fmt: skip
def test_python_goes_through_what_gives_more_each_time(program, call):
    compiled = jitflow.function(program)
    for n in (3, 1, 2):
        assert repr(call(compiled, n)) == repr(call(program, n))


def test_that_has_an_end():
    def doubled(n):
        return [] if n == 0 else [*doubled(n - 1), n, *doubled(n - 1)]

    compiled = jitflow.function(doubled)
    assert compiled(3) == doubled(3)
    with pytest.raises(jitflow.UserError, match=r"several types|more each time|too large"):
        compiled(40)
    assert compiled(4) == doubled(4)


def test_a_call_that_does_nothing() -> None:
    def sorted_by_a_heap(items):
        def sift(items, place, size):
            largest, left, right = place, 2 * place + 1, 2 * place + 2
            if left < size and items[left] > items[largest]:
                largest = left
            if right < size and items[right] > items[largest]:
                largest = right
            if largest != place:
                items[largest], items[place] = items[place], items[largest]
                sift(items, largest, size)

        items = list(items)
        for place in range(len(items) // 2 - 1, -1, -1):
            sift(items, place, len(items))
        for place in range(len(items) - 1, 0, -1):
            items[0], items[place] = items[place], items[0]
            sift(items, 0, place)
        return items

    assert jitflow.function(sorted_by_a_heap)([3, 1, 2, 5, 4]) == [1, 2, 3, 4, 5]
