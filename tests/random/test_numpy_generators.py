"""NumPy's own generators in compiled functions: the same bits, the same types, and the same state afterwards."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from jitflow.runtime.generators import pcg64
from tests.compare import assert_same

NEW = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]
MANY = 2000


def state_of(generator: Any) -> str:
    return repr(generator.get_state(legacy=False) if hasattr(generator, "get_state") else generator.bit_generator.state)


def require_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            require_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
    else:
        assert found == expected or found is expected


def compare(function: Callable[..., Any], make: Callable[[], Any], *arguments: Any) -> None:
    """A compiled function against the function itself, on generators in the same state."""
    ours, theirs = make(), make()
    copies = [np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments]
    require_same(function(ours, *copies), function.__wrapped__(theirs, *arguments))  # type: ignore[attr-defined]
    assert state_of(ours) == state_of(theirs)


# -- every method


@jitflow.function
def of_two(r, a, b, x, y, n):
    made = []
    for draw in (r.normal, r.laplace, r.gumbel, r.logistic, r.lognormal, r.gamma, r.beta, r.f, r.noncentral_chisquare,
                 r.wald, r.vonmises, r.uniform):  # fmt: skip
        made += [draw(a, b), draw(a, b, n), draw(x, b), draw(x, y, (2, 3)), draw(a, b, size=())]
    return made


@jitflow.function
def of_one(r, a, p, x, y, n):
    made = [r.noncentral_f(a, 3.0, x), r.triangular(0.0, p, 1.0, n), r.standard_cauchy(), r.standard_cauchy(n),
            r.binomial(n, p), r.binomial(n, p, n), r.binomial(np.arange(3), y), r.negative_binomial(3, p, 4),
            r.hypergeometric(5, 6, n % 7), r.standard_gamma(a), r.standard_gamma(x, (2, 3)),
            r.standard_gamma(a, 4, np.float32)]  # fmt: skip
    for draw in (r.exponential, r.rayleigh, r.chisquare, r.standard_t, r.pareto, r.weibull, r.power, r.poisson, r.zipf):
        made += [draw(a), draw(a, n), draw(x, (2, 3))]
    for draw in (r.geometric, r.logseries):
        made += [draw(p), draw(p, n), draw(y, (2, 3))]
    return made


@jitflow.function
def of_none(r, n):
    made, filled, narrow = [r.random(few) for few in (0, 1, 15, 16, 17, 33)], np.zeros(n), np.zeros((2, n), np.float32)
    for draw in (r.random, r.standard_normal, r.standard_exponential):
        made += [draw(), draw(n), draw((2, 3)), draw(dtype=np.float32), draw(n, dtype="f4"), draw(out=filled) is filled]
        draw(out=narrow, dtype=np.float32)
        made += [filled.copy(), narrow.copy()]
    return made, r.standard_exponential(3, method="inv")


@jitflow.function
def of_integers(r, a, b, n, x):
    made = [r.integers(a), r.integers(a, b), r.integers(b, size=n), r.integers(a, b, n, endpoint=True), r.integers(x),
            r.integers(0, x, (2, 3)), r.integers(5, dtype=int), r.integers(2**32 - 1, size=n, endpoint=True),
            r.integers(2**33, size=n), r.integers(-(2**63), 2**63 - 1, n, endpoint=True),
            r.integers(2**64 - 1, size=4, dtype=np.uint64), r.integers(2, size=n, dtype=bool)]  # fmt: skip
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32):
        made += [r.integers(a, dtype=dtype), r.integers(0, 100, (n, 2), dtype), r.integers(1, a, n, dtype, True)]
    return made


@jitflow.function
def of_choices(r, n, x, matrix, p):
    kept = x.copy()
    r.shuffle(kept)
    r.shuffle(kept[::2])
    rows = matrix.copy()
    r.shuffle(rows, axis=1)
    return [
        r.choice(n), r.choice(x), r.choice(x, 3), r.choice(n, (2, 3)), r.choice(n, 3, False), r.choice(x, p=p),
        r.choice(x, 4, p=p), r.choice(matrix, 2, axis=1), r.choice(matrix), r.choice(x, 2, False, p, shuffle=False),
        r.permutation(n), r.permutation(x), r.permutation(matrix, axis=1), r.permuted(matrix, axis=1), kept, rows,
        r.multinomial(n, p), r.multinomial(n, p, (2, 3)), r.multinomial(np.arange(3), p), r.dirichlet(x + 1.0, 2),
        sum(r.choice(4, p=p) for _ in range(n)), r.choice(4, (), p=p), r.choice(x.size, (2, n), p=p),
        r.multivariate_normal(x, np.diag(x + 1.0), 2, method="cholesky"),
        r.multivariate_hypergeometric([3, 4, 5], 4, 2),
    ]  # fmt: skip


A, P = np.array([0.5, 1.5, 2.5]), np.array([0.2, 0.5, 0.9])


@jitflow.function
def of_single_numbers(r, n, stops):
    """Numbers that programs make themselves, between those of NumPy's functions on the same state."""
    drawn, whole, kept = np.zeros((n, 10)), np.zeros((n, 8), np.int64), 0.0
    for turn in range(n):
        kept = r.normal(0.5 * kept, 1.5)
        drawn[turn] = (kept, r.random(), r.standard_normal(), r.uniform(-1.0, 2.0), r.standard_exponential(),
                       r.exponential(kept * kept), r.gamma(2.5), r.uniform(3.0, 3.0), r.normal(),
                       r.lognormal())  # fmt: skip
        whole[turn] = (r.integers(6), r.integers(3, 3 * 2**30), r.integers(2**32 - 1, endpoint=True), r.integers(1),
                       r.integers(2**40), r.integers(100, dtype=np.int8), r.integers(-9, 2**31),
                       r.choice(n))  # fmt: skip
        if turn % 100 == 99:
            drawn[turn, :3] += r.normal(size=3) + r.exponential(2.0, 3) + r.random(3)
        if r.random() < 0.01:
            drawn[turn, 3] = np.random.default_rng(turn).normal()
        if stops == turn:
            raise ValueError("stopped")
    return drawn, whole


