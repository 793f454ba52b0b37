"""The benchmark of stacks of layers: its steps find what NumPy does, and what a layer adds is read off its rows."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from benchmarks.layers import a_further_layer, by_hand, in_jitflow
from jitflow.ir.core import Op, Region


def test_steps_have_the_losses_that_numpy_finds() -> None:
    step = in_jitflow(3)
    np.testing.assert_allclose([step() for _ in range(3)], by_hand(3), rtol=1e-4)


def test_programs_that_passes_made_are_freed_without_the_garbage_collector() -> None:
    step = in_jitflow(3)
    gc.collect()
    gc.disable()
    try:
        step()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kept = [thing for thing in gc.garbage if isinstance(thing, Op | Region)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not kept


def test_what_a_further_layer_adds() -> None:
    rows = [{"case": f"{count} layers", "jitflow": {"processor": 0.2 + 0.01 * count}} for count in (5, 20, 80)]
    assert a_further_layer(rows, "jitflow") == pytest.approx(0.01)
    assert a_further_layer(rows[:1], "jitflow") is None
