"""Every pass keeps the meaning of random programs with tapes, and so does what they are compiled to."""

from __future__ import annotations

from functools import partial

import pytest

from jitflow.ir.equal import structurally_equal
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from jitflow.ir.verifier import verify
from jitflow.passes.pipeline import FUSION_PIPELINE, STORAGE_PIPELINE, run_passes
from jitflow.runtime.native.pool import memory_stats
from tests.execute import Compiled
from tests.passes.tape_programs import tape_program
from tests.passes.test_stateful_programs import assert_same, assert_same_meaning, in_memory

PASSES = (*STORAGE_PIPELINE, *FUSION_PIPELINE)


def _passes_agree(seed: int) -> None:
    before = after = tape_program(seed)
    verify(before)
    for name in PASSES:
        after = run_passes(after, (name,))
        verify(after, name)
    assert_same_meaning(before, after, seed)
    assert_same_meaning(before, in_memory(after), seed)


def _compiled_agrees(seed: int) -> None:
    function = tape_program(seed)
    code = Compiled(run_passes(function, STORAGE_PIPELINE) if seed % 2 else function)
    verify(code.lowered.host)
    verify(code.expanded)
    in_use = memory_stats()["bytes_in_use"]
    assert_same(partial(interpret, function), code, function, seed)
    assert memory_stats()["bytes_in_use"] == in_use, "memory was not given back"


def _with_program(check: object, seed: int) -> None:
    try:
        check(seed)  # type: ignore[operator]
    except Exception as error:
        error.add_note(f"seed {seed}:\n{tape_program(seed)}")
        raise


def test_passes_keep_the_meaning() -> None:
    for seed in range(20):
        _with_program(_passes_agree, seed)


def test_compiled_programs_agree() -> None:
    for seed in range(28, 40):
        _with_program(_compiled_agrees, seed)


@pytest.mark.stress
@pytest.mark.parametrize("block", range(40))
def test_many_programs_agree(block: int) -> None:
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        _with_program(_passes_agree, seed)
        _with_program(_compiled_agrees, seed)


def test_random_programs_round_trip() -> None:
    for seed in range(40):
        function = tape_program(seed)
        assert structurally_equal(parse(print_function(function)), function)
