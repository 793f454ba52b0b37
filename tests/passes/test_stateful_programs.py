"""Every pass keeps the meaning of random programs with variables, places and nested regions.

From `snapshot` on a load is a layout of memory. So what is behind it is also run with loads that show the variable
itself, and with stores that copy element by element, in order: a value that is read after its memory was written to
then shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from jitflow.ir.core import Attributes, Function, Op, Region
from jitflow.ir.equal import structurally_equal
from jitflow.ir.interpreter import interpret
from jitflow.ir.ops import OPS
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from jitflow.ir.types import Type
from jitflow.ir.verifier import verify
from jitflow.passes.pipeline import FUSION_PIPELINE, STORAGE_PIPELINE, run_passes
from tests.compare import assert_all_same, tolerance_of
from tests.execute import Compiled
from tests.passes.stateful_programs import stateful_program
from tests.special_numbers import arguments_for

PIPELINES = {
    "agree": ("agree",),
    "simplify": ("simplify",),
    "promote": ("promote",),
    "cse": ("cse",),
    "dce": ("dce",),
    "hoist": ("hoist",),
    "narrow": ("narrow",),
    "split": ("split",),
    "optimized": STORAGE_PIPELINE,
    "fuse": ("fuse",),
}
IN_MEMORY = {
    "snapshot": ("snapshot",),
    "fused": FUSION_PIPELINE,
    "all": (*STORAGE_PIPELINE, *FUSION_PIPELINE),
}


def _load_layout(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    return operands[0]


def _store_in_order(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    place, value = operands
    for index in np.ndindex(*place.shape):
        place[index] = value[index] if np.ndim(value) else value
    return ()


_IN_MEMORY = {
    "load": replace(OPS["load"], evaluate=_load_layout),
    "store": replace(OPS["store"], evaluate=_store_in_order),
}


def in_memory(function: Function) -> Function:
    """The function with loads that show the memory itself."""

    def region(before: Region) -> Region:
        return Region(before.parameters, tuple(map(op, before.ops)))

    def op(before: Op) -> Op:
        definition = _IN_MEMORY.get(before.name, before.definition)
        return replace(before, definition=definition, regions=tuple(map(region, before.regions)))

    return replace(function, region=region(function.region))


Run = Callable[..., Any]


def assert_same(first: Run, second: Run, function: Function, seed: int) -> None:
    """Both give the same results, or raise the same, and leave the same in the arguments that they write to."""
    random = np.random.default_rng(seed)
    for _ in range(3):
        arguments = arguments_for(function, random, smallest=3, equal=("n", "k"))
        copies = [np.array(value) if isinstance(value, np.ndarray) else value for value in arguments]
        expected, actual = _outcome(first, arguments), _outcome(second, copies)
        assert isinstance(actual, type(expected)), f"expected {expected!r}, got {actual!r}"
        if isinstance(expected, Exception):
            assert str(expected) == str(actual)
        else:
            assert_all_same(actual, expected, tolerance_of(function))
        assert_all_same(copies, arguments)


def _outcome(run: Run, arguments: Sequence[Any]) -> Any:
    try:
        return run(*arguments)
    except ValueError as error:
        return error


def assert_same_meaning(before: Function, after: Function, seed: int) -> None:
    assert_same(partial(interpret, before), partial(interpret, after), before, seed)


def _check(seed: int, names: tuple[str, ...], memory: bool) -> None:
    before = after = stateful_program(seed)
    verify(before)
    for name in names:
        after = run_passes(after, (name,))
        verify(after, name)
    assert_same_meaning(before, after, seed)
    if memory:
        assert_same_meaning(before, in_memory(after), seed)


@pytest.mark.parametrize("pipeline", [*PIPELINES, *IN_MEMORY])
def test_passes_keep_the_meaning(pipeline: str) -> None:
    for seed in range(20):
        try:
            _check(seed, {**PIPELINES, **IN_MEMORY}[pipeline], pipeline in IN_MEMORY)
        except Exception as error:
            error.add_note(f"seed {seed}:\n{stateful_program(seed)}")
            raise


@pytest.mark.stress
@pytest.mark.parametrize("block", range(40))
def test_passes_keep_the_meaning_of_many_programs(block: int) -> None:
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        for pipeline, names in {**PIPELINES, **IN_MEMORY}.items():
            try:
                _check(seed, names, pipeline in IN_MEMORY)
            except Exception as error:
                error.add_note(f"seed {seed}, {pipeline}:\n{stateful_program(seed)}")
                raise


def _compiled_agrees(seed: int) -> None:
    function = stateful_program(seed)
    assert_same(partial(interpret, function), _optimized(function), function, seed)


def _optimized(function: Function) -> Compiled:
    return Compiled(run_passes(function, STORAGE_PIPELINE))


def test_compiled_programs_agree() -> None:
    for seed in range(20, 30):
        _compiled_agrees(seed)


@pytest.mark.stress
@pytest.mark.parametrize("block", range(40))
def test_many_compiled_programs_agree(block: int) -> None:
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        _compiled_agrees(seed)


def test_without_snapshot_the_memory_shows() -> None:
    """The programs need the copies: without them some give other results."""
    differing = 0
    for seed in range(60):
        before = stateful_program(seed)
        try:
            assert_same_meaning(before, in_memory(before), seed)
        except AssertionError:
            differing += 1
    assert differing > 20


def test_random_programs_round_trip() -> None:
    for seed in range(40):
        function = stateful_program(seed)
        assert structurally_equal(parse(print_function(function)), function)
