"""The caller's lists and dicts, changed before, in and behind a ``try`` of which the running program decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.truth.whole.same import assert_does_what_python_does


class Thing:
    """It has no attributes yet."""


def before(held, x, n):
    held["z"] = 3
    try:
        y = x[n]
    except KeyError:
        y = 1
    except IndexError:
        y = held["z"]
    held["z"] = 4
    return y, x[n - 3]


def another_handler(held, x, n):
    held["items"].append(n)
    try:
        return x[n]
    except KeyError as error:
        return error.args


def in_the_handler(held, x, n):
    held["z"] = 3
    try:
        y = x[n]
        x[0] = 2
    except IndexError as error:
        held["z"] = 7
        y = str(error)
    return y, held["z"]


def key_in_finally(held, x, n):
    held["z"] = 1
    try:
        return x[n]
    finally:
        held["last"] = held.pop("z")


def append_in_finally(held, x, n):
    try:
        return x[n]
    finally:
        held["items"].append(n)


def store_in_finally(held, x, n):
    try:
        return x[n]
    finally:
        held["items"][0] = 7.5


def finally_in_a_loop(held, x, n):
    for i in range(n + 1):
        try:
            x[i] += 1
        finally:
            held["last"] = i


def key_that_is_not_there(held, x, n):
    x[0] = 5
    held["a"] = held.pop("missing")


def key_that_is_deleted_twice(held, x, n):
    try:
        for _ in x:
            del held["a"]
    except LookupError:
        held["a"] = 2
    return held.pop("missing", n)


def key_that_a_local_dict_lacks(held, x, n):
    table = {"a": n}
    try:
        y = table.pop("b")
    except Exception as error:
        y = type(error).__name__
    return y, {"a": x}.pop("a"), table.pop("c")


def new_attribute(held, x, n):
    thing, i = held["thing"], 0
    while i < n:
        i += 1
        thing.turns = i
    return thing.turns


def names_of_what_was_raised(held, x, n):
    try:
        return x[n], 5 // n
    except Exception as error:
        return type(error).__name__, error.__class__.__qualname__


def what_appended_lists_are(held, x, n):
    items = held["items"]
    items.append(n)
    return isinstance(items, list), isinstance(items, Sequence), isinstance(items, tuple)


def appended_by_turns_until_one_fails(held, x, n):
    items = held["items"]
    for turn in range(n):
        items.append(float(x[turn]))


def key_of_two_numbers(held, x, n):
    table = {(n, 0.5): 1}
    table[n + 1, x[0]] = 2
    try:
        return table[n + 2, n / 4]
    finally:
        held["a"] = n


def key_that_numpy_made(held, x, n):
    table = {x[0]: n}
    table[x[1]] = n
    try:
        return table[x[n - 1]]
    except KeyError as error:
        held["a"] = error.args[0]
        raise


@pytest.mark.parametrize(
    "program",
    [appended_by_turns_until_one_fails, key_of_two_numbers, key_that_numpy_made,
     before, another_handler, in_the_handler, key_in_finally, append_in_finally, store_in_finally, finally_in_a_loop,
     key_that_is_not_there, key_that_is_deleted_twice, key_that_a_local_dict_lacks, new_attribute,
     names_of_what_was_raised, what_appended_lists_are],
)  # fmt: skip
def test_they_hold_what_they_hold_in_python(program):
    calls = [({"a": 1, "items": [1, 2.5], "thing": Thing()}, np.arange(3.0), n) for n in (0, 2, 3, 7)]
    assert_does_what_python_does(program, calls)


class Sums:
    def __init__(self):
        self.turns, self.total, self.last = 0, 0.0, None

    def add(self, x, place):
        self.turns += 1
        self.total += x[place]
        self.last = place
        self.turns += 10
        return self.total


def changed_by_a_method(held, x, n):
    sums, found = Sums(), 0.0
    for place in range(n):
        try:
            found += sums.add(x, place)
        except IndexError:
            found -= 1
    return found, sums.turns, sums.total, sums.last


def changed_on_paths(held, x, n):
    sums, log = Sums(), [0, 0]
    try:
        sums.turns = 5
        if x[1] > n:
            sums.turns = 6
            sums.total = 10 // n
            log[0] = 1
        else:
            log[1] = 2
            sums.total = x[n]
            sums.turns = 9
        sums.last = 3
    except (IndexError, ZeroDivisionError) as error:
        sums.turns += 100
        return str(error), sums.turns, sums.total, sums.last, log
    return sums.turns, sums.total, sums.last, log


def changed_before_it_is_raised(held, x, n):
    sums = held["sums"] = Sums()
    try:
        sums.total = x * 2
        if n > 2:
            raise ValueError(n)
        sums.total = sums.total + 1
    except ValueError as error:
        sums.last = error.args[0]
    return sums.total


def made_longer(held, x, n):
    log = []
    for value in x:
        try:
            log.append(n // int(value))
            log.append(int(value))
        except ZeroDivisionError:
            log.append(-1)
    return log


def until_one_fails(held, x, n):
    sums = Sums()
    while True:
        try:
            sums.turns += 1
            sums.total += x[sums.turns]
        except IndexError:
            break
    return sums.turns, sums.total


@pytest.mark.parametrize(
    "program", [changed_by_a_method, changed_on_paths, changed_before_it_is_raised, made_longer, until_one_fails]
)
def test_objects_hold_what_they_held_where_something_was_raised(program):
    assert_does_what_python_does(program, [({}, np.arange(3.0), n) for n in (0, 1, 2, 3, 7)])