@pytest.mark.parametrize("kind", NEW)
def test_every_method_gives_the_bits_of_numpy(kind: Any) -> None:
    def make() -> Any:
        return np.random.Generator(kind(7))

    compare(of_two, make, 0.7, 3.0, A, A + 1.0, MANY)
    compare(of_one, make, 2.5, 0.3, A + 2.0, P, MANY)
    compare(of_none, make, MANY)
    compare(of_integers, make, 100, 2**40, MANY, np.array([3, 400, 5]))
    compare(of_choices, make, 7, np.arange(4.0), np.arange(12).reshape(3, 4), np.array([0.1, 0.2, 0.3, 0.4]))
    compare(of_single_numbers, make, MANY, -1)
    ours, theirs = make(), make()
    for function, generator in ((of_single_numbers, ours), (of_single_numbers.__wrapped__, theirs)):
        with pytest.raises(ValueError, match="stopped"):
            function(generator, 100, 77)
    assert state_of(ours) == state_of(theirs)


@jitflow.function
def of_legacy(r, n, x):
    kept = x.copy()
    r.shuffle(kept)
    return [
        r.permutation(n), kept, r.rand(),
        r.rand(2, n), r.randn(), r.randn(n), r.random_sample(n), r.random(), r.uniform(3.0, 1.0, n),
        r.uniform(x, 3.0), r.randint(n), r.randint(2, n, 3), r.randint(n, size=n), r.randint(5, dtype=np.int8),
        r.randint(0, 255, n, dtype=np.uint8), r.randint(2**40, size=3), r.normal(), r.normal(1.0, 2.0, n),
        r.normal(x, 1.0), r.standard_normal(3), r.exponential(2.0, 3), r.poisson(3.0), r.gamma(2.0, 1.0, 3),
        r.poisson(x, (2, 3)), r.laplace(1.0, 2.0, 3), r.gumbel(x), r.logistic(), r.triangular(0.0, x, 3.0),
        r.binomial(5, 0.3), r.binomial(n, 0.4, 3), r.binomial([0, 3], 0.5), r.multinomial(n, x / 5),
        r.choice(3, p=x / 4.5), r.choice(n), r.choice(x), r.choice(x, 3), r.choice(n, 3, False), r.permutation(x),
        r.multinomial(5, [0.3, 0.7]), r.multivariate_normal([0.0, 1.0], np.eye(2), 2), r.lognormal(), r.beta(1.0, 2.0),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.PCG64])
