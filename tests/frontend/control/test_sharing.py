"""Helpers that branch and call one another in their branches: one copy for both paths, and Python's results."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import jitflow
from benchmarks.compile_time import load

LEVELS = 4
BODIES = {
    "elif": "if x.sum() > {d}: return {call}(x + 1) * 2\n"
    "    elif x[0] < -{d}: return {call}(x - 1)\n"
    "    return {call}(x * 0.5)",
    "expression": "return {call}(x + 1) * 2 if x.sum() > {d} else {call}(x=x * 0.5)",
    "before and after": "if x.sum() > {d}:\n        t = x * 3\n        y = {call}(t) + t\n"
    "    else:\n        t = x - 4\n        y = {call}(t) * 0.5 - t\n    return y",
    "one path": "if x.sum() > {d}: return {call}(x + 1)\n    return x * {d}",
    "raises": "if x.sum() > 9 * {d}: raise ValueError('large')\n"
    "    if x.sum() > {d}: return {call}(x + 1)\n    return {call}(x - 1)",
    "writes to what it made": "y = x * 2\n    if x.sum() > {d}: y[0] = {call}(x + 1)[0]\n"
    "    else: y[1] = {call}(x - 1)[0]\n    return y",
    "writes to its argument": "if x.sum() > {d}:\n        x[0] += 1\n        return {call}(x)\n"
    "    x[1] -= 1\n    return {call}(x)",
    "writes to what it passed": "if x.sum() > {d}:\n        t = x + 1\n        y = {call}(t)\n        t[0] = 7\n"
    "    else:\n        t = x - 1\n        y = {call}(t)\n        t[1] = 7\n    return y + t",
}
ARGUMENTS = [np.array(row) for row in itertools.product((-3.0, 0.5, 6.0), (-2.0, 4.0))]


@pytest.mark.parametrize("kind", BODIES)
def test_results_are_pythons(kind: str, tmp_path: Path) -> None:
    lines = ["def helper0(x):", "    return x"]
    for level in range(1, LEVELS + 1):
        lines += [f"def helper{level}(x):", "    " + BODIES[kind].format(d=level, call=f"helper{level - 1}")]
    lines += ["def program(x):", f"    return helper{LEVELS}(x)"]
    plain = load("\n".join(lines), tmp_path / "program")
    compiled = jitflow.function(plain)
    for argument in ARGUMENTS:
        ours, theirs = argument.copy(), argument.copy()
        try:
            expected = plain(theirs)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)):
                compiled(ours)
        else:
            np.testing.assert_allclose(compiled(ours), expected, rtol=1e-14)
        np.testing.assert_array_equal(ours, theirs)


def descends(x, n):
    if n == 0:
        return x
    return descends(x + 1, n - 1) if x > 0 else descends(x - 1, n - 1)


def descends_far(x):
    return descends(x, 40)


def test_recursion_of_literal_depth_is_as_long_as_it_is_deep() -> None:
    compiled = jitflow.function(descends_far)
    assert [compiled(x) for x in (0.5, -0.5, 0.0)] == [40.5, -40.5, -40.0]


NUMBERS = {
    "factors": (9, "return x * k", "{call}(x, k + 1)", "{call}(x, k * 2)"),
    "flags": (12, "return x * 2 if k else x", "{call}(x, True)", "{call}(x, False)"),
    "sizes": (3, "return x[:k]", "{call}(x, 1)", "{call}(x, 2)"),  # each is compiled for itself
    "depths": (1, "return x if k <= 0 else helper1(x * 2, k)", "{call}(x * 0.5, k - 3)", "{call}(x + 1, k - 4)"),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_calls_that_differ_by_a_number_are_one(kind: str, tmp_path: Path) -> None:
    levels, last, then, otherwise = NUMBERS[kind]
    lines = ["def helper0(x, k):", f"    {last}"]
    for level in range(1, levels + 1):
        call = f"helper{level - 1}"
        lines += [f"def helper{level}(x, k):", f"    if x.sum() > {level}: return {then.format(call=call)}"]
        lines += [f"    return {otherwise.format(call=call)}"]
    lines += ["def program(x):", f"    return helper{levels}(x, {7 if kind == 'depths' else 1})"]
    program = load("\n".join(lines), tmp_path / "numbers")
    function = jitflow.function(program)
    for x in ARGUMENTS[:2]:
        np.testing.assert_array_equal(function(x), program(x))
