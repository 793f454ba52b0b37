"""Everyday Python around NumPy: what a program says in Python says the same compiled.

Each idiom is a program and the arguments of its calls. It is compared with plain Python by value, type and dtype, by
what it does to its arguments, and by what it raises.
"""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pytest

import jitflow
from tests.truth.whole.same import assert_does_what_python_does

IDIOMS = {}
X = np.array([3.0, -1.0, 4.0, 0.5, -5.0, 2.0])


def idiom(*calls):
    """Enter a program and the arguments of its calls."""

    def enter(program):
        IDIOMS[program.__name__] = program, calls
        return program

    return enter


# -- comprehensions, and what goes through generator expressions --------------------------------------------


@idiom((X,), (X[1:2],), (np.arange(40.0),))
def a_list_of_what_passes_a_test(x):
    return [v for v in x if v > 1]


@idiom((X,), (-X,), (np.arange(40.0),))
def positions_of_what_passes_a_test(x):
    return [i for i in range(len(x)) if x[i] > 0], [i * v for i, v in enumerate(x) if v > 0 if i != 2]


@idiom((5,), (0,), (1,), (400,))
def a_list_over_a_range(n):
    return [k * k for k in range(n)]


@idiom((5,), (0,), (11,), (3000,))
def sums_over_ranges(n):
    return sum(k * k for k in range(n)), sum(k / 2 for k in range(n)), sum((k for k in range(n) if k % 3 == 0), 10)


@idiom((X,), (-X,), (X[:1],))
def sums_of_what_passes_a_test(x):
    return sum(v for v in x if v > 0), sum(1 for v in x if v < 0), sum([v * v for v in x if v > 0], 1)


@idiom((2,), (91,), (97,), (1,), (0,))
def all_over_a_computed_range(n):
    return n > 1 and all(n % k for k in range(2, int(n**0.5) + 1)), any(n % k == 0 for k in range(2, n))


@idiom((2,), (30,), (60,))
def comprehensions_in_comprehensions(n):
    primes = [p for p in range(2, n) if all(p % q for q in range(2, p))]
    return len(primes), sum(primes), [(i, j) for i in range(4) for j in range(i) if (i + j) % 2]


@idiom((12,), (28,), (1,))
def a_list_that_is_folded(n):
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    return len(divisors), sum(divisors), max(divisors), divisors[0], sum(divisors) == 2 * n


@idiom((5,), (3,), (40,))
def extrema_of_generators(n):
    return max((k * 7) % 11 for k in range(n)), min((k * 7) % 11 + 0.5 for k in range(n))


@idiom((5,), (0,), (40,))
def extrema_with_a_default(n):
    return max(((k * 7) % 11 for k in range(n)), default=-1), min((k for k in range(n) if k > 2), default=None) is None


@idiom((X,), (np.arange(3.0),))
def the_first_that_passes_a_test(x):
    return next((i for i in range(len(x)) if x[i] < 0), -1)


@idiom((X,), (np.arange(3.0),))
def the_first_or_an_error(x):
    return next(v for v in x if v < 0)


@idiom((X,), (X[:1],))
def an_array_of_what_passes_a_test(x):
    return np.array([v * v for v in x if v > 0]), list(v for v in x if v > 0), tuple(k + 1 for k in range(len(x)))  # noqa: C400


@idiom((X,), (np.arange(9.0),))
def a_comprehension_in_a_branch(x):
    limit = 1
    found = len([v for v in x if v > limit]) if x[0] > 2 else -len([v for v in x if v < limit])
    while any(v > limit for v in x):
        limit += 1
    return found, limit


# -- orders -------------------------------------------------------------------------------------------------


@idiom((X,), (X[:1],), (np.array([2, 7, 2, 1]),))
def sorted_arrays(x):
    return sorted(x), sorted(x, reverse=True), sorted(x, key=abs), sorted(x, key=lambda v: -v, reverse=True)


@idiom((X,), (np.array([0.0, -0.0, 1.0, 0.0, -1.0, 0.0]),))
def what_is_equal_stays_in_order(x):
    return sorted(x, reverse=True), sorted(range(len(x)), key=lambda i: abs(x[i])), sorted(x)


@idiom((3, 1.5), (-1, 0.5))
def sorted_numbers(n, x):
    return sorted([n, 2, n * n]), sorted([x, 1.0, -x], reverse=True), sorted([3, 1, 2], reverse=True)


@idiom((X,), (-X,))
def a_list_that_is_sorted_downwards(x):
    kept = [v for v in x if v > 0]
    kept.sort(reverse=True)
    return kept, max(kept, key=abs), min(kept, key=lambda v: -v)


@idiom((X,), (np.arange(5.0),), (np.zeros(0),))
def extrema_by_a_key(x):
    return max(range(len(x)), key=lambda i: x[i]), min(x, key=abs), max([1, -3, 2], key=abs)


