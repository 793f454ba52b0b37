"""Keys and items of a dict that the running program fills, as sets: what they hold and in which order, as Python's."""

from __future__ import annotations

import pytest

from tests.truth.whole.same import assert_does_what_python_does

SIZES = (9, 0, 1, 3, 12, 30)


def filled(n):
    found = {}
    for i in range(n):
        found[i * 8 % 37] = i
    return found


def gathered(n):
    found = set()
    for i in range(n):
        found.add(i * 8 % 37)
    return found


def with_lists(n):
    keys = filled(n).keys()
    return (
        list(keys - [8, 16]),
        list(keys & [8, 16, 1]),
        list(keys | [8, 200]),
        list(keys ^ (8, 1)),
        list([8, 200] | keys),
    )


def with_one_another(n):
    one, other = filled(n).keys(), filled(n // 2).keys()
    return list(one - other), list(one & other), list(other & one), list(one | other), list(one ^ other)


def with_dicts_and_sets(n):
    keys = filled(n).keys()
    known = {5: 1, 8: 2, 16: 4}
    return (list(keys - known), list(keys | known), list(keys & known), list(keys & {8, 16, 3}),
            list({1, 8, 16, 200, 32, 31} & keys), list({8, 16, 3, 99} - keys))  # fmt: skip


def pairs(n):
    one, other = filled(n), filled(n // 2)
    return (sorted(one.items() - other.items()), sorted(one.items() & other.items()), (8, 1) in one.items(),
            (8, 2) in one.items(), one.items() >= other.items())  # fmt: skip


def compared(n):
    one, other = filled(n).keys(), filled(n // 2).keys()
    return (one == other, one != other, one == filled(n).keys(), one >= other, one > other, one <= other, one < other,
            one == {0, 8, 16}, one == [0, 8, 16], one.isdisjoint([3]))  # fmt: skip


def goes_on(n):
    found = filled(n).keys() - [0]
    found.add(5)
    return len(found), list(found)


def sets_with_dicts(n):
    found, few = gathered(n), filled(n // 3)
    taken = list(found.difference(few)), list(found.difference({5: 1, 8: 1}, few)), list(found - few.keys())
    found.update({5: 1, 300: 1, 301: 2}, few)
    return taken, list(found), list(found.union({5: 1, 400: 1}))


PROGRAMS = [with_lists, with_one_another, with_dicts_and_sets, pairs, compared, goes_on, sets_with_dicts]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_it_does_what_python_does(program):
    assert_does_what_python_does(program, [(n,) for n in SIZES])
