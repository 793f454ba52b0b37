"""Calls over devices of which one is a GPU that fail, as `test_failures` has them for devices of the CPU.

The driver has no memory, or what it is asked for ends with an error. Whatever it is: the exception says so, variables
are as they were wherever they live, nothing of the GPU's memory is lost, its streams are done with what they were given
and the next call gives what it should.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import config
from jitflow.machines import hardware
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import OnDevice
from tests.backends.cuda.stand_in import ILLEGAL_ADDRESS, OUT_OF_MEMORY, DeviceArray, StandIn
from tests.devices import test_failures as on_cpus
from tests.devices.test_failures import Subject, injure, judge_as_python, judge_from_outside, watched

__all__ = ["watched"]

pytestmark = [needs_nvrtc, on_cpus.pytestmark]


@pytest.fixture(autouse=True)
def two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "CONFIG", replace(config.CONFIG, cpu_devices=2))


DEVICES = [("cpu:0", "cuda:0"), ("cpu:0", "cpu:1", "cuda:0"), ("cuda:0",)]
"""What programs are spread over."""
ASKED = ("cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize", "cuLaunchKernel", "cuStreamWaitEvent",
         "cuEventRecord")  # fmt: skip
"""What the driver may refuse beside memory."""


class GpuSubject(Subject):
    """A program of which a GPU has a part; some of its arrays live there."""

    def __init__(self, seed: int, there: StandIn) -> None:
        random = Random(seed)
        self.there = there
        self.live = {name for name in ("x", "y", "a", "b") if random.random() < 0.3}
        super().__init__(seed, random.choice(DEVICES))

    def call(self, arguments: list[Any]) -> Any:
        """What lives on the GPU comes back as a copy of what is there."""
        places = [place for place, name in enumerate(self.program.parameters) if name in self.live]
        given = list(arguments)
        for place in places:
            given[place] = self.there.array(arguments[place])
        try:
            found = self.compiled(*given)
            return tuple(np.array(item.content()) if isinstance(item, DeviceArray) else item for item in found)
        finally:
            for place in places:
                arguments[place][...] = given[place].content()
                self.there.blocks.pop(given[place].address >> 40)
                self.there.given.remove(given[place].address)

    @contextmanager
    def refusing(self, name: str, number: int, code: int, times: int = 1) -> Iterator[None]:
        """The driver gives a code at calls of a function, from the one with a number on."""
        self.there.refuse(name, number, code, times)
        try:
            yield
        finally:
            self.there.recover()

    def asked(self, inputs: dict[str, Any]) -> Counter[str]:
        """How often a call asks the driver for what."""
        counts: Counter[str] = Counter()

        @contextmanager
        def counting() -> Iterator[None]:
            before = self.there.counts.copy()
            yield
            counts.update(self.there.counts - before)

        self.run(inputs, counting())
        return counts


def no_memory_there(subject: GpuSubject, random: Random) -> None:
    """The driver has none, even when what is kept for later is given back."""
    inputs = subject.program.inputs({}, 99, 1)
    expected, number = subject.expect(inputs), subject.asked(inputs)["cuMemAllocAsync"]
    if not number:
        return
    chosen = random.randrange(number)
    got = subject.run(inputs, subject.refusing("cuMemAllocAsync", chosen, OUT_OF_MEMORY, 2))
    assert got.error is not None
    judge_from_outside(subject, inputs, got, expected, MemoryError)


def no_memory_for_once(subject: GpuSubject, random: Random) -> None:
    """The driver has memory again when what is kept for later is given back."""
    inputs = subject.program.inputs({}, 99, 1)
    expected, number = subject.expect(inputs), subject.asked(inputs)["cuMemAllocAsync"]
    if number:
        around = subject.refusing("cuMemAllocAsync", random.randrange(number), OUT_OF_MEMORY)
        judge_as_python(subject, inputs, subject.run(inputs, around), expected)


def driver_refuses(subject: GpuSubject, random: Random) -> None:
    """What the driver is asked for ends with an error.

    Behind the last op of the program that may fail, stores to variables are asked for: a driver that refuses one of
    those has lost what it holds anyway.
    """
    inputs = subject.program.inputs({}, 99, 1)
    expected, asked = subject.expect(inputs), subject.asked(inputs)
    names = [name for name in ASKED if asked[name]]
    if not names:
        return
    name = random.choice(names)
    got = subject.run(inputs, subject.refusing(name, random.randrange(asked[name]), ILLEGAL_ADDRESS))
    assert isinstance(got.error, RuntimeError), f"expected RuntimeError, got {got.error!r}"
    assert "error 700 of the GPU's driver: an illegal memory access was encountered" in str(got.error)
    if got.told == expected.told:
        got.left |= {name: inputs[name] for name in subject.program.variables}
    judge_from_outside(subject, inputs, got, expected, RuntimeError)


INJURIES: list[Any] = [
    on_cpus.check_fails, on_cpus.callback_raises, no_memory_there, driver_refuses, on_cpus.no_memory,
    on_cpus.no_message, no_memory_for_once, on_cpus.no_thread, no_memory_there, on_cpus.beside(on_cpus.check_fails),
]  # fmt: skip


@contextmanager
def a_gpu() -> Iterator[StandIn]:
    """What stands for one."""
    code = OnDevice(lambda x: x + 1, np.ones(1), device=None)
    with code.installed():
        yield code.device


def injure_there(seed: int, kinds: list[Any], runs: int, watch: Callable[[], None]) -> None:
    with a_gpu() as there:

        def blocks() -> int:
            return len(there.blocks) - len(there.given)

        def nothing_is_lost() -> None:
            there.finish()
            assert blocks() == used
            assert not any(there.streams.values())

        subject = GpuSubject(seed, there)
        gc.collect()
        there.finish()
        used = blocks()
        injure(subject, kinds, runs, watch, nothing_is_lost)
        del subject
        gc.collect()
        there.finish()
        assert blocks() == 0
        assert not there.events


def sent(w: Any, u: Any, x: Any) -> Any:
    """Stores to two variables; the value of one of them comes from elsewhere."""
    with jitflow.device("cuda:0"):
        w += x
        y = x * 2
    with jitflow.device("cpu:0"):
        z = np.sort(x)
        z[1:] += 1
    with jitflow.device("cuda:0"):
        u += z
    return y, z


def test_wherever_memory_ends_nothing_is_written_and_nothing_lost() -> None:
    x, start = np.arange(5.0), np.ones(5)
    with a_gpu() as there:
        w, u = (jitflow.Variable(start, device="cuda:0") for _ in range(2))
        function = jitflow.function(sent)
        function(w, u, x)
        before = there.counts.copy()
        function(w, u, x)
        asked = there.counts - before
        failures = [("cuMemAllocAsync", OUT_OF_MEMORY, 2), ("cuMemcpyDtoHAsync_v2", ILLEGAL_ADDRESS, 1)]
        for name, code, times in failures:
            assert asked[name]
            for number in range(asked[name]):
                w.assign(start)
                u.assign(start)
                there.refuse(name, number, code, times)
                with pytest.raises((MemoryError, RuntimeError)):
                    function(w, u, x)
                there.recover()
                there.finish()
                assert len(there.blocks) == 2
                if code == OUT_OF_MEMORY:
                    np.testing.assert_array_equal([w, u], [start, start])


@pytest.mark.parametrize("seed", [1, 7, 9])
def test_calls_that_fail(seed: int, watched: Callable[[], None]) -> None:
    injure_there(seed, INJURIES, len(INJURIES), watched)


@pytest.mark.stress
@pytest.mark.parametrize("block", range(10))
def test_many_calls_that_fail(block: int, watched: Callable[[], None]) -> None:
    for seed in range(1000 + 10 * block, 1010 + 10 * block):
        injure_there(seed, INJURIES, len(INJURIES), watched)
