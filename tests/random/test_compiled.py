"""Compiled draws: the bits of plain Python, in every kind of program, and new ones at each call."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from jitflow.random import Generator

G = Generator(7)
X = np.arange(12.0).reshape(4, 3)
WEIGHTS = np.array([0.2, 0.3, 0.5, 0.0])


def same(program: Callable[..., Any], *make: Callable[[], Any]) -> None:
    """Two compiled calls draw what two plain ones draw, and leave the generators in the same states."""
    start = G.state.copy()
    compiled = jitflow.function(program)
    arguments = [one() for one in make]
    found = [compiled(*arguments), compiled(*arguments)]
    state = G.state.copy()
    G.state[:] = start
    plain = [one() for one in make]
    expected = [program(*plain), program(*plain)]
    assert exactly(found) == exactly(expected)
    assert exactly(arguments) == exactly(plain)
    np.testing.assert_array_equal(state, G.state)
    assert compiled.cache_info().misses == 1


def exactly(thing: Any) -> Any:
    """A structure with arrays as their bits, types included."""
    if isinstance(thing, np.ndarray | np.generic):
        return type(thing), thing.dtype, thing.shape, thing.tobytes()
    if isinstance(thing, Generator):
        return exactly(thing.state)
    if isinstance(thing, tuple | list):
        return type(thing), [exactly(item) for item in thing]
    if isinstance(thing, dict):
        return [(key, exactly(item)) for key, item in thing.items()]
    if hasattr(thing, "__dict__"):
        return exactly(vars(thing))
    return type(thing), repr(thing)


METHODS: list[tuple[str, tuple[Any, ...]]] = [
    ("random", ()), ("uniform", (-2, 5.0)), ("standard_normal", ()), ("normal", (1, 2)), ("lognormal", (0, 1)),
    ("standard_exponential", ()), ("exponential", (3,)), ("standard_gamma", (0.5,)), ("gamma", (3.5, 2)),
    ("beta", (0.2, 3)), ("chisquare", (3,)), ("standard_t", (3,)), ("f", (3, 5)), ("standard_cauchy", ()),
    ("laplace", (1, 2)), ("logistic", (1, 2)), ("gumbel", (1, 2)), ("rayleigh", (2,)), ("weibull", (1.5,)),
    ("pareto", (3,)), ("power", (3,)), ("triangular", (0, 1, 3)), ("integers", (3, 17)), ("integers", (9,)),
    ("poisson", (3.3,)), ("poisson", (77,)), ("binomial", (20, 0.3)), ("binomial", (100, 0.8)), ("geometric", (0.2,)),
    ("negative_binomial", (5, 0.3)), ("choice", (9,)), ("permutation", (9,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters"), METHODS, ids=str)
def test_numbers(name: str, parameters: tuple[Any, ...]) -> None:
    same(lambda: getattr(G, name)(*parameters))


@pytest.mark.parametrize("program", [
    lambda n: (G.random(n), G.random((n, 2)), G.random(n, dtype=np.float32), G.random(()), G.random(0)),
    lambda n: (G.normal(size=(n, 3)), G.standard_normal((2, n, 3), dtype=np.float32), G.normal(X, 0.5, size=(2, 4, 3))),
    lambda n: (G.uniform(X[0], X[1] + 5), G.exponential(X[0], size=(n, 3)), G.pareto(2.0, n), G.standard_cauchy(n)),
    lambda n: (G.integers(-n, n, size=8), G.integers(X[0].astype(int), 20, endpoint=True), G.integers(n, n + 5)),
    lambda n: (G.integers(0, 256, 5, dtype=np.uint8), G.integers(0, 2, 5, bool), G.integers(-5, 5, dtype=np.int32)),
    lambda n: (G.gamma(X[0] * 0.3, size=(n, 3)), G.gamma(n)),
    lambda n: G.beta(X[0] + 0.5, n),
    lambda n: G.poisson(X * 3),
    lambda n: G.binomial(n * 20, 0.4, size=(2, 3)),
    lambda n: G.multinomial(n * 3, [0.2, 0.3, 0.5], size=3),
    lambda n: (G.dirichlet([0.2, 0.3, 0.5], size=n), G.geometric(X[0, 1:] / 4)),
    lambda n: (G.choice(n, 5), G.choice(X, 2, axis=1), G.choice([1.0, 2.0], n), G.choice(X[0])),
    lambda n: (G.choice(list(range(n)), 2, replace=False), G.choice(list(range(n))), G.permutation(list(range(n)))),
    lambda n: (G.choice(4, n, p=WEIGHTS), G.choice(X[0], 2, p=[0.5, 0.25, 0.25])),
    lambda n: (G.choice(n, (2, 2), replace=False), G.choice(4, 2, replace=False, p=WEIGHTS), G.choice(n, p=WEIGHTS)),
    lambda n: (G.permutation(n), G.permutation(X), G.permutation(X, axis=1), G.permuted(X, axis=1), G.permuted(X)),
])  # fmt: skip
def test_arrays(program: Callable[..., Any]) -> None:
    same(program, lambda: 4)


def test_new_sizes_and_parameters_compile_nothing() -> None:
    def program(n, scale):
        return G.normal(0.0, scale, size=(n, 2))

    compiled = jitflow.function(program)
    for n, scale in ((3, 1.0), (50, 2.0), (0, 1.0), (2, 0.0)):
        start = G.state.copy()
        found = compiled(n, scale)
        G.state[:] = start
        np.testing.assert_array_equal(found, program(n, scale))
    assert compiled.cache_info().misses == 1


PROGRAM = """
import jitflow
rng = jitflow.random.Generator(11)

