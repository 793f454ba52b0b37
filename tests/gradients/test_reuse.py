"""Gradients that are asked for again are compiled once, and never those of another function."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.compilation.compiler import Compilation


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """An item for each compilation since the test began."""
    found: list[None] = []
    made = Compilation.__init__

    def noted(self: Compilation, *args: Any, **kwargs: Any) -> None:
        found.append(None)
        made(self, *args, **kwargs)

    monkeypatch.setattr(Compilation, "__init__", noted)
    return found


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """Whether a function is in use must not depend on when the garbage collector comes."""
    gc.disable()
    yield
    gc.enable()


def squares(w: Any, scale: float) -> Any:
    return scale * np.sum(w**2)


def scaled_gradient(scale: float) -> Callable[[Any], Any]:
    return jitflow.grad(lambda w: squares(w, scale))


def test_the_same_function_gives_the_same_gradient() -> None:
    assert jitflow.grad(squares) is jitflow.grad(squares)
    assert jitflow.grad(squares) is not jitflow.grad(squares, argnums=1)
    assert jitflow.grad(squares) is not jitflow.value_and_grad(squares)
    assert jitflow.grad(squares) is not jitflow.jacobian(squares)


def test_a_lambda_in_a_loop_is_compiled_once(compilations: list[None]) -> None:
    for turn in range(5):
        scale = float(turn)
        gradient = jitflow.grad(lambda w: squares(w, scale))(np.ones(3))
        np.testing.assert_array_equal(gradient, 2 * turn)
    assert len(compilations) == 1


def test_a_lambda_in_a_function_is_compiled_once(compilations: list[None]) -> None:
    for turn in range(5):
        np.testing.assert_array_equal(scaled_gradient(turn + 0.5)(np.ones(3)), 2 * turn + 1)
    assert len(compilations) == 1


def test_gradients_that_are_held_stay_as_they_are() -> None:
    held = [scaled_gradient(float(turn)) for turn in range(12)]
    for _ in range(2):
        for turn, gradient in enumerate(held):
            np.testing.assert_array_equal(gradient(np.ones(3)), 2 * turn)


def test_a_gradient_of_which_only_what_it_runs_is_held_stays_as_it_is() -> None:
    first = jitflow.function(scaled_gradient(1.0), fastmath=True)
    second = jitflow.grad(lambda w: np.sum(scaled_gradient(3.0)(w)))
    for scale in (2.0, 4.0):
        np.testing.assert_array_equal(scaled_gradient(scale)(np.ones(3)), 2 * scale)
    np.testing.assert_array_equal(first(np.ones(3)), 2.0)
    np.testing.assert_array_equal(second(np.ones(3)), 6.0)


def test_gradients_of_gradients_stay_as_they_are() -> None:
    def second(scale: float) -> Any:
        return jitflow.grad(jitflow.grad(lambda w: scale * w**3))

    held = [second(float(turn)) for turn in range(3)]
    for turn, gradient in enumerate(held):
        assert gradient(2.0) == 12.0 * turn
        assert second(turn + 10.0)(1.0) == 6.0 * (turn + 10)


def test_methods_of_other_objects_are_compiled_once(compilations: list[None]) -> None:
    class Model:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def loss(self, w: Any) -> Any:
            return squares(w, self.scale)

    for turn in range(3):
        np.testing.assert_array_equal(jitflow.grad(Model(turn + 1.0).loss)(np.ones(3)), 2 * turn + 2)
    assert len(compilations) == 1


def test_functions_that_share_a_cell_see_the_same_array() -> None:
    def sum_of_parts(x: Any) -> Any:
        def first(w: Any) -> Any:
            return np.sum(w * x)

        def both(w: Any) -> Any:
            return first(w) + np.sum(w**2 * x)

        return jitflow.grad(both)

    for turn in range(1, 4):
        x = np.arange(3.0) * turn
        np.testing.assert_array_equal(sum_of_parts(x)(np.ones(3)), 3 * x)


def test_variables_are_part_of_what_a_gradient_is() -> None:
    first, second = jitflow.Variable(np.ones(2)), jitflow.Variable(np.full(2, 3.0))

    def loss() -> Any:
        return np.sum(first[...] * second[...] ** 2)

    np.testing.assert_array_equal(jitflow.grad(loss, variables=[first])()[0], 9.0)
    np.testing.assert_array_equal(jitflow.grad(loss, variables=[second])()[0], 6.0)
    assert jitflow.grad(loss, variables={"w": first}) is jitflow.grad(loss, variables={"w": first})


def test_a_pullback_of_a_lambda_is_compiled_once(compilations: list[None]) -> None:
    def pulled(scale: float) -> Any:
        _, pull = jitflow.vjp(lambda w: w**2 * scale, np.ones(2))
        return pull(np.ones(2))[0]

    pulled(1.0)
    for turn in range(3):
        np.testing.assert_array_equal(pulled(turn + 1.0), 2 * turn + 2)
    assert len(compilations) == 2  # the function and what pulls back


def test_a_function_given_as_an_argument_may_be_another_one_of_the_same_code() -> None:
    @jitflow.function
    def newton(f: Any, x: float) -> float:
        for _ in range(20):
            x = x - f(x) / jitflow.grad(f)(x)
        return x

    def root(number: float) -> Any:
        return newton(lambda x: x**2 - number, 1.0)

    assert [root(4.0), root(9.0), root(2.0)] == pytest.approx([2.0, 3.0, np.sqrt(2.0)])
    assert newton.cache_info().misses == 1


def test_the_class_that_super_starts_from_is_guarded() -> None:
    class Base:
        def scale(self) -> float:
            return 1.0

    def made(other: Any) -> Any:
        class Model(other):  # type: ignore[misc]
            def loss(self, w: Any) -> Any:
                return super().scale() * np.sum(w**2)

        return Model()

    class Twice(Base):
        def scale(self) -> float:
            return 2.0

    assert float(jitflow.grad(made(Base).loss)(np.ones(1))[0]) == 2.0
    assert float(jitflow.grad(made(Twice).loss)(np.ones(1))[0]) == 4.0