def test_the_legacy_generator_too(kind: Any) -> None:
    compare(of_legacy, lambda: np.random.RandomState(kind(3)), MANY, A)


def test_processors_without_wide_products_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcg64, "has_lanes", lambda: False)
    assert all(pcg64.quick_draws.__wrapped__(name) for name in ("standard_uniform", "uniform"))


@pytest.mark.stress
@pytest.mark.parametrize("kind", NEW)
def test_a_hundred_thousand_draws(kind: Any) -> None:
    def make() -> Any:
        return np.random.Generator(kind(11))

    many = 10**5
    compare(of_two, make, 0.7, 3.0, A, A + 1.0, many)
    compare(of_one, make, 2.5, 0.3, A + 2.0, P, many)
    compare(of_none, make, many)
    compare(of_integers, make, 100, 2**40, many, np.array([3, 400, 5]))
    compare(of_single_numbers, make, many, -1)
    compare(of_choices, make, many, np.arange(4.0), np.arange(12).reshape(3, 4), np.array([0.1, 0.2, 0.3, 0.4]))
    compare(of_legacy, lambda: np.random.RandomState(kind(11)), many, A)


# -- in programs


def step(r, position):
    return position + (1 if r.random() < 0.5 else -1)


class Walker:
    def __init__(self, rng):
        self.rng, self.scale = rng, 2.0

    def step(self, position):
        return position + self.scale * self.rng.normal()


OUTSIDE = np.random.default_rng(0)
NORMAL = OUTSIDE.normal


@jitflow.function
def program(r, n):
    position, walker, found, elements = 0, Walker(r), 0.0, np.zeros((n, 3))
    for number in range(n):
        position = step(r, position)
        found = walker.step(found)
        own = np.random.default_rng(number)
        drawing = own if number % 2 else r
        elements[number] = drawing.normal(size=3)
        elements[number, r.integers(3)] += own.random()
        if r.random() < 0.3:
            elements[number, : r.integers(1, 4)] = 0
    while r.random() > 0.1:
        position += 1
    try:
        failed = r.normal(0.0, -found * found)
    except ValueError:
        failed = r.random()
    several = [np.random.default_rng(seed) for seed in range(3)]
    mine = np.random.Generator(np.random.MT19937(n))
    legacy = np.random.RandomState(n)
    return (position, found, elements, failed, several[n % 3].random(), mine.random(), legacy.randint(5),
            [r.random() for _ in range(4)], sum(r.random() for _ in range(n)), isinstance(r, np.random.Generator),
            OUTSIDE.random() + NORMAL())  # fmt: skip


def test_generators_in_programs() -> None:
    before = OUTSIDE.bit_generator.state

    def make() -> Any:
        OUTSIDE.bit_generator.state = before
        return np.random.default_rng(5)

    for n in (7, 40):
        ours, theirs = make(), np.random.default_rng(5)
        found = program(ours, n)
        after = state_of(OUTSIDE)
        OUTSIDE.bit_generator.state = before
        require_same(found, program.__wrapped__(theirs, n))
        assert state_of(ours) == state_of(theirs)
        assert after == state_of(OUTSIDE)


@jitflow.function
def seeded(n):
    np.random.seed(n)
    fresh = np.random.default_rng()
    return np.random.rand(2), np.random.randn(), np.random.randint(10), fresh.random(), fresh


