"""Proofs about sizes: what follows, what does not, and that nothing false is ever proved."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from jitflow.ir.bounds import Bounds, Choice
from jitflow.ir.core import Fact
from jitflow.ir.dims import Dim, evaluate, maximum, minimum, symbol

N, M, POSITION, INNER, V = (symbol(name) for name in ("n", "m", "i", "j", "$v"))


def _triangle() -> Bounds:
    """0 <= i < n, 0 <= j < i."""
    bounds = Bounds()
    bounds.name("i", lower=[0], upper=[N - 1])
    bounds.name("j", lower=[0], upper=[POSITION - 1])
    return bounds


@pytest.mark.parametrize(
    "dim",
    [
        N, N + M, N * M, N - POSITION - 1, POSITION - INNER - 1, N - INNER - 2, N * M - POSITION * M - M,
        2 * N - POSITION - INNER - 3,
        maximum(N - POSITION, M),
        N // 2, (N + 1) // 2 - POSITION // 2, N - (POSITION + 1) // 2,
        minimum(N, POSITION) - INNER - 1, N - maximum(POSITION, INNER) - 1, N % 3, 2 - N % 3,
    ],
)  # fmt: skip
def test_what_follows_in_a_triangle(dim: Dim) -> None:
    assert _triangle().proves(dim)


@pytest.mark.parametrize(
    "dim",
    [
        N - 1 - M,
        POSITION - 1,
        POSITION - INNER - 2,
        N - POSITION - 2,
        INNER - 1,
        M - POSITION,
        -N,
        N * POSITION - M,
        1 - N % 3,
    ],
)
def test_what_does_not(dim: Dim) -> None:
    assert not _triangle().proves(dim)


def test_facts_are_used_and_forgotten() -> None:
    bounds = Bounds([Fact(N, ">=", 3), Fact(M, "==", N)])
    assert bounds.proves(N - 2)
    assert bounds.proves(M - 3)
    assert not bounds.proves(V)
    mark = bounds.mark()
    bounds.learn(V)
    bounds.learn(N - V - 1)
    assert bounds.proves(V)
    assert bounds.proves(M - V - 1)
    bounds.forget(mark)
    assert not bounds.proves(V)


def test_what_a_maximum_that_is_large_enough_says() -> None:
    bounds = Bounds()
    bounds.learn(maximum(V, 0) - 1)
    assert bounds.proves(V - 1)
    assert not bounds.proves(V - 2)
    bounds = Bounds()
    bounds.learn(maximum(V, 3) - 1)
    assert not bounds.proves(V - 1)


def test_choices() -> None:
    bounds = Bounds()
    bounds.choose("$clamped", Choice("max", (V, 0)))
    bounds.choose("$both", Choice("min", (symbol("$clamped"), N)))
    assert bounds.proves(symbol("$clamped"))
    assert bounds.proves(symbol("$both"))
    assert bounds.proves(N - symbol("$both"))
    bounds.choose("$wrapped", Choice("any", (V + N, V), ((-V - 1,), (V,))))
    assert not bounds.proves(symbol("$wrapped"))
    bounds.learn(V + N)
    assert bounds.proves(symbol("$wrapped"))


def test_what_fits_into_64_bits() -> None:
    bounds = _triangle()
    assert bounds.fits(POSITION + 1)
    assert bounds.fits(POSITION - 5)
    assert not bounds.fits(N + 1)
    assert not bounds.fits(2 * POSITION)


@pytest.mark.parametrize("seed", range(120))
def test_nothing_false_is_proved(seed: int) -> None:
    """Random knowledge about small numbers; whatever is proved holds for all numbers that satisfy it."""
    random = Random(seed)

    def term(names: list[Dim]) -> Dim:
        total: Dim = random.choice([-2, -1, 0, 1, 2])
        for _ in range(random.choice([1, 2, 3])):
            name = random.choice(names)
            kind = random.choice(["plain", "plain", "plain", "product", "//", "%", "max", "min"])
            factor = random.choice([-2, -1, 1, 2])
            if kind == "product":
                name = name * random.choice(names)
            elif kind == "//":
                name = (name + random.choice([0, 1])) // random.choice([2, 3])
            elif kind == "%":
                name = name % random.choice([2, 3])
            elif kind == "max":
                name = maximum(name - random.choice([0, 1, 2]), 0)
            elif kind == "min":
                name = minimum(name, random.choice(names))
            total = total + name * factor
        return total

    bounds = Bounds()
    lower, upper = term([N, M]), term([N, M])
    bounds.name("i", signed=True, lower=[lower], upper=[upper])
    facts = [term([N, M, POSITION]) for _ in range(random.choice([0, 1, 2]))]
    for fact in facts:
        bounds.learn(fact)
    options, given = (term([N, M]), term([N, M])), (term([N, M]), term([N, M]))
    bounds.choose("$c", Choice("any", options, ((given[0],), (given[1],))))
    for _ in range(12):
        goal = term([N, M, POSITION, symbol("$c")]) if random.random() < 0.6 else upper - POSITION + term([N, M])
        if not bounds.proves(goal):
            continue
        known = [POSITION - lower, upper - POSITION, *facts]
        # The normal forms of minima and maxima take sizes to be at least 0.
        plain = not any(word in str(dim) for dim in (goal, *known, *given) for word in ("min", "max"))
        for n, m, i, which in product(range(4), range(4), range(-3 if plain else 0, 4), (0, 1)):
            sizes = {"n": n, "m": m, "i": i}
            sizes["$c"] = evaluate(options[which], sizes)
            if not plain and sizes["$c"] < 0:
                continue
            if all(evaluate(dim, sizes) >= 0 for dim in (*known, given[which])):
                assert evaluate(goal, sizes) >= 0, (goal, sizes)
