"""Rules of SciPy's solvers of triangular and Cholesky systems.

Of a triangular matrix only the triangle counts, and without its diagonal where that is taken to be ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.types import dims_of
from jitflow.passes.derivatives.equations import cholesky_change, cholesky_cotangent
from jitflow.passes.derivatives.matrices import Matrices
from jitflow.passes.derivatives.notation import Notation, options_of, rank
from jitflow.passes.derivatives.rules import Arriving, Change, Tangent, Transpose, given

__all__ = ["TANGENTS", "TRANSPOSES"]


def _call(m: Notation, routine: str, *operands: Value, **options: object) -> Value:
    """A routine whose result has the type of its last operand."""
    (found,) = m.add(
        "host_call", *operands, types=(operands[-1].type,), routine=routine, keywords=(),
        options=tuple(options.items()), effect="check" if options else "none",
    )  # fmt: skip
    return found


# -- triangular systems


def _columns(m: Notation, vectors: Value) -> Value:
    """A vector as a matrix of one column."""
    return vectors if rank(vectors) == 2 else m("reshape", vectors, dims=(*dims_of(vectors.type), 1))


def _outer(a: Matrices, left: Value, right: Value) -> Value:
    """``left right'``, of vectors or of matrices with as many columns."""
    return a.product(_columns(a.m, left), a.adjoint(_columns(a.m, right)))


def _times(a: Matrices, matrix: Value, vectors: Value) -> Value:
    found = a.product(matrix, _columns(a.m, vectors))
    return a.m("reshape", found, dims=dims_of(vectors.type), assumed=True)


def _triangle(a: Matrices, matrix: Value, *, lower: bool, strict: bool = False) -> Value:
    return a.where(("greater" if lower else "less") + ("" if strict else "_equal"), matrix)


_TRIANGULAR = "scipy.linalg.solve_triangular"


def _in_triangle(a: Matrices, op: Op, change: Value) -> Value:
    """What of a change of the matrix the solver sees, turned as it turns the matrix."""
    options = options_of(op)
    return _triangle(a, change, lower=options["lower"], strict=options["unit_diagonal"])


def _solve_triangular(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    a, options, solution = Matrices(m), options_of(op), op.results[0]
    at_right = _call(
        m, _TRIANGULAR, op.operands[0], given(cotangents), **{**options, "trans": int(not options["trans"])}
    )
    pair = (solution, at_right) if options["trans"] else (at_right, solution)
    return a.negative(_in_triangle(a, op, _outer(a, *pair))), at_right


def _solve_triangular_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    a, options, (first, second) = Matrices(m), options_of(op), tangents
    moved = None
    if first is not None:
        change = _in_triangle(a, op, first)
        moved = a.negative(_times(a, a.adjoint(change) if options["trans"] else change, op.results[0]))
    return (_call(m, _TRIANGULAR, op.operands[0], a.total(moved, second), **options),)


# -- Cholesky systems: A = L L', of which the factor's other triangle knows nothing


_CHO_SOLVE = "jitflow.runtime.calls.routines.cho_solve"


def _lower_factor(a: Matrices, op: Op, factor: Value) -> Value:
    lower = options_of(op)["lower"]
    triangle = _triangle(a, factor, lower=lower)
    return triangle if lower else a.adjoint(triangle)


def _cho_solve(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    a, options, factor = Matrices(m), options_of(op), op.operands[0]
    at_right = _call(m, _CHO_SOLVE, factor, given(cotangents), **options)
    at_matrix = a.negative(_outer(a, at_right, op.results[0]))
    at_factor = a.product(a.total(at_matrix, a.adjoint(at_matrix)), _lower_factor(a, op, factor))
    at_factor = at_factor if options["lower"] else a.adjoint(at_factor)
    return _triangle(a, at_factor, lower=options["lower"]), at_right


def _cho_solve_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    a, (first, second) = Matrices(m), tangents
    moved = None
    if first is not None:
        half = a.product(_lower_factor(a, op, first), a.adjoint(_lower_factor(a, op, op.operands[0])))
        moved = a.negative(_times(a, a.total(half, a.adjoint(half)), op.results[0]))
    return (_call(m, _CHO_SOLVE, op.operands[0], a.total(moved, second), **options_of(op)),)


def _cho_factor(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    a, lower, cotangent = Matrices(m), options_of(op)["lower"], given(cotangents)
    inside = cholesky_cotangent(
        a, _triangle(a, op.results[0], lower=lower), _triangle(a, cotangent, lower=lower), upper=not lower
    )
    return (a.total(inside, _triangle(a, cotangent, lower=not lower, strict=True)),)


def _cho_factor_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    a, lower, tangent = Matrices(m), options_of(op)["lower"], given(tangents)
    inside = cholesky_change(a, _triangle(a, op.results[0], lower=lower), tangent, upper=not lower)
    return (a.total(inside, _triangle(a, tangent, lower=not lower, strict=True)),)


TRANSPOSES: dict[str, Transpose] = {
    _TRIANGULAR: _solve_triangular,
    _CHO_SOLVE: _cho_solve,
    "jitflow.runtime.calls.routines.cho_factor": _cho_factor,
}
TANGENTS: dict[str, Tangent] = {
    _TRIANGULAR: _solve_triangular_tangent,
    _CHO_SOLVE: _cho_solve_tangent,
    "jitflow.runtime.calls.routines.cho_factor": _cho_factor_tangent,
}