def test_the_functions_of_the_module_and_generators_that_leave() -> None:
    before = np.random.get_state()
    try:
        found = [seeded(3) for _ in range(2)]
        np.random.seed(3)
        for *drawn, _, fresh in found:
            np.random.seed(3)
            require_same(drawn, [np.random.rand(2), np.random.randn(), np.random.randint(10)])
            assert type(fresh) is np.random.Generator
        assert found[0][3] != found[1][3], "entropy is fresh at each call"
    finally:
        np.random.set_state(before)


@pytest.mark.parametrize("draw", [
    lambda r, a: (r.random(), r.normal(0.0, a)),
    lambda r, a: r.normal([0.0], a),
    lambda r, a: r.poisson(a),
    lambda r, a: r.uniform(0.0, a),
    lambda r, a: r.integers(int(a)),
    lambda r, a: r.choice(3, p=[a, 1.0, 1.0]),
    lambda r, a: r.multinomial(3, [0.5, -a, 0.5]),
    lambda r, a: r.normal(np.zeros(3), size=4),
    lambda r, a: r.nothing(),
], ids=["scale", "scales", "lam", "high - low", "high", "choice", "multinomial", "shapes", "name"])  # fmt: skip
def test_mistakes_are_those_of_numpy(draw: Callable[..., Any]) -> None:
    ours, theirs = np.random.default_rng(2), np.random.default_rng(2)
    with pytest.raises((ValueError, AttributeError)) as expected:
        draw(theirs, -1.0)
    with pytest.raises(type(expected.value)) as found:
        jitflow.function(draw)(ours, -1.0)
    assert str(found.value).splitlines()[0] == str(expected.value)
    assert state_of(ours) == state_of(theirs), "what was drawn before is drawn"
    waiting = threading.Thread(target=ours.random)  # the lock is free again
    waiting.start()
    waiting.join(5)
    assert not waiting.is_alive()


def test_what_is_kept_outside_is_refused() -> None:
    with pytest.raises(UserNotImplementedError, match=r"Generator\.spawn in a compiled function"):
        jitflow.function(lambda rng: rng.spawn(2))(np.random.default_rng(1))
    with pytest.raises(UserNotImplementedError, match=r"a shuffle of a tuple") as caught:
        jitflow.function(lambda rng: rng.shuffle((1, 2)))(np.random.default_rng(1))
    assert "np.array" in caught.value.mend


# -- lists


def shuffled_lists(n, x, passed, rng):
    places, kept, pairs = list(range(n)), [], [(s, r) for s in "abc" for r in range(n)]
    for v in x:
        if v > 0:
            kept.append((v, 2 * v))
    for _ in range(2):
        rng.shuffle(places)
        rng.shuffle(kept)
    rng.shuffle(pairs)
    rng.shuffle(passed)
    return places, kept, pairs[:3], passed, rng.random()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState, random.Random])
def test_lists_are_shuffled_in_their_place(make: Any) -> None:
    compiled = jitflow.function(shuffled_lists)
    for n in (0, 1, 7):
        for passed in ([1, 2, 3, 4, 5], [1.5, 2.5]):
            compared = [(f(n, A, mine, make(n)), mine) for f in (compiled, shuffled_lists) for mine in [[*passed]]]
            require_same(*compared)
            assert compared[0][0][3] is compared[0][1]


# -- Python's own


OWN = random.Random(4)


@jitflow.function
def of_python(n, x):
    total, count, kept, listed = 0.0, 0, x.copy(), [1, 2, 3, 4]
    for _ in range(n):
        total += random.random() * random.uniform(1, 2) + random.choice([1.5, 2.5, 3.5])
        count += random.randint(1, 6) + random.randrange(10) + random.randrange(3, n + 2**40)
        if random.random() < 0.3:
            count += OWN.randint(0, 5)
    random.shuffle(kept)
    random.shuffle(listed)
    mine = random.Random(n)
    return (total, count, kept, listed, random.gauss(0, 1), random.sample(range(20), 3), random.choice(x),
            random.choices([1, 2, 3], k=4), mine.random(), random.getrandbits(20))  # fmt: skip


