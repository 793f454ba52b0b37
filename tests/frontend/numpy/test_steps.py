"""Slices whose steps only the running program knows: reading and writing, forwards and backwards."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same

BOUNDS = (None, 0, 1, 3, 9, 10, 40, -1, -4, -10, -11, -60)
STEPS = (1, 2, 3, 10, 11, 2**62, -1, -2, -7, -10, -11, -(2**63))


def test_all_bounds_and_steps():
    def between(x, bounds):
        return x[bounds[0] : bounds[1] : bounds[2]]

    def from_start(x, bounds):
        return x[bounds[0] :: bounds[2]]

    def to_stop(x, bounds):
        return x[: bounds[1] : bounds[2]]

    def whole(x, bounds):
        return x[:: bounds[2]]

    functions = {function: jitflow.function(function) for function in (between, from_start, to_stop, whole)}
    for size, start, stop, step in itertools.product((0, 1, 10), BOUNDS, BOUNDS, STEPS):
        bounds = np.array([0 if start is None else start, 0 if stop is None else stop, step])
        names = {(True, True): whole, (False, True): from_start, (True, False): to_stop, (False, False): between}
        function = names[start is None, stop is None]
        x = np.arange(float(size))
        assert_same(functions[function](x, bounds), function(x, bounds))
    assert all(compiled.cache_info().misses <= 2 for compiled in functions.values())  # size 1 is another


def program_of_arguments(x, k, j):
    y = x[::k].copy()
    x[j::k] = 7
    x[::-k] += 0.5
    x[j : -1 : 2 * k] *= 2
    return y, x[j::k], x[:j:-k]


def program_of_a_loop(x, k, j):
    total = np.zeros(x.shape)
    for i in range(1, k + 2):
        total[::i] += x[::i]
        x[i * i :: i] -= 0.25
        total[-i:j:-i] += 1
    return total


def program_of_data(x, k, j):
    steps = np.array([k, -k, k + j])
    for i in range(3):
        x[:: steps[i]] += i
        x[steps[i] :: steps[2 - i]] = x[0]
    return x[:: steps[1]][:: steps[0]]


def program_of_two_axes(x, k, j):
    a = np.outer(x, x)
    p = 1
    while p <= k:
        a[::p, ::-p] += 1.0
        b = a[::p].T[::p]
        b[0] = p
        p += j + 1
    return a


@pytest.mark.parametrize("function", [program_of_arguments, program_of_a_loop, program_of_data, program_of_two_axes])
def test_it_writes_as_numpy_does(function):
    compiled = jitflow.function(function)
    for size, k, j in itertools.product((12, 2, 40), (2, 3, 13), (2, 3)):
        x = np.linspace(1, 2, size)
        ours, theirs = x.copy(), x.copy()
        assert_same(compiled(ours, k, j), function(theirs, k, j))
        assert_same(ours, theirs)


@pytest.mark.parametrize("steps", [np.array([2, 0]), np.array([-2, 0])])
def test_no_step_is_zero(steps):
    def stepped(x, steps):
        x[:: steps[0]] = 1
        return x[:: steps[1]]

    def of_argument(x, step):
        return x[::step]

    x = np.zeros(5)
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        jitflow.function(stepped)(x, steps)
    assert_same(x, np.array([1.0, 0, 1, 0, 1]))
    compiled = jitflow.function(of_argument)
    assert_same(compiled(x, 2), x[::2])
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        compiled(x, 0)


def test_steps_are_integers():
    def stepped(x, step):
        return x[::step]

    for step in (1.5, np.float64(2)):
        with pytest.raises(TypeError, match="slice indices must be integers"):
            jitflow.function(stepped)(np.zeros(5), step)


def test_a_slice_of_one_element_is_empty_beyond_the_end():
    def written(x, n):
        part = x[n : n + 1]
        part += 1
        return part, part.sum(), x

    compiled = jitflow.function(written)
    for n in range(-6, 7):
        assert_same(compiled(np.arange(4.0), n), written(np.arange(4.0), n))
