"""The rules of library routines against differences, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.passes.derivatives.numerical import check_rules, close, gradient, weighted
from tests.sampled import in_turn, sampled

RANDOM = np.random.default_rng(8)


def numbers(*shape: int, kind: str = "f") -> Any:
    drawn = RANDOM.normal(size=shape)
    return drawn + 1j * RANDOM.normal(size=shape) if kind == "c" else drawn


def positive(*shape: int, kind: str = "f") -> Any:
    """Hermitian positive definite matrices."""
    root = numbers(*shape, shape[-1], kind=kind)
    return root @ np.conj(np.swapaxes(root, -1, -2)) + np.eye(shape[-1])


def check(function: Any, *arguments: Any, digits: int = 6) -> None:
    check_rules(function, *arguments, digits=digits, wide=False)


KINDS = pytest.mark.parametrize("kind", ["f", "c"])


@KINDS
@pytest.mark.parametrize("batch", [(), (2,)])
def test_equations(kind: str, batch: tuple[int, ...]) -> None:
    matrix, right = numbers(*batch, 3, 3, kind=kind), numbers(3, 2, kind=kind)
    check(np.linalg.inv, matrix)
    check(np.linalg.solve, matrix, right)
    check(np.linalg.solve, matrix[..., :, :], numbers(*batch, 3, 1, kind=kind))
    check(np.linalg.solve, matrix, numbers(3, kind=kind))
    check(np.linalg.det, matrix)
    check(lambda a: np.linalg.slogdet(a)[1], matrix)
    check(lambda a: np.linalg.slogdet(a)[0], matrix)


@pytest.mark.parametrize(("order", "kind"), sampled(in_turn([None, 2, -2, 1, -1, "fro", "nuc"], ["f", "c"]), 2))
def test_conditions(order: Any, kind: str) -> None:
    check(lambda a: np.linalg.cond(a, order), numbers(3, 3, kind=kind) + 3 * np.eye(3))
    check(lambda a: np.linalg.cond(a, order), numbers(2, 3, 3, kind=kind) + 3 * np.eye(3))


def test_conditions_by_rows() -> None:
    check(lambda a: np.linalg.cond(a, np.inf) + np.linalg.cond(a, -np.inf), numbers(3, 3) + 3 * np.eye(3))
    assert jitflow.function(lambda a: np.linalg.cond(a, np.inf))(np.ones((2, 2))) == np.inf


def test_equations_of_more_axes() -> None:
    check(np.linalg.tensorsolve, numbers(2, 3, 6), numbers(2, 3))
    check(lambda a, b: np.linalg.tensorsolve(a, b, axes=(0,)), numbers(2, 6, 3), numbers(6))
    check(lambda a: np.linalg.tensorinv(a, 1), numbers(4, 2, 2))


def test_polynomials() -> None:
    line, weights = np.linspace(-1.0, 2.0, 7), np.linspace(0.5, 1.5, 7)
    check(lambda x, y: np.polyfit(x, y, 2), line, numbers(7))
    check(lambda x, y, w: np.polyfit(x, y, 1, w=w), line, numbers(7, 2), weights)
    check(np.polymul, numbers(3), numbers(4))
    check(lambda a, b: np.polymul(a * np.array([0.0, 1.0, 1.0]), b), numbers(3), numbers(2))
    check(np.poly, numbers(4))


def test_equations_of_one_matrix_for_many() -> None:
    check(np.linalg.solve, numbers(3, 3), numbers(4, 3, 2))


@KINDS
def test_factors(kind: str) -> None:
    matrix = positive(3, 3, kind=kind)
    check(np.linalg.cholesky, matrix)
    check(lambda a: np.linalg.cholesky(a, upper=True), matrix)
    check(np.linalg.cholesky, positive(2, 3, 3, kind=kind))


@pytest.mark.parametrize(("shape", "kind"), sampled(in_turn([(4, 3), (3, 3), (2, 4), (2, 4, 3)], ["f", "c"]), 2))
def test_orthogonal_factors(shape: tuple[int, ...], kind: str) -> None:
    matrix = numbers(*shape, kind=kind)
    check(lambda a: np.linalg.qr(a)[0], matrix)
    check(lambda a: np.linalg.qr(a)[1], matrix)
    check(lambda a: np.linalg.qr(a, mode="r"), matrix)


@pytest.mark.parametrize("side", ["L", "U"])
def test_eigenvalues(side: str) -> None:
    check(lambda a: np.linalg.eigh(a, side)[0], positive(3, 3))
    check(lambda a: np.linalg.eigh(a, side)[1], positive(3, 3))
    check(lambda a: np.linalg.eigvalsh(a, side), positive(2, 3, 3))
    complex_one = positive(3, 3, kind="c")
    check(lambda a: np.linalg.eigvalsh(a, side), complex_one)
    check(lambda a: np.abs(np.linalg.eigh(a, side)[1]), complex_one)


def test_eigenvalues_of_any_matrix() -> None:
    matrix = numbers(3, 3, kind="c")
    check(np.linalg.eigvals, matrix)
    check(lambda a: np.abs(np.linalg.eig(a)[1]), matrix)


@pytest.mark.parametrize(("shape", "kind"), sampled(in_turn([(4, 3), (3, 3), (2, 4), (2, 4, 3)], ["f", "c"]), 2))
def test_singular_values(shape: tuple[int, ...], kind: str) -> None:
    matrix = numbers(*shape, kind=kind)
    check(lambda a: np.linalg.svd(a, compute_uv=False), matrix)
    check(lambda a: np.linalg.svd(a)[1], matrix)
    check(np.linalg.svdvals, matrix)

    def parts(a: Any) -> Any:
        left, sizes, right = np.linalg.svd(a, full_matrices=False)
        return np.abs(left).sum() * sizes[..., 0], np.abs(right) * 2, (left * sizes[..., None, :] ** 2) @ right

    for number in range(3):
        check(lambda a, number=number: parts(a)[number], matrix)


@KINDS
@pytest.mark.parametrize("shape", [(4, 3), (2, 3), (3, 3)])
def test_least_squares(kind: str, shape: tuple[int, ...]) -> None:
    matrix = numbers(*shape, kind=kind)
    check(np.linalg.pinv, matrix)
    check(lambda a, b: np.linalg.lstsq(a, b)[0], matrix, numbers(shape[0], kind=kind))
    check(lambda a, b: np.linalg.lstsq(a, b)[0], matrix, numbers(shape[0], 2, kind=kind))


def test_norms_and_powers() -> None:
    for order in (None, "fro", "nuc", 2, 1, np.inf):
        check(lambda a, order=order: np.linalg.norm(a, order), numbers(3, 4))
    check(lambda a: np.linalg.norm(a, axis=1), numbers(3, 4))
    check(lambda a: np.linalg.norm(a, 3), numbers(5))
    check(lambda a: np.linalg.matrix_power(a, 3), numbers(3, 3))
    check(lambda a: np.linalg.matrix_power(a, -2), numbers(3, 3))
    check(lambda a: np.linalg.tensorinv(a, ind=1), numbers(6, 2, 3))


def test_determinants_of_singular_matrices() -> None:
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert close(jitflow.grad(np.linalg.det)(singular), [[4, -2], [-2, 1]])
    assert close(jitflow.grad(np.linalg.det)(np.diag([0.0, 2.0, 3.0])), np.diag([6.0, 0, 0]))
    assert close(jitflow.grad(np.linalg.det)(np.zeros((3, 3))), np.zeros((3, 3)))
    eye = np.eye(3)
    second = jitflow.grad(lambda a: np.sum(jitflow.grad(np.linalg.det)(a) * eye))(eye)
    assert close(second, 2 * eye)


def test_equal_values() -> None:
    """Values have a derivative where their vectors have none, and no answer is made up for these."""
    assert close(jitflow.grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(np.eye(3)), 2 * np.eye(3))
    assert close(jitflow.grad(lambda a: np.sum(np.linalg.eigh(a)[0] ** 2))(np.eye(3)), 2 * np.eye(3))
    assert close(jitflow.grad(lambda a: np.linalg.norm(a, "nuc"))(np.eye(2)), np.eye(2))
    found = jitflow.grad(lambda a: np.sum(np.linalg.eigh(a)[1] * np.arange(9.0).reshape(3, 3)))(np.eye(3))
    assert not np.isfinite(found).all()


@pytest.mark.parametrize("axis", [-1, 0])
def test_order(axis: int) -> None:
    matrix = numbers(3, 5)
    check_rules(lambda x: np.sort(x, axis=axis) ** 2, matrix)
    check(lambda x: np.partition(x, 1, axis=axis)[1] ** 2, matrix)
    check_rules(lambda x: x[np.argsort(x[:, 0])] ** 2, matrix)
    check_rules(lambda x: np.median(x, axis=axis) ** 2, matrix)
    check_rules(lambda x: np.percentile(x, 30, axis=axis) ** 2, matrix)
    check_rules(lambda x: np.quantile(x, [0.1, 0.55, 1.0], axis=axis) ** 2, matrix)
    check_rules(lambda x: np.quantile(x, np.array([[0.1, 0.55]]), keepdims=True) ** 2, matrix)
    check_rules(lambda x: np.median(x) ** 2, matrix)
    check_rules(lambda x: np.sort(x, axis=None), matrix)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_taking_by_position(axis: Any) -> None:
    matrix, times = numbers(3, 3), np.array([2, 0, 1])
    check_rules(lambda x: np.delete(x, [0, 2], axis=axis) ** 2, matrix)
    check_rules(lambda x: np.repeat(x, times if axis is not None else np.arange(9), axis=axis) ** 2, matrix)


def test_quantiles_by_the_fraction() -> None:
    row = numbers(6)
    for name, q in (("quantile", 0.33), ("percentile", 41.0)):
        check(lambda x, q, name=name: getattr(np, name)(x, q), row, np.float64(q))


def test_order_beside_nan() -> None:
    row = np.array([1.0, np.nan, 4.0, 3.0])
    assert close(jitflow.grad(lambda x: np.nanmedian(x))(row), [0, 0, 0, 1])
    assert close(jitflow.grad(lambda x: np.nanquantile(x, 0.25))(row), [0.5, 0, 0, 0.5])


def test_equal_elements_in_order() -> None:
    row = np.array([2.0, 1.0, 2.0])
    assert close(jitflow.grad(lambda x: np.sum(np.sort(x, kind="stable") * np.arange(3.0)))(row), [1, 0, 2])


TRANSFORMS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str, norm: Any) -> None:
    function = getattr(np.fft, name)
    kind = "f" if name in ("rfft", "ihfft") else "c"
    for size in (5, 6):
        check(lambda x: function(x, norm=norm), numbers(size, kind=kind))
        check(lambda x: function(x, norm=norm, axis=0), numbers(size, 2, kind=kind))
    for points in (4, 7):
        check(lambda x, points=points: function(x, points, norm=norm), numbers(5, kind=kind))


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_of_several_axes(name: str) -> None:
    kind = "f" if name.startswith("r") else "c"
    check(getattr(np.fft, name), numbers(3, 4, kind=kind))
    check(lambda x: getattr(np.fft, name)(x, norm="ortho"), numbers(3, 5, kind=kind))


def test_transforms_of_real_numbers() -> None:
    check(lambda x: np.fft.fft(x), numbers(5))
    check(lambda x: np.abs(np.fft.fft(x)) ** 2, numbers(5))
    check(lambda x: np.fft.fftshift(np.fft.fft(x)), numbers(5))


@KINDS
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(6, 3), (3, 6), (4, 4), (5, 4), (2, 5)])
def test_convolutions(kind: str, mode: str, sizes: tuple[int, int]) -> None:
    first, second = numbers(sizes[0], kind=kind), numbers(sizes[1], kind=kind)
    for function in (np.convolve, np.correlate):
        check(lambda a, v, function=function: function(a, v, mode), first, second)


def test_interpolation() -> None:
    knots, heights = np.array([0.0, 1.0, 2.5, 4.0]), numbers(4)
    points = np.array([-0.5, 0.2, 1.3, 3.9, 4.7])
    check(np.interp, points, knots, heights)
    check(lambda x, xp, fp: np.interp(x, xp, fp, left=0.5, right=1.5), points, knots, heights)
    check(lambda fp: np.interp(points, knots, fp), numbers(4, kind="c"))
    check(lambda x, xp, fp: np.interp(x, xp, fp, period=5.0), points, knots, heights)


def test_counts() -> None:
    check(lambda w: np.bincount([0, 2, 2, 1], weights=w) ** 2, numbers(4))
    places, edges = np.array([0.5, 0.0, 4.0, -1.0, 1.0, 5.0, 3.9]), np.array([0.0, 1.0, 1.5, 4.0])
    for density in (False, True):
        check(lambda w, d=density: np.histogram(places, 4, weights=w**2, density=d)[0] ** 2, numbers(7))
        check(lambda w, d=density: np.histogram(places, edges, weights=w**2, density=d)[0] ** 2, numbers(7))
        check(lambda x, d=density: np.histogram(x, edges, density=d)[0] * x[0], places + 0.05)


def test_sums_of_exponentials() -> None:
    check(lambda x: np.logaddexp.accumulate(x) ** 2, numbers(6) * 4)
    check(lambda x: np.logaddexp2.accumulate(x, axis=1) ** 2, numbers(2, 4))
    slope = jitflow.grad(lambda x: np.sum(np.logaddexp.accumulate(x)[1:]))(np.array([-np.inf, 0.0, 2.0]))
    np.testing.assert_allclose(slope, [0.0, 2 - np.exp(2.0) / (1 + np.exp(2.0)), np.exp(2.0) / (1 + np.exp(2.0))])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.sum(np.linalg.svd(x)[0]), "full_matrices=False"),
        (lambda x: np.sum(np.linalg.lstsq(x, np.ones(3))[1]), "numpy.linalg.lstsq has no gradient"),
        (lambda x: np.sum(np.quantile(x, 0.3, method="hazen")), "numpy.quantile has no gradient"),
        (lambda x: np.sum(jitflow.callback(np.sin, jitflow.Spec("f64", (3, 3)))(x)), "sin has no gradient"),
    ],
)
def test_what_has_none_says_so(function: Any, message: str) -> None:
    x = numbers(3, 3)
    for ask in (jitflow.grad(function), lambda x: jitflow.jvp(function, (x,), (x,))):
        with pytest.raises(NotImplementedError) as caught:
            ask(x)
        assert message in "\n".join([str(caught.value), *caught.value.__notes__])


def test_second_order() -> None:
    """Forward over reverse against differences of gradients."""
    cases = [
        (np.linalg.inv, numbers(3, 3)),
        (np.linalg.det, numbers(3, 3)),
        (np.linalg.cholesky, positive(3, 3)),
        (lambda a: np.linalg.eigh(a)[1], positive(3, 3)),
        (lambda a: np.linalg.svd(a, full_matrices=False)[0], numbers(4, 3)),
        (lambda a: np.linalg.qr(a)[1], numbers(4, 3)),
        (lambda x: np.sort(x) ** 3, numbers(5)),
        (lambda x: np.convolve(x, x * x), numbers(4)),
        (lambda x: np.abs(np.fft.fft(x)) ** 3, numbers(4)),
        (lambda x: np.linalg.solve(x, x[0] ** 2), numbers(3, 3)),
    ]
    for function, point in cases:
        slope = jitflow.grad(weighted(function, point))
        direction = numbers(*point.shape)
        _, found = jitflow.jvp(slope, (point,), (direction,))
        expected = (slope(point + 1e-5 * direction) - slope(point - 1e-5 * direction)) / 2e-5
        assert close(found, expected, 5)
        assert close(slope(point), gradient(weighted(function, point), (point,), wide=False), 6)


LINE = np.array([0.3, 1.7, -0.2, 0.9, 1.1, 0.3])


def test_insertions() -> None:
    matrix = numbers(3, 4)
    check_rules(lambda x: np.insert(x, 2, 7.0) ** 2, LINE)
    check_rules(lambda x, v: np.insert(x, [1, 4, 1], v) ** 2, LINE, numbers(3))
    check_rules(lambda x, v: np.insert(x, [1, 4], v) ** 2, LINE, 0.5)
    check_rules(lambda x, v: np.insert(x, 1, v, axis=0) ** 2, matrix, numbers(4))
    check_rules(lambda x, v: np.insert(x, [0, 2], v, axis=1) ** 2, matrix, numbers(3, 2))
    check_rules(lambda x, v: np.insert(x, slice(0, 2), v, axis=1) ** 2, matrix, numbers(2))
    check_rules(lambda x, v: np.insert(x, 5, v) ** 2, matrix, numbers(2))


def test_trimmed_lines() -> None:
    line = np.array([0.0, 0.0, 1.5, 0.0, -2.0, 0.0])
    for trim in ("fb", "f", "b"):

        def squares(x: Any, trim: str = trim) -> Any:
            return np.sum(np.trim_zeros(x, trim) ** 2 * 3.0)

        np.testing.assert_array_equal(jitflow.grad(squares)(line), 6.0 * line)
        assert jitflow.jvp(squares, (line,), (np.ones(6),))[1] == -3.0
    assert jitflow.grad(lambda x: np.trim_zeros(x).sum())(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_sets() -> None:
    more = numbers(4)
    check_rules(lambda x: np.unique(x) ** 3, numbers(2, 3))
    check_rules(lambda x: np.unique(x, return_inverse=True)[0] ** 3, numbers(5))
    check_rules(lambda x: np.unique_values(x) ** 3, numbers(5))
    check_rules(lambda x: np.unique_counts(x).values * np.unique_counts(x).counts, numbers(5))
    check_rules(lambda x, y: np.union1d(x, y) ** 3, numbers(5), more)
    check_rules(lambda x: np.setdiff1d(x, np.array([9.0])) ** 3, numbers(5))
    check_rules(lambda x, y: np.setxor1d(x, y) ** 3, numbers(5), more)


def test_the_first_of_equal_elements_counts() -> None:
    found = jitflow.grad(lambda x: (np.unique(x) * np.array([1.0, 10.0, 100.0, 1000.0, 10000.0])).sum())(LINE)
    np.testing.assert_array_equal(found, [10.0, 10000.0, 1.0, 100.0, 1000.0, 0.0])
    found = jitflow.grad(lambda x: np.intersect1d(x, LINE[:2]).sum())(LINE)
    np.testing.assert_array_equal(found, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(NotImplementedError, match=r"numpy.unique has no gradient"):
        jitflow.grad(lambda x: np.unique(x, axis=0).sum())(numbers(3, 2))


@pytest.mark.parametrize("marks", [[0, 2, 4], [0, 4, 1], [3], [1, 1, 5, 0]])
def test_sums_of_stretches(marks: list[int]) -> None:
    check_rules(lambda x: np.add.reduceat(x, marks) ** 2, LINE)
    check_rules(lambda x: np.add.reduceat(x, [0, 2, 1], axis=1) ** 2, numbers(2, 4))
    second = jitflow.grad(lambda x: jitflow.grad(lambda y: (np.add.reduceat(y, marks) ** 3).sum())(x).sum())
    expected = gradient(lambda x: np.sum(_by_hand(x, marks)), (LINE,))
    assert close(second(LINE), expected, 6)
    with pytest.raises(NotImplementedError, match="reduceat has no gradient"):
        jitflow.grad(lambda x: np.maximum.reduceat(x, marks).sum())(LINE)


def _by_hand(x: Any, marks: list[int]) -> Any:
    """The gradient of the sum of the cubes of the sums."""
    found, ends = np.zeros_like(x), [*marks[1:], len(x)]
    for start, end in zip(marks, ends, strict=True):
        stretch = slice(start, end if end > start else start + 1)
        found[stretch] += 3 * x[stretch].sum() ** 2
    return found


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_by_other_ufuncs(axis: Any, keepdims: bool) -> None:
    matrix = numbers(2, 3)
    for ufunc in (np.logaddexp, np.logaddexp2, np.hypot):
        check_rules(lambda x, ufunc=ufunc: ufunc.reduce(x, axis=axis, keepdims=keepdims) ** 2, matrix)


def test_reductions_of_nothing_and_infinities() -> None:
    assert jitflow.grad(lambda x: np.hypot.reduce(x))(np.zeros(3)).tolist() == [0, 0, 0]
    assert jitflow.grad(lambda x: np.logaddexp.reduce(x))(np.array([-np.inf, 1.0])).tolist() == [0, 1]


def test_all_singular_vectors_of_a_square_matrix() -> None:
    def parts(a: Any) -> Any:
        left, sizes, right = np.linalg.svd(a @ a[:, ::-1].T)
        return (left * sizes**2) @ right

    check(parts, numbers(3, 4))


SINGLE = RANDOM.normal(size=(3, 4)).astype(np.float32)
WITH_DOUBLE: dict[str, Any] = {
    "solve": lambda x: (np.linalg.solve(np.eye(3) * 2.0, x) ** 2).sum(),
    "lstsq": lambda x: (np.linalg.lstsq(np.vander(np.arange(4.0), 3), x[0], rcond=None)[0] ** 2).sum(),
    "polyfit": lambda x: (np.polyfit(np.arange(4.0), x[0], 2) ** 2).sum(),
    "quantile": lambda x: (np.quantile(x, np.array([0.2, 0.7]), axis=0) ** 2).sum(),
    "nanpercentile": lambda x: (np.nanpercentile(x, np.array([20.0, 70.0])) ** 2).sum(),
    "interp of heights": lambda x: (np.interp(np.array([0.2, 0.7]), np.arange(4.0), x[0]) ** 2).sum(),
    "interp of points": lambda x: (np.interp(np.abs(x[0]), np.arange(4.0), np.arange(4) ** 2) ** 2).sum(),
    "interp of knots": lambda x: (np.interp(np.array([0.2, 0.7]), np.cumsum(np.abs(x[0])), np.arange(4)) ** 2).sum(),
    "convolve": lambda x: (np.convolve(x[0], np.arange(3.0)) ** 2).sum(),
    "average": lambda x: (np.average(x, axis=0, weights=np.arange(3.0)) ** 2).sum(),
}


@pytest.mark.parametrize("name", WITH_DOUBLE)
def test_single_precision_beside_double(name: str) -> None:
    function = WITH_DOUBLE[name]
    expected = jitflow.grad(function)(SINGLE.astype(np.float64))
    found = jitflow.grad(function)(SINGLE)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    _, change = jitflow.jvp(function, (SINGLE,), (np.ones_like(SINGLE),))
    np.testing.assert_allclose(change, expected.sum(), rtol=1e-4)
