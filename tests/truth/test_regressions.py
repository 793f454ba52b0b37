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
    "what a size was decided to be it stays when it gets another name": (
        ["np.clip(a0[:1], a1, a0)"],
        [{"a0": "array('f8', (4,), 'C', 12)", "a1": "array('u1', (4,), 'C', 15)"}], EXACT,
    ),
    "a number that no kernel computes is joined to an array": (
        ["np.where(a1 > 0, True, 0)", "np.vstack([a0, v0])"],
        [{"a0": "array('i8', (3, 1))", "a1": "number('f8', 1)"}], EXACT,
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
    "what no loop changes has the lanes of narrow turns behind tiles too": (
        ["np.isreal(a0)", "np.all(v0, axis=1, keepdims=True)"],
        [{"a0": "array('i1', (2, 3))"}, {"a0": "array('i1', (3, 65))"}], EXACT,
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
    "a mask does not widen what it masks": (
        ["a0 * 2", "np.sum(a0, axis=-1, where=a1)"],
        [{"a0": "array('f4', (1, 3))", "a1": "array('?', (4, 3))"},
         {"a0": "array('f4', (1, 1))", "a1": "array('?', (1, 4))"}],
        "error",
    ),
    "the mean of what a mask would widen": (
        ["a0 * 2", "np.mean(a0, where=a1)"], [{"a0": "array('f4', (1,))", "a1": "array('?', (4,))"}], "error",
    ),
    "Python's complex numbers take a float64 as Python's float": (
        ["1j * a0", "a0 * 1j", "a1 - a0", "a1 / a0", "1j * a2", "a1 ** a0", "1j * np.float64(2) + a0"],
        [{"a0": "number('f8', 7)", "a1": "number('complex', 0)", "a2": "number('f4', 7)"}], ELEMENTARY,
    ),
    "an index is looked at beside an axis without elements": (
        ["a0 * 2", "a0[a1]"], [{"a0": "array('f4', (3, 0))", "a1": "np.array([0, 5])"},
                               {"a0": "array('f4', (3, 2))", "a1": "np.array([0, 5])"}], "error",
    ),
    "an index is looked at beside an empty slice": (
        ["a0 * 2", "a0[1:1, a1]"], [{"a0": "array('f4', (3, 3))", "a1": "np.array([0, 5])"}], "error",
    ),
    "a number as index beside an empty slice": (
        ["a0 * 2", "a0[1:1, a1]"], [{"a0": "array('f4', (3, 3))", "a1": "number('i8', 6)"},
                                    {"a0": "array('f4', (3, 3))", "a1": "np.int64(3)"}], EXACT,
    ),
    "an index into what nobody reads": (
        ["a0 * 2", "a0[a1].shape[0]"], [{"a0": "array('f4', (3, 3))", "a1": "np.array([0, 5])"}], "error",
    ),
    "the first of several bad indices is named": (
        ["a0 * 2", "a0[22, -1, 1]"], [{"a0": "array('f4', (3, 5, 1))"}], "error",
    ),
    "take looks at its positions once for each outer element": (
        ["np.take(a0, [0, -1], axis=2)", "np.take(a1, [0, 5], axis=1)", "np.take(a1, a2, axis=0, mode='clip')",
         "np.take(a0, [0, 1], axis=2, mode='clip')"],
        [{"a0": "array('f4', (0, 4, 0))", "a1": "array('f4', (0, 4))", "a2": "array('i4', (0,))"}], EXACT,
    ),
    "take of nothing into nothing": (
        ["a0 * 2", "np.take(a0, [0, -1], axis=0)"], [{"a0": "array('f4', (0, 0))"}], "error",
    ),
    "ranges of bools": (
        ["np.arange(-1, 0, dtype=bool)", "np.arange(1, 3, dtype=bool)", "np.arange(1, -1, -1, dtype=bool)",
         "np.arange(a0.shape[0], dtype=bool)"],
        [{"a0": "array('f4', (2,))"}, {"a0": "array('f4', (0,))"}], EXACT,
    ),
    "a range of three bools": (["a0 * 2", "np.arange(3, dtype=bool)"], [{"a0": "array('f4', (2,))"}], "error"),
    "BLAS does not look at what it multiplies by 0": (
        ["np.dot(a0, 0)", "np.dot(a1, a0)", "np.inner(a0, 0.0)", "np.dot(a0, 2.0)", "np.dot(a2, 0)", "np.dot(a3, 0)"],
        [{"a0": "np.array([np.inf, -0.0, 1, np.nan])", "a1": "number('f8', 3) * 0",
          "a2": "array('f8', (2, 2, 2), 'C', 4)",
          "a3": "np.array([np.inf])"}], EXACT,
    ),
    "a maximum of nothing is an error even if there is no result": (
        ["a0 * 2", "np.max(a0, axis=0)"], [{"a0": "array('f4', (0, 0))"}], "error",
    ),
    "an argmin of nothing": (
        ["a0 * 2", "np.argmin(a0, axis=1, keepdims=True)"], [{"a0": "array('f4', (0, 0))"}], "error",
    ),
    "a complex extremum of nothing with an initial value": (
        ["np.max(a0, axis=0, initial=2)", "np.min(a0, initial=-1j)"],
        [{"a0": "array('c16', (0, 3))"}, {"a0": "array('c16', (2, 3))"}], "extremum",
    ),
    "the conjugate of a bool is a bool by method": (
        ["np.all(a0)", "v0.conj()", "np.conj(v0)", "a0.conj()"], [{"a0": "array('?', (3,))"}], EXACT,
    ),
    "a fill value may have more axes of size 1": (["np.full((3, 2), a0)"], [{"a0": "array('f4', (1, 1, 2))"}], EXACT),
    "infinity is no integer": (["a0 * 2", "np.asarray(v0, np.int64)"], [{"a0": "number('float', 7)"}], "error"),
    "nan is no integer": (["a0 * 2", "np.asarray(v0, np.int8)"], [{"a0": "number('float', 8)"}], "error"),
    "a whole float is an integer": (["np.asarray(a0, np.int8)", "np.int64(a0)"], [{"a0": "number('float', 4)"}], EXACT),
    "the axis of an integral is an index of a list": (
        ["a0 * 2", "np.trapezoid(v0, axis=2)"], [{"a0": "array('f4', (3,))"}], "error",
    ),
    "casting as it comes takes the real part": (
        ["np.multiply(a0, 1j, dtype=np.int8, casting='unsafe')"], [{"a0": "array('i4', (3,))"}], EXACT,
    ),
    "a sum's bits do not depend on what else is returned": (
        ["np.exp(a0)", "np.sum(v0 * a1, axis=0)", "v0.T + 1"],
        [{"a0": "array('f4', (65, 33), 'F', 1)", "a1": "array('f4', (65, 33), 'C', 3)"}], LINEAR,
    ),
    "the sign of a double is no sign of a half": (
        ["np.mean(a0)", "np.copysign(a0, a1)", "np.arctan(v0)"],
        [{"a0": "array('f2', (65, 64), 'C', 11)", "a1": "view(a0, 'same')"}], "linear",
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
