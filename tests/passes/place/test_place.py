"""Where ops are placed: what they cost, what holds them together, where the user wants them."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import config
from jitflow.ir.core import Function, walk
from jitflow.ir.parser import parse
from jitflow.ir.verifier import verify
from jitflow.machines import hardware
from jitflow.machines.machine import Link, Machine, as_machine
from jitflow.passes.place import Decision, Placement, decide, place
from jitflow.passes.place.schedule import anneal
from jitflow.passes.place.simulator import peaks, simulate_graph
from tests.passes.place.programs import chain, devices_of, fork, many_arrays, optimized, pipeline

X = np.full((300, 300), 0.01)
TWO = as_machine("2*cpu(memory=0)")


def on_one(decision: Decision, device: int) -> list[int]:
    """The plan with all that may be anywhere on one device."""
    names = decision.graph.machine.names
    return [names.index(task.device) if task.device else device for task in decision.graph.tasks]


def seconds_on_one(decision: Decision) -> list[float]:
    devices = range(len(decision.graph.machine.devices))
    return [simulate_graph(decision.graph, on_one(decision, device)).seconds for device in devices]


def program(fn: Any, *args: Any) -> Function:
    return optimized(jitflow.function(fn), *args)


# -- cost


def test_a_fork_is_split_between_its_branches() -> None:
    decision = decide(program(fork, X), TWO)
    assert decision.simulate().seconds < 0.6 * min(seconds_on_one(decision))
    assert devices_of(place(program(fork, X), TWO), "matmul") == {"cpu:0", "cpu:1"}


def test_the_turns_of_a_loop_are_a_pipeline() -> None:
    decision = decide(program(pipeline, np.ones((40, 300, 300)), X, X), TWO)
    assert decision.simulate().seconds < 0.6 * min(seconds_on_one(decision))


def test_a_program_larger_than_a_memory_is_spread() -> None:
    each = 5 * X.nbytes
    machine = as_machine(f"3*cpu(memory={each})")
    decision = decide(program(many_arrays, X), machine)
    assert max(peaks(decision.graph, on_one(decision, 0))) > each
    assert max(peaks(decision.graph, decision.plan)) <= each


def test_a_chain_stays_where_it_is() -> None:
    decision = decide(program(chain, X), TWO)
    assert set(decision.plan) == {0}
    assert decision.simulate().seconds == min(seconds_on_one(decision))


def test_a_small_program_is_on_one_device_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError("no graph is needed")

    monkeypatch.setattr("jitflow.passes.place.decision.build_graph", refused)
    function = program(fork, np.ones((3, 3)))
    found = place(function, TWO)
    assert {op.attributes["device"] for op in walk(found.region)} == {"cpu:0"}
    begin = time.perf_counter()
    place(function, TWO)
    assert time.perf_counter() - begin < 0.05  # well under a millisecond where nobody else computes


@pytest.mark.parametrize("described", ["cpu", "2*cpu", "3*cpu", "cpu + cuda", "cpu + 2*cuda"])
@pytest.mark.parametrize("fn", [fork, chain, many_arrays])
def test_no_single_device_is_better(fn: Any, described: str) -> None:
    decision = decide(program(fn, X), as_machine(described))
    assert decision.simulate().seconds <= min(seconds_on_one(decision))


def test_a_fast_device_behind_a_slow_link_gets_nothing() -> None:
    for link, expected in ((Link(1e-5, 1e10), "cuda:0"), (Link(1.0, 1e6), "cpu:0")):
        machine = replace(as_machine("cpu + cuda"), links=(("cpu", "cuda", link),))
        assert devices_of(place(program(chain, X), machine), "matmul", "sin") == {expected}


def test_equal_programs_get_equal_plans() -> None:
    machine = as_machine("3*cpu")
    assert decide(program(fork, X), machine).plan == decide(program(fork, X), machine).plan
    graph = decide(program(many_arrays, X), machine).graph
    assert anneal(graph, [0] * len(graph.tasks), seed=3) == anneal(graph, [0] * len(graph.tasks), seed=3)


def test_a_search_never_ends_worse() -> None:
    machine = as_machine("3*cpu")
    usual = decide(program(many_arrays, X), machine).simulate().seconds
    assert decide(program(many_arrays, X), machine, search=True).simulate().seconds <= usual


def test_every_op_has_a_device_and_the_text_says_so() -> None:
    found = place(program(pipeline, np.ones((40, 300, 300)), X, X), TWO)
    verify(found, "place")
    assert all(op.attributes["device"] in TWO.names for op in walk(found.region))
    again = parse(str(found))
    assert [op.attributes["device"] for op in walk(again.region)] == [
        op.attributes["device"] for op in walk(found.region)
    ]
    assert found.attributes["devices"] == ("cpu:0",) * len(found.parameters)


# -- constraints


@pytest.fixture
def three_devices(monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(hardware, "CONFIG", replace(config.CONFIG, cpu_devices=3))
    return as_machine("3*cpu")


def test_scopes_are_followed(three_devices: Machine) -> None:
    def both(x):  # type: ignore[no-untyped-def]
        with jitflow.device("cpu:1"):
            a = np.sin(x)
        with jitflow.device("cpu:2"):
            b = np.cos(x)
        return a + b

    found = place(program(both, np.ones(4)), three_devices)
    assert devices_of(found, "sin") == {"cpu:1"}
    assert devices_of(found, "cos") == {"cpu:2"}


def test_ops_on_a_variable_stay_with_it(three_devices: Machine) -> None:
    state = jitflow.Variable(np.zeros(5), device="cpu:2")

    def step(x):  # type: ignore[no-untyped-def]
        with jitflow.device("cpu:1"):
            y = np.sin(x)
            state.assign(state * 0.5 + y)
        return y

    found = place(program(step, np.ones(5)), three_devices)
    assert devices_of(found, "load", "store") == {"cpu:2"}
    assert devices_of(found, "sin") == {"cpu:1"}


def test_arrays_that_swap_are_together(three_devices: Machine) -> None:
    def steps(n, x):  # type: ignore[no-untyped-def]
        u, v = x.copy(), x.copy()
        with jitflow.device("cpu:1"):
            u[0] = 1.0
        for _ in range(n):
            v[1:] = u[:-1] * 0.5
            u, v = v, u
        return u

    found = place(program(steps, 40, np.ones(500)), three_devices)
    assert devices_of(found, "variable", "store", "load", "scatter") == {"cpu:1"}


def test_callbacks_are_at_home(three_devices: Machine) -> None:
    def told(x):  # type: ignore[no-untyped-def]
        with jitflow.device("cpu:1"):
            y = np.sin(x)
            print(y[0])
        return y

    found = place(program(told, np.ones(5)), three_devices)
    assert devices_of(found, "host_call", "print") == {"cpu:0"}
    assert devices_of(found, "sin") == {"cpu:1"}


def test_memory_is_where_the_first_scope_writes_to_it(three_devices: Machine) -> None:
    def shared(x):  # type: ignore[no-untyped-def]
        a = np.zeros(400) + x[0]
        for i in range(200):
            with jitflow.device("cpu:1"):
                a[i] += x[i]
            with jitflow.device("cpu:2"):
                a[i + 1] *= x[i]
        return a

    found = place(program(shared, np.ones(400)), three_devices)
    assert devices_of(found, "load", "store") == {"cpu:1"}
    assert devices_of(found, "multiply") == {"cpu:2"}


def test_a_device_that_is_not_of_the_machine_is_an_error(three_devices: Machine) -> None:
    def far(x):  # type: ignore[no-untyped-def]
        with jitflow.device("cpu:2"):
            return np.sin(x)

    with pytest.raises(ValueError, match="there is no device 'cpu:2'") as caught:
        place(program(far, np.ones(4)), TWO)
    assert str(caught.value.location).startswith("test_place.py")


# -- plans


def test_a_plan_is_saved_edited_and_followed(tmp_path: Path) -> None:
    function = program(fork, X)
    file = tmp_path / "plan.json"
    first = decide(function, TWO).placement()
    first.save(file)
    assert Placement.load(file) == first
    assert decide(function, TWO, first).placement().devices_of("matmul") == {"cpu:0", "cpu:1"}
    file.write_text(file.read_text().replace('"cpu:1"', '"cpu:0"'))
    found = place(program(fork, X), TWO, Placement.load(file))
    assert devices_of(found, "matmul", "sin", "cos") == {"cpu:0"}
    assert "plan" in str(decide(function, TWO, first).placement())


def test_a_plan_of_another_program_is_refused(tmp_path: Path) -> None:
    plan = decide(program(fork, X), TWO).placement()
    with pytest.raises(ValueError, match="does not fit the program any more") as caught:
        place(program(chain, X), TWO, plan)
    assert "make a new plan" in caught.value.mend
    (tmp_path / "broken.json").write_text('{"ops": 3}')
    with pytest.raises(ValueError, match="is no plan"):
        Placement.load(tmp_path / "broken.json")


def test_a_plan_against_what_has_to_be_is_refused() -> None:
    def moved(x, y):  # type: ignore[no-untyped-def]
        x += np.sin(y)

    function = program(moved, np.ones(5), np.ones(5))
    plan = decide(function, TWO).placement()
    edited = replace(plan, ops=tuple(replace(one, device="cpu:1") for one in plan.ops))
    with pytest.raises(ValueError, match="one piece of memory"):
        place(function, TWO, edited)
