"""Iterators that loops leave: what follows goes on where Python would, or is refused."""

from __future__ import annotations

from itertools import (
    accumulate,
    chain,
    combinations,
    combinations_with_replacement,
    filterfalse,
    permutations,
    takewhile,
)

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError

U = np.arange(6.0)


def leaves_a_generator(u, k):
    items = (2 * number for number in (1, 2, 3))
    for item in items:
        if item > k:
            break
    return next(items, -1) + u[0]


def leaves_a_range(u, k):
    items = iter(range(10))
    for item in items:
        if item > u[k]:
            break
    return sum(items)


def leaves_a_list_inside_of_another_iterator(u, k):
    items = iter([1, 2, 3])
    for place, item in enumerate(items):  # noqa: B007
        if item > u[k]:
            break
    return next(items, place)


def goes_on_with_pairs(u, k):
    pairs = zip(u, u[::-1], strict=True)
    for one, other in pairs:
        if one + other * k > 8:
            break
    return list(pairs)


def numbers_again(u, k):
    numbered = enumerate(u)
    total = 0.0
    for _ in range(k):
        for place, item in numbered:
            total += place * item
    return total


def turns_round_twice(u, k):
    backwards = reversed(range(len(u)))
    first = [u[place] * k for place in backwards]
    return first, [u[place] for place in backwards]


def pairs_with_itself(u, k):
    items = enumerate(u)
    return [one[0] + other[0] + k for one, other in zip(items, items, strict=True)]


def goes_through_choices_twice(u, k):
    pairs, total = combinations(u, 2), 0.0
    for one, other in pairs:
        total += one * other + k
    for one, other in pairs:
        total -= one * other
    return total


def leaves_choices(u, k):
    total = 0
    pairs = combinations_with_replacement(range(len(u)), 2)
    for one, other in pairs:
        if one * other > k:
            break
    for one, other in pairs:
        total += one * other
    return total


def goes_through_sums_twice(u, k):
    sums = accumulate(u * k)
    return list(sums), list(sums)


def goes_through_a_part_in_each_turn(u, k):
    kept, total = takewhile(lambda one: one < 3, u), 0.0
    for _ in range(k):
        for one in kept:
            total += one
    return total


@pytest.mark.parametrize(
    "program",
    [
        goes_through_choices_twice,
        leaves_choices,
        goes_through_sums_twice,
        goes_through_a_part_in_each_turn,
        leaves_a_generator,
        leaves_a_range,
        leaves_a_list_inside_of_another_iterator,
        goes_on_with_pairs,
        numbers_again,
        turns_round_twice,
        pairs_with_itself,
    ],
)
def test_nobody_goes_on_with_an_iterator_that_is_somewhere(program):
    with pytest.raises(UserNotImplementedError, match="iterator") as caught:
        jitflow.function(program)(U, 2)
    assert caught.value.mend


def goes_on_behind_the_first(u, k):
    items = iter(range(4))
    total = next(items) + k
    for item in items:
        total += item * u[item]
    return total, list(items)


def leaves_what_nobody_keeps(u, k):
    for item in map(abs, (-1, -2, -3)):
        if item > u[k]:
            break
    for one, other in zip([1, 2], [3, 4], strict=True):
        if one + other > u[k]:
            item += one
            break
    return item


def begins_anew_in_each_turn(u, k):
    total = 0.0
    for _ in range(k):
        for place, (one, other) in enumerate(zip(u, u[::-1], strict=True)):
            if one * other > 5:
                break
            total += place
    return total


@pytest.mark.parametrize("program", [goes_on_behind_the_first, leaves_what_nobody_keeps, begins_anew_in_each_turn])
@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_it_does_what_python_does(program, k):
    assert jitflow.function(program)(U, k) == program(U, k)


def asks_for_the_next(u, k):
    numbers, pairs, left = reversed(range(k)), zip(u, u[::-1], strict=True), filter(lambda v: v > k, u)
    total = 0.0
    for _ in range(len(u) - 2):
        one, other = next(pairs)
        total += one * other
    place, first = next(enumerate(u))
    return (
        next(numbers, -1),
        next(numbers, -2),
        total,
        place,
        first,
        next(left, None),
        next(pairs),
        max(left, default=7),
    )


def asks_for_all(u, k):
    numbers, total = reversed(range(k)), 0
    while (number := next(numbers, None)) is not None:
        total += 3 * number
    return total, sorted(filter(None, range(k))), sum(filter(lambda v: v % 2, range(k)))


def goes_on_behind_the_next(u, k):
    numbers, total = reversed(range(k)), 0
    next(numbers, None)
    for number in numbers:
        total += number * 2
    return total, next(filter(None, u))