@idiom((X,), (np.zeros(0),))
def extrema_of_what_may_be_empty(x):
    return max(x, default=1.5), min([v for v in x if v < 0], default=0.5), max((abs(v) for v in x), default=9.0)


@idiom((1.5, -2.0), (-2.0, 1.5))
def extrema_of_few_by_a_key(a, b):
    return max(a, b, key=abs), min([a, b, 0.5], key=lambda v: v * v), max((a, b))


# -- numbers -------------------------------------------------------------------------------------------------

HALVES = [0.5, 1.5, 2.5, 2.675, 1.005, 0.125, -0.375, 2.345678, 1e-9, -0.0, 4503599627370497.5, 1e300, 5e-324, 0.285]


@idiom(*((x,) for x in HALVES))
def floats_rounded_to_digits(x):
    return round(x, 2), round(x, 1), round(x, 0), round(x, 15), round(-x, 3)


@idiom(*((x * 1000,) for x in HALVES), (25.0,), (35.0,), (1250.0,), (1e22,), (float("inf"),), (float("nan"),))
def floats_rounded_to_tens(x):
    return round(x, -1), round(x, -2), round(-x, -3)


@idiom((1234,), (1250,), (-1350,), (25,), (35,), (0,), (2**61,))
def ints_rounded_to_tens(n):
    return round(n, -2), round(n, -1), round(n, 2), round(n), round(-n, -3)


@idiom((12, 18, 8), (0, -6, 4), (7, 0, 0))
def common_divisors(a, b, c):
    return math.gcd(a, b, c), math.lcm(a, b, c), math.gcd(a), math.lcm(b)


@idiom(
    (7.5, 2.0), (-7.5, 2.0), (5.0, 2.0), (7.0, -2.0), (1.0, float("inf")), (1.0, 0.0), (float("nan"), 0.0), (-0.0, 3.0)
)
def remainders(x, y):
    return math.remainder(x, y)


@idiom((0,), (5,), (20,), (-1,))
def factorials(n):
    return math.factorial(n)


@idiom((1.0, 1.0 + 1e-10), (1.0, 1.1), (0.0, 1e-12), (float("inf"), float("inf")), (float("inf"), 1.0), (1.0, -1.0))
def numbers_that_are_close(x, y):
    return math.isclose(x, y), math.isclose(x, y, rel_tol=0.2), math.isclose(x, y, abs_tol=1e-9)


# -- lists ---------------------------------------------------------------------------------------------------


@idiom((3,), (0,), (-2,), (200,))
def a_list_of_so_many(n):
    found = [0.0] * n
    for i in range(n):
        found[i] = i * 0.5
    return found, [1, 2] * n, n * [True]


@idiom((2,), (3,), (50,))
def a_sieve(n):
    is_prime = [True] * (n + 1)
    for i in range(2, n + 1):
        if is_prime[i]:
            for j in range(i * i, n + 1, i):
                is_prime[j] = False
    return [i for i in range(2, n + 1) if is_prime[i]]


@idiom((0,), (1,), (30,))
def a_table_of_results(n):
    ways = [0] * (n + 1)
    ways[0] = 1
    for coin in (1, 2, 5):
        for i in range(coin, n + 1):
            ways[i] += ways[i - coin]
    return ways[n]


@idiom((3,), (0,), (60,))
def lists_that_are_added(n):
    odd = [k for k in range(n) if k % 2]
    even = [k for k in range(n) if not k % 2]
    both = odd + even
    more = odd.copy()
    more = [7] + even + more  # noqa: RUF005
    both.append(len(odd))
    return both, more, odd


@idiom((3,), (12,))
def a_list_used_as_a_queue(n):
    queue, total = [k for k in range(n) if k >= 0], 0
    while queue:
        k = queue.pop(0)
        total += k * k
        if k % 2 and k < 20:
            queue.append(k * 2)
    return total


@idiom(([1.0, 2.0, 3.0], 1), ([1.0, 2.0, 3.0], -1), ([1.0, 2.0, 3.0], 5), ([k * 0.5 for k in range(30)], 17))
def an_item_of_an_argument(items, i):
    return items[i]


@idiom(([3, 4, 7], 7), ([1, 4, 7, 9], 5), ([1], 1))
def a_binary_search(items, wanted):
    low, high = 0, len(items) - 1
    while low <= high:
        middle = (low + high) // 2
        if items[middle] == wanted:
            return middle
        if items[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1


@idiom(([[1, 2], [3, 4]], 1), ([[1, 2], [3, 4]], 0), ([[1, 2], [3, 4]], 2))
def items_of_items(rows, i):
    return rows[i][0], [row[i] for row in rows]


@idiom((3,), (4,), (-1,))
def buffers_in_turn(n):
    buffers = [np.zeros(4), np.ones(4)]
    buffers[n % 2][0] = 7.0
    return buffers[n % 2], buffers[(n + 1) % 2], {0: "even", 1: "odd"}[n % 2] == "odd"


# -- objects of the user's classes --------------------------------------------------------------------------


class Point(NamedTuple):
    x: float
    y: float

    def norm(self):
        return math.sqrt(self.x**2 + self.y**2)

    @property
    def total(self):
        return self.x + self.y if self.x > 0 else self.y

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)


