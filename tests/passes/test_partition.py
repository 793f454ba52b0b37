"""A function that is cut into partitions does what it did: the same bits, stores and errors, whoever is faster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from jitflow.errors import CompilerBug
from jitflow.ir.channels import Channels
from jitflow.ir.core import Function, Op, Region, walk
from jitflow.ir.equal import structurally_equal
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from jitflow.ir.types import Variable
from jitflow.ir.verifier import verify
from jitflow.passes.partition import (
    Partitioned,
    interpret_partitioned,
    partition,
    print_partitioned,
    verify_partitioned,
)
from jitflow.passes.pipeline import FUSION_PIPELINE, LASTING_PIPELINE, STORAGE_PIPELINE, run_passes
from tests.golden import Section, read_sections
from tests.passes.in_turns import InTurns
from tests.passes.placing import placed, with_checks
from tests.passes.random_programs import random_program
from tests.passes.stateful_programs import stateful_program
from tests.passes.tape_programs import tape_program
from tests.passes.test_stateful_programs import assert_same, in_memory

PROGRAMS = Path(__file__).parent / "golden" / "partitioned" / "programs.ir"
SECTIONS = read_sections(PROGRAMS)
MAKERS: dict[str, Callable[[int], Function]] = {
    "tensors": random_program,
    "storage": stateful_program,
    "tapes": tape_program,
}


def run(partitioned: Partitioned, order: list[int], *arguments: Any, capacity: int | None = None) -> Any:
    return interpret_partitioned(partitioned, *arguments, channels=InTurns(order, capacity))


def orders(partitioned: Partitioned, random: Random, count: int) -> list[list[int]]:
    numbers = list(range(len(partitioned.partitions)))
    return [random.sample(numbers, len(numbers)) for _ in range(count)]


# -- random programs


def _lasting(function: Function) -> Function:
    """The function with variables that outlive it: those among its parameters."""
    positions = tuple(number for number, value in enumerate(function.parameters) if isinstance(value.type, Variable))
    return replace(function, attributes=MappingProxyType({"variables": positions}))


def _fused(partitioned: Partitioned) -> Partitioned:
    """The partitions as kernels see them: loads are memory, and ops are in groups."""
    parts = [
        replace(part, function=in_memory(run_passes(part.function, FUSION_PIPELINE))) for part in partitioned.partitions
    ]
    return replace(partitioned, partitions=tuple(parts))


def _check(seed: int, maker: Callable[[int], Function]) -> None:
    """A program as it is, behind the pipeline, and with variables that outlive it, with checks that fail and not."""
    random = Random(seed)
    for failing, prepare in (
        ((), lambda function: function),
        ((random.randrange(8),), lambda function: function),
        ((random.randrange(20), random.randrange(8)), lambda function: run_passes(function, STORAGE_PIPELINE)),
        ((random.randrange(20),), lambda function: run_passes(_lasting(function), LASTING_PIPELINE)),
    ):
        function = prepare(with_checks(maker(seed), seed, failing))
        program = placed(function, seed, 2 + seed % 3)
        verify(program)
        partitioned = partition(program)
        verify_partitioned(partitioned)
        for parts, capacity in ((partitioned, 1), (_fused(partitioned), None)):
            (order,) = orders(parts, random, 1)
            assert_same(partial(interpret, function), partial(run, parts, order, capacity=capacity), function, seed)


@pytest.mark.parametrize("kind", MAKERS)
def test_partitions_mean_what_the_whole_means(kind: str) -> None:
    for seed in range(3):
        _with_program(seed, kind)


@pytest.mark.stress
@pytest.mark.parametrize("block", range(40))
@pytest.mark.parametrize("kind", MAKERS)
def test_many_partitions_mean_what_the_whole_means(kind: str, block: int) -> None:
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        _with_program(seed, kind)


def _with_program(seed: int, kind: str) -> None:
    try:
        _check(seed, MAKERS[kind])
    except Exception as error:
        error.add_note(f"seed {seed}:\n{placed(with_checks(MAKERS[kind](seed), seed), seed, 2 + seed % 3)}")
        raise


def test_partitions_run_in_threads() -> None:
    for seed in range(10):
        function = stateful_program(seed)
        partitioned = partition(placed(function, seed, 3))
        assert_same(partial(interpret, function), partial(interpret_partitioned, partitioned), function, seed)


def test_every_value_crosses_once_for_each_destination() -> None:
    crossed = 0
    for seed in range(40):
        partitioned = partition(placed(stateful_program(seed), seed, 4))
        sent = [
            (op.operands[0], op.attributes["to"])
            for part in partitioned.partitions
            for op in walk(part.function.region)
            if op.name == "send" and op.operands
        ]
        assert max(Counter(sent).values(), default=1) == 1
        crossed += len(sent)
    assert crossed > 100


def test_partitions_round_trip() -> None:
    for seed in range(10):
        for part in partition(placed(stateful_program(seed), seed, 3)).partitions:
            assert structurally_equal(parse(print_function(part.function)), part.function)


def test_on_one_device_nothing_is_added() -> None:
    for seed in range(10):
        (part,) = partition(placed(stateful_program(seed), seed, 1)).partitions
        assert not any(op.name in ("send", "recv", "meet", "progress") for op in walk(part.function.region))


# -- programs written out


@pytest.mark.parametrize("section", SECTIONS.values(), ids=lambda section: section.name)
def test_programs(section: Section, check_golden: Callable[[Path, str, str], None]) -> None:
    function = parse(section.before)
    partitioned = partition(function)
    verify_partitioned(partitioned)
    check_golden(PROGRAMS, section.name, print_partitioned(partitioned))


def _program(name: str) -> Partitioned:
    return partition(parse(SECTIONS[name].before))


def _messages(name: str, *arguments: Any) -> tuple[Any, int]:
    """The results of a program, and how many messages have crossed."""
    partitioned = _program(name)
    channels = Channels(len(partitioned.partitions))
    return interpret_partitioned(partitioned, *arguments, channels=channels), sum(channels.sent.values())


def test_messages_are_counted() -> None:
    x = np.linspace(0.5, 2.0, 5)
    (found,), count = _messages("fork_join", x, 2.0)
    np.testing.assert_array_equal(found, np.cos(np.log(np.exp(x))) + np.sin(np.exp(x)) * np.exp(x) * 2.0)
    assert count == 2
    _, count = _messages("counting", x, 7)
    assert count == 0  # the argument lies where all can read it, and each counts for itself
    _, count = _messages("while", x, 100.0)
    turns = 6
    assert count == 3 * turns + 2


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_store_waits_for_the_check_before_it(order: list[int]) -> None:
    u = np.zeros(3)
    with pytest.raises(ValueError, match="negative"):
        run(_program("order"), order, u, np.float64(-1.0), -np.ones(3))
    np.testing.assert_array_equal(u, -1.0)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_variables_are_as_they_were_if_one_partition_fails(order: list[int]) -> None:
    w, b = np.zeros(3), np.ones(3)
    with pytest.raises(IndexError):
        run(_program("commit"), order, w, b, np.array([0, 1, 3]))
    np.testing.assert_array_equal(w, 0.0)
    np.testing.assert_array_equal(b, 1.0)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.parametrize("bad", [0, 1])
def test_a_store_that_may_fail_itself_is_between_two_meetings(order: list[int], bad: int) -> None:
    function = parse("""func @f(%u: var f64[n], %v: var f64[n], %i: i64[m], %j: i64[m], %x: f64)
        with {variables=[0, 1], devices=["cpu:0", "cpu:1", "cpu:0", "cpu:1", ""]} {
      %0: f64[n] = load %v {device="cpu:1"}
      %1: f64[m] = gather %0, %j {axis=0, device="cpu:1"}
      scatter %u, %i, %x {axis=0, device="cpu:0"}
      store %v, %x {device="cpu:1"}
      yield %1
    }""")
    partitioned = partition(function)
    verify_partitioned(partitioned)
    arrays, indices = [np.zeros(3), np.zeros(3)], [np.array([0, 1]), np.array([0, 1])]
    indices[bad][1] = 3
    with pytest.raises(IndexError):
        run(partitioned, order, *arrays, *indices, np.float64(1.0))
    np.testing.assert_array_equal(arrays, 0.0)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.parametrize(("x", "y"), [(5, 3), (3, 5), (3, 3)])
def test_of_several_errors_the_first_in_the_program_is_raised(order: list[int], x: int, y: int) -> None:
    """One device finds a wrong index in turn ``x``, the other in turn ``y``, and later in it."""
    arrays = [np.zeros(8, np.int64), np.zeros(8, np.int64)]
    arrays[0][x], arrays[1][y] = 100, 200
    with pytest.raises(IndexError, match="100" if x <= y else "200"):
        run(_program("progress"), order, *arrays)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_nobody_goes_round_for_ever_when_another_one_has_failed(order: list[int]) -> None:
    function = parse("""func @f(%x: f64[n], %y: f64[n], %limit: f64) {
      %zero: f64 = constant {value=0.0, type=<f64>}
      %0: f64[n], %1: f64[n] = while %x, %y (%2: f64[n], %3: f64[n]) {
        %4: bool = less %zero, %limit
        yield %4
      } (%5: f64[n], %6: f64[n]) {
        %7: f64[n] = add %5, %5 {device="cpu:0"}
        %8: f64 = reduce_maximum %7 {axes=[0], device="cpu:0"}
        %9: bool = less %8, %limit {device="cpu:0"}
        check %9 {error="ValueError", message="too large", device="cpu:0"}
        %10: f64[n] = add %6, %6 {device="cpu:1"}
        yield %7, %10
      }
      yield %0, %1
    }""")
    partitioned = partition(function)
    verify_partitioned(partitioned)
    with pytest.raises(ValueError, match="too large"):
        run(partitioned, order, np.ones(3), np.zeros(3), np.float64(100.0))


# -- faults


def _changed(partitioned: Partitioned, device: str, change: Callable[[list[Op]], None]) -> Partitioned:
    """The partitions with other ops in the function of one of them."""

    def changed(function: Function) -> Function:
        ops = list(function.region.ops)
        change(ops)
        return replace(function, region=Region(function.region.parameters, tuple(ops)))

    parts = [
        replace(part, function=changed(part.function)) if part.device == device else part
        for part in partitioned.partitions
    ]
    return replace(partitioned, partitions=tuple(parts))


def _number(ops: list[Op], name: str) -> int:
    return next(number for number, op in enumerate(ops) if op.name == name)


def _lose(name: str) -> Callable[[list[Op]], None]:
    return lambda ops: ops.pop(_number(ops, name)) and None


def _double(name: str) -> Callable[[list[Op]], None]:
    return lambda ops: ops.insert(_number(ops, name), ops[_number(ops, name)])


def _exchange(ops: list[Op]) -> None:
    """Each of two branches sends what the other one should."""
    (first, one), (second, other) = [(number, op) for number, op in enumerate(ops) if op.name == "if"]
    ops[first] = replace(one, regions=other.regions)
    ops[second] = replace(other, regions=one.regions)


STATIC_FAULTS = {
    "lost send": ("fork_join", "cpu:0", _lose("send"), "expected a send and a recv on channel 0"),
    "lost recv": ("order", "cpu:1", _lose("recv"), "expected a send and a recv on channel 0"),
    "doubled send": ("fork_join", "cpu:0", _double("send"), "expected one send on channel 0, got another one"),
    "doubled recv": ("order", "cpu:1", _double("recv"), "expected one recv on channel 0, got another one"),
    "exchanged": ("siblings", "cpu:0", _exchange, "expected both ends of channel 1 inside the same branches"),
    "lost meeting": ("commit", "cpu:1", _lose("meet"), r"expected partitions to meet equally often, got \[1, 2\]"),
}


@pytest.mark.parametrize("fault", STATIC_FAULTS)
def test_faults_are_seen_by_the_verifier(fault: str) -> None:
    name, device, change, message = STATIC_FAULTS[fault]
    with pytest.raises(CompilerBug, match=message):
        verify_partitioned(_changed(_program(name), device, change))


@pytest.mark.parametrize("fault", ["lost send", "lost recv", "doubled send"])
def test_faults_are_seen_when_partitions_run(fault: str) -> None:
    name, device, change, _ = STATIC_FAULTS[fault]
    arguments: list[Any] = [np.ones(3), np.float64(1.0), np.ones(3)][: 2 if name == "fork_join" else 3]
    with pytest.raises(CompilerBug, match=r"never came|expected every message to be taken"):
        run(_changed(_program(name), device, change), [0, 1], *arguments)


def test_a_token_that_is_awaited_too_late_shows() -> None:
    def late(ops: list[Op]) -> None:
        ops.insert(len(ops) - 2, ops.pop(_number(ops, "recv")))

    partitioned = _changed(_program("order"), "cpu:1", late)
    verify_partitioned(partitioned)
    u = np.zeros(3)
    with pytest.raises(ValueError, match="negative"):
        run(partitioned, [1, 0], u, np.float64(-1.0), -np.ones(3))
    assert u[0] != -1.0


def test_a_token_that_is_sent_too_early_shows() -> None:
    partitioned = _changed(_program("order"), "cpu:0", lambda ops: ops.insert(0, ops.pop(_number(ops, "send"))))
    u = np.zeros(3)
    with pytest.raises(ValueError, match="negative"):
        run(partitioned, [1, 0], u, np.float64(-1.0), -np.ones(3))
    assert u[0] != -1.0


# -- placements that cannot be


WRONG = {
    "two devices": (
        'func @f(%u: var f64[n], %x: f64) with {devices=["cpu:1"]} {\n store %u, %x {device="cpu:0"}\n yield\n}',
        "expected ops on storage on cpu:1, got cpu:0",
    ),
    "a branch of two devices": (
        """func @f(%u: var f64[n], %v: var f64[n], %c: bool) with {devices=["cpu:0", "cpu:1", ""]} {
          %0: place f64[n] = if %c () {\n yield %u\n } () {\n yield %v\n }
          %1: f64[n] = load %0 {device="cpu:0"}
          yield %1\n}""",
        "expected storage on one device, got cpu:0, cpu:1",
    ),
    "a call of Python": (
        'func @f(%x: f64) {\n print %x {message="{}", device="cpu:1"}\n yield\n}',
        "expected calls of Python on cpu:0, got cpu:1",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_placements_are_refused(case: str) -> None:
    text, message = WRONG[case]
    function = parse(text.replace('devices=["cpu:1"]', 'devices=["cpu:1", ""]'))
    with pytest.raises(CompilerBug, match=message):
        partition(function)
