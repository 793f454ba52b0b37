"""Random programs whose variables outlive them: what raises changes none of these, what does not keeps its meaning."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.ir.core import Function
from jitflow.ir.interpreter import interpret
from jitflow.ir.types import Variable
from jitflow.ir.verifier import verify
from jitflow.passes.pipeline import FUSION_PIPELINE, LASTING_PIPELINE, run_passes
from jitflow.runtime.native.pool import pool
from jitflow.runtime.parallel.threads import num_threads
from tests.compare import assert_all_same, tolerance_of
from tests.execute import Compiled
from tests.passes.stateful_programs import stateful_program
from tests.passes.test_stateful_programs import Run, in_memory
from tests.special_numbers import arguments_for

PIPELINES = {"commit": ("commit",), "optimized": LASTING_PIPELINE, "all": (*LASTING_PIPELINE, *FUSION_PIPELINE)}


def lasting_program(seed: int) -> Function:
    """A random program whose parameters outlive it where they are variables."""
    function = stateful_program(seed)
    positions = [place for place, value in enumerate(function.parameters) if isinstance(value.type, Variable)]
    return replace(function, attributes=MappingProxyType({"variables": tuple(positions)}))


def assert_all_or_nothing(function: Function, run: Run, seed: int) -> int:
    """``run`` does what the function does, or raises as that does and changes nothing; returns how often it raised."""
    random, raised = np.random.default_rng(seed), 0
    for _ in range(3):
        arguments = arguments_for(function, random, smallest=3, equal=("n", "k"))
        before, copies = (
            [np.array(value) if isinstance(value, np.ndarray) else value for value in arguments] for _ in range(2)
        )
        try:
            expected = interpret(function, *arguments)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)):
                run(*copies)
            assert_all_same(copies, before)
            raised += 1
        else:
            assert_all_same(run(*copies), expected, tolerance_of(function))
            assert_all_same(copies, arguments)
    return raised


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_all_or_nothing(pipeline: str) -> None:
    raised = 0
    for seed in range(20):
        before = after = lasting_program(seed)
        for name in PIPELINES[pipeline]:
            after = run_passes(after, (name,))
            verify(after, name)
        memory = in_memory(after) if pipeline == "all" else after
        raised += assert_all_or_nothing(before, partial(interpret, memory), seed)
    assert raised > 5


def test_compiled_programs() -> None:
    for seed in range(40, 50):
        function = lasting_program(seed)
        assert_all_or_nothing(function, Compiled(run_passes(function, LASTING_PIPELINE)), seed)


@pytest.mark.stress
@pytest.mark.parametrize("block", range(40))
def test_many_programs(block: int) -> None:
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        function = lasting_program(seed)
        optimized = run_passes(function, LASTING_PIPELINE)
        assert_all_or_nothing(function, partial(interpret, optimized), seed)
        assert_all_or_nothing(function, Compiled(optimized), seed)


class FailingMemory:
    """Stands between a compiled program and the pool: the allocation with the number ``fails`` gives nothing."""

    def __init__(self, code: Compiled) -> None:
        self.calls, self.fails = 0, -1
        prototype = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)
        real = prototype(pool().allocate_address)

        def allocate(size: int) -> int | None:
            self.calls += 1
            return None if self.calls - 1 == self.fails else real(size)

        self.function = prototype(allocate)
        code.specialisation.context[0] = ctypes.cast(self.function, ctypes.c_void_p).value


def test_for_want_of_memory() -> None:
    failed = 0
    for seed in range(60, 72):
        function = lasting_program(seed)
        code = Compiled(run_passes(function, LASTING_PIPELINE))
        memory = FailingMemory(code)
        arguments = arguments_for(function, np.random.default_rng(seed), smallest=3, equal=("n", "k"))
        while True:
            memory.calls, memory.fails = 0, memory.fails + 1
            copies = [np.array(value) if isinstance(value, np.ndarray) else value for value in arguments]
            try:
                code(*copies)
            except MemoryError:
                failed += 1
                assert_all_same(copies, arguments)
            except ValueError:
                break
            if memory.calls <= memory.fails:
                break
    assert failed > 12


def test_threads_share_attention_behind_a_write() -> None:
    """There nothing may fail any more, so the turns of the shared loop have no place for what their kernels report."""
    calls, attended = jitflow.Variable(np.int64(0)), jitflow.Variable(np.zeros((8, 64, 32), np.float32))

    def attention(x: Any) -> Any:
        scores = x @ np.swapaxes(x, -1, -2)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        return (powers / powers.sum(-1, keepdims=True)) @ x

    @jitflow.function
    def step(x: Any) -> None:
        calls.assign(calls + 1)
        attended.assign(attention(x))

    x, before = np.random.default_rng(0).standard_normal((8, 64, 32), np.float32), num_threads()
    try:
        jitflow.set_num_threads(2)
        step(x)
    finally:
        jitflow.set_num_threads(before)
    np.testing.assert_allclose(attended.numpy(), attention(x), rtol=1e-5)
    assert calls.numpy() == 1
