"""What is drawn has the distribution that it should have: against scipy.stats, with a fixed seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

from jitflow.random import Generator

COUNT = 20_000
UNLIKELY = 1e-4
"""One test of ten thousand fails by chance; the seed is fixed, so that none does."""

CONTINUOUS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("random", (), scipy.stats.uniform()),
    ("uniform", (-2, 5), scipy.stats.uniform(-2, 7)),
    ("standard_normal", (), scipy.stats.norm()),
    ("normal", (1, 2), scipy.stats.norm(1, 2)),
    ("lognormal", (0.5, 0.7), scipy.stats.lognorm(0.7, scale=np.exp(0.5))),
    ("standard_exponential", (), scipy.stats.expon()),
    ("exponential", (3,), scipy.stats.expon(scale=3)),
    ("standard_gamma", (1,), scipy.stats.gamma(1)),
    ("gamma", (0.1, 2), scipy.stats.gamma(0.1, scale=2)),
    ("gamma", (3.5, 2), scipy.stats.gamma(3.5, scale=2)),
    ("beta", (0.2, 0.3), scipy.stats.beta(0.2, 0.3)),
    ("beta", (20, 3), scipy.stats.beta(20, 3)),
    ("chisquare", (0.7,), scipy.stats.chi2(0.7)),
    ("standard_t", (3,), scipy.stats.t(3)),
    ("f", (3, 5), scipy.stats.f(3, 5)),
    ("standard_cauchy", (), scipy.stats.cauchy()),
    ("laplace", (1, 2), scipy.stats.laplace(1, 2)),
    ("logistic", (1, 2), scipy.stats.logistic(1, 2)),
    ("gumbel", (1, 2), scipy.stats.gumbel_r(1, 2)),
    ("rayleigh", (2,), scipy.stats.rayleigh(scale=2)),
    ("weibull", (1.5,), scipy.stats.weibull_min(1.5)),
    ("pareto", (3,), scipy.stats.lomax(3)),
    ("power", (3,), scipy.stats.powerlaw(3)),
    ("triangular", (0, 1, 3), scipy.stats.triang(1 / 3, 0, 3)),
]
DISCRETE: list[tuple[str, tuple[Any, ...], Any]] = [
    ("integers", (3, 17), scipy.stats.randint(3, 17)),
    ("integers", (-4, 4, None, np.int8, True), scipy.stats.randint(-4, 5)),
    ("poisson", (0.3,), scipy.stats.poisson(0.3)),
    ("poisson", (9.99,), scipy.stats.poisson(9.99)),
    ("poisson", (10,), scipy.stats.poisson(10)),
    ("poisson", (700,), scipy.stats.poisson(700)),
    ("binomial", (20, 0.3), scipy.stats.binom(20, 0.3)),
    ("binomial", (20, 0.5), scipy.stats.binom(20, 0.5)),
    ("binomial", (100, 0.85), scipy.stats.binom(100, 0.85)),
    ("binomial", (10_000, 0.4), scipy.stats.binom(10_000, 0.4)),
    ("geometric", (0.2,), scipy.stats.geom(0.2)),
    ("negative_binomial", (2.5, 0.3), scipy.stats.nbinom(2.5, 0.3)),
]


@pytest.mark.parametrize(("name", "parameters", "wanted"), CONTINUOUS, ids=lambda item: str(item)[:20])
def test_continuous(name: str, parameters: tuple[Any, ...], wanted: Any) -> None:
    drawn = getattr(Generator(2024), name)(*parameters, size=COUNT)
    assert scipy.stats.kstest(drawn, wanted.cdf).pvalue > UNLIKELY


@pytest.mark.parametrize(("name", "parameters", "wanted"), DISCRETE, ids=lambda item: str(item)[:20])
def test_discrete(name: str, parameters: tuple[Any, ...], wanted: Any) -> None:
    generator = Generator(2024)
    if len(parameters) > 2:
        low, high, _, dtype, endpoint = parameters
        drawn = generator.integers(low, high, COUNT, dtype, endpoint)
        assert drawn.dtype == dtype
    else:
        drawn = getattr(generator, name)(*parameters, size=COUNT)
        assert drawn.dtype == np.int64
    assert like(drawn, wanted) > UNLIKELY


def like(drawn: Any, wanted: Any) -> float:
    """The p-value of a chi-square test, with counts that are expected less than 10 times taken together."""
    first, last = int(drawn.min()), int(drawn.max())
    values = np.arange(first, last + 1)
    expected = wanted.pmf(values) * drawn.size
    observed = np.bincount(drawn - first, minlength=values.size)
    often = expected >= 10
    rest = drawn.size - expected[often].sum()
    observed = np.append(observed[often], drawn.size - observed[often].sum())
    expected = np.append(expected[often], rest)
    kept = expected > 1e-6
    assert (observed[~kept] == 0).all()
    return float(scipy.stats.chisquare(observed[kept], expected[kept], sum_check=False).pvalue)


def test_bits_are_fair_and_independent() -> None:
    low, high = Generator(1).words((COUNT,))
    bits = np.unpackbits(np.stack([low, high], 1).view(np.uint8), axis=1).astype(float) * 2 - 1
    assert np.abs(bits.mean(0)).max() < 5 / COUNT**0.5
    together = bits.T @ bits / COUNT - np.eye(128)
    assert np.abs(together).max() < 6 / COUNT**0.5
    following = bits[1:].T @ bits[:-1] / COUNT
    assert np.abs(following).max() < 6 / COUNT**0.5


def test_float32_has_24_digits() -> None:
    drawn = Generator(1).random(COUNT, dtype=np.float32)
    assert drawn.dtype == np.float32
    assert drawn.max() < 1
    assert scipy.stats.kstest(drawn, "uniform").pvalue > UNLIKELY
    assert (drawn * 2**24 % 1 == 0).all()


def test_vectors() -> None:
    counts = Generator(3).multinomial(50, [0.2, 0.3, 0.5], size=COUNT)
    assert (counts.sum(1) == 50).all()
    np.testing.assert_allclose(counts.mean(0), [10, 15, 25], rtol=0.01)
    np.testing.assert_allclose(np.cov(counts.T)[0, 1], -50 * 0.2 * 0.3, rtol=0.1)
    parts = Generator(3).dirichlet([0.5, 1.0, 3.0], size=COUNT)
    np.testing.assert_allclose(parts.sum(1), 1)
    assert scipy.stats.kstest(parts[:, 2], scipy.stats.beta(3, 1.5).cdf).pvalue > UNLIKELY


def test_choices() -> None:
    weights = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    drawn = Generator(4).choice(5, COUNT, p=weights)
    assert scipy.stats.chisquare(np.bincount(drawn), weights[:4] * COUNT).pvalue > UNLIKELY
    generator = Generator(5)
    pairs = np.array([generator.choice(5, 2, replace=False, p=weights) for _ in range(4000)])
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert scipy.stats.chisquare(np.bincount(pairs[:, 0]), weights[:4] * 4000).pvalue > UNLIKELY
    second = sum(weights[k] * weights[0] / (1 - weights[k]) for k in (1, 2, 3))
    assert abs(np.mean(pairs[:, 1] == 0) - second) < 0.02


def test_orders() -> None:
    generator = Generator(6)
    codes = [int("".join(map(str, generator.permutation(4)))) for _ in range(4800)]
    _, counts = np.unique(codes, return_counts=True)
    assert counts.size == 24
    assert scipy.stats.chisquare(counts).pvalue > UNLIKELY
    x = np.arange(60).reshape(3, 20)
    rows = generator.permuted(x, axis=1)
    assert (np.sort(rows, axis=1) == x).all()
    assert (np.argsort(rows[0]) != np.argsort(rows[1])).any()
    assert (np.sort(generator.permuted(x), axis=None) == np.arange(60)).all()
    shuffled, things = x.copy(), list("abcdef")
    generator.shuffle(shuffled, axis=1)
    generator.shuffle(things)
    assert (np.sort(shuffled, axis=1) == x).all()
    assert sorted(things) == list("abcdef")


def test_parameters_at_the_border() -> None:
    generator = Generator(7)
    assert generator.poisson(0.0, size=3).tolist() == [0, 0, 0]
    assert generator.binomial(10, [0.0, 1.0]).tolist() == [0, 10]
    assert generator.binomial(0, 0.5) == 0
    assert generator.gamma(0.0) == 0
    assert generator.geometric(1.0) == 1
    assert generator.normal(3.0, 0.0) == 3
    assert abs(generator.poisson(1e15) - 1e15) < 1e9
    extremes = generator.integers(-(2**63), 2**63 - 1, 1000, endpoint=True)
    assert extremes.min() < -(2**62)
    assert extremes.max() > 2**62
    assert generator.integers(0, 2**64, 100, dtype=np.uint64).max() > 2**63
    assert (generator.beta(1e-3, 1e-3, size=100) >= 0).all()  # and not nan, though the gamma numbers underflow


def test_streams_are_apart() -> None:
    parent = Generator(8)
    first, second = parent.spawn(2)
    (third,) = parent.spawn(1)
    streams = [generator.random(4000) for generator in (parent, first, second, third, Generator(9), Generator(2**100))]
    together = np.corrcoef(streams) - np.eye(len(streams))
    assert np.abs(together).max() < 0.08
    assert Generator(8).spawn(2)[1].random() == streams[2][0]


def test_a_draw_is_part_of_a_longer_one() -> None:
    whole = Generator(10).normal(size=10)
    generator = Generator(10)
    assert np.array_equal(np.append(generator.normal(size=4), generator.normal(size=6)), whole)
    again = Generator(state=generator.state.copy())
    assert again.random() == generator.random()