def asks_for_one_too_many(u, k):
    numbers = reversed(range(k))
    try:
        return next(numbers), next(numbers)
    except StopIteration:
        return -1


def goes_on_behind_the_first_choices(u, k):
    orders, sums = permutations(range(len(u)), 2), accumulate(u)
    first, total = next(orders), next(sums)
    for one, other in orders:
        total += one * u[other] * k
    return first, total, [*sums]


@pytest.mark.parametrize(
    "program",
    [
        asks_for_the_next,
        asks_for_all,
        goes_on_behind_the_next,
        asks_for_one_too_many,
        goes_on_behind_the_first_choices,
    ],
)
def test_items_are_asked_for_one_by_one(program):
    for k in (0, 1, 2, 5):
        assert repr(jitflow.function(program)(U, k)) == repr(program(U, k))


def test_what_is_no_iterator_has_no_next_item():
    for thing in (lambda n: range(n), lambda n: [v for v in range(n) if v % 2], np.ones):
        with pytest.raises(TypeError, match="is not an iterator"):
            jitflow.function(lambda n, thing=thing: next(thing(n)))(3)
    with pytest.raises(TypeError, match="cannot be returned"):
        jitflow.function(lambda n: filter(None, [n, 1]))(3)
    for program in (lambda u: accumulate(u), lambda u: [chain.from_iterable([u, u])], lambda u: filter(None, u)):
        with pytest.raises(TypeError, match="cannot be returned"):
            jitflow.function(program)(U)


def running_mean():
    number, total, item = 0, 0.0, None
    while True:
        item = yield total / number if number else None
        total += item
        number += 1


def sends_to_a_generator(u):
    mean = running_mean()
    next(mean)
    return [mean.send(item) for item in u]


def counts_from_a_generator_inside(u):
    def count():
        number = 0
        while True:
            yield number
            number += 1

    def outer():
        yield from count()

    numbers, total = outer(), 0.0
    for item in u:
        total += item * next(numbers)
    return total


@pytest.mark.parametrize("program", [sends_to_a_generator, counts_from_a_generator_inside])
def test_generators_that_come_back_to_the_same_yield_have_moved_on(program) -> None:
    assert jitflow.function(program)(U.tolist()) == program(U.tolist())  # turn by turn
    with pytest.raises(UserNotImplementedError, match="moves on in it: generator"):
        jitflow.function(program)(U)


def test_what_a_suspended_generator_changes_is_carried() -> None:
    def program(u, n):
        items = []

        def keep():
            while True:
                items.append((yield sum(items)))

        kept, total = keep(), 0.0
        next(kept)
        for i in range(n):
            total += kept.send(u[i])
        return total, items

    assert repr(jitflow.function(program)(U, 5)) == repr(program(U, 5))


def products_of_columns(x):
    found = [choice for number in range(3) for choice in combinations_with_replacement(range(x.shape[1]), number)]
    products = np.empty((len(x), len(found)))
    for place, columns in enumerate(found):
        products[:, place] = np.prod(x[:, columns], axis=1)
    return products, [x[:, one] * x[:, other] for one, other in combinations(range(x.shape[1]), 2)]


def choices_are_gone_through(x):
    first, *others = combinations(x[0], 2)
    numbered = {place: one - other for place, (one, other) in enumerate(combinations(x[0], 2))}
    ends = list(chain(combinations(x[0], 2), combinations(x[1], 2)))
    return first, others, numbered, ends, max(combinations(x[0], 2)), [*permutations(range(len(x)), 2)]


def iterators_are_gone_through(x):
    first, *others = accumulate(x[0])
    left = [*filter(lambda one: one > 0, x[0]), *filterfalse(lambda one: one > 0, x[0])]
    return first, others, left, sorted(accumulate(x[1])), [*map(abs, accumulate(x[0]))]


@pytest.mark.parametrize("program", [products_of_columns, choices_are_gone_through, iterators_are_gone_through])
def test_what_iterators_give_is_listed(program):
    compiled = jitflow.function(program)
    for shape in ((4, 3), (5, 3), (3, 2)):
        x = np.random.default_rng(0).normal(size=shape)
        assert repr(compiled(x)) == repr(program(x))


def test_choices_have_no_length():
    with pytest.raises(TypeError, match=r"object of type 'itertools.combinations' has no len\(\)"):
        jitflow.function(lambda u: len(combinations(u, 2)))(U)


def keeps_the_last(values):
    most, kept = np.ceil(1.1 * 2).astype(int), []
    for value in values:
        kept.append(value)
        kept = kept[-most:]
    return kept, kept[:most], [place for place in range(0, len(values), most)]  # noqa: C416


def test_bounds_may_be_known_integers_of_numpy():
    assert repr(jitflow.function(keeps_the_last)(U)) == repr(keeps_the_last(U))
