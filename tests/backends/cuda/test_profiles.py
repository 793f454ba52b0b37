"""Profiles of programs on a GPU: a kernel's time is the kernel's, not that of its launch."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import jitflow
from jitflow.ir.core import walk
from jitflow.ir.parser import parse
from jitflow.passes.lower import GPU
from tests.backends.cuda import native
from tests.backends.cuda.kernels import needs_nvrtc

PROGRAM = """
func @f(%x: f32[n]) {
  %0: f32[n] = exp %x
  %1: f32 = reduce_add %0 {axes=[0]}
  %2: f32[n] = accumulate_add %0 {axis=0}
  yield %1, %2
}
"""


@needs_nvrtc
def test_a_note_waits_for_what_it_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "GPU", replace(GPU, notes=True))
    x = np.linspace(0.0, 1.0, 100, dtype=np.float32)
    with jitflow.profile() as profile:
        compiled = native.Native(parse(PROGRAM), [x])
        total, _ = compiled(x)
    assert total == pytest.approx(np.exp(x).sum(), rel=1e-6)
    ops = list(walk(compiled.host.region))
    before_notes = [one.name for one, other in pairwise(ops) if other.name == "note"]
    assert before_notes == ["wait"] * len(before_notes) != []
    assert profile.calls == 1
    assert {event.device for event in profile.timeline if event.kind in ("kernel", "call")} == {"cuda:0"}
    assert sum(line.calls for line in profile.lines if line.kind == "kernel") == len(before_notes) - 1
