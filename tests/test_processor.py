"""Code for a lesser processor than this machine's computes the same."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.config import Config
from jitflow.machines.processor import features, has_features, here, identity
from tests.compare import assert_same

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

@jitflow.function
def halved(x):
    half = x.astype(np.float16)
    return half, half.astype(np.float32), half + half

np.seterr(all="ignore")
halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
between = (halves.view(np.uint32)[:, None] + np.array([0, 0xFFF, 0x1000, 0x1001], np.uint32)).view(np.float32)
for mine, other in zip(halved(between), halved.__wrapped__(between), strict=True):
    np.testing.assert_array_equal(mine, other)
    assert (np.signbit(mine) == np.signbit(other)).all()
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
    monkeypatch.setattr("jitflow.machines.processor.CONFIG", Config(cpu="x86-64-v4"))
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: {"sse2": True})
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_name", lambda: "core2")
    with pytest.raises(
        ValueError, match="JITFLOW_CPU=x86-64-v4 names more than this machine has: core2 lacks 64bit, avx"
    ):
        features.__wrapped__()


def test_processors_are_told_apart_by_all_that_they_can_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    described = tmp_path / "cpuinfo"
    monkeypatch.setattr("jitflow.machines.processor._DESCRIBED", described)
    common = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n"

    def found(text: str) -> tuple[str, ...]:
        described.write_text(text)
        return identity.__wrapped__()

    one = found(f"processor\t: 0\n{common}cpu MHz\t\t: 2596\nflags\t\t: sse avx2\n\nprocessor\t: 1\n")
    assert one == found(f"processor\t: 3\n{common}cpu MHz\t\t: 1800\nflags\t\t: sse avx2\n")
    assert one != found(f"processor\t: 0\n{common}flags\t\t: sse avx2 avx512f\n")
    assert one != found(f"processor\t: 0\n{common}flags\t\t: sse avx2\n".replace("17", "33"))
    assert features().flatten() in found("processor\t: 0\nFeatures\t: fp asimd\n")


def _rows_and_columns(x: np.ndarray, z: np.ndarray, numbers: np.ndarray) -> tuple[Any, ...]:
    return (x + x[0]) * x, x[:, ::2] + x[:, 1::2], x[:, ::3] * 2, x[:, ::-1] + x, z * x[0], x[:, numbers] - x, x > 0


@pytest.mark.parametrize("are_free", [False, True])
def test_masks_that_are_free_and_others_give_the_same(are_free: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    target = replace(here(), free_masks=are_free)
    monkeypatch.setattr("jitflow.machines.processor.here", lambda: target)
    random = np.random.default_rng(0)
    for rows, columns in ((1, 1), (3, 6), (5, 64), (7, 130)):
        x = random.normal(size=(rows, columns + columns % 2)).astype(np.float32)
        given = x, x + 1j * x[::-1], random.permutation(x.shape[1])
        for found, expected in zip(jitflow.function(_rows_and_columns)(*given), _rows_and_columns(*given), strict=True):
            assert_same(found, expected)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is protected by the C library of Linux")
@pytest.mark.parametrize("step", [2, 3, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_is_read_behind_the_last_of_elements_that_lie_apart(step: int, dtype: type) -> None:
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 5 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    assert libc.mprotect(start + 4 * page, page, 0) == 0
    accessible = np.frombuffer(memory, dtype, 4 * page // np.dtype(dtype).itemsize)
    accessible[:] = np.arange(accessible.size)
    apart = jitflow.function(lambda x: x[::step] + 1)
    for count in (1, 15, 16, 17, 64, 200):
        given = accessible[accessible.size - (count - 1) * step - 1 :]
        assert_same(apart(given), given[::step] + 1)
    assert libc.mprotect(start + 4 * page, page, mmap.PROT_READ | mmap.PROT_WRITE) == 0
