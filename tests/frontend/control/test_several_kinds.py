"""Names that are of several types on the paths of a program, and objects that a path chooses: what Python gives."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.frontend.control import switching
from tests.compare import assert_same

U8 = np.array([3, 200, 7, 255, 9], np.uint8)


def largest(a: Any) -> Any:
    m = -1
    for v in a:
        if v > m:
            m = v
    return m


def largest_by_max(a: Any) -> Any:
    m = -1
    for v in a:
        m = max(m, v)
    return m


def runs(a: Any) -> Any:
    before, count = -1, 0
    for v in a:
        if v != before:
            count += 1
        before = v
    return count, before


def smallest(a: Any) -> Any:
    best = None
    for v in a:
        if best is None or v < best:
            best = v
    return best


def sum_from_zero(a: Any) -> Any:
    s = 0
    for v in a:
        s += v
    return s, sum(a)


@pytest.mark.parametrize("program", [largest, largest_by_max, runs, smallest, sum_from_zero])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64])
def test_sentinels_keep_their_type(program: Any, dtype: Any) -> None:
    compiled, a = jitflow.function(program), U8.astype(dtype)
    for given in (a, a[:1], a[:0]):
        with np.errstate(over="ignore"):
            assert_same(compiled(given), program(given))


def until(a: Any, end: float) -> Any:
    time, last = 0.0, -1.0
    while time < end and end > last and time != 7.0:
        left = min(end - time, 2.0 - last, a[0])
        last = time * left
        time += a.max()
    return time, last, left


def test_operations_are_tried_once_for_operands_of_the_same_types(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(a: Any, c: Any) -> Any:
        m = a[0] if c else 1.5
        return m * 2.0, m * a[1], m * 2.0, m * a[2], m / 2.0, m / 4.0, m / 0.0, m < a

    tried = []
    original = switching._tried
    monkeypatch.setattr(switching, "_ANSWERS", {})
    monkeypatch.setattr(switching, "_tried", lambda *args: (tried.append(args), original(*args))[1])
    a, compiled = np.array([1.0, -2.0, 3.0]), jitflow.function(program)
    with np.errstate(divide="ignore"):
        assert_same(compiled(a, True), program(a, True))
    assert len(tried) == 2 * 5  # m * 2.0, m * a[1], m / 2.0, m / 4.0 and m / 0.0, behind which m is no Python number
    with pytest.raises(ZeroDivisionError):
        compiled(a, False)


def test_what_python_checks_is_computed_once() -> None:
    def program(a: Any, c: Any, d: Any) -> Any:
        m = a[0] if c else float(a[1])
        return (m / d) ** 1.5

    compiled, a = jitflow.function(program), np.array([16.0, 4.0])
    with np.errstate(all="ignore"):
        assert_same(compiled(a, True, 0.0), program(a, True, 0.0))
        assert_same(compiled(a, True, -4.0), program(a, True, -4.0))
    assert_same([compiled(a, c, 4.0) for c in (True, False)], [program(a, c, 4.0) for c in (True, False)])
    with pytest.raises(ZeroDivisionError):
        compiled(a, False, 0.0)
    with pytest.raises(ValueError, match="depends on its value"):
        compiled(a, False, -4.0)
    text = compiled.ir(a, True, 4.0, stage="optimized")
    assert [text.count(f"= {name} %") for name in ("divide", "power")] == [2, 2]
    assert text.count("checked=true") == 2


def test_what_is_the_same_for_both_numbers_is_done_once() -> None:
    """Python asks NumPy's number for `2 < x` whether `x > 2`, and gives its own bool for its own numbers."""
    compiled, a = jitflow.function(until), np.array([0.5, 0.75])
    for end in (3.0, 1.5, 0.5):
        assert_same(compiled(a, end), until(a, end))
    text = compiled.ir(a, 3.0, stage="optimized")
    assert [text.count(f" {name} %") for name in ("subtract", "multiply", "less", "greater")] == [2, 1, 2, 2]


def stored(a: Any, c: bool) -> Any:
    m = a[0] if c else 300
    a[1] = m
    a[2:] = m
    return a


