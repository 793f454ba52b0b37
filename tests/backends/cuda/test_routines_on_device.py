"""Routines of libraries in programs on a GPU: what they give, what they raise, and in whose order."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import jitflow
from jitflow.runtime.native.cuda import Gpu
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import GPUS, OnDevice
from tests.backends.cuda.ptx import PtxError
from tests.backends.cuda.stand_in import StandIn

pytestmark = needs_nvrtc

ASKED = "cupy asnumpy"
"""What is counted where NumPy is asked."""


@pytest.fixture(params=GPUS)
def gpu(request: pytest.FixtureRequest) -> Any:
    return request.param


def assert_alike(function: Callable[..., Any], *arguments: Any, gpu: Any = StandIn) -> OnDevice:
    """The program gives on the device what it gives in Python."""
    tolerance = 1e-5 if any(np.asarray(argument).dtype.char in "fF" for argument in arguments) else 1e-11
    code = OnDevice(function, *arguments, gpu=gpu)
    with np.errstate(all="ignore"):
        expected = function(*arguments)
    found = code(*arguments)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    assert code.lost() == 0
    return code


def assert_by_cupy(function: Callable[..., Any], *arguments: Any, gpu: Any = StandIn) -> OnDevice:
    """The same, where nothing stays on the host, and NumPy was not asked."""
    code = assert_alike(function, *arguments, gpu=gpu)
    with code.installed():
        assert {one.device for one in code.function.placement(*arguments).ops} == {"cuda:0"}
    assert not asked(code)
    return code


def asked(code: OnDevice) -> int:
    """How often NumPy was, as far as it is known."""
    return code.device.counts[ASKED] if isinstance(code.device, StandIn) else 0


NUMBERS = np.array([3.0, -np.nan, 1.0, 2.0, 1.0, np.nan, -1.0, 2.0])
"""The sign of the first nan is set."""

# -- what they give


def ordered(x: Any, i: Any, z: Any, k: Any) -> Any:
    return (
        np.sort(x), np.sort(x, kind="stable")[::2], np.argsort(x, stable=True), np.partition(x, 2)[2],
        np.argsort(x.reshape(2, 4), axis=0, kind="stable"), np.sort(i[:, ::-2], axis=0), np.sort(i > 3, axis=None),
        np.partition(i, k, axis=1)[:, k], np.partition(x, [0, -3])[[0, -3]], i[0][np.argpartition(i[0], -1)[-1:]],
        np.lexsort((x, i[0], i[1])), np.lexsort((i, i % 3), axis=0), np.sort_complex(i), np.sort(z),
        np.sort(x.astype("f2")), np.median(i), np.median(x), np.median(i, axis=0), np.median(x[2:5]), np.median(i > 3),
        np.median(x[4::-1]), np.median(x[2:5].astype("f2")), np.median(z), np.median(z[3:5]),
        np.median(np.stack([i, i + 1, -i]), axis=(0, -1), keepdims=True),
    )  # fmt: skip


def sought(x: Any, i: Any, z: Any) -> Any:
    edges, row = np.array([-1.5, 0.5, 2.0]), i[0]
    return (
        np.searchsorted(edges, x), np.searchsorted(edges, i, side="right"), np.searchsorted(edges, 0.75),
        np.searchsorted(row, x, sorter=np.argsort(row)), np.digitize(x, edges[::-1], right=True), np.digitize(i, edges),
        np.bincount(row), np.bincount(row, minlength=20), *np.unique(x, return_index=True, return_counts=True),
        *np.unique(i, return_inverse=True), np.unique(x, equal_nan=False), *np.unique_all(i), *np.unique_counts(x),
        *np.unique_inverse(i), np.sort(np.unique_values(z)), np.isin(i, i[0, :3]), np.isin(x, x[:3], invert=True),
        np.union1d(i, x), np.setdiff1d(row, i[1]), np.setdiff1d(row, i[1], assume_unique=True),
        np.intersect1d(row, i[1]), np.setxor1d(x[:5], x[3:]),
    )  # fmt: skip


def transformed(x: Any, z: Any, n: Any) -> Any:
    image = np.reshape(z, (2, 3, 3))[:, ::-1]
    return (
        np.fft.fft(x), np.fft.fft(x, n), np.fft.ifft(x, 5, norm="ortho"), np.fft.rfft(x), np.fft.irfft(z),
        np.fft.irfft(z, n, norm="forward"), np.fft.hfft(z), np.fft.ihfft(x, 6), np.fft.fft(image, axis=1),
        np.fft.fft2(image), np.fft.ifft2(image), np.fft.rfft2(image.real), np.fft.irfft2(image),
        np.fft.fftn(image, axes=(0, 2)), np.fft.ifftn(image), np.fft.rfftn(image.imag),
        np.fft.irfftn(image, axes=(2, 0)), np.fft.fftn(image, s=(2, 4), axes=(0, 1)), np.fft.fft(x.astype("f4")),
        np.fft.irfft(z.astype("c8")),
    )  # fmt: skip


def equations(a: Any, s: Any, b: Any, z: Any) -> Any:
    spd, hermitian = a @ a.T + np.eye(4), z @ z.conj().T + np.eye(4)
    return (
        np.linalg.solve(a, b), np.linalg.solve(a, b[:, 0]), np.linalg.solve(s, b), np.linalg.solve(s, b[:, 0]),
        np.linalg.solve(z, b), np.linalg.inv(s), np.linalg.inv(a.T), np.linalg.det(s), np.linalg.det(a),
        *np.linalg.slogdet(z), *np.linalg.slogdet(np.ones((2, 2))), np.linalg.cholesky(spd),
        np.linalg.cholesky(np.triu(spd), upper=True), np.linalg.cholesky(hermitian, upper=True),
        *np.linalg.lstsq(b, a), *np.linalg.lstsq(a[:, :2], b[:, 0]), np.linalg.pinv(b), np.linalg.pinv(s, rcond=0.3),
        np.linalg.pinv(a, rtol=None), np.linalg.matrix_rank(np.outer(b, b)), np.linalg.matrix_rank(s),
        np.linalg.matrix_rank(a, tol=1.0), np.linalg.cond(a, 1), np.linalg.cond(s), np.linalg.cond(np.ones((2, 2)), 1),
        np.polyfit(a[0], b, 2),
    )  # fmt: skip


def decomposed(a: Any, s: Any, b: Any, z: Any) -> Any:
    (q, r), (u, d, v), (w, e) = np.linalg.qr(b), np.linalg.svd(s, full_matrices=False), np.linalg.eigh(a, "u")
    return (
        q @ r, np.linalg.qr(s, "r"), *np.linalg.qr(b.T, "raw"), np.linalg.qr(b, "complete")[0], (u * d[:, None]) @ v, d,
        np.linalg.svd(z, compute_uv=False), np.linalg.svdvals(b), np.linalg.svd(b)[0].shape[1] * d, w, (e * w) @ e.T,
        np.linalg.eigvalsh(z), np.linalg.eigvalsh(s),
    )  # fmt: skip


def matrices(dtype: str = "f8") -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    a, s, b, c = (random.standard_normal(shape).astype(dtype) for shape in ((4, 4), (3, 4, 4), (4, 3), (4, 4)))
    return a, s, b, a + 1j * c


WHOLE = np.array([[5, 0, 3, 3, 7, 9, 3, 5], [2, 4, 7, 6, 8, 8, 1, 6]])
COMPLEX = np.array([complex(2, np.nan), 1 + 2j, complex(np.nan, 1), 1 - 2j, 0.5, complex(np.inf, 1), 3j, 1 + 2j])
CURVE = np.random.default_rng(1).standard_normal(18) * (1 + 2j)


def test_order(gpu: Any) -> None:
    assert_by_cupy(ordered, NUMBERS, WHOLE, COMPLEX, 3, gpu=gpu)
    assert_by_cupy(ordered, NUMBERS.astype("f4"), WHOLE.astype("u1"), COMPLEX.astype("c8"), -1, gpu=gpu)


def test_places_and_sets(gpu: Any) -> None:
    assert_by_cupy(sought, NUMBERS, WHOLE, COMPLEX[[1, 3, 4, 7]], gpu=gpu)


def test_fourier_transforms(gpu: Any) -> None:
    assert_by_cupy(transformed, CURVE.real[::2], CURVE, 7, gpu=gpu)


@pytest.mark.parametrize("function", [equations, decomposed])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_matrices(function: Any, dtype: str, gpu: Any) -> None:
    code = assert_alike(function, *matrices(dtype), gpu=gpu)
    assert asked(code) <= (function is equations)  # of a matrix without an inverse


STATEMENTS = {
    "all": (
        lambda x: np.sort(x, axis=0), lambda x: np.argsort(x, kind="stable"), lambda x: np.median(x, axis=1),
        lambda x: np.partition(x, 1, axis=None)[1], lambda x: np.sort_complex(x), lambda x: np.unique(x),
        lambda x: np.unique(x, return_inverse=True)[1], lambda x: np.unique_counts(x).counts, lambda x: np.fft.fft(x),
        lambda x: np.fft.ifft(x, 3, axis=0), lambda x: np.fft.irfft(x), lambda x: np.fft.hfft(x, 4),
        lambda x: np.fft.fftn(x), lambda x: np.fft.irfft2(x), lambda x: np.lexsort((x[0], x[1])),
        lambda x: np.union1d(x[0], x[1]), lambda x: np.setxor1d(x[0], x[1]),
    ),
    "real": (
        lambda x: np.searchsorted(np.sort(x[0]), x), lambda x: np.searchsorted(np.sort(x[0]), x.T, side="right"),
        lambda x: np.digitize(x, np.sort(x[0])), lambda x: np.isin(x, x[1]), lambda x: np.intersect1d(x[0], x[1]),
        lambda x: np.setdiff1d(x[0], x[1]), lambda x: np.fft.rfft(x, axis=0), lambda x: np.fft.rfft2(x),
        lambda x: np.fft.ihfft(x),
    ),
    "matrices": (
        lambda x: np.linalg.solve(x, x[0]), lambda x: np.linalg.inv(x), lambda x: np.linalg.det(x),
        lambda x: np.linalg.slogdet(x)[1], lambda x: np.linalg.svd(x)[1], lambda x: np.linalg.eigvalsh(x),
        lambda x: np.linalg.qr(x, "r"), lambda x: np.linalg.pinv(x), lambda x: np.linalg.matrix_rank(x),
        lambda x: np.linalg.lstsq(x, x[0])[0], lambda x: np.linalg.cholesky(x @ x.T.conj() + 1000 * np.eye(5)),
    ),
}  # fmt: skip
LAYOUTS: tuple[Callable[[Any], Any], ...] = (
    np.ascontiguousarray, np.asfortranarray, lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
    lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1], lambda x: np.broadcast_to(x[:1], x.shape),
)  # fmt: skip


@pytest.mark.stress
@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_each_dtype_and_layout(dtype: str, layout: int, gpu: Any) -> None:
    random = np.random.default_rng(layout)
    whole = random.integers(0 if dtype[0] in "?u" else -9, 9, (5, 5)) + (
        random.random((5, 5)) if dtype[0] in "fc" else 0
    )
    x = LAYOUTS[layout]((whole + 1j * whole.T if dtype[0] == "c" else whole).astype(dtype))
    groups = ["all"] + ["real"] * (dtype[0] != "c") + ["matrices"] * (dtype not in ("?", "f2"))
    for group in groups:
        taken = [each for each in STATEMENTS[group] if taken_by_numpy(each, x)]
        assert_alike(lambda x, taken=taken: tuple(each(x) for each in taken), x, gpu=gpu)


def taken_by_numpy(statement: Callable[[Any], Any], x: Any) -> bool:
    try:
        statement(x)
    except (TypeError, np.linalg.LinAlgError):
        return False
    return True


def test_sizes_in_loops(gpu: Any) -> None:
    def distinct(x: Any, steps: Any) -> Any:
        counts = np.zeros(steps, np.int64)
        for step in range(steps):
            x = np.unique(x // 2)
            counts[step] = len(x)
        return x, counts

    assert_by_cupy(distinct, np.arange(40), 12, gpu=gpu)


def test_gradients(gpu: Any) -> None:
    def loss(a: Any, b: Any) -> Any:
        spd = a @ a.T + np.eye(4)
        w, _ = np.linalg.eigh(spd)
        x = np.linalg.solve(spd, b)
        curve = np.fft.irfft(np.fft.rfft(np.sort(b[:, 0])) * 0.5)
        return (
            (x**2).sum() + np.linalg.slogdet(spd)[1] + w[0] + (curve**2).sum() + np.linalg.svd(b, compute_uv=False)[0]
        )

    a, _, b, _ = matrices()
    code = OnDevice(jitflow.grad(loss, argnums=(0, 1)), a, b, gpu=gpu)
    for found, expected in zip(code(a, b), jitflow.function(jitflow.grad(loss, argnums=(0, 1)))(a, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert not asked(code)


def test_gradients_in_single_precision(gpu: Any) -> None:
    def loss(a: Any) -> Any:
        return (np.linalg.pinv(a) ** 2).sum() + np.linalg.qr(a, "r").sum()

    a = matrices("f4")[2]
    found = OnDevice(jitflow.grad(loss), a, gpu=gpu)(a)
    np.testing.assert_allclose(found, jitflow.function(jitflow.grad(loss))(a), rtol=1e-4, atol=1e-5)


# -- arrays without elements, and what cupy has no answer for


def test_arrays_without_elements(gpu: Any) -> None:
    def program(x: Any, m: Any) -> Any:
        return (
            np.sort(x), np.unique(x), np.searchsorted(x, np.arange(3.0)), np.linalg.svd(m)[0], np.linalg.qr(m)[1],
            np.linalg.solve(m[:0], m[:0]), np.fft.fft(np.zeros((0, 4))), np.isin(np.arange(2.0), x),
        )  # fmt: skip

    assert_alike(program, np.zeros(0), np.zeros((3, 0)), gpu=gpu)


@pytest.mark.parametrize(("function", "arguments", "error", "message"), [
    (lambda a: np.linalg.solve(a, a[0]), (np.ones((2, 2)),), np.linalg.LinAlgError, "Singular matrix"),
    (lambda a: np.linalg.inv(a), (np.zeros((2, 3, 3)),), np.linalg.LinAlgError, "Singular matrix"),
    (lambda a: np.linalg.inv(a), (np.ones((2, 3)),), np.linalg.LinAlgError, "must be square"),
    (lambda a: np.linalg.cholesky(a), (-np.eye(2),), np.linalg.LinAlgError, "not positive definite"),
    (lambda a: np.linalg.svd(a)[1], (np.full((2, 2), np.nan),), np.linalg.LinAlgError, "SVD did not converge"),
    (lambda a: np.linalg.eigh(a), (np.full((3, 3), np.nan),), np.linalg.LinAlgError, "Eigenvalues did not converge"),
    (lambda x, n: np.fft.fft(x, n), (np.ones(4), 0), ValueError, "Invalid number of FFT data points"),
    (lambda x: np.fft.irfft(x), (np.ones(1),), ValueError, "Invalid number of FFT data points"),
    (lambda x, k: np.partition(x, k), (np.ones(4), 4), ValueError, r"kth\(=4\) out of bounds"),
    (lambda x, i: np.searchsorted(x, x, sorter=i), (np.ones(4), np.full(4, 9)), ValueError, "Sorter index out of"),
    (lambda x, b: np.digitize(x, b), (np.ones(4), NUMBERS[2:5]), ValueError, "monotonically increasing or decreasing"),
    (lambda i: np.bincount(i), (np.array([1, -1]),), ValueError, "must not be negative|non-negative|negative"),
])  # fmt: skip
def test_errors_are_numpy_s(function: Any, arguments: Any, error: Any, message: str, gpu: Any) -> None:
    code = OnDevice(function, *arguments, gpu=gpu)
    with pytest.raises(error, match=message) as caught:
        code(*arguments)
    assert caught.value.__context__ is None
    assert traceback.extract_tb(caught.tb)[-1].filename == __file__
    assert code.lost() == 0


def test_determinants_of_what_is_not_finite(gpu: Any) -> None:
    """Which pivots LAPACK chooses among nan is its own affair."""
    matrices = np.array([[[np.nan, 1], [2, 3]], [[1, np.nan], [2, 3]], [[0, 1], [np.nan, 3]], [[np.inf, 0], [1, 1]]])
    assert_alike(lambda m: (*np.linalg.slogdet(m), np.linalg.det(m)), matrices, gpu=gpu)


def test_a_failed_check_comes_before_a_failed_routine(gpu: Any) -> None:
    def program(a: Any, index: Any) -> Any:
        picked = a[index]
        return np.linalg.solve(picked, picked[0])

    code = OnDevice(program, np.eye(3), np.array([2, 1, 0]), gpu=gpu)
    np.testing.assert_allclose(code(np.eye(3), np.array([2, 1, 0])), [1, 0, 0])
    with pytest.raises(IndexError):
        code(np.eye(3), np.array([0, 0, 9]))
    with pytest.raises(np.linalg.LinAlgError):
        code(np.eye(3), np.array([0, 0, 1]))
    assert code.lost() == 0


def test_variables_stay_as_they_were(gpu: Any) -> None:
    w = jitflow.Variable(np.eye(2))

    def step(b: Any, scale: Any) -> Any:
        w[...] = w * scale
        return np.linalg.solve(w, b)

    code = OnDevice(step, np.ones(2), 2.0, gpu=gpu)
    code(np.ones(2), 2.0)
    with pytest.raises(np.linalg.LinAlgError):
        code(np.ones(2), 0.0)
    np.testing.assert_array_equal(w.numpy(), 2 * np.eye(2))


def test_what_is_caught(gpu: Any) -> None:
    def program(a: Any, b: Any) -> Any:
        try:
            x = np.linalg.solve(a, b)
        except np.linalg.LinAlgError:
            x = b * 0
        return (x,)

    code = OnDevice(program, np.eye(3), np.arange(3.0), gpu=gpu)
    np.testing.assert_allclose(code(2 * np.eye(3), np.arange(3.0))[0], [0, 0.5, 1])
    np.testing.assert_allclose(code(np.ones((3, 3)), np.arange(3.0))[0], [0, 0, 0])


def test_where_numpy_has_an_answer_after_all() -> None:
    """cuSOLVER may call a matrix singular that is not for LAPACK."""
    code = OnDevice(lambda a: np.linalg.inv(a), np.eye(2))
    code.device.routines.functions["linalg"].inv = mock.Mock(side_effect=np.linalg.LinAlgError)
    np.testing.assert_allclose(code(4 * np.eye(2)), np.eye(2) / 4)
    assert code.device.counts[ASKED] == 1


# -- in whose order


def test_they_work_in_the_stream_of_the_call() -> None:
    code = OnDevice(lambda x: np.sort(x * 2) + 1, np.arange(5.0))
    x = code.device.array(np.array([3.0, 1.0, 2.0, 0.0, 4.0]))
    for stream in (5, 6):
        code.device.stream = stream
        np.testing.assert_array_equal(code(x).get(), [1, 3, 5, 7, 9])
        assert code.device.stream == stream
    on = Gpu.working_on
    with mock.patch.object(Gpu, "working_on", lambda gpu, stream: on(gpu, 99)), pytest.raises(PtxError):
        code(x)


def test_beside_other_devices(gpu: Any) -> None:
    """A partition's routines work in its own stream, on a thread that is none of Python's."""

    def program(x: Any, m: Any) -> Any:
        with jitflow.device("cuda:0"):
            y = np.unique(x) * 2
            z = np.linalg.solve(m, y[:3])
        return np.cumsum(z) + np.histogram(y)[0].max(), y

    arguments = WHOLE[0] / 2, np.eye(3) * 4
    code = OnDevice(program, *arguments, device=None, gpu=gpu)
    y = np.unique(arguments[0]) * 2
    found, edges = code(*arguments)
    np.testing.assert_allclose(found, np.cumsum(y[:3] / 4) + np.histogram(y)[0].max())
    np.testing.assert_allclose(edges, y)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        code(arguments[0], np.ones((3, 3)))
    assert code.lost() == 0


# -- what stands for cupy


def test_the_stand_in_has_cupy_s_signatures() -> None:
    cupy = pytest.importorskip("cupy")
    functions = StandIn().routines.functions
    for name in ("sort", "argsort", "searchsorted", "unique", "isin", "bincount"):
        assert list(inspect.signature(functions[name]).parameters) == list(
            inspect.signature(getattr(cupy, name)).parameters
        )
    for name, function in vars(functions["linalg"]).items():
        ours, theirs = (inspect.signature(each).parameters for each in (function, getattr(cupy.linalg, name)))
        assert [(each.name, each.default) for each in ours.values()] == [
            (each.name, each.default) for each in theirs.values()
        ]
