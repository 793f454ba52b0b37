"""What random programs have found: the smallest program of each mistake that is mended, in every way of running it."""

from __future__ import annotations

import pytest

from tests.truth.programs import Program, Statement
from tests.truth.run import check_compiled, check_interpreted

EXACT, LINEAR, ELEMENTARY, PRODUCT = "exact", "linear", "elementary", "product of matrices"

PROGRAMS: dict[str, tuple[list[str], list[dict[str, str]], str]] = {
    "a result that does not vary along an empty loop is stored": (
        ["a0 + a1", "a1 * 2"],
        [
            {"a0": "array('f4', (3, 0))", "a1": "array('f4', (1,))"},
            {"a0": "array('f4', (0, 3))", "a1": "array('f4', (1,))"},
        ],
        EXACT,
    ),
    "a result that varies along the rows alone is stored if they are empty": (
        ["a0 + a1", "a1 * 2"],
        [{"a0": "array('f4', (3, 0))", "a1": "array('f4', (3, 1))"},
         {"a0": "array('f4', (3, 0), 'F')", "a1": "array('f4', (3, 1))"}],
        EXACT,
    ),
    "no kernel overtakes a check of the sizes that it reads": (
        ["np.isclose(a0, a1)", "v0 * 2"],
        [{"a0": "array('u8', (3, 4))", "a1": "array('u1', (4,), 'strided')"},
         {"a0": "array('u8', (65, 1025))", "a1": "array('u1', (8,), 'strided')"}],
        EXACT,
    ),
    "a reshape inside a kernel finds its operand in C order": (
        ["np.inner(a0, a0)"], [{"a0": "array('u8', (4, 3, 5))"}], EXACT,
    ),
    "a 0-d array that is copied stays an array": (
        ["np.where(a0 > 0, a0, 0)", "a0.imag", "np.squeeze(1.5 + 0 * a0)", "np.zeros(())"],
        [{"a0": "array('i8', ())"}], EXACT,
    ),
    "views of one number are no loops of a kernel": (
        ["np.multiply(a0 == a0, 0)", "np.matmul(v0.swapaxes(-1, -2), v0)"], [{"a0": "array('i8', (64, 64))"}], EXACT,
    ),
    "logic takes numbers": (
        ["np.logical_not(a0)", "np.logical_and(a0, a1)", "np.logical_xor(a0, a1)"],
        [{"a0": "array('f4', (3, 4))", "a1": "array('c8', (3, 4))"}], EXACT,
    ),
    "views are views, and arrays of their own are not": (
        ["a0.real", "a0.conj()", "np.conj(a0)", "np.einsum('ij->ji', a0)", "np.meshgrid(a1, a1)[0]",
         "np.atleast_2d(a0)", "np.squeeze(a0)"],
        [{"a0": "array('f4', (3, 4))", "a1": "array('f8', (5,))"}], EXACT,
    ),
    "linspace of half floats": (
        ["np.linspace(a0, 2, 5)", "np.linspace(a1, 2, 5)"], [{"a0": "number('f2', 1)", "a1": "array('f4', ())"}], EXACT,
    ),
    "scalars have the functions of arrays": (
        ["np.astype(a0, np.float32)", "np.squeeze(a0)", "a0.copy()", "np.copy(a0)"], [{"a0": "number('i8', 1)"}], EXACT,
    ),
    "norms flatten": (["np.linalg.norm(a0)"], [{"a0": "array('f4', (3, 4), 'C', 1)"}], "norm"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_mended(name: str) -> None:
    texts, calls, closeness = PROGRAMS[name]
    statements = [Statement(f"v{place}", text, closeness) for place, text in enumerate(texts)]
    program = Program(tuple(calls[0]), (), statements, calls, kept=(statements[-1].name,))
    check_compiled(program)
    check_interpreted(program)
