"""What is one object in Python is one where a path returns something else: the whole is of several kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.frontend.same_objects import check_objects


def a_list_behind_a_loop_with_a_return(x: Any, n: Any) -> Any:
    m = x
    for _ in range(n):
        if m is None:
            return 1
    else:
        m = [1, 2]
    if n != 2:
        z = m
    return (m, z) if n > 2 else (m, 1)


def a_list_that_is_bound_on_one_path(x: Any, n: Any) -> Any:
    if n == 1:
        return 1
    m = [1, n]
    if n != 2:
        z = m
    return (m, z) if n > 2 else (m, 1)


def an_array_that_is_bound_on_one_path(x: Any, n: Any) -> Any:
    if n == 1:
        return 1
    m = np.zeros(2)
    if n != 2:
        z = m
    return (m, z) if n > 2 else (m, 1)


def an_array_by_two_names(x: Any, n: Any) -> Any:
    if n == 1:
        return None
    m = x * 2
    return [m, [m, {"q": (m, x)}]]


def a_list_by_names_at_several_depths(x: Any, n: Any) -> Any:
    if n == 1:
        return None
    m = [1.0, n]
    return m, {"x": m}, [m]


def one_of_two_arrays(x: Any, n: Any) -> Any:
    if n == 1:
        return None
    m, z = x * 2, x * 3
    if n > 2:
        z = m
    return m, z


def an_array_or_a_view_of_another_type(x: Any, n: Any) -> Any:
    z = x + 1j
    y = z.real if n > 1 else z
    return (y, [y]) if n else y


def one_of_two_arrays_in_an_attempt(x: Any, n: Any) -> Any:
    try:
        m = x * 2
        if n == 1:
            raise ValueError
        z = m
        if n == 3:
            z = x
    except ValueError:
        return None
    return m, z


def one_of_two_arrays_of_a_turn(x: Any, n: Any) -> Any:
    r = None
    for i in range(n):
        if i == 5:
            return r
        m = x * i
        r = [m, m if i > 1 else x]
    return r


def an_array_in_tuples_of_two_kinds(x: Any, n: Any) -> Any:
    r = s = None
    if n > 2:
        s = x * 2
        r = (s, 1)
    elif n == 1:
        s = x * 3
        r = (s, 2.0)
    return r, s


def an_array_that_leaves_a_loop_by_two_names(x: Any, n: Any) -> Any:
    r = None
    while n > 0:
        n -= 1
        y = x + n
        if n == 2:
            r = (y, y)
            break
        if n == 5:
            r = (y, x)
    return r


def lists_that_a_path_swaps(x: Any, n: Any) -> Any:
    if n == 1:
        return None
    a, b = [1.0, n], [2.0, n]
    if n > 2:
        a, b = b, a
    return a, b


def a_dict_that_a_path_has_of_a_loop(x: Any, n: Any) -> Any:
    d: Any = {}
    d.setdefault(n, []).append(n % 3)
    if n > 2:
        return 1
    for _ in x.tolist():
        return d
    return [], 1


@pytest.mark.parametrize(
    "program",
    [a_dict_that_a_path_has_of_a_loop,
     a_list_behind_a_loop_with_a_return, a_list_that_is_bound_on_one_path, an_array_that_is_bound_on_one_path,
     an_array_by_two_names, a_list_by_names_at_several_depths, one_of_two_arrays,
     an_array_or_a_view_of_another_type, one_of_two_arrays_in_an_attempt,
     one_of_two_arrays_of_a_turn, an_array_in_tuples_of_two_kinds, an_array_that_leaves_a_loop_by_two_names,
     lists_that_a_path_swaps],
)  # fmt: skip
def test_what_is_one_object_is_returned_as_one(program: Any) -> None:
    compiled = jitflow.function(program)
    for n in (0, 1, 2, 3, 7):
        check_objects(compiled, program, lambda: (np.array([1.5, -1.5]),), (n,))


def a_list_or_none(n: Any) -> Any:
    if n == 1:
        return 1
    m, z = [1, n], None
    if n > 2:
        z = m
    return m, z


def a_dict_or_another(n: Any) -> Any:
    r = None
    if n != 1:
        m = {"a": n}
        r = m, m if n > 2 else {"a": 5}
    return r


def a_list_in_what_two_names_are(n: Any) -> Any:
    r = s = None
    if n != 1:
        m = [1.0, n]
        r, s = (m, 1), [m]
    return r, s


@pytest.mark.parametrize("program", [a_list_or_none, a_dict_or_another, a_list_in_what_two_names_are])
def test_what_only_a_path_knows_is_one_object_by_two_names(program: Any) -> None:
    compiled = jitflow.function(program)
    for n in (0, 1, 2, 3, 7):
        check_objects(compiled, program, tuple, (n,))


def a_list_or_none_that_is_made_before(n: Any) -> Any:
    m, z = [1, n], None
    if n == 1:
        return 1
    if n > 2:
        z = m
    return m, z


def test_what_is_made_before_the_branch_is_returned_as_one() -> None:
    compiled = jitflow.function(a_list_or_none_that_is_made_before)
    for n in (0, 1, 3):
        check_objects(compiled, a_list_or_none_that_is_made_before, tuple, (n,))
