"""Rules of eigenvalues, singular values and orthogonal factors (Giles 2008; Townsend 2016; Liao et al. 2019).

``X'`` stands for the conjugate transpose of ``X`` and ``g`` for what arrives at a result. In ``A = V diag(w) V'`` a
change of ``C = V' dA V`` turns the vectors by ``C[i, j] / (w[j] - w[i])``, and similarly for singular vectors.

Vectors of equal values can be turned into each other at will, so they have no derivative: where a result depends on
them, it is infinite or nan. Values alone have one. The signs and phases of vectors stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.derivatives.equations import of_triangle, symmetric
from jitflow.passes.derivatives.factors import settled
from jitflow.passes.derivatives.matrices import Matrices
from jitflow.passes.derivatives.notation import Notation, dtype_of, options_of
from jitflow.passes.derivatives.rules import Arriving, Change, Refused, Tangent, Transpose, given, no_rule

__all__ = ["TANGENTS", "TRANSPOSES"]


def _over(m: Notation, change: Value, numbers: Value) -> Value:
    """``change / numbers``, where there is a change."""
    return settled(m, m("divide", change, numbers), (change,))


def _over_gaps(a: Matrices, turn: Value, numbers: Value, *, adjoint: bool = False) -> Value:
    """``turn[i, j] / (numbers[j] - numbers[i])``, and 0 on the diagonal; by the conjugate, if ``adjoint``."""
    gaps = a.minus(a.columns(numbers, turn), a.rows(numbers, turn))
    gaps = a.m("conjugate", gaps) if adjoint and dtype_of(gaps).is_complex else gaps
    return a.where("not_equal", _over(a.m, turn, gaps))


def _real_diagonal(a: Matrices, matrix: Value) -> Value:
    diagonal = a.diagonal(matrix)
    return a.m("real", diagonal) if dtype_of(diagonal).is_complex else diagonal


# -- Hermitian matrices


def _eigh_results(a: Matrices, op: Op) -> tuple[Value, Value]:
    """Eigenvalues and eigenvectors; those who asked for values alone need the vectors now."""
    if len(op.results) == 2:
        return op.results[0], op.results[1]
    (matrix,) = op.operands
    values, vectors = a.call("linalg.eigh", (matrix,), (op.results[0].type, matrix.type), **options_of(op))
    return values, vectors


def _is_lower(op: Op) -> bool:
    return str(options_of(op).get("UPLO", "L")).upper() == "L"


def _eigh(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    a = Matrices(m)
    values, vectors = _eigh_results(a, op)
    of_values, of_vectors = (*cotangents, None)[:2]
    inner = None
    if of_vectors is not None:
        turn = a.product(a.adjoint(vectors), of_vectors)
        inner = _over_gaps(a, turn, values)
    if of_values is not None:
        inner = (
            a.of_diagonal(m.cast(of_values, dtype_of(vectors))) if inner is None else a.with_diagonal(inner, of_values)
        )
    assert inner is not None
    return (of_triangle(a, a.product(vectors, inner, a.adjoint(vectors)), _is_lower(op)),)


def _eigh_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    a = Matrices(m)
    values, vectors = _eigh_results(a, op)
    change = a.product(a.adjoint(vectors), symmetric(a, given(tangents), _is_lower(op)), vectors)
    turned = a.product(vectors, _over_gaps(a, change, values))
    return (_real_diagonal(a, change), turned)[: len(op.results)]


# -- matrices of any kind: complex columns of length 1, of real matrices as well


def _eig_results(a: Matrices, op: Op) -> tuple[Value, Value]:
    if len(op.results) == 2:
        return op.results[0], op.results[1]
    (matrix,), kind = op.operands, op.results[0].type
    values, vectors = a.m.add(
        "host_call", matrix, types=(kind, Tensor(dtype_of(op.results[0]), dims_of(matrix.type))),
        routine="jitflow.runtime.calls.routines.eig", keywords=(), options=(), effect="check",
    )  # fmt: skip
    return values, vectors


def _eig(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    a = Matrices(m)
    values, vectors = _eig_results(a, op)
    of_values, of_vectors = (*cotangents, None)[:2]
    inner = None
    if of_vectors is not None:
        back = a.adjoint(vectors)
        turn = a.product(back, of_vectors)
        along = _real_diagonal(a, turn)
        turn = a.minus(turn, a.times_columns(a.product(back, vectors), along))
        inner = _over_gaps(a, turn, values, adjoint=True)
    if of_values is not None:
        inner = a.of_diagonal(of_values) if inner is None else a.with_diagonal(inner, of_values)
    assert inner is not None
    back = a.adjoint(vectors)
    found = a.solve(back, a.product(inner, back))
    return (found if dtype_of(op.operands[0]).is_complex else m("real", found),)


def _eig_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    a = Matrices(m)
    values, vectors = _eig_results(a, op)
    change = a.solve(vectors, a.product(m.cast(given(tangents), dtype_of(vectors)), vectors))
    turned = a.product(vectors, _over_gaps(a, change, values))
    along = _real_diagonal(a, a.product(a.adjoint(vectors), turned))
    turned = a.minus(turned, a.times_columns(vectors, along))
    return (a.diagonal(change), turned)[: len(op.results)]


# -- singular values


def _svd_results(a: Matrices, op: Op) -> tuple[Value, Value, Value]:
    """The thin factors. The columns that complete a square matrix have no derivative, so they have to be asked for."""
    (matrix,) = op.operands
    numbers = op.results[0] if len(op.results) == 1 else op.results[1]
    least = dims_of(numbers.type)[-1]
    if len(op.results) == 3 and not _is_full(op):
        return op.results[0], op.results[1], op.results[2]
    return a.singular(matrix, least)


def _is_full(op: Op) -> bool:
    """Whether there may be more vectors than values."""
    *_, rows, columns = dims_of(op.operands[0].type)
    return bool(options_of(op).get("full_matrices", True)) and rows != columns


_THIN = "use np.linalg.svd(a, full_matrices=False): the vectors beyond those have no derivative"


def _svd(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    a = Matrices(m)
    left, sizes, back = _svd_results(a, op)
    of_left, of_sizes, of_back = (None, *cotangents, None) if len(cotangents) == 1 else cotangents
    if (of_left is not None or of_back is not None) and _is_full(op):
        raise no_rule(op, _THIN)
    right = a.adjoint(back)
    inner = a.of_diagonal(m.cast(m.zeros(sizes.type) if of_sizes is None else of_sizes, dtype_of(left)))
    more = []
    squares = m("multiply", sizes, sizes)
    if of_left is not None:
        turn = a.product(a.adjoint(left), of_left)
        mixed = _over_gaps(a, turn, squares)
        inner = a.total(inner, a.times_columns(a.total(mixed, a.adjoint(mixed)), sizes), _phases(a, turn, sizes, 1))
        outside = a.minus(of_left, a.product(left, turn))
        more.append(a.product(_over(m, outside, a.columns(sizes, outside)), back))
    if of_back is not None:
        of_right = a.adjoint(of_back)
        turn = a.product(back, of_right)
        mixed = _over_gaps(a, turn, squares)
        both = a.total(mixed, a.adjoint(mixed))
        both = m("multiply", a.rows(sizes, both), both)
        inner = a.total(inner, both, _phases(a, turn, sizes, -1))
        outside = a.minus(of_right, a.product(right, turn))
        more.append(a.product(left, a.adjoint(_over(m, outside, a.columns(sizes, outside)))))
    return (a.total(a.product(left, inner, back), *more),)


def _phases(a: Matrices, turn: Value, sizes: Value, sign: int) -> Value | None:
    """By what the phases of complex vectors turn, which left and right ones share; or what arrives at them."""
    if not dtype_of(turn).is_complex:
        return None
    m = a.m
    phase = _over(m, m("multiply", 0.5 * sign, m("imag", a.diagonal(turn))), sizes)
    return a.of_diagonal(m("complex", m.number(0, dtype_of(phase)), phase))


def _svd_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change | Refused]:
    a = Matrices(m)
    left, sizes, back = _svd_results(a, op)
    right, change = a.adjoint(back), given(tangents)
    inner = a.product(a.adjoint(left), change, right)
    of_sizes = _real_diagonal(a, inner)
    if len(op.results) == 1:
        return (of_sizes,)
    if _is_full(op):
        return Refused(_THIN), of_sizes, Refused(_THIN)
    squares = m("multiply", sizes, sizes)
    columns, rows = a.times_columns(inner, sizes), m("multiply", a.rows(sizes, inner), inner)
    turn_left = a.total(_over_gaps(a, a.total(columns, a.adjoint(columns)), squares), _phases(a, inner, sizes, 1))
    turn_right = a.total(_over_gaps(a, a.total(rows, a.adjoint(rows)), squares), _phases(a, inner, sizes, -1))
    outside = a.minus(a.product(change, right), a.product(left, inner))
    of_left = a.total(a.product(left, turn_left), _over(m, outside, a.columns(sizes, outside)))
    outside = a.minus(a.product(a.adjoint(change), left), a.product(right, a.adjoint(inner)))
    of_right = a.total(a.product(right, turn_right), _over(m, outside, a.columns(sizes, outside)))
    return of_left, of_sizes, a.adjoint(of_right)


# -- orthogonal and triangular factors: of a wide matrix the first columns decide


def _qr_results(a: Matrices, op: Op) -> tuple[Value, Value]:
    if len(op.results) == 2:
        return op.results[0], op.results[1]
    (matrix,), (triangle,) = op.operands, op.results
    types = (Tensor(dtype_of(matrix), (*dims_of(matrix.type)[:-1], dims_of(triangle.type)[-2])), triangle.type)
    left, right = a.call("linalg.qr", (matrix,), types, mode="reduced")
    return left, right


def _qr(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    a, (matrix,) = Matrices(m), op.operands
    left, right = _qr_results(a, op)
    of_left, of_right = (None, *cotangents) if len(cotangents) == 1 else cotangents
    of_left = m.zeros(left.type) if of_left is None else of_left
    of_right = m.zeros(right.type) if of_right is None else of_right
    size, columns = dims_of(left.type)[-1], dims_of(matrix.type)[-1]
    rest = a.part(of_right, size, columns - size)
    of_left = a.total(of_left, a.product(a.part(matrix, size, columns - size), a.adjoint(rest)))
    square, of_square = a.part(right, 0, size), a.part(of_right, 0, size)
    inner = a.minus(a.product(square, a.adjoint(of_square)), a.product(a.adjoint(of_left), left))
    below = a.where("greater", inner)
    inner = a.with_diagonal(a.total(below, a.adjoint(below)), _real_diagonal(a, inner))
    first = a.divided(a.total(of_left, a.product(left, inner)), square)
    found = m("concatenate", first, a.product(left, rest), axis=len(dims_of(matrix.type)) - 1)
    return (m.named(found, dims_of(matrix.type)),)


def _qr_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    a, (matrix,), change = Matrices(m), op.operands, given(tangents)
    left, right = _qr_results(a, op)
    size, columns = dims_of(left.type)[-1], dims_of(matrix.type)[-1]
    square = a.part(right, 0, size)
    inverse = a.adjoint(a.solve(a.adjoint(square), a.adjoint(a.part(change, 0, size))))  # the change times 1 / R
    inner = a.product(a.adjoint(left), inverse)
    below = a.where("greater", inner)
    turn = a.minus(below, a.adjoint(below))
    if dtype_of(turn).is_complex:
        diagonal = a.diagonal(inner)
        turn = a.with_diagonal(turn, a.minus(diagonal, m.cast(m("real", diagonal), dtype_of(diagonal))))
    of_left = a.total(a.product(left, turn), a.minus(inverse, a.product(left, inner)))
    of_square = a.product(a.minus(inner, turn), square)
    rest = a.total(
        a.product(a.adjoint(of_left), a.part(matrix, size, columns - size)),
        a.product(a.adjoint(left), a.part(change, size, columns - size)),
    )
    of_right = m("concatenate", of_square, rest, axis=len(dims_of(matrix.type)) - 1)
    of_right = m.named(of_right, dims_of(right.type))
    return (of_right,) if len(op.results) == 1 else (of_left, of_right)


TRANSPOSES: dict[str, Transpose] = {
    "numpy.linalg.eigh": _eigh,
    "numpy.linalg.eigvalsh": _eigh,
    "jitflow.runtime.calls.routines.eig": _eig,
    "jitflow.runtime.calls.routines.eigvals": _eig,
    "numpy.linalg.svd": _svd,
    "numpy.linalg.svdvals": _svd,
    "numpy.linalg.qr": _qr,
}

TANGENTS: dict[str, Tangent] = {
    "numpy.linalg.eigh": _eigh_tangent,
    "numpy.linalg.eigvalsh": _eigh_tangent,
    "jitflow.runtime.calls.routines.eig": _eig_tangent,
    "jitflow.runtime.calls.routines.eigvals": _eig_tangent,
    "numpy.linalg.svd": _svd_tangent,
    "numpy.linalg.svdvals": _svd_tangent,
    "numpy.linalg.qr": _qr_tangent,
}
