"""``np.nditer`` over arrays of the running program."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.truth.whole.same import assert_does_what_python_does

A = np.arange(6.0).reshape(2, 3)


def adds_elements(a, k):
    total = np.float64(0)
    for item in np.nditer(a):
        if item > k:
            total += item
    return total


def writes_elements(a, k):
    with np.nditer(a, op_flags=["readwrite"]) as elements:
        for item in elements:
            item[...] = 2 * item + k
    return a


def asks_for_indices(a, k):
    total = np.float64(0)
    elements = np.nditer(a.T, flags=["multi_index"], order="C")
    for item in elements:
        i, j = elements.multi_index
        total += i * item + j * k
    return total


def takes_two(a, k):
    total = np.float64(0)
    for one, other in np.nditer([a, a * k], op_flags=[["readwrite"], ["readonly"]]):
        total += one * other
        one[...] = other
    return total


def takes_none(a, k):
    total = k
    for item in np.nditer(a[:0], flags=["zerosize_ok"]):
        total += item
    return total


def differences(f, a, step):
    """What textbooks on networks compare their gradients with."""
    found = np.zeros_like(a)
    elements = np.nditer(a, flags=["multi_index"], op_flags=["readwrite"])
    while not elements.finished:
        place = elements.multi_index
        kept = a[place]
        a[place] = kept + step
        above = f(a)
        a[place] = kept - step
        found[place] = above - f(a)
        a[place] = kept
        elements.iternext()
    return found


def goes_on_by_itself(a, k):
    return differences(lambda v: (v * v[0]).sum() * k, a, 0.5)


def writes_by_position(a, k):
    elements, places = np.nditer(a, ["multi_index"], ["readwrite"]), []
    while True:
        elements[0] = elements[0] * k + elements.iterindex
        places.append(elements.multi_index)
        if not elements.iternext():
            return a, places, elements.finished, elements.itersize


def goes_too_far(a, k):
    elements = np.nditer(a, flags=["multi_index"])
    while elements.iternext():
        k += elements[0]
    elements.iternext()
    return k, elements.multi_index


PROGRAMS = (adds_elements, writes_elements, asks_for_indices, takes_two, takes_none, goes_on_by_itself,
            writes_by_position, goes_too_far)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_does_what_python_does(program):
    assert_does_what_python_does(program, [(A, 2), (A[:1], 0), (np.arange(24.0).reshape(4, 6), 3)])


def test_nothing_to_go_through_is_an_error():
    with pytest.raises(ValueError, match="zero-sized"):
        jitflow.function(adds_elements)(np.zeros((0, 3)), 1)


def writes_what_is_read_only(a, k):
    for item in np.nditer(a):
        item[...] = k
    return a


def test_elements_are_read_only_unless_asked_for():
    with pytest.raises(ValueError, match="read-only"):
        jitflow.function(writes_what_is_read_only)(A, 1)


def goes_as_the_memory_lies(a, k):
    return sum(item * k for item in np.nditer(a))


def goes_by_pieces(a, k):
    for piece in np.nditer(a, flags=["external_loop"]):
        k += piece.sum()
    return k


@pytest.mark.parametrize(("program", "array"), [(goes_as_the_memory_lies, A[:, ::2]), (goes_by_pieces, A)])
def test_what_depends_on_the_memory_is_refused(program, array):
    with pytest.raises(UserNotImplementedError, match=r"np\.nditer") as caught:
        jitflow.function(program)(array, 1)
    assert caught.value.mend


def goes_through_both_ways(a, k):
    elements = np.nditer(a)
    for item in elements:
        k += item
    return k, elements.finished


def test_one_that_is_gone_through_both_ways_is_refused():
    with pytest.raises(UserNotImplementedError, match="by a loop and by iternext"):
        jitflow.function(goes_through_both_ways)(A, 1)