def test_the_random_numbers_of_python() -> None:
    before = random.getstate()
    try:
        for n in (MANY, 5):
            found = []
            for function in (of_python, of_python.__wrapped__):
                random.seed(n)
                OWN.seed(1)
                found.append((function(n, A), random.getstate(), OWN.getstate()))
            require_same(*found)
        for mistake in (lambda n: random.randint(n, 1), lambda n: random.randrange(-n), lambda n: random.choice([])):
            with pytest.raises((ValueError, IndexError)) as expected:
                mistake(5)
            with pytest.raises(type(expected.value)) as raised:
                jitflow.function(mistake)(5)
            assert str(raised.value).splitlines()[0] == str(expected.value)
    finally:
        random.setstate(before)


def test_threads_draw_from_one_generator() -> None:
    generator, drawn = np.random.default_rng(9), []

    @jitflow.function
    def draw(rng, n):
        total = 0.0
        for _ in range(n):
            total += rng.random()
        return rng.random(n), total

    def work() -> None:
        for _ in range(20):
            drawn.append(draw(generator, 500)[0])
            drawn.append(generator.random(5000))

    draw(generator, 1)
    generator.bit_generator.state = np.random.PCG64(9).state
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = np.concatenate(drawn)
    assert np.unique(everything).size == everything.size
    expected = np.random.Generator(np.random.PCG64(9).advance(60 * 6000))
    assert state_of(generator) == state_of(expected)


def test_draws_move_with_their_parameters() -> None:
    def walk(mean, scale, rng):
        total, position = rng.uniform(mean, mean + scale, 3).sum() + rng.lognormal(mean, scale), mean
        for _ in range(10):
            position = position * 0.5 + rng.normal(mean * position, scale)
            if position > 1.0:
                position = position - rng.exponential(scale)
            total += position * position
        return total

    def make() -> Any:
        return np.random.default_rng(3)

    ours, theirs, step = make(), make(), 1e-6
    found = jitflow.grad(jitflow.function(walk), argnums=(0, 1))(0.5, 2.0, ours)
    walk(0.5, 2.0, theirs)
    assert state_of(ours) == state_of(theirs)
    expected = [
        (walk(0.5 + step, 2.0, make()) - walk(0.5 - step, 2.0, make())) / (2 * step),
        (walk(0.5, 2.0 + step, make()) - walk(0.5, 2.0 - step, make())) / (2 * step),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(UserNotImplementedError, match="draw has no gradient"):
        jitflow.grad(jitflow.function(lambda shape, rng: rng.gamma(shape)))(2.0, make())


def test_a_gradient_draws_once() -> None:
    @jitflow.function
    def loss(w, rng):
        total = 0.0
        for _ in range(5):
            total = total + ((w * rng.standard_normal(3)) ** 2).sum()
        return total

    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    found = jitflow.grad(loss)(A, ours)
    drawn = theirs.standard_normal((5, 3))
    np.testing.assert_allclose(found, 2 * A * (drawn**2).sum(0))
    assert state_of(ours) == state_of(theirs)


def test_as_many_numbers_as_parameters_that_the_run_finds():
    def program(x, more):
        generator, found = np.random.default_rng(3), x > 0
        return generator.standard_gamma(x[found], found.sum() + more)

    compiled, x = jitflow.function(program), np.array([1.0, -2.0, 3.0])
    assert_same(compiled(x, 0), program(x, 0))
    with pytest.raises(ValueError, match="shape mismatch"):
        compiled(x, 1)
    with pytest.raises(ValueError, match=r"Output size \(1,\) is not compatible with broadcast dimensions .* \(2,\)"):
        compiled(x, -1)


@jitflow.function
def of_lists(r, n):
    items = [k for k in range(n) if k != 2]
    return r.choice(items, 3, replace=False), r.choice(items), r.permutation(items)


@pytest.mark.parametrize("make", [lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)])
def test_lists_that_the_run_makes(make: Callable[[], Any]) -> None:
    compare(of_lists, make, 7)
