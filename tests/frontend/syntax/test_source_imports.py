"""A function that calls functions of imported modules is found in its file: Python compiles it by what is imported."""

from __future__ import annotations

import os.path

import numpy as np

import jitflow
from jitflow.frontend.syntax.source import find

try:
    import math
except ImportError:
    raise


def decides(x: np.ndarray, n: int) -> float:
    total = np.sum(x) + math.floor(2.5)
    for i in range(n):
        if total > 10:
            total = total - np.max(x) * i
    return total


def names() -> str:
    return os.path.join("a", "b")


def test_it_is_found() -> None:
    assert find(decides.__code__).node.name == "decides"
    assert find(names.__code__).node.name == "names"


def test_it_is_rewritten() -> None:
    for x in (np.ones(3), np.ones(12)):
        assert jitflow.function(decides)(x, 4) == decides(x, 4)
