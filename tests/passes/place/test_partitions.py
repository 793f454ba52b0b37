"""What is placed can be cut into partitions, which do what the whole does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from jitflow.ir.core import Function, Op, Region
from jitflow.ir.interpreter import interpret
from jitflow.machines.machine import Link, as_machine
from jitflow.passes.partition import Partitioned, interpret_partitioned, partition, verify_partitioned
from jitflow.passes.pipeline import STORAGE_PIPELINE, run_passes
from jitflow.passes.place import Decision, decide, placed
from tests.passes.in_turns import InTurns
from tests.passes.random_programs import random_program
from tests.passes.stateful_programs import stateful_program
from tests.passes.tape_programs import tape_program
from tests.passes.test_stateful_programs import assert_same

MAKERS: dict[str, Callable[[int], Function]] = {
    "tensors": random_program,
    "storage": stateful_program,
    "tapes": tape_program,
}
EAGER = replace(as_machine("3*cpu"), links=(("cpu", "cpu", Link(0.0, 1e18)),))
"""A machine on which nothing is too small to be somewhere else."""


def with_scopes(function: Function, random: Random) -> Function:
    """A few ops in scopes: only those without storage, which may not be torn."""

    def region(old: Region) -> Region:
        return Region(old.parameters, tuple(map(scoped, old.ops)))

    def scoped(op: Op) -> Op:
        wanted = f"cpu:{random.randrange(3)}" if "elementwise" in op.definition.traits and random.random() < 0.3 else ""
        return replace(op, loc=replace(op.loc, device=wanted), regions=tuple(map(region, op.regions)))

    return replace(function, region=region(function.region))


def shuffled(decision: Decision, random: Random) -> Decision:
    """The same tasks anywhere."""
    plan = list(decision.plan)
    for unit in decision.graph.units:
        device = random.randrange(len(decision.graph.machine.devices))
        for task in unit:
            plan[task.number] = device
    return replace(decision, plan=tuple(plan))


def run(parts: Partitioned, order: list[int], *arguments: Any) -> Any:
    return interpret_partitioned(parts, *arguments, channels=InTurns(order, 1))


def check(seed: int, maker: Callable[[int], Function]) -> int:
    """How many partitions were needed."""
    random, most = Random(seed), 0
    for prepare in (lambda function: function, lambda function: run_passes(function, STORAGE_PIPELINE)):
        function = with_scopes(prepare(maker(seed)), random)
        decision = decide(function, EAGER)
        for one in (decision, shuffled(decision, random)):
            parts = partition(placed(one))
            verify_partitioned(parts)
            order = random.sample(range(len(parts.partitions)), len(parts.partitions))
            assert_same(partial(interpret, function), partial(run, parts, order), function, seed)
            most = max(most, len(order))
    return most


@pytest.mark.parametrize("kind", MAKERS)
def test_placed_programs_mean_what_they_meant(kind: str) -> None:
    assert max(check(seed, MAKERS[kind]) for seed in range(4)) > 1


@pytest.mark.stress
@pytest.mark.parametrize("block", range(20))
@pytest.mark.parametrize("kind", MAKERS)
def test_many_placed_programs_mean_what_they_meant(kind: str, block: int) -> None:
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        check(seed, MAKERS[kind])
