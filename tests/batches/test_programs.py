"""`vmap` of programs is the loop over the examples: values, types and dtypes, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.batches.programs import PROGRAMS, Program, looped, stacked
from tests.compare import ITERATED, assert_same
from tests.sampled import sampled

EACH = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


@EACH
def test_as_a_loop(program: Program) -> None:
    arguments = program.of_examples(6)
    found = jitflow.vmap(program.function, program.in_axes)(*arguments)
    assert_same(found, looped(program, program.of_examples(6)), ITERATED)
    for given, before in zip(arguments, program.of_examples(6), strict=True):
        np.testing.assert_array_equal(given, before)


@EACH
def test_inside_of_compiled_functions(program: Program) -> None:
    function, in_axes = program.function, program.in_axes

    @jitflow.function
    def whole(*arguments: Any) -> Any:
        return jitflow.vmap(function, in_axes)(*arguments)

    assert_same(whole(*program.of_examples(6)), looped(program, program.of_examples(6)), ITERATED)


@EACH
def test_one_example_and_none(program: Program) -> None:
    batched = jitflow.vmap(program.function, program.in_axes)
    assert_same(batched(*program.of_examples(1)), looped(program, program.of_examples(1)), ITERATED)
    six = looped(program, program.of_examples(6))
    assert_same(batched(*program.of_examples(0)), _none_of(six))


def _none_of(found: Any) -> Any:
    if isinstance(found, tuple | list):
        return type(found)(map(_none_of, found))
    return {key: _none_of(item) for key, item in found.items()} if isinstance(found, dict) else found[:0]


def _floats(found: Any) -> list[Any]:
    if isinstance(found, tuple | list):
        return [one for item in found for one in _floats(item)]
    if isinstance(found, dict):
        return _floats([*found.values()])
    return [found] if np.asarray(found).dtype == np.float64 else []


NOT_DIFFERENTIABLE = ("with_a_list",)
"""What of its results are floats, the run decides."""
DIFFERENTIABLE = [
    one for one in PROGRAMS if one.arguments[0].dtype == np.float64 and one.name not in NOT_DIFFERENTIABLE
]


@pytest.mark.parametrize("program", sampled(DIFFERENTIABLE, 2), ids=lambda program: program.name)
def test_gradients(program: Program) -> None:
    """Of each example, and of all at once: those that the loop over the examples finds."""

    def loss(*example: Any) -> Any:
        total = 0.0
        for item in _floats(program.function(*example)):
            total = total + (np.sin(item) * (1 + np.arange(np.size(item)).reshape(np.shape(item)))).sum()
        return total

    arguments = program.of_examples(6)
    one = Program(jitflow.grad(loss), tuple(arguments), program.in_axes)
    expected = looped(one, arguments)
    of_each = jitflow.vmap(jitflow.grad(loss), program.in_axes)(*program.of_examples(6))
    assert_same(of_each, expected, ITERATED)
    of_all = jitflow.grad(lambda *given: jitflow.vmap(loss, program.in_axes)(*given).sum())(*program.of_examples(6))
    assert_same(of_all, expected, ITERATED)


def test_batches_of_batches() -> None:
    x = PROGRAMS[0].arguments[0]
    dots = jitflow.vmap(jitflow.vmap(lambda x, y: (np.sin(x) * y).sum(), (None, 0)), (0, None))
    assert_same(dots(x, x), stacked([stacked([(np.sin(one) * other).sum() for other in x]) for one in x]), ITERATED)