def test_a_number_of_the_dtype_of_an_array_is_stored_once_whose_ever_it_is() -> None:
    compiled, a = jitflow.function(stored), np.array([7, 2, 3])
    for c in (True, False):
        assert_same(compiled(a.copy(), c), stored(a.copy(), c))
    assert compiled.ir(a, True).count(" if ") == 1  # the one that chooses m
    small = a.astype(np.uint8)
    assert_same(compiled(small.copy(), True), stored(small.copy(), True))
    with pytest.raises(OverflowError):
        compiled(small, False)


def half(a: Any, c: bool) -> Any:
    if c:
        a = a * 0.5
    return a + 1


def remainder(a: Any, c: bool) -> Any:
    x = a.sum()
    if c:
        x = x / 2
    return x % 10


def helper(c: bool) -> Any:
    return 1 if c else 0.5


def through_a_helper(a: Any, c: bool) -> Any:
    return helper(c) * 3, a[0] + helper(c)


def zero_dimensional(a: Any, c: bool) -> Any:
    x = np.array(2.0)
    if c:
        x = a.sum()
    return x + 1, x


def number_or_array(a: Any, c: bool) -> Any:
    y = 0
    if c:
        y = a
    return y + 1


def index_or_mask(a: Any, c: bool) -> Any:
    return a[c if c else 0]


def function_of_two(a: Any, c: bool) -> Any:
    f = np.negative if c else np.square
    return f(a)


def asks_for_its_type(a: Any, c: bool) -> Any:
    x = 1 if c else a[0] * 0.5
    return isinstance(x, float), x is None, f"{x}" == "1"


def known_whatever_runs(a: Any, c: bool) -> Any:
    x = 1 if not c and not isinstance(a, list) else 2
    if c or isinstance(a, np.ndarray):
        return x, c and False, c or True
    return a.nothing


