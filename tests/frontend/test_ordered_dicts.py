"""Ordered dicts of the running program: what moves to either end, and how they compare."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import jitflow

KEYS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]


def moved(keys):
    found = OrderedDict()
    for key in keys:
        found[key] = found.get(key, 0) + 1
        found.move_to_end(key, last=key % 2 == 1)
    first, last = found.popitem(last=False), found.popitem()
    return found, first, last, list(found.items()), len(found)


def compared(keys):
    one, other = OrderedDict(), OrderedDict()
    for key in keys:
        one[key] = 1
    for key in sorted(keys):
        other[key] = 1
    copied, plain = one.copy(), dict.fromkeys(keys, 1)
    answers = one == other, one == copied, one == plain, one != other
    for key in list(other):
        if key > 4:
            del other[key]
    return answers, other, copied


class Cache:
    def __init__(self, most):
        self.most, self.missed, self.known = most, 0, OrderedDict()

    def get(self, key):
        if key in self.known:
            self.known.move_to_end(key)
            return self.known[key]
        self.missed += 1
        self.known[key] = np.arange(3.0) * key
        if len(self.known) > self.most:
            self.known.popitem(last=False)
        return self.known[key]


def remembered(keys):
    cache, total = Cache(3), np.zeros(3)
    for key in keys:
        total += cache.get(key)
    return total.tolist(), cache.missed, list(cache.known)


def lists_taken_out(keys):
    found = OrderedDict()
    for key in keys:
        if key not in found:
            found[key] = []
        found[key].append(key * 2.0)
    taken = []
    while found:
        key, items = found.popitem(last=len(taken) % 2 == 0)
        taken.append((key, sum(items)))
    try:
        found.popitem()
    except KeyError as error:
        return taken, str(error)
    return taken, ""


def missing(keys):
    found = OrderedDict()
    for key in keys:
        if key == 5:
            found.move_to_end(key)
        found[key] = 1.0
    return found


@pytest.mark.parametrize("function", [moved, compared, remembered, lists_taken_out])
def test_ordered_dicts_are_those_of_python(function):
    found, wanted = jitflow.function(function)(KEYS), function(KEYS)
    assert repr(found) == repr(wanted)


def test_a_key_that_is_not_there_is_not_moved():
    with pytest.raises(KeyError, match=r"^5$"):
        jitflow.function(missing)(KEYS)
    assert jitflow.function(missing)(KEYS[:2]) == missing(KEYS[:2])
