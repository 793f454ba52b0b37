"""What random programs have found: the smallest program of each mistake that is mended, in every way of running it."""

from __future__ import annotations

import pytest

from tests.truth.programs import Program, Statement
from tests.truth.run import check_compiled, check_interpreted

EXACT, LINEAR, ELEMENTARY, PRODUCT = "exact", "linear", "elementary", "product of matrices"

PROGRAMS: dict[str, tuple[list[str], list[dict[str, str]], str]] = {
    "a result that does not vary along an empty loop is stored": (
        ["a0 + a1", "a1 * 2"],
        [{"a0": "array('f4', (3, 0))", "a1": "array('f4', (1,))"}, {"a0": "array('f4', (0, 3))", "a1": "array('f4', (1,))"}],
        EXACT,
    ),
    "a result that varies along the rows alone is stored if they are empty": (
        ["a0 + a1", "a1 * 2"],
        [{"a0": "array('f4', (3, 0))", "a1": "array('f4', (3, 1))"},
         {"a0": "array('f4', (3, 0), 'F')", "a1": "array('f4', (3, 1))"}],
        EXACT,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_mended(name: str) -> None:
    texts, calls, closeness = PROGRAMS[name]
    statements = [Statement(f"v{place}", text, closeness) for place, text in enumerate(texts)]
    program = Program(tuple(calls[0]), (), statements, calls, kept=(statements[-1].name,))
    check_compiled(program)
    check_interpreted(program)
