"""Properties of a user's classes that compute with variables are parts of the program, as methods are."""

from __future__ import annotations

from typing import Any

import numpy as np

import jitflow

X = np.ones(2)


class Weights:
    def __init__(self, start: Any) -> None:
        self.w = jitflow.Variable(np.array(start))
        self.factor = 3.0

    @property
    def positive(self) -> Any:
        if self.w.sum() > 0:
            return self.w * self.factor
        return -self.w * self.factor

    @property
    def twice(self) -> Any:
        return self.positive * 2

    def total(self, x: Any) -> Any:
        return (self.twice * x).sum()


class Larger(Weights):
    @property
    def positive(self) -> Any:
        return self.w * 100


total = jitflow.function(Weights.total)


def test_properties_are_computed_anew_at_each_call() -> None:
    weights = Weights([1.0, -2.0])
    assert total(weights, X) == weights.total(X) == 6.0
    weights.w.assign([5.0, 1.0])
    weights.factor = 7.0
    assert total(weights, X) == weights.total(X) == 84.0
    weights.w = jitflow.Variable(np.ones(2))
    assert total(weights, X) == weights.total(X) == 28.0


def test_properties_of_other_classes_and_replaced_ones(monkeypatch: Any) -> None:
    weights, larger = Weights([1.0, 1.0]), Larger([1.0, 1.0])
    assert total(weights, X) == 12.0
    assert total(larger, X) == larger.total(X) == 400.0
    monkeypatch.setattr(Weights, "positive", property(lambda self: self.w * 9))
    assert total(weights, X) == weights.total(X) == 36.0


def test_gradients_go_through_properties() -> None:
    weights = Weights([1.0, 1.0])
    (gradient,) = jitflow.grad(weights.total, variables=[weights.w])(X)
    np.testing.assert_array_equal(gradient, [6.0, 6.0])
