"""Programs that raise what Python or NumPy raise, from the same lines, which are in the messages: add at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[..., Any]
X = np.arange(4.0)
M = np.arange(6.0).reshape(2, 3)
CONFIG = {"rate": 0.5}


class Broke(Exception):
    """An exception with arguments and attributes of its own."""

    def __init__(self, balance, wanted):
        super().__init__(f"{wanted} is more than {balance}")
        self.balance = balance


class Account:
    def __init__(self, balance):
        self.balance = balance

    def withdraw(self, amount):
        if amount > self.balance:
            raise Broke(self.balance, amount)
        return self.balance - amount


# -- through helpers ---------------------------------------------------------------------------------------------


def ratio(a, b):
    return a // b


def sum_of_ratios(x, n):
    total = 0
    for i in range(n):
        if x[i] > 0:
            total += ratio(10, n - i - 2)
    return total


def divides_in_a_helper_of_a_helper(x, n):
    return 1 + sum_of_ratios(x, n)


def raises_its_own(x, n):
    return Account(x[n]).withdraw(2.5)


def checked(n):
    if n > 2:
        raise ValueError("too large", n)
    return n


def raises_with_arguments(n):
    return max(checked(1), checked(n))


def parsed(text):
    try:
        return int(text)
    except ValueError as error:
        raise TypeError(f"no number: {error}") from error


def reads_what_is_no_number(x):
    return x * parsed("12a")


def raises_again_in_a_helper(x, n):
    try:
        return ratio(n, n - 3)
    except ZeroDivisionError:
        x[0] = 7.0
        raise


def asserts_in_a_method_of_nothing(x, n):
    def inside(k):
        assert k < len(x), (k, "is outside")
        return x[k]

    return inside(0) + inside(n)


def stops(n):
    if n > 2:
        raise StopIteration(n)
    return n


def exits(n):
    if n > 2:
        raise SystemExit("enough")
    return n


# -- lists, dicts and numbers ------------------------------------------------------------------------------------


def pops_from_nothing(n):
    items = [1.0]
    for _ in range(n):
        items.pop()
    return items


def reads_a_list_too_far(n):
    items = [1.0, 2.0]
    return items[n]


def removes_what_is_not_there(x):
    items = [1, 2]
    items.remove(5)
    return x


def misses_a_key(x):
    return x * CONFIG["decay"]


def misses_a_key_that_is_a_number(x):
    return {1: x, 2: -x}[3]


def converts_text(x):
    return x * int("12a")


def converts_a_nan(x):
    return int(x[0] / x[1] * float("nan"))


def converts_an_infinity(x):
    return int(x[1] * float("inf"))


def takes_a_logarithm(s):
    return math.log(s)


def takes_an_exponential(s):
    return math.exp(s)


def takes_a_factorial(n):
    return math.factorial(n)


def shifts_by_a_negative(n):
    return 1 << n


def divides_floats(s):
    return 1.0 / s


def takes_a_float_modulo(s):
    return 5.0 % s


def raises_zero_to_a_negative(s):
    return s**-1.0


def calls_none(x):
    function = None
    return function(x)


def indexes_none(x):
    found = None
    return found[0]


def adds_text_and_a_number(x):
    return x, "a" + 1


def leaves_out_an_argument(x):
    return ratio(x)


def gives_an_unknown_keyword(x):
    return ratio(x, b=1, c=2)


def takes_the_next_of_nothing(x):
    return next(iter([])) + x


def zips_what_differs(x):
    return [a + b for a, b in zip([1, 2], [3], strict=True)], x


def misses_an_attribute_of_a_module(x):
    return math.sine(x[0])


def orders_what_has_no_order(x):
    return x, [] < 1


# -- arrays ------------------------------------------------------------------------------------------------------


def stacks_other_shapes(x, y):
    return np.stack([x, y])


def puts_rows_of_other_lengths_below_each_other(x, y):
    return np.vstack([x, y])


def multiplies_vectors_of_other_lengths(x, y):
    return np.dot(x, y)


def transposes_by_a_wrong_axis(a):
    return np.transpose(a, (0, 2))


def squeezes_an_axis_that_is_long(a):
    return a.squeeze(0)


def factors_what_is_not_definite(a):
    return np.linalg.cholesky(a)


def solves_other_sizes(a, x):
    return np.linalg.solve(a, x)


def splits_unevenly(x):
    return np.split(x, 3)


def finds_the_place_of_the_largest_of_nothing(x, n):
    return x[:n].argmax()


def selects_by_a_mask_of_another_length(x, y):
    return x[y > 0]


def takes_a_number_of_many(x):
    return float(x)


def makes_an_array_of_other_lengths(x):
    return np.array([[1.0, 2.0], [3.0]]) + x[0]


def takes_rows_that_are_not_there(a, k):
    return a[k]


def stores_at_what_is_not_there(x, n):
    for i in range(n):
        x[i] = i
    return x


def repeats_a_negative_number_of_times(x, n):
    return np.repeat(x, n)


def reshapes_to_two_unknowns(x):
    return x.reshape(-1, -1)


def counts_negative_numbers(k):
    return np.bincount(k)


def inverts_what_is_no_square(a):
    return np.linalg.inv(a)


def norms_by_an_unknown_order(x):
    return np.linalg.norm(x, "other")


def clips_without_bounds_of_one_shape(x, y):
    return np.clip(x, y, 5.0)


def draws_a_grid_of_wrong_indexing(x):
    return np.meshgrid(x, x, indexing="yx")


def interpolates_nothing(x):
    return np.interp(x, x[:0], x[:0])


def writes_a_row_of_another_length(a, x):
    a[0] = x
    return a


def divides_integers(n):
    return 1 / n


def subtracts_from_text(n):
    return "a" - n


def adds_to_text(n):
    return "a" + n


def repeats_a_list(s):
    return [1.0] * s


def stores_to_an_element_of_a_number(x):
    row = x[0]
    row[0] = 1.0
    return x


def deletes_an_element_of_an_argument(n):
    del n[0]


def asks_for_the_length_of_a_sum(x):
    return len(x.sum())


CASES: list[tuple[Program, tuple[Any, ...]]] = [
    (divides_in_a_helper_of_a_helper, (np.arange(5), 5)),
    (raises_its_own, (X, 1)),
    (raises_with_arguments, (5,)),
    (reads_what_is_no_number, (X,)),
    (raises_again_in_a_helper, (X, 3)),
    (asserts_in_a_method_of_nothing, (X, 9)),
    (stops, (5,)),
    (pops_from_nothing, (3,)),
    (reads_a_list_too_far, (2,)),
    (removes_what_is_not_there, (X,)),
    (misses_a_key, (X,)),
    (misses_a_key_that_is_a_number, (X,)),
    (converts_text, (X,)),
    (converts_a_nan, (X,)),
    (converts_an_infinity, (X,)),
    (takes_a_logarithm, (0.0,)),
    (takes_an_exponential, (1000.0,)),
    (takes_a_factorial, (-1,)),
    (shifts_by_a_negative, (-1,)),
    (divides_floats, (0.0,)),
    (takes_a_float_modulo, (0.0,)),
    (raises_zero_to_a_negative, (0.0,)),
    (calls_none, (X,)),
    (divides_integers, (0,)),
    (subtracts_from_text, (1,)),
    (adds_to_text, (1.5,)),
    (repeats_a_list, (1.5,)),
    (indexes_none, (X,)),
    (adds_text_and_a_number, (X,)),
    (leaves_out_an_argument, (1,)),
    (gives_an_unknown_keyword, (1,)),
    (takes_the_next_of_nothing, (X,)),
    (zips_what_differs, (X,)),
    (misses_an_attribute_of_a_module, (X,)),
    (orders_what_has_no_order, (X,)),
    (stacks_other_shapes, (X, X[:3])),
    (puts_rows_of_other_lengths_below_each_other, (X, X[:3])),
    (multiplies_vectors_of_other_lengths, (X, X[:3])),
    (transposes_by_a_wrong_axis, (M,)),
    (squeezes_an_axis_that_is_long, (M,)),
    (factors_what_is_not_definite, (-np.eye(2),)),
    (solves_other_sizes, (np.eye(3), X)),
    (splits_unevenly, (X,)),
    (finds_the_place_of_the_largest_of_nothing, (X, 0)),
    (selects_by_a_mask_of_another_length, (X, X[:3])),
    (takes_a_number_of_many, (X,)),
    (makes_an_array_of_other_lengths, (X,)),
    (takes_rows_that_are_not_there, (M, np.array([0, 5]))),
    (stores_at_what_is_not_there, (X, 6)),
    (repeats_a_negative_number_of_times, (X, -1)),
    (reshapes_to_two_unknowns, (X,)),
    (counts_negative_numbers, (np.array([1, -1]),)),
    (inverts_what_is_no_square, (M,)),
    (norms_by_an_unknown_order, (X,)),
    (clips_without_bounds_of_one_shape, (X, X[:3])),
    (draws_a_grid_of_wrong_indexing, (X,)),
    (interpolates_nothing, (X,)),
    (writes_a_row_of_another_length, (M, X)),
    (stores_to_an_element_of_a_number, (X,)),
    (stores_to_an_element_of_a_number, ([1, 2],)),
    (deletes_an_element_of_an_argument, (3,)),
    (asks_for_the_length_of_a_sum, (X,)),
]
