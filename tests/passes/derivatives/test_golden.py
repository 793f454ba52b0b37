"""Golden files: what a handful of functions become when their derivatives are written out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from jitflow.ir.verifier import verify
from jitflow.passes.pipeline import run_passes
from tests.golden import Section, read_sections

FILE = Path(__file__).parent / "golden" / "derivatives.ir"


@pytest.mark.parametrize("section", read_sections(FILE).values(), ids=lambda section: section.name)
def test_before_and_after(section: Section, check_golden: Callable[[Path, str, str], None]) -> None:
    before = parse(section.before)
    verify(before)
    after = run_passes(before, section.passes)
    verify(after, " ".join(section.passes))
    check_golden(FILE, section.name, print_function(after))
