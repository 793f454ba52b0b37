"""The function object: decorating, calling, caching, reading stages, threads."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from tests.compare import assert_same

X = np.arange(6.0).reshape(2, 3)


@jitflow.function
def scaled(x, by=2.0, *, offset=0.0):
    """Scale and shift."""
    return x * by + offset


@jitflow.function(static=("how",))
def reduced(x, how):
    return getattr(x, how)(axis=0)


class Model:
    def __init__(self, weight: Any) -> None:
        self.weight = weight

    @jitflow.function
    def forward(self, x):
        return x * self.weight

    @staticmethod
    @jitflow.function
    def double(x):
        return x * 2

    @jitflow.function
    @staticmethod
    def triple(x):
        return x * 3

    @classmethod
    @jitflow.function
    def name(cls, x):
        return x + 1


def test_a_compiled_function_looks_like_its_function() -> None:
    assert scaled.__name__ == "scaled"
    assert scaled.__doc__ == "Scale and shift."
    assert scaled.__module__ == __name__
    assert scaled.__wrapped__.__name__ == "scaled"
    assert str(inspect.signature(scaled)) == "(x, by=2.0, *, offset=0.0)"
    assert repr(scaled) == f"<jitflow.function {__name__}.scaled>"
    assert callable(scaled)


def test_arguments_bind_as_python_binds_them() -> None:
    np.testing.assert_array_equal(scaled(X), X * 2)
    np.testing.assert_array_equal(scaled(X, 3.0), X * 3)
    np.testing.assert_array_equal(scaled(offset=1.0, x=X), X * 2 + 1)
    np.testing.assert_array_equal(scaled(X, by=4.0, offset=1.0), X * 4 + 1)
    for wrong in (lambda: scaled(), lambda: scaled(X, 1.0, 2.0), lambda: scaled(X, nothing=1)):
        with pytest.raises(TypeError, match=r"scaled\(\)"):
            wrong()


def test_methods_of_all_kinds() -> None:
    model = Model(3.0)
    np.testing.assert_array_equal(model.forward(X), X * 3)
    model.weight = np.arange(3.0)
    np.testing.assert_array_equal(model.forward(X), X * np.arange(3.0))
    np.testing.assert_array_equal(Model.forward(model, X), X * np.arange(3.0))
    np.testing.assert_array_equal(Model.double(X), X * 2)
    np.testing.assert_array_equal(model.triple(X), X * 3)
    np.testing.assert_array_equal(Model.name(X), X + 1)
    np.testing.assert_array_equal(jitflow.function(model.forward)(X), X * np.arange(3.0))


class Scaled:
    def __init__(self, weight: Any) -> None:
        self.weight, self.calls = jitflow.Variable(weight), 0

    def forward(self, x: Any, *, by: float = 1.0) -> Any:
        return x * self.weight * by

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return self.forward(x)

    @jitflow.function
    def compiled(self, x: Any) -> Any:
        return x * self.weight


def test_bound_methods_have_the_tools_of_functions() -> None:
    scaled = Scaled(2.0)
    forward, called = jitflow.function(scaled.forward), jitflow.function(scaled)
    assert_same(forward(X, by=3.0), X * 6)
    scaled.weight.assign(4.0)
    assert_same((forward(X, by=3.0), called(X), scaled.calls), (X * 12, X * 4, 1))
    assert forward.cache_info().misses == 1
    assert "multiply" in forward.ir(jitflow.Spec("f64", ("n",)))
    assert "x: f64[n, m]" in str(called.explain(X))
    with pytest.raises(TypeError, match="unexpected keyword argument 'to'"):
        forward(X, to=1.0)
    assert "multiply" in scaled.compiled.ir(scaled, X)
    with pytest.raises(TypeError, match="missing 1 required positional argument") as raised:
        scaled.compiled.ir(X)
    assert raised.value.__notes__ == [
        "the method is that of all objects: say of which one, Scaled.compiled.ir(model, x)"
    ]


def test_bound_methods_are_copied_with_their_object() -> None:
    class Stepper:
        def __init__(self) -> None:
            self.weight = np.ones(3)
            self.step = jitflow.function(self._step)

        def _step(self, x: Any) -> Any:
            return x * self.weight

    one = Stepper()
    one.step(X)
    other = copy.deepcopy(one)
    other.weight *= 5
    assert_same((one.step(X), other.step(X)), (X, X * 5))


def test_objects_whose_call_is_compiled() -> None:
    class Doubled:
        @jitflow.function
        def __call__(self, x: Any) -> Any:
            return x * 2

    assert_same(jitflow.function(Doubled())(X), X * 2)


def test_lambdas_and_functions_without_source() -> None:
    np.testing.assert_array_equal(jitflow.function(lambda x: x + 1)(X), X + 1)
    namespace: dict[str, Any] = {"np": np}
    exec("def made(x):\n    return np.exp(x) + 1", namespace)
    np.testing.assert_allclose(jitflow.function(namespace["made"])(X), np.exp(X) + 1)


def test_long_straight_programs() -> None:
    """More ops than one kernel holds, which all read the same arrays."""
    text = "def steps(c, p):\n" + "    c[...] = c + p[2:] + p[:-2]\n" * 200
    names: dict[str, object] = {}
    exec(text, names)
    c, p = np.arange(50.0), np.ones(52)
    jitflow.function(names["steps"])(c, p)
    np.testing.assert_array_equal(c, np.arange(50.0) + 400.0)


def test_pickling_and_copying_is_by_reference() -> None:
    assert pickle.loads(pickle.dumps(scaled)) is scaled
    assert copy.copy(scaled) is scaled
    assert copy.deepcopy([scaled])[0] is scaled
    assert pickle.loads(pickle.dumps(Model.double)) is Model.double


def test_only_python_functions_are_compiled() -> None:
    for thing in (np.exp, 3, len, Model):
        with pytest.raises(TypeError, match="expected a Python function"):
            jitflow.function(thing)
    with pytest.raises(ValueError, match="no parameter"):
        jitflow.function(lambda x: x, static=("y",))
    assert jitflow.function(scaled) is scaled
    assert jitflow.function(scaled, static="by") is not scaled


def test_partial_functions_are_compiled() -> None:
    def shifted(x, by=1.0, *, mode="add"):
        """Shift."""
        return x + by if mode == "add" else x - by

    less = jitflow.function(functools.partial(shifted, mode="subtract"))
    np.testing.assert_array_equal(less(X), X - 1)
    np.testing.assert_array_equal(less(X, 2), X - 2)
    np.testing.assert_array_equal(less(X, mode="add"), X + 1)
    assert (less.__name__, less.__doc__) == ("shifted", "Shift.")
    assert str(inspect.signature(less)) == "(x, by=1.0, *, mode='subtract')"
    given = np.arange(3.0)
    of_given = jitflow.function(functools.partial(functools.partial(shifted, given), by=3))
    np.testing.assert_array_equal(of_given(), given + 3)
    given[0] = 5
    np.testing.assert_array_equal(of_given(by=0), [5, 1, 2])
    with pytest.raises(TypeError, match="positional argument"):
        of_given(1, 2)


def test_objects_that_are_called_are_compiled() -> None:
    class Layer:
        def __init__(self) -> None:
            self.weight, self.calls = np.ones(X.shape[1]), 0

        def __call__(self, x):
            self.calls += 1
            return x @ self.weight * self.calls

    layer = Layer()
    forward = jitflow.function(layer)
    np.testing.assert_array_equal(forward(X), X.sum(axis=1))
    layer.weight = 3 * layer.weight
    np.testing.assert_array_equal(forward(X), 6 * X.sum(axis=1))
    assert layer.calls == 2
    assert forward.cache_info().misses == 1


def test_the_cache_counts() -> None:
    @jitflow.function
    def half(x):
        return x / 2

    assert half.cache_info() == (0, 0, 64, 0)
    for size in (3, 4, 5, 0):
        half(np.ones(size))
    assert half.cache_info() == (3, 1, 64, 1)
    half(np.ones(3, np.float32))
    half(2.0)
    assert half.cache_info()[1:] == (3, 64, 3)
    half.compile(np.ones((2, 2)))
    assert half.cache_info() == (3, 4, 64, 4)
    half(np.ones((3, 2)))
    assert half.cache_info() == (4, 4, 64, 4)
    half.cache_clear()
    assert half.cache_info() == (0, 0, 64, 0)
    np.testing.assert_array_equal(half(X), X / 2)


def test_the_cache_is_bounded(monkeypatch) -> None:
    from dataclasses import replace

    from jitflow.compilation import specialised

    monkeypatch.setattr(specialised, "CONFIG", replace(specialised.CONFIG, cache_size=2))

    @jitflow.function(static=("n",))
    def power(x, n):
        return x**n

    for n in (1, 2, 1, 1, 3, 1):
        np.testing.assert_array_equal(power(X, n), X**n)
    info = power.cache_info()
    assert (info.currsize, info.misses, info.hits) == (2, 3, 3)  # what is called most stays


def test_static_arguments() -> None:
    for how in ("sum", "max", "sum"):
        np.testing.assert_array_equal(reduced(X, how), getattr(X, how)(axis=0))
    np.testing.assert_array_equal(reduced(X, how="min"), X.min(axis=0))
    assert reduced.cache_info().misses == 3
    with pytest.raises(UserError, match="no hash"):
        reduced(X, ["sum"])


@pytest.mark.parametrize("stage", ["traced", "gradient", "optimized", "fused", "kernels", "llvm", "asm"])
def test_every_stage_can_be_read(stage: str) -> None:
    text = scaled.ir(jitflow.Spec("f32", ("n", "m")), jitflow.Spec("float"), stage=stage)
    assert "scaled" in text or "run" in text
    with pytest.raises(ValueError, match="expected a stage"):
        scaled.ir(X, stage="nothing")


def test_the_gradient_stage_has_both_sweeps_and_no_derivative_to_write_out() -> None:
    @jitflow.function
    def slope(x):
        return jitflow.grad(lambda x: np.sin(x).sum())(x)

    traced, written_out = (slope.ir(X[0], stage=stage) for stage in ("traced", "gradient"))
    assert "= vjp " in traced
    assert "vjp" not in written_out
    assert "= cos %x" in written_out


def test_explain_says_what_the_code_rests_on() -> None:
    @jitflow.function
    def decide(x):
        return scaled(x) if x.shape[0] > 1 else x

    text = str(decide.explain(X))
    for words in ("x: f64[n, m], C order", "1 < n", "kernel", "trace", "llvm", "scaled: this code"):
        assert words in text, text
    assert decide.cache_info().currsize == 0


def test_without_arguments_the_last_specialisation_is_shown() -> None:
    @jitflow.function
    def add(x, y=2):
        return x.reshape(-1) + y

    for ask in (add.ir, add.explain, add.graph):
        with pytest.raises(TypeError, match=r"add has not been compiled yet, and \w+\(\) without arguments"):
            ask()
    add(X)
    assert "%x: f64[n, m]" in add.ir()
    add(X[0], 2.5)
    assert "%x: f64[n]" in add.ir(stage="optimized")
    assert "x: f64[n], C order\n    y: float" in str(add.explain())
    assert add.graph().startswith("add: ")
    add.cache_clear()
    with pytest.raises(TypeError, match="not been compiled"):
        add.explain()
    for asked in ("f64[size]", "f64[size, 7]"):
        explained = str(add.explain(jitflow.Spec.parse(asked), 1))
        assert "at most 8*size bytes at a time\n" in explained or "at most 56*size bytes" in explained
    with pytest.raises(ValueError, match=r"cannot reshape array of size size into shape \(size \+ 1,\)"):
        jitflow.function(lambda x: x.reshape(x.shape[0] + 1)).compile(jitflow.Spec("f64", ("size",)))


def test_unaligned_and_overlapping_arrays() -> None:
    raw = np.zeros(8 * 5 + 1, np.uint8)
    unaligned = raw[1:].view(np.float64)
    unaligned[:] = np.arange(5.0)
    assert not unaligned.flags.aligned
    np.testing.assert_array_equal(scaled(unaligned), np.arange(5.0) * 2)
    with pytest.raises(ValueError, match="read-only"):
        jitflow.function(lambda x: x.fill(1))(unaligned)
    assert not jitflow.function(lambda x: x[1:])(unaligned).flags.writeable
    base = np.arange(10.0)
    np.testing.assert_array_equal(scaled(base[1:], base[:-1]), base[1:] * base[:-1])


def test_a_compiled_function_calls_another() -> None:
    @jitflow.function
    def outer(x):
        return scaled(x, 3.0) + Model.double(x)

    before = scaled.cache_info()
    np.testing.assert_array_equal(outer(X), X * 5)
    assert scaled.cache_info() == before


def test_a_function_compiled_inside_another_is_inlined() -> None:
    @jitflow.function
    def outer(x):
        inner = jitflow.function(lambda y: np.zeros(y.shape) + y * 2)
        return inner(x) + inner(x[0])

    np.testing.assert_array_equal(outer(X), X * 2 + X[0] * 2)


def test_run_time_errors_have_the_users_line() -> None:
    @jitflow.function
    def add(x, y):
        return x + y

    with pytest.raises(ValueError, match="broadcast") as caught:
        add(np.ones(3), np.ones(4))
    assert caught.traceback[-1].name == "add"
    np.testing.assert_array_equal(add(np.ones(3), np.ones(3)), np.full(3, 2.0))


def test_threads_compile_once_and_share() -> None:
    @jitflow.function
    def shared(x):
        return np.sqrt(x) + 1

    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def work() -> None:
        try:
            start.wait()
            for size in range(1, 30):
                x = np.arange(float(size + 1))
                np.testing.assert_array_equal(shared(x), np.sqrt(x) + 1)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert shared.cache_info().misses == 1
    assert shared.cache_info().hits == 8 * 29 - 1


def test_code_compiled_for_specs_serves_what_they_describe() -> None:
    @jitflow.function
    def add(x, y, s):
        return (x + y) * s

    add.compile(jitflow.Spec("f64", ("n", 3)), jitflow.Spec.parse("f64[n,3]"), jitflow.Spec("float"))
    for size in (2, 5, 0):
        x = np.ones((size, 3))
        np.testing.assert_array_equal(add(x, x, 2.0), x * 4)
    assert add.cache_info()[:2] == (3, 1)
    np.testing.assert_array_equal(add(np.ones((2, 4)), np.ones((2, 4)), 1.0), np.full((2, 4), 2.0))
    assert add.cache_info().misses == 2
    with pytest.raises(ValueError, match="broadcast"):
        add(np.ones((2, 3)), np.ones((4, 3)), 1.0)


@pytest.mark.parametrize("decision", [
    "n > 8", "n % 3 == 1", "n // 4 >= m", "min(n, m) == 2", "max(n, m) < 7", "n * m != 12", "n - m < 0",
    "(n - 9) // 4 == m",
])  # fmt: skip
def test_guards_test_the_decisions_on_sizes(decision: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def decide(x):\n    n, m = x.shape\n    return x * 2 if {decision} else x - 1", namespace)
    decide = jitflow.function(namespace["decide"])
    for n, m in [(9, 2), (2, 9), (4, 3), (10, 5), (3, 2), (2, 2), (6, 2), (17, 2), (13, 0), (0, 0), (7, 4), (100, 30)]:
        x = np.arange(float(n * m)).reshape(n, m)
        np.testing.assert_array_equal(decide(x), decide.__wrapped__(x))
    assert decide.cache_info().misses <= 4


def test_numbers_of_threads() -> None:
    jitflow.set_num_threads(2)
    np.testing.assert_array_equal(scaled(X), X * 2)
    jitflow.set_num_threads(1)
    with pytest.raises(ValueError, match="at least 1"):
        jitflow.set_num_threads(0)


def test_memory_is_accounted_for() -> None:
    assert all(isinstance(number, int) for number in jitflow.memory_stats().values())


def test_disabled_functions_are_plain() -> None:
    program = "import jitflow; f = jitflow.function(lambda x: x); print(type(f).__name__)"
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "JITFLOW_DISABLE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == "function"


def test_a_generation_of_plain_results() -> None:
    @jitflow.function
    def results(x, s):
        return x.sum(), s * 2, x.shape, len(x), x.dtype, x[0], x.T, {"mean": x.mean(axis=0)}

    found, expected = results(X, 3), results.__wrapped__(X, 3)
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other)
    assert found[:5] == expected[:5]
    np.testing.assert_array_equal(found[5], expected[5])
    assert np.shares_memory(found[6], X)