Pair = namedtuple("Pair", "a b")


@dataclass
class Ball:
    x: float
    v: float = 1.0
    seen: list = field(default_factory=list)

    def step(self, dt):
        if self.x < 0:
            self.v = -self.v
        self.x += dt * self.v
        self.seen.append(self.x)

    @property
    def energy(self):
        return 0.5 * self.v**2 + self.x


class Counter:
    unit = 1

    def __init__(self, start):
        self.count = start
        self.items = []

    def add(self, item):
        self.count += self.unit
        self.items.append(item)

    @staticmethod
    def twice(number):
        return number * 2 if number > 0 else number

    @classmethod
    def from_two(cls, one, other):
        return cls(one + other)


class Loud(Counter):
    unit = 2

    def __init__(self, start):
        super().__init__(start)
        self.name = "loud"

    def add(self, item):
        if item > 0:
            super().add(item)
        else:
            super().add(-item)


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    def __neg__(self):
        return type(self)(-self.x, -self.y)

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __getitem__(self, position):
        return self.x if position == 0 else self.y

    def __call__(self, t):
        return self.x + t

    def __len__(self):
        return 2

    def __iter__(self):
        yield self.x
        yield self.y


@idiom((Point(3.0, 4.0),), (Point(-1, 2),))
def methods_of_a_named_tuple(p):
    q = p + p
    return p.norm(), q.total, q, p._replace(x=7.0), p._asdict()


@idiom((Point(3.0, 4.0), 5), (Point(0.5, 2.0), 0))
def a_named_tuple_in_a_loop(p, n):
    q = Point(0.0, 0.0)
    for i in range(n):
        q = Point(q.x + p.x, q.y + i)
    a, b = Pair(q.norm(), n)
    return q, a, b


@idiom((5, 0.1), (0, 0.5), (40, -0.25))
def an_object_that_a_loop_changes(n, dt):
    ball = Ball(1.0)
    for _ in range(n):
        ball.step(dt)
    return ball.x, ball.energy, ball.seen


@idiom((X,), (-X,))
def an_object_that_branches_change(x):
    counter = Counter(0)
    for v in x:
        if v > 0:
            counter.add(v)
    return counter.count, counter.items, Counter.twice(x[0]), Counter.from_two(1, 2).count


@idiom((X,), (-X,))
def methods_that_call_those_they_override(x):
    loud = Loud(3)
    for v in x:
        loud.add(v)
    return loud.count, sum(loud.items), loud.name, isinstance(loud, Counter), type(loud) is Loud, loud.__class__ is Loud


@idiom((2.0, 3.0), (0.0, 1.0))
def operators_of_a_class(a, b):
    v = Vector(a, b)
    w = (v + v) * 2
    x, y = -w
    return w.x, x, y, w == v, w == v + v + v + v, abs(w), w[0], w[1], w(1.0), len(w)


@idiom((3,), (6,))
def objects_in_lists(n):
    balls = [Ball(float(k)) for k in range(3)]
    total = Vector(0.0, 0.0)
    for _ in range(n):
        for ball in balls:
            ball.step(0.5)
            total = total + Vector(ball.x, 1.0)
    return [ball.x for ball in balls], total.x, total.y, replace(balls[0], x=1.0).energy


@dataclass(frozen=True)
class Fixed:
    a: float
    b: float = 2.0

    def product(self):
        return self.a * self.b


@idiom((2.0, 5), (0.5, 0))
def objects_that_names_are_bound_to_anew(v, n):
    total, first, second = Vector(0.0, 0.0), Counter(1), Counter(2)
    for k in range(n):
        total = total + Vector(v * k, 1.0)
    chosen = first if v > 1 else second
    chosen.count += 10
    return total.x, first.count, second.count, chosen.count, replace(Fixed(v), b=v).product()


@idiom((2.0,))
def a_frozen_object_that_is_written_to(v):
    fixed = Fixed(v)
    fixed.a = 3.0
    return fixed.a


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_does_what_python_does(name):
    program, calls = IDIOMS[name]
    assert_does_what_python_does(program, calls)


def test_what_a_class_holds_is_never_stale():
    class Scaled:
        factor = 3

        def __init__(self, x):
            self.x = x

        def get(self):
            return self.x * self.factor

    def program(x):
        return Scaled(x).get()

    def made(x):
        return Scaled(x)

    compiled = jitflow.function(program)
    assert compiled(2.0) == 6.0
    Scaled.factor = 10
    assert compiled(2.0) == 20.0
    Scaled.get = lambda self: self.x - 1
    assert compiled(2.0) == 1.0
    found = jitflow.function(made)(2.0)
    assert type(found) is Scaled
    assert vars(found) == {"x": 2.0}
