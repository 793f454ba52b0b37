"""Bad input: every mistake gives an error at the user's line that says what was found, expected and how to mend it.

Each message is a file under ``messages/``; ``pytest -n0 --bless tests/frontend`` writes it anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from jitflow.frontend.entry.compilable import refuse_function_kind
from jitflow.frontend.recording.trace import Trace, recording
from jitflow.frontend.tracers import wrap
from jitflow.ir.dtypes import F32
from jitflow.ir.types import Tensor
from tests.frontend.interpreted import interpreted
from tests.frontend.mistakes import CASES, RUN_TIME_CASES, Function, X, double, in_a_helper

MESSAGES = Path(__file__).parent / "messages"
ARGUMENTS: dict[str, Any] = {
    "object_array": np.array([1, None], object),
    "string_array": np.array(["a", "bc"]),
    "bytes_array": np.array([b"a"]),
    "structured_array": np.zeros(2, [("a", "f8"), ("b", "i4")]),
    "byte_swapped_array": np.zeros(2, ">f8" if np.little_endian else "<f8"),
    "masked_array": np.ma.masked_array([1.0, 2.0], [True, False]),
    "matrix": np.ones(2).view(type("Metres", (np.ndarray,), {})),
    "datetime_array": np.array(["2020-01-01"], "datetime64[D]"),
    "long_double_array": np.zeros(2, np.longdouble),
    "datetime_scalar": np.datetime64("2020-01-01"),
    "generator": (number for number in (1, 2)),
    "set": {1, 2},
    "large_int": 2**64,
    "file": open(os.devnull),  # noqa: SIM115
    "nested": {"a": [1.0, (np.array(["a"]),)]},
}


def message(fn: Function, *args: Any, run: Callable[[Function], Function] = interpreted) -> str:
    with pytest.raises(UserError) as caught:
        run(fn)(*args)
    kinds = [kind.__name__ for kind in type(caught.value).__mro__ if kind.__module__ == "builtins"]
    text = f"{type(caught.value).__name__} ({kinds[0]})\n{caught.value.render()}\n"
    return text.replace(str(Path(__file__).parent) + os.sep, "")


@pytest.fixture
def check_message(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    def check(name: str, text: str) -> None:
        path = MESSAGES / f"{name}.txt"
        if request.config.getoption("--bless"):
            path.write_text(text)
        assert path.exists(), "no message yet: pytest -n0 --bless tests/frontend"
        assert text == path.read_text(), "if this is right: pytest -n0 --bless tests/frontend"

    return check


@pytest.mark.parametrize(("fn", "args"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_messages_of_programs(fn: Function, args: tuple[Any, ...], check_message: Any) -> None:
    check_message(fn.__name__, message(fn, *args))


@pytest.mark.parametrize(("fn", "args"), RUN_TIME_CASES, ids=[fn.__name__ for fn, _ in RUN_TIME_CASES])
def test_messages_at_run_time(fn: Function, args: tuple[Any, ...], check_message: Any) -> None:
    check_message(fn.__name__, message(fn, *args, run=jitflow.function))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_messages_of_arguments(name: str, check_message: Any) -> None:
    check_message(f"argument_{name}", message(double, ARGUMENTS[name]))


def test_a_leaked_tracer_is_named(check_message: Any) -> None:
    trace = Trace("step")
    with recording(trace):
        leaked = wrap(trace.parameter(Tensor(F32, (3,)), "x"))

    def uses_a_leaked_tracer(x):
        return leaked + x

    check_message("leaked_tracer", message(uses_a_leaked_tracer, X))
    with pytest.raises(UserError, match="outlived"):
        leaked.shape  # noqa: B018


@pytest.mark.parametrize("kind", ["generator", "coroutine", "asynchronous"])
def test_functions_that_do_not_return_are_refused(kind: str, check_message: Any) -> None:
    def generator(x):
        yield x

    async def coroutine(x):
        return x

    async def asynchronous(x):
        yield x

    fn: Any = {"generator": generator, "coroutine": coroutine, "asynchronous": asynchronous}[kind]
    with pytest.raises(UserError) as caught:
        refuse_function_kind(fn)
    check_message(f"function_{kind}", caught.value.render().replace(str(Path(__file__).parent) + os.sep, "") + "\n")
    with pytest.raises(TypeError):
        jitflow.function(fn)


def test_the_function_works_after_an_error() -> None:
    @jitflow.function
    def half(x):
        return x / 2

    for bad in ARGUMENTS.values():
        with pytest.raises(UserError):
            half(bad)
    np.testing.assert_array_equal(half(X), X / 2)
    assert half.cache_info().misses == 1


def test_the_traceback_ends_at_the_users_line() -> None:
    compiled = jitflow.function(in_a_helper)
    with pytest.raises(UserError) as caught:
        compiled(X)
    frames = caught.traceback
    assert frames[-1].name == "decides"
    assert frames[-2].name == "in_a_helper"


ALL = [*CASES, *RUN_TIME_CASES]
RUN_TIME = {fn for fn, _ in RUN_TIME_CASES}


@pytest.mark.parametrize(("fn", "args"), ALL, ids=[fn.__name__ for fn, _ in ALL])
def test_the_process_and_the_function_work_on(fn: Function, args: tuple[Any, ...]) -> None:
    """Compiled this time, and called twice: the second call fails as the first did, and others are not harmed."""
    compiled = jitflow.function(fn)
    found = []
    for _ in range(2):
        with pytest.raises(UserError) as caught:
            compiled(*args)
        found.append((type(caught.value), str(caught.value)))
    assert found[0] == found[1]
    assert compiled.cache_info().currsize == (fn in RUN_TIME)
    np.testing.assert_array_equal(jitflow.function(double)(X), X * 2)


def test_every_message_belongs_to_a_test() -> None:
    others = {"leaked_tracer", "function_generator", "function_coroutine", "function_asynchronous"}
    names = {fn.__name__ for fn, _ in ALL} | {f"argument_{name}" for name in ARGUMENTS} | others
    assert {path.stem for path in MESSAGES.glob("*.txt")} == names
