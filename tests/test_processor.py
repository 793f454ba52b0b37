"""Code for a lesser processor than this machine's computes the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jitflow.config import Config
from jitflow.processor import features, has_features, identity

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


def test_processors_are_told_apart_by_all_that_they_can_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    described = tmp_path / "cpuinfo"
    monkeypatch.setattr("jitflow.processor._DESCRIBED", described)
    common = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n"

    def found(text: str) -> tuple[str, ...]:
        described.write_text(text)
        return identity.__wrapped__()

    one = found(f"processor\t: 0\n{common}cpu MHz\t\t: 2596\nflags\t\t: sse avx2\n\nprocessor\t: 1\n")
    assert one == found(f"processor\t: 3\n{common}cpu MHz\t\t: 1800\nflags\t\t: sse avx2\n")
    assert one != found(f"processor\t: 0\n{common}flags\t\t: sse avx2 avx512f\n")
    assert one != found(f"processor\t: 0\n{common}flags\t\t: sse avx2\n".replace("17", "33"))
    assert features().flatten() in found("processor\t: 0\nFeatures\t: fp asimd\n")
