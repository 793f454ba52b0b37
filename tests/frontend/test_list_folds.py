"""`sum`, `max`, `sorted` and NumPy's functions, of lists whose items only the running program knows."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow

U = np.array([3.0, -1.0, 4.0, 0.0, -5.0, 2.0])


def listed(u):
    return u.tolist()


def grown(u):
    kept = []
    for i in range(len(u)):
        if u[i] == u[i]:
            kept.append(u[i].item())
    return kept


@pytest.fixture(params=[listed, grown], ids=lambda make: make.__name__)
def make(request):
    return request.param


def test_a_sum_that_no_int_holds_is_an_error(make):
    total = jitflow.function(lambda u: sum(make(u)))
    assert total(np.array([2**62, 2**62 - 1, -5])) == 2**63 - 6
    with pytest.raises(OverflowError, match="64-bit int"):
        total(np.array([2**62, 2**62]))


@pytest.mark.parametrize("best", [max, min])
def test_an_empty_list_has_no_best_item(make, best):
    compiled = jitflow.function(lambda u: best(make(u)))
    assert compiled(U) == best(U)
    with pytest.raises(ValueError, match="empty"):
        compiled(U[:0])


def test_an_empty_array_has_no_best_item():
    with pytest.raises(ValueError, match="empty"):
        jitflow.function(lambda u: max(u))(U[:0])
    with pytest.raises(ValueError, match="empty"):
        jitflow.function(lambda u: min(u[:0]))(U)


def test_complex_numbers_of_python_have_no_order(make):
    one, several = np.array([1j]), np.array([1j, 2, 3])
    for function in (max, min, sorted):
        compiled = jitflow.function(lambda u, function=function: function(make(u)))
        assert compiled(one) == function(one.tolist())
        with pytest.raises(TypeError) as expected:
            function(several.tolist())
        with pytest.raises(TypeError) as found:
            compiled(several)
        assert str(found.value).startswith(str(expected.value))


def sorted_in_place(u):
    items = grown(u)
    items.append(u[0].item() / 2)
    items.sort()
    return items


def nans_sorted_in_place(u):
    items = []
    for i in range(len(u)):
        if u[i] != 0:
            items.append(u[i] / np.abs(u[i]) if u[i] > 0 else u[i] * np.nan)
    items.sort()
    return items


def test_lists_with_nan_are_not_sorted():
    assert jitflow.function(sorted_in_place)(U) == sorted_in_place(U)
    assert jitflow.function(nans_sorted_in_place)(np.abs(U)) == [1.0] * 5
    with pytest.raises(NotImplementedError, match="nan"):
        jitflow.function(nans_sorted_in_place)(U)
    with pytest.raises(NotImplementedError, match="nan"):
        jitflow.function(lambda u: sorted(u.tolist()))(U * np.nan)


def test_they_are_operands_and_indices(make):
    places = np.array([2, 0, 2, 5])

    @jitflow.function
    def program(u, places):
        items = make(places)
        u[items] += 1
        return u[items], np.sqrt(items), np.add(items, 1), np.maximum(2, items)

    taken, roots, more, at_least = program(U.copy(), places)
    np.testing.assert_array_equal(taken, U[places] + 1)
    np.testing.assert_array_equal(roots, np.sqrt(places))
    np.testing.assert_array_equal(more, places + 1)
    np.testing.assert_array_equal(at_least, np.maximum(2, places))