@jitflow.function
def draw(n):
    return rng.gamma(2.5, size=n) * rng.normal(), rng.integers(0, 100, n)

print(type(draw).__name__, [array.tobytes() for array in draw(5)])
"""


def test_disabled_programs_draw_the_same() -> None:
    outputs = []
    for disable in ("0", "1"):
        environment = {**os.environ, "JITFLOW_DISABLE": disable}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
        )
        outputs.append(done.stdout.split(" ", 1))
    (compiled, found), (plain, expected) = outputs
    assert compiled != plain == "function"
    assert found == expected


# -- where a generator may be -------------------------------------------------------------------------------


@dataclasses.dataclass
class Model:
    rng: Generator
    weight: Any

    def step(self, x: Any) -> Any:
        return x * self.weight + self.rng.normal(size=x.shape)


MODEL = Model(Generator(3), np.ones(3))


def noisy(rng: Any, x: Any) -> Any:
    return x + rng.normal(size=x.shape)


def test_arguments_globals_attributes() -> None:
    def program(rng, model, things, x):
        return noisy(rng, x), model.step(x[0]), things["rng"][0].random(2), MODEL.rng.random() * 0, noisy(G, x)

    same(program, lambda: Generator(1), lambda: Model(Generator(2), 2.0), lambda: {"rng": [Generator(3)]}, lambda: X)


def test_closures() -> None:
    rng = Generator(5)
    start = rng.state.copy()

    def program(n):
        return rng.random(n)

    found = jitflow.function(program)(3)
    rng.state[:] = start
    np.testing.assert_array_equal(found, program(3))


def test_made_inside() -> None:
    def program(seed, n):
        rng, total = Generator(seed), 0.0
        for i in range(n):
            total += Generator(i).random() + jitflow.random.Generator(12).random()
        return rng.random(n), rng.normal(), total

    same(program, lambda: 5, lambda: 9)


def test_returned() -> None:
    same(lambda rng, seed: (rng, rng.random(), Generator(seed)), lambda: Generator(1), lambda: 3)
    rng = Generator(1)
    given, made = jitflow.function(lambda rng, seed: (rng, Generator(seed)))(rng, 3)
    assert given is rng
    assert made.random() == Generator(3).random()


def test_spawned() -> None:
    def program(rng, n):
        first, second = rng.spawn(2)
        return first.random(n) - second.random(n), [child.random() for child in rng.spawn(1)]

    same(program, lambda: Generator(1), lambda: 4)


def test_one_generator_twice() -> None:
    same(lambda pair: pair[0].random(3) - pair[1].random(3), lambda: (Generator(2),) * 2)


# -- control flow -------------------------------------------------------------------------------------------


def test_loops_and_branches() -> None:
    def program(n):
        position, steps = np.zeros(2), 0
        for _ in range(n):
            direction = G.integers(0, 4)
            if direction == 0:
                position[0] += G.exponential()
            elif direction == 1:
                position[1] += 1
            else:
                position -= 0.25
        while G.random() < 0.9:
            steps += 1
            if steps > 100:
                break
        return position, steps

    same(program, lambda: 100)


def test_either_of_two() -> None:
    def program(a, b, n):
        total = 0.0
        for i in range(n):
            rng = a if i % 3 == 0 else b
            total += rng.random()
        return total

    same(program, lambda: Generator(1), lambda: Generator(2), lambda: 10)


def test_shuffling_in_place() -> None:
    def program(x, n):
        for _ in range(n):
            G.shuffle(x)
        G.shuffle(x, axis=1)
        return x

    same(program, X.copy, lambda: 2)


def test_explicit_loops() -> None:
    def program(n):
        return jitflow.fori_loop(0, n, lambda i, x: x + G.normal(), 0.0), jitflow.map(lambda a: a * G.random(), X[0])

    same(program, lambda: 20)


# -- state --------------------------------------------------------------------------------------------------


def test_the_state_is_never_stale() -> None:
    rng = Generator(1)

    @jitflow.function
    def program():
        return rng.random()

    first = program()
    rng.state = Generator(2).state
    assert program() == Generator(2).random()
    rng = Generator(1)
    assert program() == first
    assert program.cache_info().misses == 1


def test_a_stored_state_goes_on() -> None:
    rng = Generator(1)
    rng.random(3)
    others = [Generator(state=rng.state.copy()), copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))]
    assert {one.random() for one in others} == {rng.random()}


def test_a_failing_call_has_drawn_nothing() -> None:
    rng, plain = Generator(1), Generator(1)

    @jitflow.function
    def program(scale):
        x = rng.random(3)
        return x + rng.normal(0.0, scale)

    with pytest.raises(ValueError, match="scale < 0"):
        program(-1.0)
    np.testing.assert_array_equal(rng.state, plain.state)


def test_a_draw_fuses_with_its_use() -> None:
    @jitflow.function
    def program(x):
        return np.where(G.random(x.shape) < 0.5, x * 2, 0.0).sum(axis=1)

    assert len(program.explain(np.ones((4, 40))).kernels) == 1


# -- mistakes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("program", "error", "message"), [
    (lambda n: G.normal(0, -1.0), ValueError, "scale < 0"),
    (lambda n: G.normal(0, -n, size=3), ValueError, "scale < 0"),
    (lambda n: G.poisson(-n), ValueError, "lam < 0"),
    (lambda n: G.binomial(-n, 0.5), ValueError, "n < 0"),
    (lambda n: G.binomial(n, 1.5), ValueError, "p > 1"),
    (lambda n: G.integers(9, n), ValueError, "low >= high"),
    (lambda n: G.integers(0), ValueError, "high <= 0"),
    (lambda n: G.integers(300, dtype=np.uint8), ValueError, "high is out of bounds for uint8"),
    (lambda n: G.integers(5, dtype=float), TypeError, "Unsupported dtype"),
    (lambda n: G.random(3, dtype=int), TypeError, "Unsupported dtype"),
    (lambda n: G.random(-1), ValueError, "negative dimensions are not allowed"),
    (lambda n: G.normal(X[0], 1.0, size=(4, 2)), ValueError, "broadcast"),
    (lambda n: G.normal(X, 1.0, size=3), ValueError, "broadcast"),
    (lambda n: G.choice(n, 9, replace=False), ValueError, "Cannot take a larger sample"),
    (lambda n: G.choice(4, 4, replace=False, p=WEIGHTS), ValueError, "Fewer non-zero entries"),
    (lambda n: G.choice(3, p=WEIGHTS), ValueError, "a and p must have same size"),
    (lambda n: G.choice(4, p=WEIGHTS * 2), ValueError, "do not sum to 1"),
    (lambda n: Generator(-n), ValueError, "expected a seed"),
    (lambda n: Generator(state=X), ValueError, "expected the state of a generator"),
    (lambda n: G.shuffle((1, 2)), TypeError, "expected an array to shuffle"),
    (lambda n: G.zipf(2), AttributeError, "zipf"),
])  # fmt: skip
def test_mistakes(program: Callable[..., Any], error: type[Exception], message: str, compiled: bool) -> None:
    with pytest.raises(error, match=message):
        (jitflow.function(program) if compiled else program)(5)


def test_what_is_not_compiled() -> None:
    for program in (lambda: Generator(), lambda: G.bytes(3)):
        with pytest.raises(UserNotImplementedError) as caught:
            jitflow.function(program)()
        assert caught.value.mend
    assert len(G.bytes(13)) == 13
    assert Generator().random() != Generator().random()
