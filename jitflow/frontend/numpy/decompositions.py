"""`numpy.linalg` through LAPACK, as NumPy calls it: equations, inverses, decompositions, eigenvalues, ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserLinAlgError, UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import array_operand, dtype_argument, new, refuse, static_int
from jitflow.frontend.numpy import written_algebra
from jitflow.frontend.numpy.reductions import ABSENT
from jitflow.frontend.numpy.routines import NO_OPTIONS, Options, Shape, fresh, library_call, new_results, sampled, split
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.scalar import pinned
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, minimum, product
from jitflow.ir.dtypes import C64, C128, F32, F64, I64, DType
from jitflow.runtime.calls import routines

__all__ = ["FUNCTIONS", "inv", "svdvals"]

Dims = tuple[Dim, ...]


def _batch(value: Value) -> Dims:
    return values.dims(value)[:-2]


def _or_number(dims: Dims) -> Shape:
    """The shape of a result for each matrix; one for a single matrix is a number."""
    return dims or None


def _computed(
    function: Any, operands: Sequence[Value], shapes: Sequence[Shape], options: Options = NO_OPTIONS
) -> tuple[Any, ...]:
    """The results of a function that NumPy computes in double precision, whatever it is given.

    The conversions around it are ops like any other, so the call itself has one form for all dtypes.
    """
    wanted = _dtypes(sampled(function, operands, options))
    double = C128 if any(values.dtype_of_value(operand).is_complex for operand in operands) else F64
    given = [values.cast(operand, double) for operand in operands]
    found = library_call(function, given, shapes, options)
    return tuple(new(values.cast(item, dtype)) for item, dtype in zip(found, wanted, strict=True))


def _single(function: Any, operands: Sequence[Value], shape: Shape, options: Options = NO_OPTIONS) -> Any:
    """The result of a function that gives one."""
    (result,) = _computed(function, operands, [shape], options)
    return result


def _dtypes(results: Any) -> list[DType]:
    return [dtype_argument(np.asarray(item).dtype) for item in (results if isinstance(results, tuple) else (results,))]


def _named(function: Any, operands: Sequence[Value], shapes: Sequence[Shape], options: Options = NO_OPTIONS) -> Any:
    """The results in the named tuple that the function returns."""
    kind = type(sampled(function, operands, options))
    return kind(*_computed(function, operands, shapes, options))


def solve(a: Any, b: Any) -> Any:
    left, right = array_operand(a), array_operand(b)
    sampled(np.linalg.solve, [left, right])
    if values.rank(right) == 1:
        shape = (*_batch(left), values.dims(left)[-1])
    else:
        shape = (*broadcasting.common_dims([_batch(left), _batch(right)]), *values.dims(right)[-2:])
    return _single(np.linalg.solve, [left, right], shape)


def inv(a: Any) -> Any:
    value = array_operand(a)
    return _single(np.linalg.inv, [value], values.dims(value))


def det(a: Any) -> Any:
    value = array_operand(a)
    return _single(np.linalg.det, [value], _or_number(_batch(value)))


def slogdet(a: Any) -> Any:
    value = array_operand(a)
    return _named(np.linalg.slogdet, [value], [_or_number(_batch(value))] * 2)


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    value = array_operand(a)
    return _single(np.linalg.cholesky, [value], values.dims(value), {"upper": bool(upper)})


def qr(a: Any, mode: str = "reduced") -> Any:
    value = array_operand(a)
    sampled(np.linalg.qr, [value], {"mode": mode})
    *batch, rows, columns = values.dims(value)
    least = minimum(rows, columns)
    if mode == "r":
        return new_results(np.linalg.qr, [value], [(*batch, least, columns)], {"mode": mode})
    if mode == "raw":
        shapes: list[Shape] = [(*batch, columns, rows), (*batch, least)]
        return new_results(np.linalg.qr, [value], shapes, {"mode": mode})
    if mode not in ("reduced", "complete"):
        raise refuse(f"np.linalg.qr with mode={mode!r}", "modes are reduced, complete, r and raw")
    inner = rows if mode == "complete" else least
    return _named(np.linalg.qr, [value], [(*batch, rows, inner), (*batch, inner, columns)], {"mode": mode})


def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False) -> Any:
    value = array_operand(a)
    options = {"full_matrices": bool(full_matrices), "compute_uv": bool(compute_uv), "hermitian": bool(hermitian)}
    sampled(np.linalg.svd, [value], options)
    *batch, rows, columns = values.dims(value)
    least = minimum(rows, columns)
    if not compute_uv:
        return _single(np.linalg.svd, [value], (*batch, least), options)
    left, right = (rows, columns) if full_matrices else (least, least)
    shapes: list[Shape] = [(*batch, rows, left), (*batch, least), (*batch, right, columns)]
    return _named(np.linalg.svd, [value], shapes, options)


def svdvals(x: Any, /) -> Any:
    value = array_operand(x)
    sampled(np.linalg.svdvals, [value])
    *batch, rows, columns = values.dims(value)
    return _single(np.linalg.svdvals, [value], (*batch, minimum(rows, columns)))


def _eigen(a: Any, function: Any, routine: Any, vectors: int) -> tuple[bool, tuple[Any, ...]]:
    """Whether a matrix is real, and what is found of it, which is complex."""
    value = array_operand(a)
    sampled(function, [value])
    dtype, dims = values.dtype_of_value(value), values.dims(value)
    given = values.cast(value, C128 if dtype.is_complex else F64)
    found = library_call(routine, [given], [dims[:-1], *[dims] * vectors], kinds=[np.complex128] * (1 + vectors))
    single = dtype.real == F32
    return not dtype.is_complex, tuple(new(values.cast(item, C64 if single else C128)) for item in found)


def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors of any matrix: real ones of a real matrix whose eigenvalues happen to be real."""
    is_real, found = _eigen(a, np.linalg.eig, routines.eig, 1)
    kind: Any = type(np.linalg.eig(np.ones((1, 1))))
    return kind(*surface.written(written_algebra.eigenvectors)(*found) if is_real else found)


