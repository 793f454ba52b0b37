"""Rules of linear equations, inverses, determinants and factors of Cholesky's (Giles 2008).

``X'`` stands for the conjugate transpose of ``X`` and ``g`` for what arrives at a result.

- inverse ``Y``: ``dY = -Y dX Y``, so ``-Y' g Y'`` arrives at ``X``.
- solution ``y`` of ``A y = b``: ``dy = A^-1 (db - dA y)``, so ``A'^-1 g`` arrives at ``b`` and minus that times ``y'``
  at ``A``.
- ``d det X = tr(adj(X) dX)``. Of a singular matrix there is no inverse, so its adjugate comes from singular values.
- ``A = L L'``: ``dL = L half(L^-1 dA L^-1')``, where ``half`` takes the lower triangle and half of the diagonal. NumPy
  reads one triangle of ``A`` only, and so all that arrives is in that triangle.
- pseudoinverse: Golub and Pereyra 1973.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Scalar, Tensor, dims_of
from jitflow.passes.derivatives.matrices import Matrices
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank
from jitflow.passes.derivatives.reductions import exclusive, reversed_along
from jitflow.passes.derivatives.rules import Arriving, Change, Refused, Tangent, Transpose, given, no_rule

__all__ = ["TANGENTS", "TRANSPOSES", "cholesky_change", "cholesky_cotangent", "of_triangle", "symmetric"]

Dims = tuple[Dim, ...]

# -- inverses


def _inv(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    a = Matrices(m)
    inverse = a.adjoint(op.results[0])
    return (a.negative(a.product(inverse, given(cotangents), inverse)),)


def _inv_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    a = Matrices(m)
    return (a.negative(a.product(op.results[0], given(tangents), op.results[0])),)


# -- equations: batches meet, and a single vector on the right is a matrix of one column


def _solve_parts(m: Notation, op: Op) -> tuple[Value, Dims]:
    """The matrices over the common batch, and the dims of the right side as matrices over it."""
    left, right = op.operands
    dims = dims_of(op.results[0].type)
    wanted = (*dims, 1) if rank(right) == 1 else dims
    return _over(m, left, (*wanted[:-2], *dims_of(left.type)[-2:])), wanted


def _over(m: Notation, value: Value, dims: Dims) -> Value:
    """Matrices repeated over a larger batch."""
    source = dims_of(value.type)
    if source == dims:
        return value
    return m("broadcast", value, dims=dims, axes=tuple(range(len(dims) - len(source), len(dims))), assumed=True)


def _as_columns(m: Notation, op: Op, value: Value, wanted: Dims) -> Value:
    if rank(op.operands[1]) == 1:
        value = m("reshape", value, dims=(*dims_of(value.type), 1))
    return _over(m, value, wanted)


def _from_batch(m: Notation, value: Value, dims: Dims) -> Value:
    """What arrives at matrices that were repeated over a larger batch."""
    source = dims_of(value.type)
    more = len(source) - len(dims)
    repeated = [
        axis for axis in range(len(source)) if axis < more or (dims[axis - more] == 1 and source[axis] != 1)
    ]  # fmt: skip
    if repeated:
        value = m("reduce_add", value, axes=tuple(repeated))
    return m("reshape", value, dims=dims, assumed=True) if dims_of(value.type) != dims else value


def _solve(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    a, (left, right) = Matrices(m), op.operands
    matrix, wanted = _solve_parts(m, op)
    cotangent, solution = (
        m("reshape", value, dims=wanted, assumed=True) for value in (given(cotangents), op.results[0])
    )
    at_right = a.solve(a.adjoint(matrix), cotangent)
    at_left = a.negative(a.product(at_right, a.adjoint(solution)))
    if rank(right) == 1:
        at_right = m("reshape", at_right, dims=wanted[:-1])
    return _from_batch(m, at_left, dims_of(left.type)), _from_batch(m, at_right, dims_of(right.type))


def _solve_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    a, (first, second) = Matrices(m), tangents
    matrix, wanted = _solve_parts(m, op)
    change = None
    if first is not None:
        moved = _over(m, first, dims_of(matrix.type))
        solution = m("reshape", op.results[0], dims=wanted, assumed=True)
        change = a.negative(a.product(moved, solution))
    right = None if second is None else _as_columns(m, op, second, wanted)
    found = a.solve(matrix, a.total(change, right))
    return (m("reshape", found, dims=dims_of(op.results[0].type), assumed=True),)


# -- determinants


def _adjugate(m: Notation, op: Op) -> Value:
    """``det(X) X^-1``, which singular matrices have as well."""
    (matrix,), (determinant,) = op.operands, op.results
    singular = m("equal", determinant, 0)
    if rank(singular):
        singular = m("reduce_logical_or", singular, axes=tuple(range(rank(singular))))
    regular, special = m.inside(), m.inside()
    found = Matrices(regular).scaled(Matrices(regular).inverse(matrix), determinant)
    first = regular.builder.region((), (found,))
    second = special.builder.region((), (_adjugate_of_singular(special, matrix),))
    (adjugate,) = m.add("if", singular, types=(matrix.type,), regions=(second, first))
    return adjugate


def _adjugate_of_singular(m: Notation, matrix: Value) -> Value:
    a = Matrices(m)
    dtype, dims = dtype_of(matrix), dims_of(matrix.type)
    left, sizes, right = a.singular(matrix, dims[-1])
    turned = Tensor(dtype, dims[:-2]) if dims[:-2] else Scalar(dtype)
    (phase,) = a.call("linalg.det", (a.product(left, right),), (turned,))
    axis = rank(sizes) - 1
    before = exclusive(m, m("accumulate_multiply", sizes, axis=axis), axis)
    backwards = m("accumulate_multiply", reversed_along(m, sizes, axis), axis=axis)
    behind = reversed_along(m, exclusive(m, backwards, axis), axis)
    others = a.times_columns(a.adjoint(right), m("multiply", before, behind))
    return m.named(a.scaled(a.product(others, a.adjoint(left)), phase), dims)


def _det(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    a = Matrices(m)
    return (a.scaled(a.adjoint(_adjugate(m, op)), given(cotangents)),)


def _det_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    a = Matrices(m)
    return (a.trace(a.product(_adjugate(m, op), given(tangents))),)


def _slogdet(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    a, (matrix,), (sign, _) = Matrices(m), op.operands, op.results
    of_sign, of_size = cotangents
    factor = None if of_size is None else m.cast(of_size, dtype_of(matrix))
    if of_sign is not None and dtype_of(matrix).is_complex:
        turn = m("imag", m("multiply", of_sign, m("conjugate", sign)))
        turn = m("complex", m.number(0, dtype_of(turn)), turn)
        factor = turn if factor is None else m("add", factor, turn)
    if factor is None:
        return (None,)
    return (a.scaled(a.adjoint(a.inverse(matrix)), factor),)


def _slogdet_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    a, (matrix,), (sign, _) = Matrices(m), op.operands, op.results
    growth = a.trace(a.solve(matrix, given(tangents)))
    if not dtype_of(growth).is_complex:
        return None, growth
    turn = m("complex", m.number(0, dtype_of(growth).real), m("imag", growth))
    return m("multiply", sign, turn), m("real", growth)


# -- matrices of which one triangle is read


def symmetric(a: Matrices, matrix: Value, lower: bool = True) -> Value:
    """The Hermitian matrix of which a triangle is read."""
    read = a.where("greater" if lower else "less", matrix)
    diagonal = a.diagonal(matrix)
    if dtype_of(matrix).is_complex:
        diagonal = a.m("real", diagonal)
    return a.with_diagonal(a.total(read, a.adjoint(read)), diagonal)


def of_triangle(a: Matrices, arriving: Value, lower: bool = True) -> Value:
    """What arrives at the triangle that is read, of what arrives at the Hermitian matrix."""
    read = a.where("greater" if lower else "less", a.total(arriving, a.adjoint(arriving)))
    diagonal = a.diagonal(arriving)
    if dtype_of(arriving).is_complex:
        diagonal = a.m("real", diagonal)
    return a.with_diagonal(read, diagonal)


def _half(a: Matrices, matrix: Value) -> Value:
    """The lower triangle with half of the real diagonal."""
    diagonal = a.diagonal(matrix)
    if dtype_of(matrix).is_complex:
        diagonal = a.m("real", diagonal)
    return a.with_diagonal(a.where("greater", matrix), a.m("multiply", 0.5, diagonal))


def _is_upper(op: Op) -> bool:
    return bool(dict(op.attributes["options"]).get("upper"))


def _cholesky(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    return (cholesky_cotangent(Matrices(m), op.results[0], given(cotangents), upper=_is_upper(op)),)


def cholesky_cotangent(a: Matrices, factor: Value, cotangent: Value, *, upper: bool) -> Value:
    """What arrives at a matrix from its factor."""
    if upper:
        factor, cotangent = a.adjoint(factor), a.adjoint(cotangent)
    inner = _half(a, a.product(a.adjoint(factor), cotangent))
    outer = a.adjoint(a.solve(a.adjoint(factor), a.adjoint(a.solve(a.adjoint(factor), inner))))
    arriving = a.m("multiply", 0.5, a.total(outer, a.adjoint(outer)))
    return of_triangle(a, arriving, lower=not upper)


def _cholesky_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    return (cholesky_change(Matrices(m), op.results[0], given(tangents), upper=_is_upper(op)),)


def cholesky_change(a: Matrices, factor: Value, tangent: Value, *, upper: bool) -> Value:
    """The change of the factor of a matrix that changes."""
    change = symmetric(a, tangent, lower=not upper)
    factor = a.adjoint(factor) if upper else factor
    inner = a.divided(a.solve(factor, change), factor)
    found = a.product(factor, _half(a, inner))
    return a.adjoint(found) if upper else found


# -- pseudoinverses


def _rest(a: Matrices, projector: Value) -> Value:
    """What a projector leaves."""
    ones = a.m.filled(1, Tensor(dtype_of(projector), dims_of(projector.type)[:-1]))
    return a.minus(a.of_diagonal(ones), projector)


def _pinv_arriving(a: Matrices, matrix: Value, inverse: Value, cotangent: Value) -> Value:
    turned, back = a.adjoint(inverse), a.adjoint(cotangent)
    return a.total(
        a.negative(a.product(turned, cotangent, turned)),
        a.product(_rest(a, a.product(matrix, inverse)), back, inverse, turned),
        a.product(turned, inverse, back, _rest(a, a.product(inverse, matrix))),
    )


def _pinv_change(a: Matrices, matrix: Value, inverse: Value, change: Value) -> Value:
    turned, back = a.adjoint(inverse), a.adjoint(change)
    return a.total(
        a.negative(a.product(inverse, change, inverse)),
        a.product(inverse, turned, back, _rest(a, a.product(matrix, inverse))),
        a.product(_rest(a, a.product(inverse, matrix)), back, turned, inverse),
    )


def _pinv(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    found = _pinv_arriving(Matrices(m), op.operands[0], op.results[0], given(cotangents))
    return (found, *(None for _ in op.operands[1:]))


def _pinv_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    change = tangents[0]
    assert change is not None
    return (_pinv_change(Matrices(m), op.operands[0], op.results[0], change),)


def _pseudoinverse(a: Matrices, matrix: Value) -> Value:
    dims = dims_of(matrix.type)
    (found,) = a.call("linalg.pinv", (matrix,), (Tensor(dtype_of(matrix), (*dims[:-2], dims[-1], dims[-2])),))
    return found


def _lstsq(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """The solution of least squares is the pseudoinverse times the right side."""
    a, (left, right), more = Matrices(m), _of_one_dtype(m, op), op.operands[2:]
    cotangent, *others = cotangents
    if any(other is not None for other in others):
        raise no_rule(op, _SOLUTION)
    assert cotangent is not None
    columns, wide = _one_column(m, right), _one_column(m, cotangent)
    inverse = _pseudoinverse(a, left)
    at_right = a.product(a.adjoint(inverse), wide)
    at_left = _pinv_arriving(a, left, inverse, a.product(wide, a.adjoint(columns)))
    at_right = m("reshape", at_right, dims=dims_of(right.type), assumed=True)
    arriving = zip((at_left, at_right), op.operands, strict=False)
    return *(m.cast(found, dtype_of(operand)) for found, operand in arriving), *(None for _ in more)


def _of_one_dtype(m: Notation, op: Op) -> tuple[Value, Value]:
    """The matrix and the right side of a call as NumPy calculates with them."""
    left, right = (m.cast(operand, dtype_of(op.results[0])) for operand in op.operands[:2])
    return left, right


_SOLUTION = (
    "compute residuals from the solution: ((a @ x - b) ** 2).sum(axis=0), singular values with np.linalg.svdvals"
)


def _lstsq_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change | Refused]:
    a, (left, right) = Matrices(m), _of_one_dtype(m, op)
    first, second = (None if change is None else m.cast(change, dtype_of(left)) for change in tangents[:2])
    inverse = _pseudoinverse(a, left)
    parts = (
        None if first is None else a.product(_pinv_change(a, left, inverse, first), _one_column(m, right)),
        None if second is None else a.product(inverse, _one_column(m, second)),
    )
    return m("reshape", a.total(*parts), dims=dims_of(op.results[0].type)), *(
        Refused(_SOLUTION) for _ in op.results[1:]
    )


def _one_column(m: Notation, value: Value) -> Value:
    return value if rank(value) > 1 else m("reshape", value, dims=(*dims_of(value.type), 1))


# -- inverses and equations of arrays with several axes on either side


TRANSPOSES: dict[str, Transpose] = {
    "numpy.linalg.inv": _inv,
    "jitflow.runtime.calls.routines.inverse": _inv,
    "numpy.linalg.solve": _solve,
    "numpy.linalg.det": _det,
    "numpy.linalg.slogdet": _slogdet,
    "numpy.linalg.cholesky": _cholesky,
    "numpy.linalg.pinv": _pinv,
    "numpy.linalg.lstsq": _lstsq,
}

TANGENTS: dict[str, Tangent] = {
    "numpy.linalg.inv": _inv_tangent,
    "jitflow.runtime.calls.routines.inverse": _inv_tangent,
    "numpy.linalg.solve": _solve_tangent,
    "numpy.linalg.det": _det_tangent,
    "numpy.linalg.slogdet": _slogdet_tangent,
    "numpy.linalg.cholesky": _cholesky_tangent,
    "numpy.linalg.pinv": _pinv_tangent,
    "numpy.linalg.lstsq": _lstsq_tangent,
}
