"""Programs that cannot be compiled, one mistake each. Their lines are in the messages: add new ones at the end."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

COUNTER = 0
LEAKED: list[Any] = ["a", "b"]
SET = {np.str_("a")}
Function = Callable[..., Any]


@dataclass
class Counter:
    value: float = 0.0


class Recorder:
    def __init__(self, x):
        self.x = x

    def double(self):
        return self.x * 2


COUNTER_OBJECT = Counter()


def double(x):
    return x * 2


def decides(x):
    if list(itertools.compress((x,), (x.sum() > 0,))):  # a function of Python needs to know
        return x
    return -x


def decides_in_a_loop(x):
    for _ in range(2):
        x = max(itertools.compress((x, 2.0), (x, 2.0)))
    return x


def decides_by_chaining(x):
    return list(itertools.compress((x,), (0 < x[0] < 1,)))


def indexes_a_list(x):
    return (x, x)[: int(x[0])]


def formats(x):
    return f"{x * 2}".upper()


def reads_the_clock(x):
    return x * time.time()


def reads_the_environment(x):
    return x if os.environ["HOME"] else -x


def draws(x):
    return x + random.getstate()[1][0]


def draws_with_numpy(x):
    return x + np.random.get_state()[2]


def prints(x):
    print(x, file=COUNTER_OBJECT)
    return x


def opens(x):
    with open("file") as file:
        return x, file.read()


def assigns_a_global(x):
    global COUNTER
    COUNTER = COUNTER + 1
    return x


def assigns_a_method_of_a_class(x):
    Recorder.double = x
    return x


def shortens_a_global(x):
    if x[0] > 0:
        LEAKED.__imul__(2)
    return x


def changes_an_argument(options, x):
    if x[0] > 0:
        options.add("z")
    return x


def makes_an_object(x):
    return Guarded(x).double()


def reads_a_set(x):
    return x if 1 in SET else -x


def in_a_helper(x):
    return decides(x) + 1


def wrong_shapes(x, y):
    return x @ y


def wrong_number_of_arguments(x):
    return double(x, x)


def unknown_attribute(x):
    return x.sums()


def unknown_name(x):
    return x + unknown  # noqa: F821


def unknown_method_of_a_number(s):
    return s.shape


def raises(x):
    raise ValueError("not today")


def wrong_key(x):
    return {"a": x}["b"]


def overflows(x):
    return x + 2**70


def returns_a_generator(x):
    return (row for row in (x, x))


def returns_a_function(x):
    return lambda: x


def returns_an_object(x):
    return {"ok": x, "bad": [object()]}


def recurses(x):
    return recurses((x, x))


def huge_literal(x):
    return x + np.array(range(100))


def asks_for_floats_of_strings(x):
    return x + "text"


def bad_float(s, t):
    return s < 1j


def broadcasts(x, y):
    return x + y


def multiplies(x, y):
    return x @ y


def subtracts_bools(x):
    return (x > 0) - (x < 1)


def shifts_floats(x):
    return x << 2


def names_a_wrong_axis(x):
    return x.sum(axis=2)


def reads_too_far(x):
    return x[:2][5]


def reads_too_deep(x):
    return x[0, 0]


def reshapes(x):
    return np.ones((2, 3)).reshape(x.shape[0] * 0 + 4, 2)


def concatenates(x):
    return np.concatenate([x, x[:, None]])


def stacks_nothing(x):
    return np.stack([])


def names_a_wrong_dtype(x):
    return x.astype("floaty")


def converts_to_objects(x):
    return x.astype(object)


def counts_in_cells(x):
    return np.histogramdd(x)


def decides_by_not(x):
    x = x + 1
    return list(itertools.compress((x,), (not x.sum() > 0,)))


def decides_by_and(x, y):
    return list(itertools.compress((x,), (x.any() and y.any(),)))


def raises_on_overflow(x):
    with np.errstate(over="raise"):
        return x * 2


def passes_an_unknown_keyword(x):
    return x.sum(axes=0)


def calls_a_method_of_strings(x):
    return str.format_map("{x:.2f}", {"x": x[0]})


def calls_a_number(x):
    return x(2)


def opens_a_generator(x):
    return np.stack(row * 2 for row in (x, x))


def unpacks(x):
    first, second = x
    return first + second


X = np.arange(4.0)

CASES: list[tuple[Function, tuple[Any, ...]]] = [
    (decides, (X,)),
    (decides_in_a_loop, (1.0,)),
    (decides_by_chaining, (X,)),
    (indexes_a_list, (X,)),
    (formats, (X,)),
    (reads_the_clock, (X,)),
    (reads_the_environment, (X,)),
    (draws, (X,)),
    (draws_with_numpy, (X,)),
    (prints, (X,)),
    (opens, (X,)),
    (assigns_a_global, (X,)),
    (assigns_a_method_of_a_class, (X,)),
    (shortens_a_global, (X,)),
    (changes_an_argument, ({"y"}, X)),
    (makes_an_object, (X,)),
    (reads_a_set, (X,)),
    (in_a_helper, (X,)),
    (wrong_shapes, (np.array(1.0), X)),
    (wrong_number_of_arguments, (X,)),
    (unknown_attribute, (X,)),
    (unknown_name, (X,)),
    (unknown_method_of_a_number, (1.0,)),
    (raises, (X,)),
    (wrong_key, (X,)),
    (overflows, (1,)),
    (returns_a_generator, (X,)),
    (returns_a_function, (X,)),
    (returns_an_object, (X,)),
    (recurses, (X,)),
    (asks_for_floats_of_strings, (X,)),
    (bad_float, (1.0, 2.0)),
    (subtracts_bools, (X,)),
    (shifts_floats, (X,)),
    (names_a_wrong_axis, (X,)),
    (reads_too_deep, (X,)),
    (reshapes, (X,)),
    (concatenates, (X,)),
    (stacks_nothing, (X,)),
    (names_a_wrong_dtype, (X,)),
    (converts_to_objects, (X,)),
    (counts_in_cells, (X,)),
    (decides_by_not, (X,)),
    (decides_by_and, (X, X)),
    (raises_on_overflow, (X,)),
    (passes_an_unknown_keyword, (X,)),
    (calls_a_method_of_strings, (X,)),
    (calls_a_number, (X,)),
    (opens_a_generator, (X,)),
    (unpacks, (X,)),
]

RUN_TIME_CASES: list[tuple[Function, tuple[Any, ...]]] = [
    (broadcasts, (np.ones(3), np.ones((2, 2)))),
    (multiplies, (np.ones((3, 2)), np.ones((3, 2)))),
    (reads_too_far, (X,)),
]
"""Mistakes that depend on sizes, which are known when the code runs."""


class Guarded(Recorder):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, abs(value))
