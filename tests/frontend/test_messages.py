"""Bad input: every mistake gives an error at the user's line that says what was found, expected and how to mend it.

Each message is a file under ``messages/``; ``pytest -n0 --bless tests/frontend`` writes it anew.
"""

from __future__ import annotations

import os
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
from tests.frontend import mistakes
from tests.frontend.catalogue import check, raised, told, told_twice
from tests.frontend.interpreted import interpreted
from tests.frontend.mistakes import CASES, RUN_TIME_CASES, Function, X, double, in_a_helper

HERE = Path(__file__)
MESSAGES = HERE.parent / "messages"
FILE = mistakes.__file__
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
    "set": {np.str_("a")},
    "large_int": 2**64,
    "file": open(os.devnull),  # noqa: SIM115
    "nested": {"a": [1.0, (np.array(["a"]),)]},
}


CATALOGUE = [*CASES, *RUN_TIME_CASES]


@pytest.mark.parametrize(("fn", "args"), CATALOGUE, ids=[fn.__name__ for fn, _ in CATALOGUE])
def test_messages_of_programs(fn: Function, args: tuple[Any, ...], request: pytest.FixtureRequest) -> None:
    check(MESSAGES / f"{fn.__name__}.txt", told_twice(fn, args, FILE), request)
    np.testing.assert_array_equal(jitflow.function(double)(X), X * 2)  # others are not harmed


def message(fn: Function, *args: Any) -> str:
    return told(raised(interpreted(fn), args), FILE).replace(f"{HERE.parent}/", "")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_messages_of_arguments(name: str, request: pytest.FixtureRequest) -> None:
    check(MESSAGES / f"argument_{name}.txt", message(double, ARGUMENTS[name]), request)


def test_a_leaked_tracer_is_named(request: pytest.FixtureRequest) -> None:
    trace = Trace("step")
    with recording(trace):
        leaked = wrap(trace.parameter(Tensor(F32, (3,)), "x"))

    def uses_a_leaked_tracer(x):
        return leaked + x

    check(MESSAGES / "leaked_tracer.txt", message(uses_a_leaked_tracer, X), request)
    with pytest.raises(UserError, match="outlived"):
        leaked.shape  # noqa: B018


@pytest.mark.parametrize("kind", ["generator", "coroutine", "asynchronous"])
def test_functions_that_do_not_return_are_refused(kind: str, request: pytest.FixtureRequest) -> None:
    def generator(x):
        yield x

    async def coroutine(x):
        return x

    async def asynchronous(x):
        yield x

    fn: Any = {"generator": generator, "coroutine": coroutine, "asynchronous": asynchronous}[kind]
    with pytest.raises(UserError) as caught:
        refuse_function_kind(fn)
    text = caught.value.render().replace(f"{HERE.parent}/", "") + "\n"
    check(MESSAGES / f"function_{kind}.txt", text, request)
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


def test_every_message_belongs_to_a_test() -> None:
    kinds = ("generator", "coroutine", "asynchronous")
    others = {"raised_by_python", "refused", "leaked_tracer", *(f"function_{kind}" for kind in kinds)}
    names = {fn.__name__ for fn, _ in CATALOGUE} | {f"argument_{name}" for name in ARGUMENTS} | others
    assert {path.stem for path in MESSAGES.glob("*.txt")} == names
