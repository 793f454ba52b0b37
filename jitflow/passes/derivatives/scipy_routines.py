"""Rules of SciPy's functions: special functions element by element, and solvers of triangular and Cholesky systems.

Of a triangular matrix only the triangle counts, and without its diagonal where that is taken to be ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.types import dims_of
from jitflow.passes.derivatives.equations import cholesky_change, cholesky_cotangent
from jitflow.passes.derivatives.factors import settled, where
from jitflow.passes.derivatives.matrices import Matrices
from jitflow.passes.derivatives.notation import Notation, dtype_of, options_of, rank
from jitflow.passes.derivatives.rules import Arriving, Change, Tangent, Transpose, given

__all__ = ["TANGENTS", "TRANSPOSES"]


def _call(m: Notation, routine: str, *operands: Value, **options: object) -> Value:
    """A routine whose result has the type of its last operand."""
    (found,) = m.add(
        "host_call", *operands, types=(operands[-1].type,), routine=routine, keywords=(),
        options=tuple(options.items()), effect="check" if options else "none",
    )  # fmt: skip
    return found


# -- special functions of one number


Slope = Callable[[Notation, Value, Value], Value]
"""The derivative, of the operand and the result."""


def _special(m: Notation, name: str, x: Value) -> Value:
    return _call(m, f"scipy.special.{name}", x)


def _trigamma(m: Notation, x: Value, y: Value) -> Value:
    return _call(m, "scipy.special._ufuncs._zeta", m.number(2, dtype_of(x)), x)


def _growing(factor: float, half: float) -> Slope:
    """Of an inverse whose own slope falls as exp(-half * y**2)."""
    return lambda m, x, y: m("multiply", factor, m("exp", m("multiply", half, m("multiply", y, y))))


def _i1(m: Notation, x: Value, y: Value) -> Value:
    at_zero = m("equal", x, 0)
    quotient = m("divide", y, where(m, at_zero, 1, x))
    return m("subtract", _special(m, "i0", x), where(m, at_zero, 0.5, quotient))


def _j1(m: Notation, x: Value, y: Value) -> Value:
    at_zero = m("equal", x, 0)
    quotient = m("divide", y, where(m, at_zero, 1, x))
    return m("subtract", _special(m, "j0", x), where(m, at_zero, 0.5, quotient))


_SLOPES: dict[str, Slope] = {
    "gammaln": lambda m, x, y: _special(m, "psi", x),
    "gamma": lambda m, x, y: m("multiply", y, _special(m, "psi", x)),
    "rgamma": lambda m, x, y: m("negative", m("multiply", y, _special(m, "psi", x))),
    "psi": _trigamma,
    "erfinv": _growing(math.sqrt(math.pi) / 2, 1.0),
    "erfcinv": _growing(-math.sqrt(math.pi) / 2, 1.0),
    "ndtri": _growing(math.sqrt(2 * math.pi), 0.5),
    "i0": lambda m, x, y: _special(m, "i1", x),
    "i1": _i1,
    "j0": lambda m, x, y: m("negative", _special(m, "j1", x)),
    "j1": _j1,
    "log_ndtr": lambda m, x, y: m(
        "exp", m("subtract", m("multiply", -0.5, m("multiply", x, x)), m("add", y, math.log(2 * math.pi) / 2))
    ),
}


def _transposed(slope: Slope) -> Transpose:
    def rule(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
        cotangent = given(cotangents)
        return (settled(m, m("multiply", cotangent, slope(m, op.operands[0], op.results[0])), (cotangent,)),)

    return rule


def _tangent(slope: Slope) -> Tangent:
    def rule(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
        tangent = given(tangents)
        return (settled(m, m("multiply", tangent, slope(m, op.operands[0], op.results[0])), (tangent,)),)

    return rule


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


_CHO_SOLVE = "jitflow.runtime.routines.cho_solve"


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
    **{f"scipy.special.{name}": _transposed(slope) for name, slope in _SLOPES.items()},
    _TRIANGULAR: _solve_triangular,
    _CHO_SOLVE: _cho_solve,
    "jitflow.runtime.routines.cho_factor": _cho_factor,
}
TANGENTS: dict[str, Tangent] = {
    **{f"scipy.special.{name}": _tangent(slope) for name, slope in _SLOPES.items()},
    _TRIANGULAR: _solve_triangular_tangent,
    _CHO_SOLVE: _cho_solve_tangent,
    "jitflow.runtime.routines.cho_factor": _cho_factor_tangent,
}
