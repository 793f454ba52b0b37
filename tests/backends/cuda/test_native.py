"""Whole programs for a GPU against the reference interpreter: native host programs, and kernels as PTX."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from benchmarks.measure import disagreement
from benchmarks.workloads import WORKLOADS
from jitflow.api import function as compiled_function
from jitflow.ir.core import Function
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.passes.pipeline import STORAGE_PIPELINE, run_passes
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import Native
from tests.compare import assert_all_same, tolerance_of
from tests.execute import layouts_of
from tests.passes.programs import PROGRAMS
from tests.passes.random_programs import random_program
from tests.passes.stateful_programs import stateful_program
from tests.passes.test_lowering import agree, arguments_for, in_turn
from tests.sampled import sampled
from tests.special_numbers import arguments_for as arguments_of

SIZES = {
    "C": ((3, 5, 4), (7, 33, 2), (2, 70, 3), (40, 2, 3), (0, 3, 2), (3, 0, 2)),
    "F": ((7, 33, 2),),
    "strided": ((7, 33, 2),),
    "reversed": ((3, 40, 4),),
}


@needs_nvrtc
@pytest.mark.parametrize(("name", "layout"), sampled(in_turn(sorted(PROGRAMS)), 3))
def test_programs_agree_with_the_interpreter(name: str, layout: str) -> None:
    function = parse(PROGRAMS[name])
    compiled: dict[tuple[str, ...], Native] = {}
    for sizes in SIZES[layout]:
        arguments: list[Any] = arguments_for(function, sizes, layout)
        classes = layouts_of(arguments)
        if classes not in compiled:
            compiled[classes] = Native(function, arguments)
        try:
            expected = interpret(function, *arguments)
        except (ValueError, IndexError) as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                compiled[classes](*arguments)
            continue
        for got, want in zip(compiled[classes](*arguments), expected, strict=True):
            agree(got, want)


@needs_nvrtc
@pytest.mark.parametrize("name", sampled(WORKLOADS, 3))
def test_workloads_agree_with_numpy(name: str) -> None:
    workload = WORKLOADS[name]
    inputs = workload.make_inputs(np.random.default_rng(1), True)
    expected = workload.function(*inputs)
    got = Native(parse(compiled_function(workload.function).ir(*inputs, stage="optimized")), inputs)(*inputs)
    assert disagreement(workload, got if isinstance(expected, tuple) else got[0], expected) == ""


@needs_nvrtc
def test_long_rows_take_several_blocks_of_a_sum() -> None:
    x = np.random.default_rng(0).standard_normal((3, 2500)).astype("f4")
    (total,) = Native(parse(PROGRAMS["add_1"]))(x)
    agree(total, x.sum(1, dtype="f8").astype("f4"))


def _agrees(before: Function, after: Function, seed: int) -> None:
    """What a random program gives on a GPU, raises there, and leaves in its arguments."""
    random, compiled = np.random.default_rng(seed), Native(after)
    for _ in range(2):
        arguments = arguments_of(before, random, smallest=3, equal=("n", "k"))
        copies = [np.array(value) if isinstance(value, np.ndarray) else value for value in arguments]
        try:
            expected = interpret(before, *arguments)
        except ValueError as error:
            with pytest.raises(ValueError, match=re.escape(str(error))):
                compiled(*copies)
        else:
            assert_all_same(compiled(*copies), expected, tolerance_of(before))
        assert_all_same(copies, arguments, tolerance_of(before))


def _block_agrees(seeds: range) -> None:
    for seed in seeds:
        for before, passes in ((random_program(seed), ()), (stateful_program(seed), STORAGE_PIPELINE)):
            try:
                _agrees(before, run_passes(before, passes), seed)
            except Exception as error:
                error.add_note(f"seed {seed}:\n{before}")
                raise


@needs_nvrtc
def test_random_programs_agree_with_the_interpreter() -> None:
    _block_agrees(range(3))
    _block_agrees(range(153, 154))  # a loop in which arrays flow


@needs_nvrtc
@pytest.mark.stress
@pytest.mark.parametrize("block", range(20))
def test_many_random_programs_agree_with_the_interpreter(block: int) -> None:
    _block_agrees(range(1000 + 20 * block, 1020 + 20 * block))
