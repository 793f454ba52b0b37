"""The benchmark of gradients of each example: what is measured is what NumPy computes by hand."""

from __future__ import annotations

import re

import numpy as np

import jitflow
from benchmarks.per_example import by_hand, loss_in, numbers


def test_gradients_are_those_that_numpy_computes_by_hand() -> None:
    given = numbers((7, 5, 3), 4)
    found = jitflow.vmap(jitflow.grad(loss_in(np)), in_axes=(None, 0, 0))(*given)
    for one, expected in zip(found, by_hand(*given), strict=True):
        np.testing.assert_allclose(one, expected, 1e-4, 1e-5)


def test_products_of_all_examples_are_products_of_matrices() -> None:
    weights, x, labels = numbers((7, 5, 3), 4)
    batched = jitflow.vmap(jitflow.grad(loss_in(np)), in_axes=(None, 0, 0))
    text = batched.ir(weights, x, labels, stage="optimized")
    assert text.count("= matmul") == 3
    assert not re.search(r"^ *(%.* = )?for ", text, re.MULTILINE)
