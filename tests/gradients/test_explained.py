"""What `explain` says about reverse passes: what is kept of each turn, where, and what is computed again."""

from __future__ import annotations

import numpy as np

import jitflow


def test_what_a_loop_keeps_and_computes_again() -> None:
    @jitflow.function
    def slope(x, n):
        def loss(x):
            s = x
            for _ in range(n):
                wave = jitflow.name(np.sin(s) * x, "wave")
                s = wave * wave
            return s.sum()

        return jitflow.grad(loss)(x)

    explanation = slope.explain(np.ones(5), 3)
    kept = sorted(line.replace("test_explained.py:", "") for line in explanation.kept)
    assert [line.partition(" (")[0] + line.rpartition("):")[2] for line in kept] == [
        "s f64[n], 8*n bytes a turn, kept in an array",
        "sin f64[n], 8*n bytes a turn, kept in an array",
        "wave = multiply f64[n], 8*n bytes a turn, computed again",
    ]
    assert "kept for the reverse pass" in str(explanation)
    for stage in ("gradient", "optimized", "fused"):
        assert "bytes a turn" not in explanation.text(stage)


def test_a_loop_of_unknown_length_keeps_on_a_tape() -> None:
    @jitflow.function
    def slope(a):
        def root(a):
            x = a
            while np.abs(x * x - a) > 1e-9:
                x = 0.5 * (x + a / x)
            return x

        return jitflow.grad(root)(a)

    (taped,) = (line for line in slope.explain(2.0).kept if "kept" in line)
    assert taped.startswith("x (")
    assert taped.endswith("float, 8 bytes a turn, kept on a tape")


def test_straight_code_keeps_what_is_there() -> None:
    slope = jitflow.grad(lambda x: np.sin(x).sum())
    explanation = slope.explain(np.ones(5))
    assert explanation.kept == ()
    assert "reverse pass" not in str(explanation)