def bounds_of_a_slice(a: Any, c: bool) -> Any:
    k = 0
    for v in a:
        k = k + (v > 1)
    return a[k // 2 : k]


def list_or_another(a: Any, c: bool) -> Any:
    first = [1.0, 2.0]
    second = first
    if c:
        second = [9.0, 9.0]
    second[0] = 7.0
    return first, second


def dict_or_another(a: Any, c: bool) -> Any:
    one, other = {"n": 1.0}, {"n": 2.0}
    chosen = one if c else other
    chosen["n"] = 9.0
    return one, other


def sorts_by_sign(a: Any, c: bool) -> Any:
    positive: Any = []
    negative: Any = []
    for v in a:
        (positive if v > 5 else negative).append(v)
    return len(positive), len(negative), positive


def counts_in_a_dict(a: Any, c: bool) -> Any:
    counts = {"n": 0, "s": 1.5}
    if c:
        counts["n"] += 1
    else:
        counts["s"] = 2
    return counts


PROGRAMS = [known_whatever_runs, half, remainder, through_a_helper, zero_dimensional, number_or_array,
            index_or_mask, function_of_two,
            bounds_of_a_slice, list_or_another, dict_or_another, sorts_by_sign, counts_in_a_dict]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("a", [np.array([2**60 + 1, 3, 8]), np.array([1.5, 7.0])], ids=["int64", "float64"])
def test_paths_keep_what_they_bring(program: Any, a: Any) -> None:
    compiled = jitflow.function(program)
    for c in (True, False):
        assert_same(compiled(copy.copy(a), c), program(copy.copy(a), c))


def test_gradients_go_through_names_of_several_types() -> None:
    def loss(x: Any, c: bool) -> Any:
        total = 0
        for v in x:
            if c or v > 0:
                total = total + v * v
        return total

    x = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(jitflow.grad(loss)(x, True), 2 * x)
    np.testing.assert_array_equal(jitflow.grad(loss)(x, False), [2.0, 0.0, 6.0])


def best_that_is_there(x: Any) -> Any:
    best = None
    for v in x:
        if v > 0 and (best is None or v > best):
            best = v
    if best is None:
        return 0.0
    return best


def best_or_else(x: Any) -> Any:
    best = None
    if x[0] > 0:
        best = x[0] * 2
    return x[1] if best is None else best


@pytest.mark.parametrize("program", [best_that_is_there, best_or_else])
def test_what_a_condition_says_of_a_kind_holds_for_what_a_path_leaves(program: Any) -> None:
    """None is not among the kinds of what comes out, so it may be differentiated and stacked."""
    rows = np.array([[1.0, 3.0, 2.0], [-1.0, 2.0, 1.0], [-1.0, -2.0, -3.0]])
    assert_same(jitflow.vmap(program)(rows), np.array([program(row) for row in rows]))
    for row in rows:
        ahead, behind = (np.array([program(row + h) for h in s * 1e-6 * np.eye(3)]) for s in (1, -1))
        np.testing.assert_allclose(jitflow.grad(program)(row), (ahead - behind) / 2e-6, atol=1e-6)


def test_what_cannot_be_kept_apart_names_both_types() -> None:
    @jitflow.function
    def program(x: Any, c: bool) -> Any:
        n = 3 if c else x[0]
        return "a\tb".expandtabs(n)

    with pytest.raises((NotImplementedError, TypeError), match="is of several types") as caught:
        program(np.ones(3), True)
    assert "an int" in str(caught.value.found)
    assert "a float64" in str(caught.value.found)


def counts_to_one_of_two(a: Any, c: Any, n: Any, s: Any) -> Any:
    total = 0
    for _ in range(2.0 if c else n):
        total += 1
    return total


def takes_an_item_of_a_list_or_number(a: Any, c: Any, n: Any, s: Any) -> Any:
    q = []
    if c:
        q = 3.0
    return q[0]


def rounds_an_array_or_number(a: Any, c: Any, n: Any, s: Any) -> Any:
    if c:
        s = np.array(3)
    return round(s)


def smaller_of_two_without_axes(a: Any, c: Any, n: Any, s: Any) -> Any:
    x = np.zeros(())
    return min(x, s), max(s, x), min(x, x)


def keeps_what_no_int_is_too_large_for(a: Any, c: Any, n: Any, s: Any) -> Any:
    try:
        x = int(a[0]) > 3
        a += np.uint64(1)
    except OverflowError:
        x = None
    return x, a


@pytest.mark.parametrize(
    "program",
    [counts_to_one_of_two, takes_an_item_of_a_list_or_number, rounds_an_array_or_number, smaller_of_two_without_axes,
     keeps_what_no_int_is_too_large_for],
)  # fmt: skip
def test_what_some_kinds_cannot_do_is_raised_where_the_program_comes_to_it(program: Any) -> None:
    compiled = jitflow.function(program)
    for c in (True, False):
        given = (np.array([5, 2**53], np.uint64), c, 3, np.array(1.5))
        try:
            expected: Any = program(*copy.deepcopy(given))
        except Exception as error:
            with pytest.raises(type(error)) as found:
                compiled(*copy.deepcopy(given))
            assert str(found.value) == str(error)
            continue
        assert repr(compiled(*copy.deepcopy(given))) == repr(expected)


def promotes_by_whose_number_it_is(a: Any, c: Any, n: Any) -> Any:
    s = n if c else np.int64(n)
    ones = a > 1
    return (
        np.maximum(a, s), np.where(ones, a, s), np.clip(a, s, 9), np.add(a, s, where=ones, out=a.copy()),
        np.select([ones], [s], a), np.choose(np.arange(2), [a[:2], s]), np.concatenate([a, s], axis=None),
        np.concatenate([a, 2], axis=None), np.stack([a[0], s]), np.array([a[0], s]),
    )  # fmt: skip


@pytest.mark.parametrize("n", [2, 7])
def test_functions_promote_by_whose_number_it_is(n: int) -> None:
    compiled, a = jitflow.function(promotes_by_whose_number_it_is), np.array([0, 5, 2], np.int16)
    for c in (True, False):
        assert_same(compiled(a, c, n), promotes_by_whose_number_it_is(a, c, n))


def array_of_none(a: Any) -> Any:
    s = None
    for v in a:
        s = v
    return np.array(s)


def test_an_array_of_none_is_refused_where_the_program_comes_to_it() -> None:
    compiled, a = jitflow.function(array_of_none), U8
    assert_same(compiled(a), array_of_none(a))
    with pytest.raises(TypeError, match="an array of None"):
        compiled(a[:0])


def is_none_or_unbound(a: Any, n: Any) -> Any:
    if n > 1:
        y = n if n > 2 else None
    return y is None


def is_none_in_a_tuple_or_unbound(a: Any, n: Any) -> Any:
    if n > 1:
        y = (None if n > 2 else a, n)
    else:
        z = None
    return z if n < 2 else y


def sums_nothing_that_a_mask_asked_for(a: Any, n: Any) -> Any:
    x = a[n > 1]
    return x, sum(a * 0.5)


def sized_like_itself_beside_another_kind(a: Any, n: Any) -> Any:
    m, w = 1.5, np.zeros(len(a), bool)
    for _ in range(len(a)):
        m = m or a
        w = np.ones(len(w), np.int64)
    return m, w


def truth_of_an_array_or_number(a: Any, n: Any) -> Any:
    s = a[n > 1 if n else 0]
    return 7 if s else s


def rounds_a_truth(a: Any, n: Any) -> Any:
    return round(a.max() > n, n) if n > 1 else round(np.bool_(n))


def takes_the_largest_of_no_list(a: Any, n: Any) -> Any:
    a[:1] = 5
    return max([]) if n > 1 else a  # type: ignore[type-var]


def stores_before_what_is_no_index(a: Any, n: Any) -> Any:
    a[:1] = n
    return a[1.5]


def goes_on_with_a_position(a: Any, n: Any) -> Any:
    for v in range(n):  # noqa: B007
        pass
    for item in a:
        v = max(v, item)
    return v


def truth_of_a_selection(a: Any, n: Any) -> Any:
    count = 0
    while a[a > count]:
        count += 1
    return count


def largest_of_what_another_loop_binds(a, n):
    for m in range(n):  # noqa: B007 - what it binds is used behind it
        pass
    for i in range(len(a)):
        m = max(m, a[i])
    return m


@pytest.mark.parametrize(
    "program",
    [is_none_or_unbound, is_none_in_a_tuple_or_unbound, sums_nothing_that_a_mask_asked_for,
     sized_like_itself_beside_another_kind, truth_of_an_array_or_number, truth_of_a_selection, rounds_a_truth,
     takes_the_largest_of_no_list, stores_before_what_is_no_index, goes_on_with_a_position,
     largest_of_what_another_loop_binds],
)  # fmt: skip
@pytest.mark.parametrize("a", [U8[:0], U8[:1], U8], ids=len)
def test_values_and_errors_are_pythons(program: Any, a: Any) -> None:
    compiled = jitflow.function(program)
    for n in (0, 1, 2, 3):
        given, other = a.copy(), a.copy()
        try:
            expected: Any = program(given, n)
        except Exception as error:
            with pytest.raises(type(error)) as found:
                compiled(other, n)
            assert str(found.value) == str(error)
        else:
            assert repr(compiled(other, n)) == repr(expected)
        assert_same(other, given)


def binds_an_argument_in_turns_of_turns(a: Any, n: int) -> Any:
    for _ in range(n):
        for _ in range(n - 1):
            w = a
    return w


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_what_turns_of_turns_bind(n: int) -> None:
    assert_same_or_raised(binds_an_argument_in_turns_of_turns, np.arange(3.0), n)


def converts_one_of_two(n: int, s: Any) -> Any:
    return np.array([n or s], np.uint8)


@pytest.mark.parametrize("n", [-1, 300, 7, 0])
def test_ints_of_lists_fit_where_they_are_pythons(n: int) -> None:
    assert_same_or_raised(converts_one_of_two, n, np.int64(-3))


def assert_same_or_raised(program: Any, *arguments: Any) -> None:
    try:
        expected = program(*arguments)
    except (NameError, OverflowError) as error:
        with pytest.raises(type(error)):
            jitflow.function(program)(*arguments)
    else:
        assert_same(jitflow.function(program)(*arguments), expected)