def eigvals(a: Any) -> Any:
    """The eigenvalues alone."""
    is_real, (found,) = _eigen(a, np.linalg.eigvals, routines.eigvals, 0)
    return surface.written(written_algebra.eigenvalues)(found) if is_real else found


def eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    value = array_operand(a)
    dims = values.dims(value)
    return _named(np.linalg.eigh, [value], [dims[:-1], dims], {"UPLO": UPLO})


def eigvalsh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    value = array_operand(a)
    return _single(np.linalg.eigvalsh, [value], values.dims(value)[:-1], {"UPLO": UPLO})


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    left, right = array_operand(a), array_operand(b)
    arguments = split(left, right, rcond=rcond)
    arguments.sampled(np.linalg.lstsq)
    rows, columns = values.dims(left)
    rest = values.dims(right)[1:]
    shapes: list[Shape] = [(columns, *rest), (fresh("residuals"),), None, (minimum(rows, columns),)]
    return arguments.new(np.linalg.lstsq, shapes)


def pinv(a: Any, rcond: Any = None, hermitian: Any = False, *, rtol: Any = ABSENT) -> Any:
    value = array_operand(a)
    if rtol is not ABSENT and rcond is not None:
        raise UserValueError("`rtol` and `rcond` can't be both set.")
    arguments = split(value, rcond=rcond, rtol=None if rtol is ABSENT else rtol, hermitian=bool(hermitian))
    if rtol is None:
        arguments.options["rtol"] = None
    arguments.sampled(np.linalg.pinv)
    *batch, rows, columns = values.dims(value)
    return arguments.new(np.linalg.pinv, [(*batch, columns, rows)])


