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
    "a saved value that is a result too is written to both places": (
        ["np.expm1(a0)", "np.nanstd(v0, axis=1)"], [{"a0": "array('f4', (1, 130), 'C', 1)"}], "spread",
    ),
    "a short inner loop is not joined past an operand that varies outside": (
        ["a0[None] * a0[:, None]", "np.tile(a0, (1, 2))"], [{"a0": "array('f4', (17, 3))"}], EXACT,
    ),
    "an extremum of nothing with an initial value": (
        ["np.max(a0, axis=0, initial=2)", "np.min(a0, axis=0, initial=1)"], [{"a0": "array('f4', (0, 3))"}], EXACT,
    ),
    "a view of a copy does not show the original": (
        ["np.trunc(a0)", "v0.reshape(-1)", "np.positive(a1)", "v2[1:]"],
        [{"a0": "array('?', (33, 1))", "a1": "array('f4', (5,))"}], EXACT,
    ),
    "a gather and what it reads are not one kernel": (
        ["np.fmax(a0, np.int8(3))", "np.take(v0, a0, mode='wrap')"], [{"a0": "array('u1', (4,), 'strided', 4)"}], EXACT,
    ),
    "what relates the axes of a kernel is in it": (
        ["np.vdot(a1, a1)", "np.dot(v0, a0)", "v1.argmax()", "np.nanmean(v1, axis=-1)"],
        [{"a0": "array('f4', (8, 1, 3), 'reversed', 9)", "a1": "array('u2', (8, 17), 'broadcast', 9)"}], LINEAR,
    ),
    "0-d arrays repeat, and scalars transpose": (
        ["np.repeat(a0, 2, axis=0)", "a1.T", "np.transpose(a1)"], [{"a0": "array('f4', ())", "a1": "number('i8', 1)"}],
        EXACT,
    ),
    "a short loop may have no step": (
        ["np.var(a0, axis=2)", "a0.sum(axis=2)"], [{"a0": "array('f4', (5, 4, 3))"}, {"a0": "array('f4', (5, 4, 0))"}],
        "spread",
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
