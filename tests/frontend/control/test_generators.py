"""Loops over generators of the program are calls of them: what they give, what happens when, and how they end."""

from itertools import takewhile

import pytest

import jitflow
from jitflow.errors import UserError
from tests.truth.whole.same import assert_does_what_python_does


def primes():
    found, k = [], 2
    while True:
        is_prime = True
        for p in found:
            if p * p > k:
                break
            if k % p == 0:
                is_prime = False
                break
        if is_prime:
            found.append(k)
            yield k
        k += 1


def collatz(n):
    while n != 1:
        yield n
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    yield 1


def runs(items):
    last, count = items[0], 0
    for item in items:
        if item == last:
            count += 1
        else:
            yield last, count
            last, count = item, 1
    yield last, count


def up_to(n):
    found = []
    for p in primes():
        if p > n:
            break
        found.append(p)
    return found


def steps_and_top(n):
    steps = top = 0
    for value in collatz(n):
        steps += 1
        if value > top:
            top = value
    return steps, top


def consumed(n):
    return (
        sum(collatz(n)), max(collatz(n)), sorted(collatz(n)), tuple(collatz(n)), 16 in collatz(n),
        any(k > 20 for k in collatz(n)), next(k for k in collatz(n) if k < 10),
    )  # fmt: skip


def through_others(n):
    pairs = {k: place for place, k in enumerate(collatz(n))}
    return pairs, list(map(abs, collatz(n))), list(takewhile(lambda p: p < n, primes()))


def chained(n):
    def odd(items):
        for item in items:
            if item % 2:
                yield item

    def squares(items):
        for item in items:
            yield item * item

    total = 0
    for square in squares(odd(collatz(n))):
        if square > 200:
            break
        total += square
    return total, sum(squares(odd(collatz(n))))


def lengths_of_runs(items):
    return list(runs(items)), dict(runs(items))


def order_of_what_happens(n):
    log = []

    def counting(k):
        i = 0
        log.append(100)
        try:
            while i < k:
                log.append(i)
                yield i
                log.append(-i)
                i += 1
        finally:
            log.append(200)

    for i in counting(n):
        log.append(10 * i)
        if i == 5:
            break
    log.append(300)
    return log


def ends_otherwise(n):
    for value in collatz(n):
        if value == 8:
            break
    else:
        return -1
    return value


def leaves_its_target(n):
    for value in collatz(n):
        last = 2 * value
    return value, last


def result_of_the_inner_one(n):
    def inner(k):
        while k > 2:
            yield k
            k -= 1

    def outer(k):
        yield from inner(k)
        yield 100

    return list(outer(n))


def ends_early(items):
    def until_negative():
        for item in items:
            if item < 0:
                return
            yield item

    return sum(until_negative())


def raises(n):
    def counting(k):
        for i in range(k):
            if i == 25:
                raise ValueError(f"too far: {i}")
            yield i

    total = 0
    for i in counting(n):
        total += i
    return total


def returns_from_the_loop(n):
    for place, value in enumerate(collatz(n)):
        if value == 5:
            return place
    return None


class Grid:
    def __init__(self, size):
        self.size = size

    def cells(self):
        for i in range(self.size):
            for j in range(self.size):
                if (i + j) % 3 == 0:
                    yield i, j

    def around(self, i, j):
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            if 0 <= i + down < self.size and 0 <= j + right < self.size:
                yield i + down, j + right


def methods(size):
    grid, total = Grid(size), 0
    for i, j in grid.cells():
        for k, m in grid.around(i, j):
            total += k * m
    return total


def hanoi(n, source, by, target):
    if n > 0:
        yield from hanoi(n - 1, source, target, by)
        yield source, target
        yield from hanoi(n - 1, by, source, target)


def moves(n):
    found = []
    for move in hanoi(n, 0, 1, 2):
        if len(found) == 9:
            break
        found.append(move)
    return found


def arranged(items, k):
    if k == len(items):
        yield items
    else:
        for i in range(k, len(items)):
            items[k], items[i] = items[i], items[k]
            for found in arranged(items, k + 1):  # noqa: UP028 - which is what users write
                yield found
            items[k], items[i] = items[i], items[k]


def best_arrangement(n):
    best = 0
    for items in arranged(list(range(n)), 0):
        worth = 0
        for place in range(len(items)):
            worth += place * items[place] * (1 if place % 2 else -1)
        if worth > best:
            best = worth
    return best


ON_NUMBERS = [
    up_to, steps_and_top, consumed, through_others, chained, order_of_what_happens, ends_otherwise, leaves_its_target,
    result_of_the_inner_one, raises, returns_from_the_loop, methods,
]  # fmt: skip


@pytest.mark.parametrize("program", ON_NUMBERS)
def test_a_loop_over_a_generator_does_what_python_does(program):
    assert_does_what_python_does(program, [(7,), (3,), (27,)])


@pytest.mark.parametrize("program", [moves, best_arrangement])
def test_generators_that_call_themselves(program):
    assert_does_what_python_does(program, [(3,), (5,)])


@pytest.mark.parametrize("program", [lengths_of_runs, ends_early])
def test_generators_of_lists(program):
    assert_does_what_python_does(program, [([1, 1, 2, 2, 2, -3, 1],), ([4],)])


def goes_on(n):
    values = collatz(n)
    for value in values:
        if value < 10:
            break
    return sum(values)


def asks_in_between(n):
    values = collatz(n)
    total = 0
    for value in values:
        total += value * next(values)
    return total


@pytest.mark.parametrize("program", [goes_on, asks_in_between])
def test_to_go_on_with_one_that_a_loop_has_left_is_refused(program):
    with pytest.raises(UserError, match="gone through up to an item that only the running program knows"):
        jitflow.function(program)(27)


def test_one_that_is_at_its_end_gives_nothing_more():
    def twice(n):
        values = collatz(n)
        return sum(values), list(values), sum(values)

    assert_does_what_python_does(twice, [(7,), (27,)])


class Node:
    def __init__(self, value):
        self.value, self.left, self.right = value, None, None


def put(root, value):
    while True:
        if value < root.value:
            if root.left is None:
                root.left = Node(value)
                return
            root = root.left
        else:
            if root.right is None:
                root.right = Node(value)
                return
            root = root.right


def in_order(node):
    if node is not None:
        yield from in_order(node.left)
        yield node.value
        yield from in_order(node.right)


def sorted_by_a_tree(items):
    root = Node(items[0])
    for item in items[1:]:
        put(root, item)
    return list(in_order(root))


def test_a_generator_goes_through_a_tree():
    assert_does_what_python_does(sorted_by_a_tree, [([5, 2, 8, 1, 9, 3, 2],), ([1, 2],)])
