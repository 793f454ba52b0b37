"""The benchmark of quantised networks: both forms run, and give nearly the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jitflow
from benchmarks import quantised
from jitflow.machines.processor import has_features


def test_both_forms_run_and_are_near_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_features("avx2"):
        pytest.skip("small products of floats go to a BLAS here")
    monkeypatch.setattr(quantised, "SIZES", (20, 16, 10))
    network = quantised.Network((20, 16, 10))
    assert network.products == 480
    small = jitflow.quantise(network.__call__, [network.examples(50)])
    x = network.examples(3)
    for kind, function in (("f32", jitflow.function(lambda x: network(x))), ("int8", small)):
        try:
            call, result, size = quantised.exported_call(function, x, tmp_path, "host", kind)
        except RuntimeError as error:
            pytest.skip(str(error))
        call()
        np.testing.assert_allclose(result, network(x), atol=0.1)
        assert size > 0


def test_lines_say_how_much_faster() -> None:
    assert quantised.Timed("host", 1, 4.0, 2.0).speedup == 2.0
