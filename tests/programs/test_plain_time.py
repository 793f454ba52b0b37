"""Particles, chance and differential equations, as plain Python, against conserved numbers and other methods."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special

from tests.gallery import example, plain, plain_module


def test_nbody() -> None:
    mass, position, velocity, dt, steps, softening = example("nbody")
    moved = position.copy(), velocity.copy()
    kinetic, potential = plain("nbody")(mass, position, velocity, dt, steps, softening)
    np.testing.assert_allclose(kinetic + potential, kinetic[0] + potential[0], rtol=1e-4)
    assert np.ptp(kinetic) > 1e-3
    np.testing.assert_allclose(mass @ velocity, 0.0, atol=1e-13)

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        x, v = state.reshape(2, -1, 3)
        pull = np.zeros_like(x)
        for i in range(len(x)):
            for j in range(len(x)):
                gap = x[j] - x[i]
                pull[i] += mass[j] * gap / (gap @ gap + softening**2) ** 1.5
        return np.stack((v, pull)).ravel()

    start = np.stack((moved[0], moved[1] - mass @ moved[1] / mass.sum()))
    exact = scipy.integrate.solve_ivp(slope, (0, dt * steps), start.ravel(), rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(np.stack((position, velocity)).ravel(), exact, atol=2e-3)


def test_rk4() -> None:
    state, _, _ = example("rk4")
    after, path = plain("rk4")(state, 0.005, 100)
    for k in range(state.shape[1]):

        def slope(_: float, y: np.ndarray) -> list[float]:
            return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]

        exact = scipy.integrate.solve_ivp(slope, (0, 0.5), state[:, k], rtol=1e-11, atol=1e-12).y[:, -1]
        np.testing.assert_allclose(after[:, k], exact, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(path[[0, -1]], [state[:, 0], after[:, 0]])


def test_adaptive_ode() -> None:
    y, mu, _, _, limit = example("adaptive_ode")
    times, states, rejected = plain("adaptive_ode")(y, mu, 8.0, 1e-8, limit)
    assert times[-1] == pytest.approx(8.0)
    assert rejected > 0
    assert np.all(np.diff(times) > 0)

    def slope(_: float, one: np.ndarray) -> list[float]:
        return [one[1], mu * (1 - one[0] ** 2) * one[1] - one[0]]

    exact = scipy.integrate.solve_ivp(slope, (0, 8.0), y, rtol=1e-11, atol=1e-12, t_eval=times).y.T
    np.testing.assert_allclose(states, exact, atol=1e-3)


def test_ising() -> None:
    spins, chance, beta = example("ising")
    expected, n = spins.copy(), len(spins)
    for sweep in chance:
        for parity in range(2):
            for i, j in np.ndindex(n, n):
                if (i + j) % 2 == parity:
                    around = sum(expected[(i + a) % n, (j + b) % n] for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1)))
                    if sweep[parity, i, j] < np.exp(-beta * 2.0 * expected[i, j] * around):
                        expected[i, j] *= -1
    magnetisation = plain("ising")(spins, chance, beta)
    np.testing.assert_array_equal(spins, expected)
    assert magnetisation[-1] == spins.mean()


def test_simulated_annealing() -> None:
    x, y, tour, ends, chance, temperature, cooling = example("simulated_annealing")
    length = plain_module("simulated_annealing").length_of
    start = length(x, y, tour)
    best, best_tour = plain("simulated_annealing")(x, y, tour, ends, chance, temperature, cooling)
    assert best < start
    assert best == pytest.approx(length(x, y, best_tour))
    assert sorted(best_tour) == sorted(tour) == list(range(len(tour)))


def test_monte_carlo_option() -> None:
    normals, spot, strike, rate, volatility, years = example("monte_carlo_option")
    price, error = plain("monte_carlo_option")(normals, spot, strike, rate, volatility, years)
    worth = []
    for sign in (1, -1):
        steps = (rate - volatility**2 / 2) / len(normals) + volatility / np.sqrt(len(normals)) * sign * normals
        worth.append(np.maximum((spot * np.exp(np.cumsum(steps, axis=0))).mean(axis=0) - strike, 0) * np.exp(-rate))
    paid = np.mean(worth, axis=0)
    assert price == pytest.approx(paid.mean())
    assert error == pytest.approx(paid.std() / np.sqrt(paid.size))


def test_black_scholes() -> None:
    spot, strike, years, rate, volatility = example("black_scholes")
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    call, put = plain("black_scholes")(spot, strike, years, rate, volatility)
    np.testing.assert_allclose(
        call, spot * scipy.special.ndtr(d1) - discounted * scipy.special.ndtr(d1 - spread), atol=3e-5
    )
    np.testing.assert_allclose(call - put, spot - discounted)


def test_binomial_option() -> None:
    value = plain("binomial_option")

    def node(price: float, depth: int, steps: int, strike: float) -> float:
        if depth == steps:
            return max(strike - price, 0.0)
        up = np.exp(0.3 * np.sqrt(1 / steps))
        chance = (np.exp(0.05 / steps) - 1 / up) / (up - 1 / up)
        ahead = [node(price * move, depth + 1, steps, strike) for move in (up, 1 / up)]
        return max(np.exp(-0.05 / steps) * (chance * ahead[0] + (1 - chance) * ahead[1]), strike - price)

    assert value(100.0, 105.0, 0.05, 0.3, 1.0, 7) == pytest.approx(node(100.0, 0, 7, 105.0))
    fine = value(100.0, 100.0, 0.05, 0.3, 1.0, 1000)
    assert fine == pytest.approx(9.870, abs=5e-3)
    european = 100 * (
        np.exp(-0.05) * scipy.special.ndtr(-(0.05 - 0.045) / 0.3) - scipy.special.ndtr(-(0.05 + 0.045) / 0.3)
    )
    assert fine > european


def test_random_walk() -> None:
    x, kicks, dt, noise = example("random_walk")
    path = [x.copy()]
    for kick in kicks:
        path.append(path[-1] + dt * (path[-1] - path[-1] ** 3) + noise * dt**0.5 * kick)
    walk = np.array(path)
    crossings, spread, counts, edges = plain("random_walk")(x, kicks, dt, noise)
    np.testing.assert_allclose(x, walk[-1])
    np.testing.assert_array_equal(crossings, np.count_nonzero(np.diff(walk > 0, axis=0), axis=0))
    np.testing.assert_allclose(spread, ((walk[1:] - walk[0]) ** 2).mean(axis=1))
    np.testing.assert_array_equal(counts, [np.sum((walk[-1] >= a) & (walk[-1] < a + 0.5)) for a in edges[:-1]])


def test_newton() -> None:
    means, eccentricity, tolerance = example("newton")
    expected = [scipy.optimize.brentq(lambda x, mean=mean: x - eccentricity * np.sin(x) - mean, 0, 8) for mean in means]
    np.testing.assert_allclose(plain("newton")(means, eccentricity, tolerance), expected, rtol=1e-11)


def test_bisection() -> None:
    a, b, low, high, tolerance = example("bisection")
    got = plain("bisection")(a, b, low, high, tolerance)
    for k in range(len(a)):
        roots = np.roots([1.0, 0.0, a[k], -b[k]])
        assert got[k] == pytest.approx(roots[np.argmin(np.abs(roots.imag))].real, abs=1e-9)
    with pytest.raises(ValueError, match="no root"):
        plain("bisection")(a, b, 9.0, 10.0, tolerance)
