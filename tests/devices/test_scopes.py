"""Where a program says that something is to be computed: scopes, functions and variables of a device."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jitflow
from jitflow import config
from jitflow.ir.core import Function, walk
from jitflow.machines import hardware
from jitflow.passes.place import Placement


@pytest.fixture(autouse=True)
def three_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "CONFIG", replace(config.CONFIG, cpu_devices=3))


def traced(function: object, *args: object) -> Function:
    return function._trace(function._bind(args, {})).traced.function  # type: ignore[attr-defined]


def wanted(function: object, *args: object) -> dict[str, str]:
    """Where each kind of op is wanted."""
    return {op.name: op.loc.device for op in walk(traced(function, *args).region)}


def test_devices_are_listed() -> None:
    assert [str(device) for device in jitflow.devices()] == ["cpu:0", "cpu:1", "cpu:2"]
    assert jitflow.devices("cuda") == ()
    with pytest.raises(ValueError, match="expected a kind of device"):
        jitflow.devices("tpu")


@pytest.mark.parametrize(("name", "message"), [("cpu:7", "JITFLOW_CPU_DEVICES=8"), ("gpu", "jitflow.devices")])
def test_a_device_that_there_is_not_is_an_error_that_says_what_to_do(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        jitflow.device(name)
    with pytest.raises(ValueError, match="there is no device"):
        jitflow.function(lambda x: x, device=name)
    with pytest.raises(ValueError, match="there is no device"):
        jitflow.Variable(0.0, device=name)
    with pytest.raises(TypeError, match="the name of a device"):
        jitflow.device(3)  # type: ignore[arg-type]


def test_a_scope_inside_a_program_names_the_line() -> None:
    @jitflow.function
    def program(x):  # type: ignore[no-untyped-def]
        with jitflow.device("cpu:9"):
            return x + 1

    with pytest.raises(ValueError, match=r"there is no device 'cpu:9'") as caught:
        program(np.ones(3))
    assert str(caught.value.location).startswith("test_scopes.py")


def test_ops_know_the_innermost_scope() -> None:
    @jitflow.function
    def program(x):  # type: ignore[no-untyped-def]
        with jitflow.device("cpu:1"):
            y = np.sin(x)
            with jitflow.device("cpu:2"):
                y = np.cos(y)
            for i in range(len(x)):
                if y[i] > 0:
                    y[i] = np.exp(y[i])
            y = np.tan(y)
        return np.sqrt(y)

    found = wanted(program, np.ones(3))
    assert {name: found[name] for name in ("sin", "cos", "exp", "tan", "sqrt")} == {
        "sin": "cpu:1", "cos": "cpu:2", "exp": "cpu:1", "tan": "cpu:1", "sqrt": "",
    }  # fmt: skip


def test_a_scope_from_outside_and_one_that_is_left_by_an_exception() -> None:
    scope = jitflow.device("cpu:1")

    @jitflow.function
    def program(x):  # type: ignore[no-untyped-def]
        try:
            with scope:
                y = np.sin(x)
                raise KeyError
        except KeyError:
            return np.cos(y)

    found = wanted(program, np.ones(3))
    assert (found["sin"], found["cos"]) == ("cpu:1", "")


def test_a_function_is_a_scope_also_where_another_calls_it() -> None:
    @jitflow.function(device="cpu:1")
    def inner(x):  # type: ignore[no-untyped-def]
        with jitflow.device("cpu:2"):
            y = np.sin(x)
        return np.cos(y)

    outer = jitflow.function(lambda x: np.tan(inner(x)))
    assert {name: wanted(inner, np.ones(3))[name] for name in ("sin", "cos")} == {"sin": "cpu:2", "cos": "cpu:1"}
    found = wanted(outer, np.ones(3))
    assert (found["sin"], found["cos"], found["tan"]) == ("cpu:2", "cpu:1", "")


def test_outside_of_programs_a_scope_does_nothing() -> None:
    with jitflow.device("cpu:1") as scope:
        assert np.sin(0.0) == 0
    assert repr(scope) == "jitflow.device('cpu:1')"


def test_a_variable_keeps_its_device() -> None:
    variable = jitflow.Variable(np.ones(3), device="cpu:1")
    assert variable.device == "cpu:1"
    assert jitflow.Variable(0.0).device == "cpu:0"
    assert "device='cpu:1'" in repr(variable)
    for twin in (copy.copy(variable), pickle.loads(pickle.dumps(variable))):
        assert twin.device == "cpu:1"
    assert traced(jitflow.function(lambda w: w + 1), variable).attributes["devices"] == ("cpu:1",)


def test_code_for_a_variable_on_one_device_is_not_run_with_one_on_another() -> None:
    @jitflow.function
    def program(w):  # type: ignore[no-untyped-def]
        w += 1
        return w.sum()

    variables = [jitflow.Variable(np.ones(3), device=name) for name in ("cpu:0", "cpu:1", "cpu:2", "cpu:0", "cpu:1")]
    assert [program(variable) for variable in variables] == [6.0] * 5
    info = program.cache_info()
    assert (info.hits, info.misses) == (2, 3)
    assert [variable.numpy().tolist() for variable in variables] == [[2.0] * 3] * 5


def test_a_plan_that_was_edited_is_followed(tmp_path: Path) -> None:
    def program(x):  # type: ignore[no-untyped-def]
        return np.sort(np.sin(x)), np.cumsum(np.cos(x))

    x = np.linspace(0, 5, 50)
    path = tmp_path / "plan.json"
    jitflow.function(program).placement(x).save(path)
    path.write_text(path.read_text().replace('"device": "cpu:0"', '"device": "cpu:2"'))
    for plan in (path, str(path), Placement.load(path)):
        followed = jitflow.function(program, placement=plan)
        assert {op.device for op in followed.placement(x).ops} == {"cpu:2"}
        assert "; cpu:2 takes [0], gives [0, 1]" in followed.ir(x, stage="partitioned")
        for found, expected in zip(followed(x), program(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_search_never_ends_with_a_worse_plan() -> None:
    def program(x):  # type: ignore[no-untyped-def]
        return np.sin(x).sum() + np.cos(x).sum()

    x = np.linspace(0, 5, 50)
    usual, searched = (jitflow.function(program, placement=one) for one in ("heuristic", "search"))
    assert searched.placement(x).seconds <= usual.placement(x).seconds
    assert searched(x) == usual(x)


def test_what_is_no_placement_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected placement to be 'heuristic', 'search' or a file, got 'best'"):
        jitflow.function(lambda x: x, placement="best")


def test_arrays_are_sent_in_bfloat16() -> None:
    def program(x, y):  # type: ignore[no-untyped-def]
        with jitflow.device("cpu:1"):
            z = np.sin(x)
        with jitflow.device("cpu:0"):
            return (z + y) * z.sum()

    x, y = np.linspace(0, 1, 1000, dtype="f4"), np.arange(1000.0)
    exact, short = jitflow.function(program), jitflow.function(program, transfer="bf16")
    text = short.ir(x, y, stage="partitioned")
    assert ": bf16[n] = cast %" in text
    found, expected = short(x, y), exact(x, y)
    np.testing.assert_allclose(found, expected, rtol=2**-6, atol=1)
    assert np.any(found != expected)
    with pytest.raises(ValueError, match="expected transfer to be 'bf16' or None"):
        jitflow.function(program, transfer="f16")


class Tensor:
    """An array of another library's, which others get hold of by DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **keywords: object) -> object:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries_are_taken_as_they_lie() -> None:
    @jitflow.function
    def program(x, pair):  # type: ignore[no-untyped-def]
        x += pair["y"]
        return x.sum()

    x, y = np.arange(5.0), np.ones(5)
    for turn in (1, 2):
        assert program(Tensor(x), {"y": Tensor(y)}) == 10 + 5 * turn
    assert program.cache_info().misses == 1
    np.testing.assert_array_equal(x, np.arange(5.0) + 2)
