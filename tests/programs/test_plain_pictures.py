"""Pictures, signals and sums over data, as plain Python, against point-by-point computation and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
import scipy.sparse

from tests.gallery import example, plain


def escape(c: complex, limit: int) -> int | None:
    """The first step after which an orbit lies beyond 2."""
    z = 0j
    for step in range(1, limit + 1):
        z = z * z + c
        if abs(z) >= 2.0:
            return step
    return None


def test_mandelbrot_masked() -> None:
    xmin, xmax, ymin, ymax, width, height, limit, _ = example("mandelbrot_masked")
    z, count = plain("mandelbrot_masked")(*example("mandelbrot_masked"))
    for (i, j), y, x in zip(
        np.ndindex(height, width),
        np.repeat(np.linspace(ymin, ymax, height), width),
        np.tile(np.linspace(xmin, xmax, width), height),
        strict=True,
    ):
        step = escape(complex(x, y), limit)
        assert count[i, j] == (0 if step is None or step >= limit else step)
        assert (abs(z[i, j]) >= 2.0) == (step is not None)
    assert 5 < np.count_nonzero(count == 0) < count.size


def test_mandelbrot_shrinking() -> None:
    xmin, xmax, ymin, ymax, width, height, limit, _ = example("mandelbrot_shrinking")
    count = plain("mandelbrot_shrinking")(*example("mandelbrot_shrinking"))
    for i, y in enumerate(np.linspace(ymin, ymax, height)):
        for j, x in enumerate(np.linspace(xmin, xmax, width)):
            step = escape(complex(x, y), limit + 1)  # which begins one step further on
            assert count[i, j] == (0 if step is None else max(step - 1, 1))


def test_newton_fractal() -> None:
    z, tolerance, limit = example("newton_fractal")
    nearest, steps = plain("newton_fractal")(z, tolerance, limit)
    for where in np.ndindex(z.shape):
        point, count, change = complex(z[where]), 0, 1.0
        while abs(change) > tolerance and count < limit:
            change = (point**3 - 1) / (3 * point**2)
            point -= change
            count += 1
        assert steps[where] == count
        if count < limit:
            assert abs(point - np.exp(2j * np.pi * nearest[where] / 3)) < 1e-5


def test_ray_marching() -> None:
    width, height, eye, light, _, far = example("ray_marching")
    picture = plain("ray_marching")(width, height, eye, light, 300, far)
    for i, y in enumerate(np.linspace(1, -1, height)):
        for j, x in enumerate(np.linspace(-1, 1, width) * width / height):
            ray = np.array([x, y, 1.5]) / np.sqrt(x * x + y * y + 2.25)
            hits = [(far, None)]
            nearest = np.linalg.norm(np.cross(eye, ray))
            if abs(nearest - 1.0) < 0.02:
                continue  # it grazes the sphere
            if nearest < 1.0:
                way = -(eye @ ray) - np.sqrt(1.0 - nearest**2)
                hits.append((way, eye + way * ray))
            if ray[1] < 0:
                hits.append(((-1.2 - eye[1]) / ray[1], np.array([0.0, 1.0, 0.0])))
            _, normal = min(hits, key=lambda hit: hit[0])
            expected = 0.0 if normal is None else 0.1 + 0.9 * np.clip(normal @ light, 0, 1)
            assert picture[i, j] == pytest.approx(expected, abs=5e-3)


def test_stockham_fft() -> None:
    for R, K in ((2, 4), (3, 3), (4, 2), (5, 1)):
        parts = np.random.default_rng(R).normal(0, 1, (2, R**K))
        x = parts[0] + 1j * parts[1]
        np.testing.assert_allclose(plain("stockham_fft")(R, K, x), np.fft.fft(x), atol=1e-12)


def test_deriche() -> None:
    alpha, _ = example("deriche")
    picture = np.zeros((81, 91))
    picture[40, 45] = 1.0
    decay = np.exp(-alpha)
    k = (1 - decay) ** 2 / (1 + 2 * alpha * decay - decay**2)
    responses = [
        k * (alpha * np.abs(np.arange(n) - n // 2) + 1) * decay ** np.abs(np.arange(n) - n // 2) for n in (81, 91)
    ]
    np.testing.assert_allclose(plain("deriche")(alpha, picture), np.outer(*responses), atol=1e-12)


def test_azimuthal_integration() -> None:
    data, radius, bins = example("azimuthal_integration")
    edges = np.linspace(radius.min(), radius.max(), bins + 1)
    which = np.minimum(np.searchsorted(edges, radius, "right") - 1, bins - 1)
    expected = [data[which == ring].mean() for ring in range(bins)]
    np.testing.assert_allclose(plain("azimuthal_integration")(data, radius, bins), expected)


def test_radial_histogram() -> None:
    picture, y, x, width, bins = example("radial_histogram")
    rows, columns = np.indices(picture.shape)
    ring = (np.hypot(rows - y, columns - x) / width).astype(int)
    profile, count = plain("radial_histogram")(picture, y, x, width, bins)
    for k in range(bins):
        assert count[k] == np.count_nonzero(ring == k)
        assert profile[k] == pytest.approx(picture[ring == k].mean())


def test_bilateral_filter() -> None:
    picture, radius, spread, likeness = example("bilateral_filter")
    got = plain("bilateral_filter")(picture, radius, spread, likeness)
    padded = np.pad(picture, radius, mode="reflect")
    near = np.exp(-(np.arange(-radius, radius + 1) ** 2) / (2 * spread**2))
    for i, j in np.ndindex(picture.shape):
        window = padded[i : i + 2 * radius + 1, j : j + 2 * radius + 1]
        weights = np.outer(near, near) * np.exp(-((window - picture[i, j]) ** 2) / (2 * likeness**2))
        assert got[i, j] == pytest.approx(np.average(window, weights=weights))


def test_fir_filter() -> None:
    signal, taps, cutoff, step = example("fir_filter")
    kernel = scipy.signal.firwin(taps, cutoff, fs=1.0, window="hamming")
    expected = np.convolve(signal, kernel, "valid")[::step]
    np.testing.assert_allclose(plain("fir_filter")(signal, taps, cutoff, step), expected)


def test_spmv() -> None:
    pointers, columns, values, x = example("spmv")
    matrix = scipy.sparse.csr_matrix((values, columns, pointers), (len(pointers) - 1, len(x)))
    np.testing.assert_allclose(plain("spmv")(pointers, columns, values, x), matrix @ x)


def test_trace_loop() -> None:
    (a,) = example("trace_loop")
    np.testing.assert_allclose(plain("trace_loop")(a), a + np.tanh(np.diag(a)).sum())


def test_integer_clip() -> None:
    one, other, a, b, c = example("integer_clip")
    got = plain("integer_clip")(one, other, a, b, c)
    assert got.tolist() == [
        [min(max(x, 2), 10) * a + y * b + c for x, y in zip(*rows, strict=True)]
        for rows in zip(one.tolist(), other.tolist(), strict=True)
    ]


def test_arc_distance() -> None:
    theta1, phi1, theta2, phi2 = example("arc_distance")
    one, other = (
        np.array([np.cos(theta) * np.cos(phi), np.cos(theta) * np.sin(phi), np.sin(theta)])
        for theta, phi in ((theta1, phi1), (theta2, phi2))
    )
    np.testing.assert_allclose(plain("arc_distance")(theta1, phi1, theta2, phi2), np.arccos((one * other).sum(axis=0)))


def test_polynomial_bank() -> None:
    coefficients, x = example("polynomial_bank")
    value, slope = plain("polynomial_bank")(coefficients, x)
    for k, row in enumerate(coefficients):
        np.testing.assert_allclose(value[k], np.polyval(row, x), atol=1e-14)
        np.testing.assert_allclose(slope[k], np.polyval(np.polyder(row), x), atol=1e-14)
