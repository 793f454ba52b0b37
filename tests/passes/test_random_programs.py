"""Every pass, and the pipeline, keeps the meaning of random programs; none leaves IR that does not verify."""

from __future__ import annotations

import pytest

from jitflow.ir.core import Function
from jitflow.ir.equal import structurally_equal
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from jitflow.ir.verifier import verify
from jitflow.passes.pipeline import run_passes
from tests.passes.random_programs import random_program
from tests.passes.test_golden import assert_same_meaning

PIPELINES = {
    "simplify": ("simplify",),
    "fold": ("fold",),
    "cse": ("cse",),
    "dce": ("dce",),
    "narrow": ("narrow",),
    "all": ("simplify", "cse", "dce", "simplify", "cse", "dce"),
}


def _check(seed: int, names: tuple[str, ...]) -> None:
    before = random_program(seed)
    verify(before)
    after: Function = before
    for name in names:
        after = run_passes(after, (name,))
        verify(after, name)
    assert_same_meaning(before, after, rounds=2)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_passes_keep_the_meaning(pipeline: str) -> None:
    for seed in range(40):
        try:
            _check(seed, PIPELINES[pipeline])
        except Exception as error:
            error.add_note(f"seed {seed}:\n{random_program(seed)}")
            raise


@pytest.mark.stress
@pytest.mark.parametrize("block", range(40))
def test_passes_keep_the_meaning_of_many_programs(block: int) -> None:
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        try:
            _check(seed, PIPELINES["all"])
        except Exception as error:
            error.add_note(f"seed {seed}:\n{random_program(seed)}")
            raise


def test_random_programs_round_trip() -> None:
    for seed in range(40):
        function = random_program(seed)
        assert structurally_equal(parse(print_function(function)), function)
