"""Names that only some paths or turns bind: Python's error where they are read unbound, whatever they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow


def a_list(x: Any) -> Any:
    if x[0] > 2:
        g = []
    return g


def nested_empty_ones(x: Any) -> Any:
    if x[0] > 2:
        g = ((), {"k": []})
    else:
        h = 3  # noqa: F841 - the other path
    return g


def a_dict_of_some_turns(x: Any) -> Any:
    for v in x:
        if v > 4:
            g = {}
    return g


def a_tuple_of_the_last_turn(x: Any) -> Any:
    i = 0
    while i < len(x):
        if x[i] > 4:
            g = ()
            break
        i += 1
    return g


def a_list_that_is_filled(x: Any) -> Any:
    for v in x:
        if v > 4:
            g = []
    g.append(3)
    return g


def a_list_of_as_many(x: Any, n: Any) -> Any:
    if x[0] > 2:
        g = [(v, x) for v in range(n)]
    g[::2]
    return n


def one_that_is_caught(x: Any) -> Any:
    if x[0] > 2:
        g = []
    try:
        return g
    except UnboundLocalError:
        return 3


@pytest.mark.parametrize(
    "program",
    [a_list, nested_empty_ones, a_dict_of_some_turns, a_tuple_of_the_last_turn, a_list_that_is_filled,
     a_list_of_as_many, one_that_is_caught],
)  # fmt: skip
@pytest.mark.parametrize("first", [1.0, 3.0])
def test_what_is_empty_may_be_unbound(program: Any, first: float) -> None:
    more = (0,) if program is a_list_of_as_many else ()
    compiled = jitflow.function(program)
    for last in (2.0, 5.0):
        x = np.array([first, 1.0, last])
        try:
            expected = program(x, *more)
        except UnboundLocalError as error:
            with pytest.raises(UnboundLocalError) as caught:
                compiled(x, *more)
            assert str(caught.value).startswith(str(error))
        else:
            assert repr(compiled(x, *more)) == repr(expected)


def in_a_generator_expression(x: Any, n: Any) -> Any:
    for i in range(n):
        mask = x > i
    return sum(x[mask == j].sum() for j in range(2))


def in_one_that_goes_through_it(x: Any, n: Any) -> Any:
    if n > 1:
        y = x
    return max(v for v in y)


def in_its_condition(x: Any, n: Any) -> Any:
    while n > 0:
        y = x[n]
        n -= 1
    return any(v == y for v in x if v != y), [v * y for v in range(2)]


def in_a_class(x: Any, n: Any) -> Any:
    for i in range(n):
        y = x[i] * 2

    class A:
        z = y
        both = sum(y + k for k in range(2))

    return A.z, A.both


def in_a_class_of_a_function(x: Any, n: Any) -> Any:
    for i in range(n):
        y = x[i] * 2

    def inside() -> Any:
        class A:
            z = y

        return A.z

    return inside()


def added_to_by_a_function(x: Any, n: Any) -> Any:
    for i in range(n):
        y = x[i] * 2

    def inside() -> Any:
        nonlocal y
        y += 1
        return y

    return inside(), y


def deleted_by_a_function(x: Any, n: Any) -> Any:
    for i in range(n):
        y = x[i]

    def inside() -> None:
        nonlocal y
        del y

    inside()
    y = n
    return y


@pytest.mark.parametrize(
    "program",
    [in_a_generator_expression, in_one_that_goes_through_it, in_its_condition, in_a_class, in_a_class_of_a_function,
     added_to_by_a_function, deleted_by_a_function],
)  # fmt: skip
def test_functions_inside_ask_as_well(program: Any) -> None:
    compiled, x = jitflow.function(program), np.array([1.0, 2.0, 3.0])
    assert repr(compiled(x, 2)) == repr(program(x, 2))
    with pytest.raises(NameError) as expected:
        program(x, 0)
    with pytest.raises(NameError) as caught:
        compiled(x, 0)
    assert caught.type is expected.type
    assert str(caught.value) == str(expected.value)


def test_an_attribute_that_is_lacked_on_a_path_that_is_not_taken() -> None:
    def program(x: Any, n: Any) -> Any:
        if x[0] > 2:
            n.append(3)
        elif x[1] > 2:
            x.insert(0, 1)
        elif x[1] < 0:
            (n, x).pop()
        return n

    compiled = jitflow.function(program)
    x = np.array([1.0, 1.0])
    assert compiled(x, 2) == 2
    for y, kind in ((np.array([3.0, 1.0]), "int"), (np.array([1.0, 3.0]), "numpy.ndarray"), (-x, "tuple")):
        with pytest.raises(AttributeError, match=f"'{kind}' object has no attribute"):
            compiled(y, 2)
