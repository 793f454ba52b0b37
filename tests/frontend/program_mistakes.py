"""Mistakes that people make in whole programs, and the call that shows each. Their lines are in the messages.

Add new ones at the end.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]

X = np.arange(4.0)
M = np.arange(6.0).reshape(2, 3)
TOTAL = 0.0


class Model:
    def __init__(self) -> None:
        self.loss = 0.0


MODEL = Model()


# -- indices, shapes and sizes ---------------------------------------------------------------------------------


def neighbours(x, i):
    return x[i - 1] + x[i + 1]


def reads_beyond_the_end_in_a_helper(x):
    total = 0.0
    for i in range(1, x.shape[0]):
        total += neighbours(x, i)
    return total


def writes_beyond_the_end(x, n):
    y = np.zeros(n)
    for i in range(x.shape[0]):
        y[i] = x[i]
    return y


def indexes_by_a_float(x, n):
    return x[n / 2]


def gives_too_many_indices(x, n):
    total = 0.0
    for i in range(n):
        total += x[i, 0]
    return total


def adds_slices_of_other_sizes(x, n):
    return x[:n] + x[1:]


def stores_another_shape(x, n):
    y = np.zeros((3, 3))
    y[1, :n] = x
    return y


def makes_a_negative_size(x, n):
    return np.zeros(n - 5)


def reshapes_to_another_size(x, n):
    return x.reshape(n, 3)


def steps_by_nothing(x):
    return x[::0]


def ranges_by_nothing(x, n):
    total = 0.0
    for i in range(0, 3, n):
        total += x[i]
    return total


def finds_the_largest_of_nothing(x, n):
    return x[:n].max()


def unpacks_another_number(x):
    rows, columns = x.shape
    return rows * columns


def multiplies_wrong_matrices(a, n):
    total = 0.0
    for _ in range(n):
        total += (a @ a).sum()
    return total


def adds_a_float_to_integers(k, n):
    for i in range(n):
        k[i] += 1
    k += 0.5
    return k


# -- arithmetic ------------------------------------------------------------------------------------------------


def divides_by_zero(n, m):
    count = 0
    while n > 0:
        count += n // m
        n -= 1
    return count


def takes_a_remainder_by_zero(n, m):
    return n % m


def takes_a_root_of_a_negative(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += math.sqrt(x[i] - 2)
    return total


def overflows(n):
    product = 1
    for i in range(1, n):
        product *= i
    return product


def raises_to_a_negative(n, m):
    return n**-m


def inverts_a_singular_matrix(a):
    return np.linalg.inv(a)


# -- names and types on several paths -----------------------------------------------------------------------------


def returns_an_array_or_nothing(x):
    # and there is nothing to multiply
    found = x if x.sum() < 0 else None
    return found * 2


def carries_another_rank(x, n):
    for _ in range(n):
        x = x[None]
    return x


def carries_a_tuple_that_grows(x, n):
    found = (x[0],)
    while x[0] < n:
        found = (*found, x[0])
        x[0] += 1
    return found


def appends_in_a_loop_of_any_length(x):
    found = []
    i = 0
    while x[i] < 2:
        found.append((i, object()))
        i += 1
    return found


def appends_on_a_decision(x):
    found = [x]
    if x.sum() > 0:
        found.append({"twice": x * 2})
    return found


def reads_a_name_after_no_turn(x, n):
    for i in range(n):
        last = x[i]
    return last


def reads_a_name_of_one_branch(x):
    if x.sum() > 100:
        scale = 2.0
    return x * scale


# -- decisions ------------------------------------------------------------------------------------------------


def loops_while_an_array(x):
    while x < 10:
        x = x * 2
    return x


def compares_arrays(x, y):
    if x == y:
        return 1
    return 0


def catches_at_run_time(x, n):
    try:
        return sum_of(x, n)
    except IndexError:
        return 0.0


def recurses_on_a_value(n, path=()):
    return len(path) if n <= 1 else recurses_on_a_value(n - 1, (*path, n))


def sorts_a_list_of_values(x, y):
    return sorted([x[0], y[1]], reverse=x[2] > 1)


def indexes_a_list_by_a_value(x):
    choices = (x, x * 2, x * 3)
    return choices[: x.argmax()]


def uses_a_value_as_a_key(x):
    counts = {}
    for i in range(3):
        counts[f"{x[i:]}"] = 1
    return counts


def unrolls_too_far(x):
    found = []
    for i in range(100_000):
        found.append(lambda: x * i)
    return [make() for make in found]


def compares_text(x):
    return x if f"{x}" == "[0.]" else -x


def asserts_what_is_false(x):
    for i in range(3):
        assert x[i] < 2, f"x[{i}] is {x[i]}"
    return x


# -- the world outside -----------------------------------------------------------------------------------------


def yields(x):
    for i in range(3):
        yield x[i]


async def waits(x):
    return x


def reads_a_file(x):
    with open("weights.txt") as file:
        return x * float(file.read())


def draws(x):
    return x + np.random.SeedSequence(3).generate_state(1)[0]


def measures_time(x):
    start = time.perf_counter()
    return x * 2, time.perf_counter() - start


def reads_the_environment(x):
    return x * float(os.environ.get("SCALE", "1"))


def counts_in_a_global(x):
    global TOTAL
    TOTAL += x.sum()
    return x


def keeps_the_loss(x):
    type(MODEL).loss = x.sum()
    return x


def asks_the_user(x):
    return x * float(input())


# -- writing ---------------------------------------------------------------------------------------------------


def writes_to_what_is_read_only(x):
    x[0] = 1.0
    return x


def writes_to_a_broadcast(x):
    y = np.broadcast_to(x, (3, 4))
    y[0, 0] = 1.0
    return y


def writes_text(x):
    x[0] = "zero"
    return x


def grows_an_array(x):
    x.append(1.0)
    return x


def doubled_if_positive(x):  # noqa: RET503
    if x.sum() > 0:
        return x * 2


def sum_of(x, n):
    total = 0.0
    for i in range(n):
        total += x[i]
    return total


def _read_only() -> Any:
    array = np.arange(4.0)
    array.flags.writeable = False
    return array


CASES: list[tuple[Function, tuple[Any, ...]]] = [
    (reads_beyond_the_end_in_a_helper, (X,)),
    (writes_beyond_the_end, (X, 3)),
    (indexes_by_a_float, (X, 2)),
    (gives_too_many_indices, (X, 2)),
    (adds_slices_of_other_sizes, (X, 2)),
    (stores_another_shape, (X, 3)),
    (makes_a_negative_size, (X, 2)),
    (reshapes_to_another_size, (X, 2)),
    (steps_by_nothing, (X,)),
    (ranges_by_nothing, (X, 0)),
    (finds_the_largest_of_nothing, (X, 0)),
    (unpacks_another_number, (X,)),
    (multiplies_wrong_matrices, (M, 2)),
    (adds_a_float_to_integers, (np.arange(3), 2)),
    (divides_by_zero, (2, 0)),
    (takes_a_remainder_by_zero, (2, 0)),
    (takes_a_root_of_a_negative, (X,)),
    (overflows, (30,)),
    (raises_to_a_negative, (2, 3)),
    (inverts_a_singular_matrix, (np.ones((3, 3)),)),
    (returns_an_array_or_nothing, (X,)),
    (carries_another_rank, (X, 9)),
    (carries_a_tuple_that_grows, (X, 3)),
    (appends_in_a_loop_of_any_length, (X,)),
    (appends_on_a_decision, (X,)),
    (reads_a_name_after_no_turn, (X, 0)),
    (reads_a_name_of_one_branch, (X,)),
    (loops_while_an_array, (X,)),
    (compares_arrays, (X, X)),
    (catches_at_run_time, (X, 700)),
    (recurses_on_a_value, (5.0,)),
    (sorts_a_list_of_values, (X, X)),
    (indexes_a_list_by_a_value, (X,)),
    (uses_a_value_as_a_key, (X,)),
    (unrolls_too_far, (X,)),
    (compares_text, (X,)),
    (asserts_what_is_false, (X,)),
    (reads_a_file, (X,)),
    (draws, (X,)),
    (measures_time, (X,)),
    (reads_the_environment, (X,)),
    (counts_in_a_global, (X,)),
    (keeps_the_loss, (X,)),
    (asks_the_user, (X,)),
    (writes_to_what_is_read_only, (_read_only(),)),
    (writes_to_a_broadcast, (X,)),
    (writes_text, (X,)),
    (grows_an_array, (X,)),
]

KINDS: list[Function] = [yields, waits]
"""Functions of a kind that cannot be compiled: decorating them is the mistake."""
