"""Routines that NumPy writes in Python over loops in C become those steps, with the arithmetic between them as ops.

``np.linalg.qr`` is two calls of LAPACK with Python around them, which takes longer than they do for a small matrix. As
steps the calls are direct (`jitflow.ir.inner_loops`), and the rest is part of kernels. Derivatives have been taken
by then, by rules for the routine as a whole. Left alone: routines outside of loops, where compiling the steps would
take longer than they save, stacks of stacks, which are no loop's, and programs on a GPU, whose routines are cupy's.

    %1: f64[n, k], %2: f64[k, m] = host_call %a {routine="numpy.linalg.qr", ..}
->
    %1: f64[n, m], %2: f64[k] = host_call %a {routine="jitflow.runtime.calls.routines.qr_factors", ..}
    %3: f64[n, k] = host_call %1, %2 {routine="jitflow.runtime.calls.routines.qr_basis", ..}
    %4: f64[k, m] = slice %1 ..                         ; and zeros below its diagonal
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk_loops
from jitflow.ir.dims import maximum, minimum
from jitflow.ir.dtypes import C128, F32, F64, I32, I64, DType
from jitflow.ir.dtypes import dtype_of as dtype_like
from jitflow.ir.types import Scalar, Tensor, Type, dims_of
from jitflow.passes.derivatives.factors import where
from jitflow.passes.derivatives.matrices import Matrices
from jitflow.passes.derivatives.notation import Notation, dtype_of, options_of, rank
from jitflow.passes.values.dce import dce

__all__ = ["unfold"]

Steps = Callable[[Matrices, Op], Sequence[Value]]


def unfold(function: Function) -> Function:
    """Write routines in loops out as their steps."""
    ops = frozenset(op for op in walk_loops(function.region) if _has_steps(op))
    return dce(replace(function, region=_unfolded(function.region, ops, {}))) if ops else function


def _has_steps(op: Op) -> bool:
    if op.name != "host_call" or op.attributes["routine"] not in _STEPS or options_of(op).get("hermitian"):
        return False
    if "on_failure" in op.attributes:
        return False  # what is to be called then may be asked for by a check among the steps
    if op.attributes["routine"] == "numpy.linalg.pinv" and dtype_of(op.operands[0]).kind not in "fc":
        return False  # without elements they stay integers
    matrices = [operand for operand in op.operands if rank(operand)]
    by_keyword = zip(op.operands, op.attributes["keywords"], strict=False)
    numbers = [operand for operand, keyword in by_keyword if keyword]
    return all(rank(one) <= 3 for one in matrices) and all(
        dtype_of(one).kind in "if" and not rank(one) for one in numbers
    )


def _unfolded(region: Region, unfolding: Set[Op], renamed: dict[Value, Value]) -> Region:
    builder = Builder()
    for op in region.ops:
        current = replace(op, operands=tuple(renamed.get(operand, operand) for operand in op.operands))
        if op in unfolding:
            builder.loc = op.loc
            a = Matrices(Notation(builder))
            found = _STEPS[op.attributes["routine"]](a, current)
            typed = [a.m.converted(value, result.type) for value, result in zip(found, op.results, strict=True)]
            renamed.update(zip(op.results, typed, strict=True))
        else:
            builder.ops.append(
                replace(current, regions=tuple(_unfolded(inner, unfolding, renamed) for inner in op.regions))
            )
    return Region(region.parameters, tuple(builder.ops))


def _call(
    a: Matrices, step: str, operands: Sequence[Value], types: Sequence[Type], **options: Any
) -> tuple[Value, ...]:
    return a.m.add(
        "host_call", *operands, types=types, routine=f"jitflow.runtime.calls.routines.{step}", keywords=(),
        options=tuple(options.items()), effect="none" if step == "qr_basis" else "check",
    )  # fmt: skip


def _double(*values: Value) -> DType:
    """What NumPy's linear algebra computes in."""
    return C128 if any(dtype_of(value).is_complex for value in values) else F64


def _met(a: Matrices, *values: Value) -> list[Value]:
    """The values in the dtype in which NumPy's arrays of their dtypes meet."""
    met = dtype_like(np.result_type(*(dtype_of(value).numpy for value in values)))
    assert met is not None
    return [a.m.cast(value, met) for value in values]


# -- numbers beside matrices


def _given(a: Matrices, op: Op, *names: str) -> Value | None:
    """The number that goes by one of these keywords; None if that is None, or there is none."""
    for operand, keyword in zip(op.operands, op.attributes["keywords"], strict=False):
        if keyword in names:
            return operand
    numbers = (options_of(op).get(name) for name in names)
    number = next((number for number in numbers if number is not None), None)
    return None if number is None else a.m.number(number, F64 if isinstance(number, float) else I64)


def _spacing(a: Matrices, matrix: Value, dtype: DType) -> Value:
    """The larger size of a matrix, in units of what a dtype has between 1 and the next number."""
    size = a.m.size(maximum(*dims_of(matrix.type)[-2:]))
    return a.m("multiply", a.m("cast", a.m("cast", size, dtype=I64), dtype=dtype), np.finfo(dtype.numpy).eps.item())


def _above(a: Matrices, sizes: Value, limits: Value) -> Value:
    """Which singular values are above the limit of their matrix."""
    sizes, limits = _met(a, sizes, limits)
    dims = dims_of(sizes.type)
    limits = a.m("broadcast", limits, dims=dims, axes=tuple(range(rank(limits))), assumed=True)
    return a.m("greater", sizes, limits)


def _parts_of_largest(a: Matrices, sizes: Value, part: Value) -> Value:
    """Of each matrix the largest singular value times a number."""
    largest, part = _met(a, a.m("reduce_maximum", sizes, axes=(rank(sizes) - 1,)), part)
    return a.m("multiply", largest, part)


