"""The calls of `functions.py`: every NumPy function that is taken, in the forms that differ, and their arguments.

A row is an expression over the arguments that `arguments` makes: vectors of n elements (`x` and `y` of f64, `p` of
positive numbers, `f` of f32, `i` and `j` of i64, `b` of i8, `u` of u8, `m` and `w` of bools, `c` complex, `z` with
nans, `k` positions), matrices of about n elements (`A` and `B` of f64, `F` of f32, `M` of bools), `r` one row of `A`,
narrow ones (`T`, `V`, `W`), and smaller ones for what takes the cube of its size (`D`, `S` positive definite, `v`,
polynomials `q` and `g`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

__all__ = ["REASONS", "ROWS", "arguments"]


def arguments(size: int) -> dict[str, Any]:
    """The arguments of all rows, for vectors of so many elements."""
    random = np.random.default_rng(2016)
    side, order = math.isqrt(size), 8 if size < 10_000 else 200
    signed = lambda *shape: random.uniform(-1.0, 1.0, shape)  # noqa: E731
    square = signed(order, order) + 4.0 * np.eye(order)
    vector, gaps = signed(size), signed(size)
    gaps[::7] = np.nan
    return {
        "x": vector, "y": signed(size), "p": random.uniform(0.5, 1.5, size), "z": gaps,
        "f": signed(size).astype(np.float32), "i": random.integers(0, 100, size), "j": random.integers(1, 100, size),
        "b": random.integers(-100, 100, size, np.int8), "u": random.integers(0, 255, size, np.uint8),
        "m": random.random(size) < 0.5, "w": random.random(size) < 0.5, "c": signed(size) + 1j * signed(size),
        "k": random.integers(0, size, size), "never": np.zeros(size, bool),
        "A": signed(side, side), "B": signed(side, side), "F": signed(side, side).astype(np.float32),
        "M": random.random((side, side)) < 0.5, "r": signed(side),
        "T": signed(size // 4, 4), "V": signed(size // 3, 3), "W": signed(size // 3, 3),
        "K": random.integers(0, side, (side, side)),
        "D": square, "S": square @ square.T, "v": signed(order),
        "q": signed(8), "g": signed(5), "e": np.linspace(-1.0, 1.0, 21),
    }  # fmt: skip


_UNARY = """negative positive absolute fabs sign square floor ceil trunc rint exp exp2 expm1 sin cos tan arcsin arccos
arctan sinh cosh tanh arcsinh arctanh cbrt deg2rad rad2deg radians degrees isnan isinf isfinite
signbit spacing modf frexp""".split()
_POSITIVE = "sqrt log log1p log2 log10 reciprocal".split()
_BINARY = """add subtract multiply divide maximum minimum fmax fmin arctan2 hypot copysign nextafter logaddexp
logaddexp2 less less_equal greater greater_equal equal not_equal heaviside""".split()
_INTEGERS = """floor_divide remainder fmod divmod gcd lcm bitwise_and bitwise_or bitwise_xor left_shift
right_shift""".split()
_REDUCTIONS = "sum prod max min mean var std ptp argmax argmin cumsum cumprod".split()

_ELEMENTWISE = (
    *(f"np.{name}(x)" for name in _UNARY),
    *(f"np.{name}(p)" for name in _POSITIVE),
    *(f"np.{name}(x, y)" for name in _BINARY),
    *(f"np.{name}(i, j)" for name in _INTEGERS if "shift" not in name),
    "np.left_shift(i, 3)", "np.right_shift(i, 3)", "np.invert(i)", "np.bitwise_count(i)", "np.ldexp(x, 3)",
    "np.power(p, y)", "np.power(x, 3)", "np.float_power(p, 2.5)", "np.arccosh(p + 1.0)", "np.floor_divide(x, y)",
    "np.remainder(x, y)", "np.fmod(x, y)", "np.logical_and(m, w)", "np.logical_or(m, w)", "np.logical_xor(m, w)",
    "np.logical_not(m)", "np.conjugate(c)", "np.absolute(c)", "np.multiply(c, c)", "np.exp(f)", "np.add(f, f)",
    "np.add(b, b)", "np.multiply(u, u)", "np.clip(x, -0.5, 0.5)", "np.where(m, x, y)", "np.select([m, w], [x, y])",
    "np.round(x, 2)", "np.fix(x)", "np.real(c) + 0.0", "np.imag(c) + 0.0", "np.angle(c)", "np.isreal(c)",
    "np.iscomplex(c)", "np.nan_to_num(z)", "np.isclose(x, y)", "np.allclose(x, x)", "np.array_equal(x, x)",
    "np.array_equiv(x, y)", "np.isposinf(x)", "np.isneginf(x)", "np.sinc(x)", "np.i0(x)", "np.asarray_chkfinite(x)",
    "np.frombuffer(x) + 0.0", "x.astype(np.float32)", "x.astype(np.int64)", "i.astype(np.float64)",
    "m.astype(np.int64)", "np.diff(x)", "np.diff(A, axis=0)",
    "np.ediff1d(x)", "np.trapezoid(x)", "np.gradient(x)", "np.polyval(g, x)", "np.unwrap(x)",
    "np.choose(m * 1, (x, y))", "np.interp(x, e, e)", "np.digitize(x, e)", "np.searchsorted(e, x)",
    "np.piecewise(x, [m], [1.0, 0.0])",
)  # fmt: skip

_REDUCING = (
    *(f"np.{name}(x)" for name in _REDUCTIONS),
    *(f"np.{name}(A, axis={axis})" for name in _REDUCTIONS for axis in (0, 1)),
    *(f"np.{name}({argument})" for name in ("sum", "max", "min", "argmax", "argmin") for argument in "fibu"),
    "np.argmax(m)", "np.argmin(m)", "np.argmax(never)", "np.sum(m)", "np.sum(c)", "np.mean(f)", "np.mean(i)",
    "np.any(m)", "np.all(m)", "np.any(never)", "np.all(~never)", "np.any(x > 0.9)", "np.all(x > -2.0)", "np.any(x)",
    "np.any(M, axis=0)", "np.any(M, axis=1)", "np.all(M, axis=0)", "np.all(M, axis=1)", "np.count_nonzero(m)",
    "np.count_nonzero(x)", "np.count_nonzero(M, axis=0)", "np.count_nonzero(M, axis=1)", "np.cumulative_sum(x)",
    "np.cumulative_prod(x)", "np.cumsum(i)",
    *(f"np.nan{name}(z)" for name in (*_REDUCTIONS, "median") if name != "ptp"),
    "np.average(x, weights=p)", "np.cov(T.T)", "np.cov(x, y)", "np.corrcoef(x, y)", "np.cov(A)", "np.median(x)",
    "np.median(A, axis=0)", "np.median(A, axis=1)", "np.percentile(x, 30)", "np.quantile(x, 0.3)",
    "np.nanpercentile(z, 30)", "np.nanquantile(z, 0.3)", "np.maximum.accumulate(x)", "np.logical_or.reduce(m)",
)  # fmt: skip

_MOVING = (
    "np.repeat(x, 3)", "np.repeat(r, 50)", "np.repeat(b, 3)", "np.repeat(A, 3, axis=0)", "np.repeat(A, 3, axis=1)",
    "np.repeat(x, i // 25)", "np.tile(x, 3)", "np.tile(A, (2, 3))", "np.tile(q, 100)", "np.tile(b, 3)",
    "np.resize(q, 1000)", "np.pad(x, 5)", "np.pad(A, 5)", "np.pad(A, 5, mode='edge')", "np.pad(A, 5, mode='reflect')",
    "np.pad(A, 5, mode='wrap')", "np.pad(A, 5, mode='symmetric')", "np.pad(x, 5, mode='edge')",
    "np.pad(x, 5, mode='mean')", "np.roll(x, 3)", "np.roll(A, 3, axis=0)", "np.roll(A, 3, axis=1)", "np.flip(x) + 0.0",
    "np.flip(A, axis=1).copy()", "np.flipud(A).copy()", "np.fliplr(A).copy()", "np.rot90(A).copy()",
    "np.transpose(A).copy()", "F.T.copy()", "np.swapaxes(A, 0, 1).copy()", "np.copy(x)", "np.copy(A)", "np.ravel(A.T)",
    "np.reshape(A.T, -1)", "x[::-1].copy()", "x[::2].copy()", "np.concatenate((x, y))",
    "np.concatenate((A, B), axis=1)", "np.stack((x, y))", "np.stack((x, y), axis=1)", "np.hstack((x, y))",
    "np.vstack((x, y))", "np.dstack((x, y))", "np.column_stack((x, y))", "np.block([[A, B], [B, A]])",
    "np.append(x, y)", "np.insert(x, 5, 1.0)", "np.delete(x, 5)", "np.broadcast_to(r, (100, r.shape[0])).copy()",
    "np.split(x, 2)", "np.array_split(x, 3)", "np.atleast_2d(x)", "np.expand_dims(x, 0)", "np.squeeze(A)",
    "np.rollaxis(A, 1)", "np.hsplit(x, 2)", "np.vsplit(A, 2)", "np.moveaxis(A, 0, 1)", "np.fft.fftshift(x)",
    "np.fft.ifftshift(x)", "np.take(x, k)", "x[k]", "A[:, ::-1].copy()", "np.take(A, 3, axis=1)",
    "np.take_along_axis(A, K, axis=1)", "np.take_along_axis(A, K, axis=0)", "x[m]", "np.compress(m, x)",
    "np.extract(m, x)", "np.nonzero(m)", "np.nonzero(M)", "np.flatnonzero(m)", "np.argwhere(M)", "np.where(m)",
    "np.put(x, k, 1.0)", "np.putmask(x, m, y)", "np.place(x, m, y)", "np.copyto(x, y)", "np.fill_diagonal(A, 0.0)",
    "np.put_along_axis(A, K, 0.0, axis=1)", "np.trim_zeros(x)", "np.tril(A)", "np.triu(A)", "np.diag(r)", "np.diag(A)",
    "np.diagonal(A).copy()", "np.diagflat(r)", "np.trace(A)", "np.packbits(m)", "np.unpackbits(u)",
    "np.ascontiguousarray(A.T)", "np.asfortranarray(A)", "np.lib.stride_tricks.sliding_window_view(x, 3).sum(axis=1)",
)  # fmt: skip

_MAKING = (
    "np.zeros(x.shape)", "np.ones(x.shape)", "np.full(x.shape, 2.5)", "np.zeros_like(x)", "np.ones_like(x)",
    "np.full_like(x, 2.5)", "np.arange(x.shape[0])", "np.arange(0.0, 1.0, 1.0 / x.shape[0])",
    "np.linspace(0.0, 1.0, x.shape[0])", "np.logspace(0.0, 1.0, x.shape[0])", "np.geomspace(1.0, 9.0, x.shape[0])",
    "np.eye(r.shape[0])", "np.identity(r.shape[0])", "np.tri(r.shape[0])", "np.meshgrid(r, r)", "np.indices(A.shape)",
    "np.vander(q)", "np.vander(x, 4)", "np.bartlett(x.shape[0])", "np.blackman(x.shape[0])", "np.hamming(x.shape[0])",
    "np.hanning(x.shape[0])", "np.kaiser(x.shape[0], 14.0)", "np.fft.fftfreq(x.shape[0])",
    "np.fft.rfftfreq(x.shape[0])",
    "np.tril_indices(r.shape[0])", "np.triu_indices(r.shape[0])", "np.diag_indices(r.shape[0])",
    "np.fromfunction(lambda row, column: row + column, A.shape)", "np.empty(x.shape).size",
    "np.unravel_index(k, (k.shape[0], 3))", "np.ravel_multi_index((i, j), (100, 100))", "np.array([1.0, 2.0, 3.0])",
)  # fmt: skip

_ORDERING = (
    "np.sort(x)", "np.sort(f)", "np.sort(i)", "np.sort(A, axis=0)", "np.sort(A, axis=1)", "np.argsort(x)",
    "np.argsort(A, axis=1)", "np.partition(x, 5)", "np.partition(x, x.shape[0] // 2)", "np.argpartition(x, 5)",
    "np.lexsort((x, i))", "np.sort_complex(c)", "np.unique(i)", "np.unique(x)", "np.unique_counts(i)",
    "np.unique_all(i)", "np.unique_values(i)", "np.unique_inverse(i)", "np.isin(i, j)", "np.isin(x, e)",
    "np.intersect1d(i, j)", "np.union1d(i, j)", "np.setdiff1d(i, j)", "np.setxor1d(i, j)", "np.bincount(i)",
    "np.bincount(i, weights=x)", "np.bincount(i, minlength=200)", "np.bincount(u)", "np.histogram(x, 20)",
    "np.histogram(x, e)", "np.histogram(i, 20)", "np.histogram(x, 20, range=(-1.0, 1.0))", "np.histogram2d(x, y, 10)",
    "np.histogram_bin_edges(x, 20)",
)  # fmt: skip

_MULTIPLYING = (
    "np.dot(x, y)", "np.dot(f, f)", "np.dot(i, j)", "np.vdot(x, y)", "np.vdot(c, c)", "np.inner(x, y)",
    "np.vecdot(A, B)", "np.matmul(A, B)", "np.matmul(F, F)", "np.matmul(A, r)", "np.matmul(r, A)", "np.dot(A, r)",
    "np.dot(r, A)", "A.T @ r", "np.matvec(A, r)", "np.vecmat(r, A)", "np.outer(r, r)", "np.tensordot(A, B)",
    "np.tensordot(A, B, axes=1)", "np.einsum('ij,jk->ik', A, B)", "np.einsum('ij,ij->i', A, B)",
    "np.einsum('ij->j', A)", "np.einsum('i,i', x, y)", "np.kron(q, x)", "np.kron(D, q)", "np.cross(V, W)",
    "np.linalg.norm(x)", "np.linalg.norm(A)", "np.linalg.norm(A, axis=0)", "np.linalg.norm(A, axis=1)",
    "np.linalg.norm(D, 2)", "np.linalg.vector_norm(x)", "np.linalg.matrix_norm(D)", "np.linalg.multi_dot((D, D, v))",
    "np.linalg.matrix_power(D, 3)", "np.linalg.solve(D, v)", "np.linalg.inv(D)", "np.linalg.det(D)",
    "np.linalg.slogdet(D)", "np.linalg.cholesky(S)", "np.linalg.qr(D)[1]", "np.linalg.svd(D)[1]",
    "np.linalg.svdvals(D)", "np.linalg.eigvals(S + 0j)", "np.linalg.eig(S + 0j)[0]", "np.linalg.tensorsolve(D, v)",
    "np.linalg.eigh(S)[0]", "np.linalg.eigvalsh(S)", "np.linalg.lstsq(D, v)[0]", "np.linalg.pinv(D)",
    "np.linalg.matrix_rank(D)", "np.linalg.cond(D)", "np.convolve(x, q)", "np.convolve(x, q, 'same')",
    "np.correlate(x, q)", "np.polyadd(q, g)", "np.polysub(q, g)", "np.polymul(q, g)", "np.polydiv(q, g)",
    "np.polyder(q)", "np.polyint(q)", "np.polyfit(x, y, 3)", "np.poly(g)", "np.fft.fft(x)", "np.fft.ifft(c)",
    "np.fft.rfft(x)", "np.fft.irfft(c)", "np.fft.fft2(A)", "np.fft.rfft2(A)", "np.fft.fftn(A)", "np.fft.ifftn(A)",
    "np.fft.ifft2(A)", "np.fft.irfft2(A)", "np.fft.rfftn(A)", "np.fft.irfftn(A)", "np.fft.hfft(c)", "np.fft.ihfft(x)",
    "np.apply_along_axis(np.sum, 1, A)", "np.apply_over_axes(np.sum, A, [0])",
)  # fmt: skip

ROWS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "elementwise": _ELEMENTWISE,
        "reductions": _REDUCING,
        "moving": _MOVING,
        "making": _MAKING,
        "ordering": _ORDERING,
        "products": _MULTIPLYING,
    }
)
"""The expressions, by what they do."""

_REASONS = {
    "where a value comes from is a running sum of the mask, an array beside the value's": ("np.place(x, m, y)",),
    "NumPy's own routine, called as it is: the way there and back costs some 0.1 to 0.3 µs a call": (
        "np.lexsort((x, i))", "np.interp(x, e, e)", "np.unpackbits(u)", "np.convolve(x, q)",
        "np.convolve(x, q, 'same')", "np.correlate(x, q)",
    ),
    "NumPy's own routine, which may warn: to keep its warnings away costs some 4 to 10 µs a call": (
        "np.nanmedian(z)", "np.nanpercentile(z, 30)", "np.nanquantile(z, 0.3)", "np.histogram(x, e)",
        "np.histogram(i, 20)",
    ),
    "an elementary function with at most 2 ulp of error; NumPy's has up to 4": (
        "np.exp2(x)", "np.arcsinh(x)", "np.power(p, y)", "np.absolute(c)",
    ),
    "a matrix times its own transpose: NumPy calls a product of half of the arithmetic (syrk)": (
        "np.cov(A)",
    ),
    "positions are found first, and divided then by the length of a row": (
        "np.tril_indices(r.shape[0])", "np.triu_indices(r.shape[0])",
    ),
    "each byte is written three times by one store of a vector under a mask: 4 ns, where three stores take 1 to 3": (
        "np.repeat(b, 3)",
    ),
    "on a machine that others used as well; 0.9 or more when it was measured again": (
        "np.linalg.matrix_rank(D)", "np.fft.ifft2(A)", "np.argpartition(x, 5)",
    ),
}  # fmt: skip

REASONS: Mapping[str, str] = MappingProxyType({row: reason for reason, rows in _REASONS.items() for row in rows})
"""Why a row is below 0.9, by its expression."""
