"""What is one object in Python is one object outside: among results, and with what the caller passed."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.frontend.same_objects import check_objects
from tests.sampled import sampled


def one_list_by_two_names(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    p = [a[0], 2.0]
    t = {"n": p, "k": (p, a)}
    return p, t, t["k"], t


def one_of_two_lists(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    p, q = [1.0, 2.0], [a, 3.0]
    x = p if c else q
    y = [x, p] if n else p
    return p, x, q, y


def a_list_that_a_turn_chooses(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    p, q = [1.0, 2.0], [a, 3.0]
    x = p
    for v in a:
        if v > n:
            x = q
    x[1] = 7.0
    return p, q, x


def a_list_that_a_branch_makes(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = q = [1.0, 2.0]
    if c:
        t = [a.sum(), 5.0]
        x = t if n else q
        x[0] = 7.0
    return x, q


def a_dict_behind_a_return(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    r = {"n": 1.5, "k": a[0]}
    if c:
        return None
    r["n"] = 0.0
    return a, r


def a_list_in_a_tuple(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    p, q = [1.0, 2.0], [a, 3.0]
    y = (p, 1.0) if c else (q, 2)
    return p, q, y


def a_list_that_turns_may_leave(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    p, r = [1.0, 2.0], {"n": 1.0}
    x, t = [p], r
    for v in a:
        if v > n:
            p = [v, 3.0]
    while n < 1:
        r = {"n": a[n]}
        n += 1
    p[0] = r["n"] = 7.0
    return x, p, t, r


def a_list_that_stands_twice_in_another(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    p = [1.0, a[1]]
    q = [p, p] if n else [p, [2.0, 3.0]]
    q[1][0] = 9.0
    return ((p, p) if c else None), q


def a_list_that_has_two_names_on_each_path(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = y = [1.0, 2.0]
    if c:
        x = y = [a[1], 3.0]
        t = {"n": [0.5, a[2]]}
        t["k"] = (t["n"], a)
    else:
        p = [2.0, b[1]]
        t = {"n": p, "k": (p, a)}
    t["n"][1] = y[0] = 9.0
    return x, y, t


def a_list_that_has_two_names_behind_each_turn(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = y = p = [1.0, 2.0]
    q = [p, p]
    for v in a:
        x = y = [v, 3.0]
        if v > n:
            r = [v, 1.0]
            q = [r, r]
    y[0] = q[0][1] = 9.0
    return x, y, p, q


def a_list_in_one_that_may_be_none(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    p = [1.0, a[1]]
    q = [p, p] if c else None
    t = {"n": [b[1], 2.0]} if n else 3
    if q is not None:
        q[0][0] = 5.0
    if n:
        t["n"][1] = 5.0
    return p, q, t


def one_of_two_arrays(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    w = a if c else b
    return n, w


def one_of_two_arrays_of_one_size(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    w = b if c else a
    return n, w


def a_view_or_an_array(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    w = a.ravel() if c else b
    return w, (a[1:] if n else b[::-1])


def an_array_or_a_number(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    if c:
        s = n
    return s


def an_array_of_its_own(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    w = a * 2
    x = a if c else a * 3
    return w, (w if n else x), x


def an_array_of_a_size_of_its_own(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = a[a > 1] if c else b
    return n, x


def an_array_that_turns_may_hide(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    for v in a:
        if v > n + 1:
            s = v
    return s


def a_dict_that_a_turn_changes_before_it_leaves_it(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    d = e = {"n": 0.0}
    for v in a:
        d["n"] += v
        d = {"n": d["n"]}
    return d["n"], e["n"]


def a_dict_of_other_kinds_that_turns_choose(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    p, q = {"n": 1e10, "k": c}, {"n": 1.0, "k": n}
    while n < 1:
        n += 1
        q = p
    return p, q


def a_dict_or_another_one(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    p, q = {"n": 1.0}, None
    if n:
        q = p
    r = q or {"n": 5.0}
    r["n"] = 7.0
    return p, r


def numbers_of_two_kinds_in_two_dicts(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = y = {"n": 0.0}
    for v in a:
        if v > n:
            x = {"n": v}
        x["n"] += 1.0
    return x, y


def an_array_that_only_turns_bind(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    k = None
    for v in a:
        if v > n:
            k = b
        w = a
    return w, k


def one_of_two_arrays_behind_turns(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = w = a
    z = None
    for v in a:
        if v > n:
            w = b
            z = b[:]
        x = s if c else b
    return w, x, z


def a_view_by_two_names(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    w, x = a[:], (b + 1)[1:]
    y = (b[1:] if n else a[1:]) if c else None
    return w, w, x, {"x": x}, y, y


def an_array_or_a_view_of_all_of_it(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    return a[:] if c else a


def a_view_that_one_path_binds(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    w = None
    if c:
        w = None
        if n:
            w = b[::1]
    return w


def a_view_of_one_array_or_another_array(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = a[1:] if c else b
    y = b * 2
    z = a + 1
    if n:
        y = z[:2]
    return x, b, y, z


def one_of_two_arrays_by_what_is_known(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = a if n < n else b
    y, z = a * 2, b * 2
    w = y if n > n else z
    return x, w, y, z


def a_view_of_all_of_an_array_that_a_branch_makes(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = np.zeros(len(a))
    if c:
        x = -x
    y = x.reshape(-1)
    y += 1
    return x, y


def an_array_that_turns_replace_if_there_are_any(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x, y = a, b * 2
    for _ in range(n):
        x = x + 1
        y = y + 1
    return x, {"x": x}, y


def one_new_array_by_two_names_on_one_path(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x, y = a * 2, a * 3
    if c:
        x = y = a * 4
    z = a[1:]
    w = z if n else z + 1
    return x, y, w, z


def the_array_of_the_turn_before(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x, y = a * 2, a * 3
    for i in range(n + 20):
        for j in range(n + 30):
            if a[1] * i > j + n:
                x = a + i * j
            else:
                y = x
        if y[1] > 40:
            x = y
    return x, y


def an_array_or_a_view_of_all_of_it_that_is_written_to(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = b * 2
    y = x if c else x[:]
    z = a if n else a.reshape(-1)
    y += 1
    z[0] = 5.0
    return x, y, z


def the_callers_array_unless_turns_replace_it(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = y = z = a
    while n < 1:
        x = x + 1
        n += 1
    for v in b:
        if v > n + 1:
            y = y * 2
    if c:
        z = x
    return x, y, [z], x if n else b


def an_array_or_a_number_by_two_names(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x, k = n, None
    if c:
        k = np.array(3) or n
        x = k
    r = a
    while n < 1:
        r = None if c else r * 2
        n += 1
    return x, k, r


def a_list_by_two_names_out_of_a_turn(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    for v in a:
        if v > n:
            t = [v]
            return t, {"n": t}
        if v < n and c:
            return [v], {"n": [v]}
    t = ["n", 2.0]
    return t, {"n": t}


def lists_that_turns_leave_by_two_names(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    p = q = [0.0]
    r = (p, {"n": p})
    t = None
    for v in b:
        if v > n:
            p = [v]
            r = (p, {"n": [v] if c else p})
        if v > n + 1:
            q = p
        t = {"n": v}
        u = (t, v)
    return p, q, r, t, u


def a_view_or_an_array_of_a_size_of_its_own(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x, z = b[:2], a * 2
    y = w = z[1:]
    for v in a:
        if v > n:
            x = b[b > v + 1] if c else x
            y = z[z > v]
    if c:
        w = np.concatenate((w, y))
    return x, y, w, z


def views_of_all_of_an_array_in_what_turns_leave(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    r = None
    for _ in a:
        r = [b[:]] if c else n
    return b, r


def a_view_that_turns_replace_if_there_are_any(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    x = y = b[1:]
    for i in range(n):
        x = x * 2
        y = y[y > i]
    return x, y


@pytest.mark.parametrize(
    "program",
    [one_list_by_two_names, one_of_two_lists, a_list_that_a_turn_chooses, a_list_that_a_branch_makes,
     a_list_in_a_tuple, a_dict_behind_a_return, one_of_two_arrays, a_view_or_an_array, an_array_or_a_number,
     one_of_two_arrays_of_one_size, a_list_that_turns_may_leave, a_list_that_stands_twice_in_another,
     a_list_that_has_two_names_on_each_path, a_list_that_has_two_names_behind_each_turn,
     a_list_in_one_that_may_be_none,
     an_array_that_only_turns_bind, one_of_two_arrays_behind_turns, a_view_by_two_names,
     an_array_or_a_view_of_all_of_it, a_view_that_one_path_binds, an_array_that_turns_may_hide,
     a_dict_that_a_turn_changes_before_it_leaves_it,
     a_dict_of_other_kinds_that_turns_choose, a_dict_or_another_one, numbers_of_two_kinds_in_two_dicts,
     an_array_of_its_own,
     a_view_of_one_array_or_another_array, one_of_two_arrays_by_what_is_known,
     an_array_that_turns_replace_if_there_are_any, a_view_of_all_of_an_array_that_a_branch_makes,
     an_array_of_a_size_of_its_own, one_new_array_by_two_names_on_one_path, the_array_of_the_turn_before,
     an_array_or_a_view_of_all_of_it_that_is_written_to, the_callers_array_unless_turns_replace_it,
     an_array_or_a_number_by_two_names, a_list_by_two_names_out_of_a_turn, lists_that_turns_leave_by_two_names,
     a_view_or_an_array_of_a_size_of_its_own, a_view_that_turns_replace_if_there_are_any,
     views_of_all_of_an_array_in_what_turns_leave],
)  # fmt: skip
def test_objects_are_those_of_python(program: Any) -> None:
    compiled = jitflow.function(program)
    for c, n in ((True, 1), (True, 0), (False, 1), (False, 0)):
        check_objects(compiled, program, lambda: (np.arange(3.0), np.arange(4.0), np.array(0.5)), (c, n))


def test_a_view_that_turns_make_where_others_make_an_array_of_a_size_of_its_own_is_refused_where_they_meet() -> None:
    def program(a: Any) -> Any:
        x = a
        for v in a:
            x = a[1:] if v > 2 else a[a > v]
        return x

    with pytest.raises(NotImplementedError, match="shows another array on one path") as caught:
        jitflow.function(program)(np.arange(4.0))
    assert caught.value.location.line == program.__code__.co_firstlineno + 2
    assert "copy()" in caught.value.mend


@pytest.mark.parametrize(
    "program", [lambda z: z.real if (z.imag == 0).all() else z, lambda z: z[1:] if z[0] else z * 1]
)
def test_a_part_of_an_array_that_a_path_leaves_is_no_copy(program: Any) -> None:
    compiled = jitflow.function(program)
    for z in (np.array([1 + 0j, 2]), np.array([0, 1 + 1j])):
        try:
            found = compiled(z)
        except NotImplementedError as error:
            assert "copy()" in error.mend  # type: ignore[attr-defined]
        else:
            assert np.shares_memory(found, z) == np.shares_memory(program(z), z)


def test_an_array_that_is_not_to_be_written_to_is_returned_itself() -> None:
    a, b = np.arange(3.0), np.arange(3.0)
    a.flags.writeable = False
    compiled = jitflow.function(one_of_two_arrays)
    assert compiled(a, b, 0.0, True, 1)[1] is a
    assert compiled(a, b, 0.0, False, 1)[1] is b


def test_lists_that_stand_in_each_other_many_times_are_made_once() -> None:
    @jitflow.function
    def program(a: Any) -> Any:
        p = [a * 2]
        for _ in range(30):
            p = [p, p]
        return p

    found = program(np.ones(2))
    for _ in range(30):
        assert found[0] is found[1]
        found = found[0]
    np.testing.assert_array_equal(found[0], 2 * np.ones(2))


def one_list_or_two(a: Any, b: Any, s: Any, c: Any, n: Any) -> Any:
    if c:
        x = y = [a[0]]
    else:
        x, y = [1.0], [2.0]
    if n:
        x[0] = 5.0
    return x[0] + y[0]


def test_a_change_of_what_is_one_object_on_one_path_alone_is_refused_at_the_branch() -> None:
    with pytest.raises(NotImplementedError, match="two names on one path and changes later") as caught:
        jitflow.function(one_list_or_two)(np.arange(3.0), np.arange(4.0), np.array(0.5), True, 1)
    assert caught.value.location.line == one_list_or_two.__code__.co_firstlineno + 1


def one_list_by_turns(x: Any) -> Any:
    a, b = [0.0], [1.0]
    for v in x:
        c = [v]
        a = c
        b = c
    a[0] = 7.0
    return b[0]


def one_list_on_some_turns(x: Any) -> Any:
    best, now = [x[0]], [x[1]]
    for v in x:
        now[0] = now[0] + v
        if v > 2:
            best = now
        if v < 0:
            now = [v]
    return now[0], best[0]


def one_list_before_a_loop(x: Any) -> Any:
    if x[0] > 2:
        a = b = [x[0]]
    else:
        a, b = [x[0]], [x[1]]
    for v in x:
        a[0] = a[0] + v
        if v > 10:
            a = [v]
    return a[0], b[0]


def one_list_in_nested_branches(x: Any) -> Any:
    if x[0] > 2:
        c = [x[1]]
        a = c
        b = c if x[1] > 2 else [x[0]]
    else:
        a, b = [x[0]], [x[1]]
    a[0] = 7.0
    return a[0], b[0]


@pytest.mark.parametrize("function", [one_list_by_turns, one_list_on_some_turns, one_list_in_nested_branches])
def test_a_change_of_what_is_one_object_for_some_turns_or_before_a_merge_is_refused(function: Any) -> None:
    with pytest.raises(NotImplementedError, match="two names on one path and changes later"):
        jitflow.function(function)(np.array([3.0, 1.0, 4.0, 2.0] * 10))


def test_one_list_by_two_names_before_a_loop() -> None:
    compiled = jitflow.function(one_list_before_a_loop)
    for first, large in product((3.0, 1.0), (4.0, 14.0)):
        x = np.array([first, 1.0, large, 2.0] * 10)
        assert compiled(x) == one_list_before_a_loop(x)


def list_that_a_path_changes_or_replaces(x: Any) -> Any:
    s = [0.0]
    for v in x:
        if v > 2:
            s = [v]
        else:
            s[0] = s[0] + v
    return s[0]


def list_that_turns_change_and_replace_by_one_from_before(x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    i = 0
    while i < len(x):
        a[0] = a[0] + 1.0
        if x[i] > 2:
            a = b
        i += 1
    return a[0], b[0]


def two_lists_that_turns_swap(x: Any) -> Any:
    a, b = [1.0], [2.0]
    for v in x:
        a, b = b, a
        a[0] = a[0] + v
    return a[0], b[0]


def the_best_run(x: Any) -> Any:
    run, best = [0.0], [-1.0]
    for v in x:
        run[0] = run[0] + v
        if v > 2:
            best = run
            run = [0.0]
    return run[0], best[0]


def list_of_which_turns_change_one_of_two(x: Any) -> Any:
    a, b = [1.0], [2.0]
    for v in x:
        a[0] = a[0] + v
        a = b
    return a[0], b[0]


def the_list_of_the_turn_before(x: Any) -> Any:
    now = before = [0.0]
    for v in x:
        before = now
        if v > 2:
            now = [v]
        now[0] += 1
    return now[0], before[0]


def a_list_in_a_dict_and_behind_another_name(x: Any) -> Any:
    now, kept = {"n": [0.0]}, {"n": (1.0, [1.0])}
    i = 0
    while i < len(x):
        kept["n"] = (x[i], now["n"])
        if x[i] > 0:
            now = {"n": [x[i]]} if x[i] > 2 else now
        now["n"][0] += 1
        i += 1
    return now["n"][0], kept["n"][0], kept["n"][1][0]


def two_lists_and_those_before(x: Any) -> Any:
    a, b = [0.0], [1.0]
    p, q = a, b
    for v in x:
        p, q = a, b
        if v > 2:
            a, b = b, [v]
        a[0] += 1
        q[0] += 10
    return a[0], b[0], p[0], q[0]


def a_list_that_turns_change_when_it_has_another_name(x: Any) -> Any:
    a, c = [0.0], [5.0]
    for v in x:
        b = a
        a = [v]
        if v > 2:
            c = b
        b[0] += 10
    return a[0], b[0], c[0]


@pytest.mark.parametrize("count", sampled([2, 5, 8], 2))
@pytest.mark.parametrize(
    "function",
    [
        the_list_of_the_turn_before,
        a_list_in_a_dict_and_behind_another_name,
        two_lists_and_those_before,
        a_list_that_turns_change_when_it_has_another_name,
    ],
)
def test_what_is_one_object_behind_a_branch_in_some_turns_takes_the_changes_of_both_names(
    function: Any, count: int
) -> None:
    compiled = jitflow.function(function)
    for values in ([3.0, 1.0, 1.0, 4.0, 0.0], [1.0, 3.0], [1.0], [3.0]):
        x = np.resize(values, count)
        assert compiled(x) == function(x)


def a_list_that_two_names_may_share_in_a_native_loop(x: Any) -> Any:
    now, best = [0.0], [0.0]
    for v in x:
        if v > 2:
            now = [v]
        if v > 3:
            best = now
        now[0] += 1
    return now[0], best[0]


def test_the_list_of_the_turn_before_is_known_in_native_loops() -> None:
    compiled = jitflow.function(the_list_of_the_turn_before)
    for size in (40, 3, 17):
        x = np.resize([3.0, 1.0, 4.0], size)
        assert repr(compiled(x)) == repr(the_list_of_the_turn_before(x))


def test_objects_of_too_many_turns_are_refused_and_a_copy_mends_it() -> None:
    x = np.resize([3.0, 1.0, 4.0], 40)
    with pytest.raises(NotImplementedError, match="may be one of too many objects") as caught:
        jitflow.function(a_list_that_two_names_may_share_in_a_native_loop)(x)
    assert "copy" in caught.value.mend


def the_list_of_the_turn_before_copied(x: Any) -> Any:
    now = before = [0.0]
    for v in x:
        before = now.copy()
        if v > 2:
            now = [v]
        now[0] += 1
    return now[0], before[0]


def the_item_of_the_turn_before(x: Any) -> Any:
    now = before = [0.0]
    for v in x:
        before = [now[0]]
        if v > 2:
            now = [v]
        now[0] += 1
    return now[0], before[0]


@pytest.mark.parametrize("function", [the_list_of_the_turn_before_copied, the_item_of_the_turn_before])
def test_a_copy_under_the_other_name_is_an_object_of_its_own(function: Any) -> None:
    x = np.resize([3.0, 1.0, 4.0], 40)
    assert jitflow.function(function)(x) == function(x)


@pytest.mark.parametrize("count", [1, 2, 5, 40])
@pytest.mark.parametrize(
    "function",
    [
        list_that_a_path_changes_or_replaces,
        list_that_turns_change_and_replace_by_one_from_before,
        two_lists_that_turns_swap,
        the_best_run,
        list_of_which_turns_change_one_of_two,
    ],
)
def test_lists_that_turns_change_and_replace_are_the_objects_that_they_are_in_python(function: Any, count: int) -> None:
    x = np.resize([3.0, 1.0, 1.0, 4.0, 0.0], max(count, 2))
    assert jitflow.function(function)(x) == function(x)


def the_last_two(x: Any) -> Any:
    before, now = [0.0], [1.0]
    for v in x:
        before = now
        now = [v]
    return now, before


@pytest.mark.parametrize("count", [2, 40])
def test_a_list_that_turns_hand_on_is_returned_beside_the_next(count: int) -> None:
    x = np.arange(float(count))
    assert jitflow.function(the_last_two)(x) == the_last_two(x)