# -- the routines


def _qr(a: Matrices, op: Op) -> Sequence[Value]:
    """R, below whose diagonal Householder's vectors lie, and Q, which is made of these."""
    (matrix,), mode = op.operands, options_of(op)["mode"]
    double = _double(matrix)
    *batch, rows, columns = dims = dims_of(matrix.type)
    types = Tensor(double, tuple(dims)), Tensor(double, (*batch, minimum(rows, columns)))
    vectors, factors = _call(a, "qr_factors", (a.m.cast(matrix, double),), types)
    if mode == "raw":
        return a.transposed(vectors), factors
    inner = dims_of(op.results[-1].type)[-2]
    triangle = a.where("less_equal", a.first_rows(vectors, inner))
    if mode == "r":
        return (triangle,)
    kind = Tensor(double, (*batch, rows, inner))
    (basis,) = _call(a, "qr_basis", (vectors, factors), (kind,), complete=mode == "complete")
    return basis, triangle


def _lstsq(a: Matrices, op: Op) -> Sequence[Value]:
    """There are residuals if the matrix has full rank, and more rows than columns."""
    m, (matrix, right, *_) = a.m, op.operands
    double, (rows, columns) = _double(matrix, right), dims_of(matrix.type)
    if rank(right) == 1:
        right = m("reshape", right, dims=(*dims_of(right.type), 1))
    count = dims_of(right.type)[-1]
    cutoff = _given(a, op, "rcond")
    cutoff = _spacing(a, matrix, F64) if cutoff is None else m.converted(cutoff, Scalar(F64))
    types = (
        Tensor(double, (columns, count)), Tensor(F64, (count,)), Scalar(I32), Tensor(F64, (minimum(rows, columns),)),
    )  # fmt: skip
    given = m.cast(matrix, double), m.cast(right, double), cutoff
    found, residuals, independent, sizes = _call(a, "least_squares", given, types)
    (size,) = dims_of(op.results[1].type)
    full = m("equal", m("cast", independent, dtype=I64), m("cast", m.size(columns), dtype=I64))
    some = m("logical_and", full, m("less", m.size(columns), m.size(rows)))
    counts = m("cast", m.size(count), dtype=I64), m.number(0, I64)
    m("to_index", m("select", some, *counts), binds=str(size))
    residuals = m("slice", residuals, starts=(0,), sizes=(size,), steps=(1,))
    if rank(op.results[0]) == 1:
        found = m("reshape", found, dims=(columns,), assumed=True)
    return found, residuals, independent, sizes


def _matrix_rank(a: Matrices, op: Op) -> Sequence[Value]:
    """How many singular values are above a limit."""
    (matrix, *_) = op.operands
    *batch, rows, columns = dims_of(matrix.type)
    kind = Tensor(F64, (*batch, minimum(rows, columns)))
    double = a.m.cast(matrix, _double(matrix))
    (sizes,) = a.call("linalg.svdvals", (double,), (kind,))
    sizes = a.m.cast(sizes, F32 if dtype_of(matrix).real == F32 else F64)
    limits = _given(a, op, "tol")
    if limits is None:
        part = _given(a, op, "rtol")
        limits = _parts_of_largest(a, sizes, _spacing(a, matrix, dtype_of(sizes)) if part is None else part)
    counted = a.m("cast", _above(a, sizes, limits), dtype=I64)
    return (a.m("reduce_add", counted, axes=(rank(counted) - 1,)),)


def _pinv(a: Matrices, op: Op) -> Sequence[Value]:
    """The singular value decomposition of the adjoint, with the inverses of the values that are not too small."""
    m, matrix, dtype = a.m, op.operands[0], dtype_of(op.results[0])
    dims = dims_of(matrix.type)
    double = m.cast(matrix, _double(matrix))
    if dtype.is_complex:
        double = m("conjugate", double)
    left, sizes, right = a.singular(double, minimum(*dims[-2:]))
    left, sizes, right = m.cast(left, dtype), m.cast(sizes, dtype.real), m.cast(right, dtype)
    part = _given(a, op, "rcond", "rtol")
    if part is None:
        part = _spacing(a, matrix, dtype.real) if "rtol" in options_of(op) else m.number(1e-15, F64)
    large = _above(a, sizes, _parts_of_largest(a, sizes, part))
    inverses = where(m, large, m("divide", m.filled(1, sizes.type), sizes), 0.0)
    left = a.transposed(left)
    return (a.product(a.transposed(right), m("multiply", a.rows(inverses, left), left)),)


def _of_finite(step: str) -> Steps:
    """What LAPACK finds of general matrices, which NumPy looks through before."""

    def steps(a: Matrices, op: Op) -> Sequence[Value]:
        m, (matrix,) = a.m, op.operands
        rows, columns = map(m.size, dims_of(matrix.type)[-2:])
        finite = m("reduce_logical_and", m("isfinite", matrix), axes=tuple(range(rank(matrix))))
        fine = m("logical_or", finite, m("not_equal", rows, columns))  # which is said first
        m.add("check", fine, error="LinAlgError", message="Array must not contain infs or NaNs")
        return _call(a, step, (matrix,), [result.type for result in op.results])

    return steps


_STEPS: dict[str, Steps] = {
    "jitflow.runtime.calls.routines.eig": _of_finite("finite_eig"),
    "jitflow.runtime.calls.routines.eigvals": _of_finite("finite_eigvals"),
    "numpy.linalg.qr": _qr,
    "numpy.linalg.lstsq": _lstsq,
    "numpy.linalg.matrix_rank": _matrix_rank,
    "numpy.linalg.pinv": _pinv,
}
"""What stands for a routine, by its name: its results, of any dtype."""
