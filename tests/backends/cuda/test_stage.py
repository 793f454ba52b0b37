"""The stage ``cuda``: the kernels of a user's function, which needs neither NVRTC nor a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from jitflow.backends.cuda import nvrtc


def test_a_function_shows_its_kernels_with_its_own_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    @jitflow.function
    def axpy(a, x, y):
        return a * x + y

    def refuse() -> None:
        raise AssertionError("NVRTC was asked for")

    monkeypatch.setattr(nvrtc, "_library", refuse)
    text = axpy.ir(2.0, np.ones(3, "f4"), np.ones(3, "f4"), stage="cuda")
    assert 'extern "C" __global__ void kernel_0(' in text
    assert "// grid (ceil(" in text
    assert f"// test_stage.py:{axpy.__wrapped__.__code__.co_firstlineno + 2}\n" in text


def test_a_function_without_kernels_has_none() -> None:
    text = jitflow.function(lambda a, b: a + b).ir(1.0, 2.0, stage="cuda")
    assert "__global__" not in text
