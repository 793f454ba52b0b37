"""Code for a lesser processor than this machine's computes the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from jitflow.config import Config
from jitflow.processor import features, has_features

PROGRAM = """
import numpy as np
import jitflow

@jitflow.function
def program(x, rng):
    rows = np.exp(x - x.max(axis=1)[:, None]).sum(axis=1)
    return rows, x.T @ x, np.cumsum(x, axis=0), (x > 0).sum(), rng.normal(size=50), rng.random(3000)

x = np.random.default_rng(1).normal(size=(300, 70)).astype(np.float32)
found = program(x, np.random.default_rng(2))
for mine, other in zip(found, program.__wrapped__(x, np.random.default_rng(2)), strict=True):
    np.testing.assert_allclose(mine, other, rtol=2e-5, atol=2e-5)
code = program.ir(stage="asm")
print("zmm" in code, "ymm" in code)
"""


@pytest.mark.skipif(not has_features("avx2"), reason="this processor includes no other")
@pytest.mark.parametrize(("level", "registers"), [("x86-64-v2", "False False"), ("x86-64-v3", "False True")])
def test_a_lesser_processor_computes_the_same(level: str, registers: str) -> None:
    environment = os.environ | {"JITFLOW_CPU": level}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert (ran.stdout.split(), ran.stderr) == (registers.split(), "")


def test_a_processor_that_the_machine_does_not_include_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jitflow.processor.CONFIG", Config(cpu="x86-64-v4"))
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: {"sse2": True})
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_name", lambda: "core2")
    with pytest.raises(
        ValueError, match="JITFLOW_CPU=x86-64-v4 names more than this machine has: core2 lacks 64bit, avx"
    ):
        features.__wrapped__()
