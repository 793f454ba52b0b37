"""Gradients of models, along directions in all of their parameters: reverse mode compiled, forward mode interpreted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.frontend.interpreted import interpreted
from tests.gradients.models import MODELS


def leaves(thing: Any) -> Iterator[Any]:
    items = thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list | tuple) else None
    if items is None:
        yield thing
    else:
        for item in items:
            yield from leaves(item)


def moved(thing: Any, directions: Iterator[Any], step: float) -> Any:
    if isinstance(thing, dict):
        return {key: moved(item, directions, step) for key, item in thing.items()}
    if isinstance(thing, list | tuple):
        return type(thing)(moved(item, directions, step) for item in thing)
    return thing + step * next(directions)


@pytest.mark.parametrize(("model", "parameters"), MODELS, ids=[model.__name__ for model, _ in MODELS])
def test_gradient_of_a_model(model: Any, parameters: Any) -> None:
    value, gradient = jitflow.value_and_grad(model)(parameters)
    plain = moved(parameters, iter([0.0] * 99), 0.0)
    assert value == pytest.approx(float(model(plain)), rel=1e-10)
    random = np.random.default_rng(1)
    for _ in range(2):
        ways = [random.normal(size=np.shape(leaf)) for leaf in leaves(parameters)]
        ways = [way if np.ndim(way) else float(way) for way in ways]
        ends = [float(model(moved(parameters, iter(ways), step))) for step in (1e-6, -1e-6)]
        found = sum(np.sum(part * way) for part, way in zip(leaves(gradient), ways, strict=True))
        assert found == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=2e-5, abs=1e-6)
    directions = moved(parameters, iter(ways), 0.0)
    change = interpreted(lambda p, d: jitflow.jvp(model, (p,), (d,))[1])(parameters, directions)
    expected = sum(np.sum(part * leaf) for part, leaf in zip(leaves(gradient), leaves(parameters), strict=True))
    assert change == pytest.approx(expected, rel=1e-9, abs=1e-9)
