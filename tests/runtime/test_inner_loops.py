"""NumPy's loops called from compiled code: the same bits as through Python, and Python where a loop has no answer."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.ir.inner_loops import FLAG_FUNCTIONS, LOOP_PREFIX
from jitflow.runtime.calls import host_calls, inner_loops
from tests.compare import EXACT, ITERATED, assert_same
from tests.frontend.numpy.both import check_compiled
from tests.frontend.numpy.oracle import sample

MATRIX, WIDE = sample("f8", 4, 4) + 3 * np.eye(4), sample("f8", 3, 5)
POSITIVE = MATRIX @ MATRIX.T

UNARY = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": np.linalg.slogdet,
    "cholesky": np.linalg.cholesky,
    "cholesky of the upper triangle": lambda x: np.linalg.cholesky(x, upper=True),
    "eigh": np.linalg.eigh,
    "eigh of the upper triangle": lambda x: np.linalg.eigh(x, "U"),
    "eigvalsh": np.linalg.eigvalsh,
    "svd": np.linalg.svd,
    "reduced svd": lambda x: np.linalg.svd(x, full_matrices=False),
    "svdvals": np.linalg.svdvals,
}
MATRICES = {
    "f8": POSITIVE,
    "f4": POSITIVE.astype("f4"),
    "complex": POSITIVE + 1j * (MATRIX - MATRIX.T),
    "c8": (POSITIVE + 1j * (MATRIX - MATRIX.T)).astype("c8"),
    "integers": np.diag([2, 3, 4]),
    "columns first": np.asfortranarray(POSITIVE),
    "turned": np.pad(POSITIVE, 2)[2:-2, 2:-2][::-1, ::-1],
    "one number": np.full((1, 1), 4.0),
    "large": sample("f8", 40, 40) @ sample("f8", 40, 40).T + 40 * np.eye(40),
    "stack": np.stack([POSITIVE, 2 * POSITIVE, np.eye(4)]),
    "turned stack": np.stack([POSITIVE, 2 * POSITIVE, np.eye(4)])[::-1],
    "stack of one": POSITIVE[np.newaxis],
    "stack of stacks": np.stack([POSITIVE] * 6).reshape(2, 3, 4, 4),
    "empty": np.ones((0, 0)),
    "empty stack": np.ones((0, 3, 3)),
    "singular": np.zeros((3, 3)),
    "nan": np.full((2, 2), np.nan),
    "not square": WIDE,
}


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("name", UNARY)
def test_decompositions(name: str, kind: str):
    check_compiled(_compiled(name), MATRICES[kind])


@functools.cache
def _compiled(name: str) -> Any:
    """Matrices of one kind share its code."""
    function = UNARY[name]
    return jitflow.function(lambda x: function(x))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (MATRIX, sample("f8", 4)),
        (MATRIX, sample("f8", 4, 2)),
        (MATRIX.T, sample("f8", 2, 4).T),
        (MATRIX, sample("c16", 4, 2)),
        (MATRIX.astype("f4"), sample("f4", 4)),
        (MATRICES["stack"], sample("f8", 4)),
        (MATRICES["stack"], sample("f8", 4, 2)),
        (MATRICES["stack"], sample("f8", 3, 4, 2)),
        (MATRICES["stack"], sample("f8", 1, 4, 2)),
        (MATRIX, sample("f8", 3, 4, 2)),
        (MATRIX, np.ones((4, 0))),
        (np.zeros((3, 3)), np.ones(3)),
        (np.stack([np.eye(3), np.zeros((3, 3))]), np.ones(3)),
    ],
)
def test_equations(left: Any, right: Any):
    check_compiled(lambda x, y: np.linalg.solve(x, y), left, right)


def test_one_compilation_for_all_sizes():
    solve = jitflow.function(lambda x, y: np.linalg.solve(x, y))
    for size in (2, 3, 7, 0, 1, 12):
        left, right = sample("f8", size, size) + size * np.eye(size), sample("f8", size)
        assert_same(solve(left, right), np.linalg.solve(left, right), EXACT)


def _refuse(*arguments: Any) -> None:
    raise AssertionError("the routine was called through Python")


@pytest.mark.parametrize("name", UNARY)
def test_loops_do_without_python(name: str, monkeypatch: pytest.MonkeyPatch):
    function = UNARY[name]
    compiled = jitflow.function(lambda x: function(x))

    monkeypatch.setattr(host_calls.CallSite, "run", _refuse)
    compiled(POSITIVE)
    compiled(MATRICES["stack"])


@pytest.mark.parametrize("name", UNARY)
def test_python_does_without_loops(name: str, monkeypatch: pytest.MonkeyPatch):
    function = UNARY[name]
    monkeypatch.setattr(inner_loops, "loop_address", lambda symbol: 0)
    check_compiled(lambda x: function(x), POSITIVE)


def _in_turns(x, turns):
    for _ in range(turns):
        shifted = x + 1
        found = (
            *np.linalg.qr(x), *np.linalg.qr(x, "complete"), np.linalg.qr(x, "r"), *np.linalg.qr(shifted, "raw"),
            np.linalg.qr(shifted).R, shifted,
        )  # fmt: skip
    return found


in_turns = jitflow.function(_in_turns)


@pytest.mark.parametrize("kind", [*MATRICES, "tall"])
def test_steps_of_routines_in_loops(kind: str, monkeypatch: pytest.MonkeyPatch):
    matrix = WIDE.T if kind == "tall" else MATRICES[kind]
    if kind not in ("stack of stacks", "empty", "empty stack", "not square"):
        monkeypatch.setattr(host_calls.CallSite, "run", _refuse)
    for made, expected in zip(in_turns(matrix, 2), _in_turns(matrix, 2), strict=True):
        assert_same(made, expected, EXACT)


def _solved_in_turns(x, y, limit, turns):
    for _ in range(turns):
        found = (
            *np.linalg.lstsq(x, y), *np.linalg.lstsq(x, y[:, 0], limit), np.linalg.matrix_rank(x),
            np.linalg.matrix_rank(x, limit), np.linalg.matrix_rank(x, rtol=limit), np.linalg.pinv(x),
            np.linalg.pinv(x, limit), np.linalg.pinv(x, rtol=None),
        )  # fmt: skip
    return found


solved_in_turns = jitflow.function(_solved_in_turns)


@pytest.mark.parametrize(
    ("kind", "limit"),
    [("f8", 0.3), ("f4", 0.3), ("f4", np.float32(1e-3)), ("complex", 1e-3), ("turned", 0.3), ("singular", 0.3),
     ("empty", 0.3), ("not square", 0.3), ("tall", 0.3)],
)  # fmt: skip
def test_least_squares_in_loops(kind: str, limit: Any, monkeypatch: pytest.MonkeyPatch):
    matrix = WIDE.T if kind == "tall" else MATRICES[kind]
    right = np.ones((matrix.shape[0], 2), matrix.dtype)
    if kind != "empty":
        monkeypatch.setattr(host_calls.CallSite, "run", _refuse)
    made, expected = solved_in_turns(matrix, right, limit, 2), _solved_in_turns(matrix, right, limit, 2)
    for number, (one, other) in enumerate(zip(made, expected, strict=True)):
        assert_same(one, other, EXACT if number < len(made) - 3 else ITERATED)


def _eigen_in_turns(x, turns):
    for turn in range(turns):
        found = (*np.linalg.eig(x + turn), np.linalg.eigvals(x - turn))
    return found


eigen_in_turns = jitflow.function(_eigen_in_turns)


def test_eigenvalues_in_loops(monkeypatch: pytest.MonkeyPatch):
    for broken in (np.array([[1, np.nan], [0, 1j]]), np.array([[1, np.inf, 1j]]), np.ones((2, 3), complex)):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            _eigen_in_turns(broken, 2)
        with pytest.raises(np.linalg.LinAlgError, match=str(caught.value)):
            eigen_in_turns(broken, 2)
    monkeypatch.setattr(host_calls.CallSite, "run", _refuse)
    for matrix in (MATRICES["complex"], MATRICES["c8"], 1j * MATRICES["turned stack"]):
        for made, expected in zip(eigen_in_turns(matrix, 2), _eigen_in_turns(matrix, 2), strict=True):
            assert_same(made, expected, EXACT)


def test_failing_steps_raise_what_the_routine_does():
    for matrix, right in ((MATRICES["nan"], np.ones((2, 2))), (MATRIX, np.ones((3, 2)))):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            _solved_in_turns(matrix, right, 0.1, 1)
        with pytest.raises(np.linalg.LinAlgError, match=str(caught.value)):
            solved_in_turns(matrix, right, 0.1, 1)


def test_steps_do_without_loops(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inner_loops, "loop_address", lambda symbol: 0)
    check_compiled(lambda x: [np.linalg.qr(x + turn) for turn in range(2)][-1], WIDE)
    check_compiled(lambda x: [np.linalg.lstsq(x + turn, x) for turn in range(2)][-1], WIDE)


def test_only_what_is_as_expected_is_called(monkeypatch: pytest.MonkeyPatch):
    symbol = f"{LOOP_PREFIX}inv:d->d"
    assert all(map(inner_loops.flag_function, FLAG_FUNCTIONS))
    assert inner_loops.loop_address(symbol)
    assert inner_loops.flag_function("no_such_function") == 0
    monkeypatch.setattr(inner_loops, "layout_is_known", lambda: False)
    assert inner_loops.loop_address.__wrapped__(symbol) == 0


def test_a_failure_in_a_turn_is_that_turns():
    @jitflow.function
    def inverted(matrices, found):
        for number in range(len(matrices)):
            found[number] = np.linalg.inv(matrices[number])

    matrices = np.stack([np.eye(3), 2 * np.eye(3), np.zeros((3, 3)), np.eye(3)])
    found = np.zeros_like(matrices)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        inverted(matrices, found)
    matrices[2] += 4 * np.eye(3)
    inverted(matrices, found)
    assert_same(found, np.linalg.inv(matrices), EXACT)