def matrix_rank(A: Any, tol: Any = None, hermitian: Any = False, *, rtol: Any = None) -> Any:  # noqa: N803
    value = array_operand(A)
    arguments = split(value, tol=tol, rtol=rtol, hermitian=bool(hermitian))
    if values.rank(value) < 2:
        found = np.any(np.not_equal(new(value), 0))
        return new(values.emit("cast", values.as_scalar(array_operand(found)), dtype=I64, weak=True))
    return arguments.new(np.linalg.matrix_rank, [_or_number(_batch(value))])


def cond(x: Any, p: Any = None) -> Any:
    """Condition numbers in NumPy's words: a matrix that has no inverse has an infinite one."""
    value, p = array_operand(x), pinned(p)
    if isinstance(p, tracers.Tracer):
        raise UserTypeError("expected the order of a norm to be known while tracing, got a run-time number",
                            mend="write it as a literal")  # fmt: skip
    sampled(np.linalg.cond, [value], {"p": p})
    matrices: Any = new(value)
    if matrices.dtype.kind not in "fc":
        matrices = matrices.astype(np.float64)
    if current_trace().decide(product(values.dims(value)[-2:]), "==", 0, "the condition of a matrix"):
        raise UserLinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        sizes = np.linalg.svd(matrices, compute_uv=False)
        largest, smallest = sizes[..., 0], sizes[..., -1]
        found = smallest / largest if p == -2 else largest / smallest
    else:
        inverse = _single(routines.inverse, [array_operand(matrices)], values.dims(value))
        found = np.linalg.norm(matrices, p, axis=(-2, -1)) * np.linalg.norm(inverse, p, axis=(-2, -1))
    unknown = np.logical_and(np.isnan(found), np.logical_not(np.isnan(matrices).any(axis=(-2, -1))))
    return np.where(unknown, np.inf, found)[()]


def tensorinv(a: Any, ind: Any = 2) -> Any:
    value, split = array_operand(a), static_int(ind, "ind")
    sampled(np.linalg.tensorinv, [value], {"ind": split})
    array = new(value)
    square = np.linalg.inv(np.reshape(array, (-1, _size(array.shape[split:]))))
    return np.reshape(square, (*array.shape[split:], *array.shape[:split]))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    left, right = array_operand(a), array_operand(b)
    moved = None if axes is None else tuple(static_int(axis, "axis") for axis in axes)
    sampled(np.linalg.tensorsolve, [left, right], {"axes": moved})
    array: Any = new(left)
    rest = [axis for axis in range(values.rank(left)) if axis not in (moved or ())]
    array = np.transpose(array, [*rest, *(moved or ())])
    shape = array.shape[values.rank(right) :]
    count = tracers.dim_of(_size(shape))
    message = "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
    broadcasting.require_equal(product(values.dims(left)), count * count, message, error=LinAlgError)
    square = np.reshape(array, (_size(shape), _size(shape)))
    return np.reshape(np.linalg.solve(square, np.ravel(new(right))), shape)


def _size(shape: Sequence[Any]) -> Any:
    size: Any = 1
    for length in shape:
        size = size * length
    return size


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.linalg.solve: solve,
        np.linalg.inv: inv,
        np.linalg.det: det,
        np.linalg.slogdet: slogdet,
        np.linalg.cholesky: cholesky,
        np.linalg.qr: qr,
        np.linalg.svd: svd,
        np.linalg.svdvals: svdvals,
        np.linalg.eig: eig,
        np.linalg.eigvals: eigvals,
        np.linalg.eigh: eigh,
        np.linalg.eigvalsh: eigvalsh,
        np.linalg.lstsq: lstsq,
        np.linalg.pinv: pinv,
        np.linalg.matrix_rank: matrix_rank,
        np.linalg.cond: cond,
        np.linalg.tensorinv: tensorinv,
        np.linalg.tensorsolve: tensorsolve,
    }
)
