"""The loops in C give what the gallery's programs do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.gallery import PROGRAMS
from benchmarks.in_c import LOOPS, compiled_c, measure

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@pytest.mark.parametrize("name", LOOPS)
def test_results_are_the_same(name: str, tmp_path: Path) -> None:
    assert name in PROGRAMS
    timed = measure(name, compiled_c(tmp_path), seconds=0.0, size="small")
    assert timed.c > 0
    assert timed.jitflow > 0
