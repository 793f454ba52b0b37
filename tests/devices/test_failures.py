"""Calls over several devices that fail: with the right exception, and everything is as if nothing else had happened.

Whatever goes wrong, whenever it does: variables are as they were, arguments show what was stored before, no thread is
stuck or lost, no memory and no message is left, no lock is held, and the next call gives what it should.

What the program itself comes to, a check or what a callback raises, is judged by Python, to the last store. What comes
from outside, no memory, Ctrl-C, no thread, comes between two statements: each argument is as Python's was at some time,
and callbacks were called up to some place.
"""

from __future__ import annotations

import copy
import faulthandler
import gc
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import config
from jitflow.machines import hardware
from jitflow.runtime.native.pool import memory_stats
from jitflow.runtime.parallel.devices import workers_started
from tests.devices import injuries
from tests.devices.random_programs import RandomProgram

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no POSIX threads")

FOR_EVER = 10**13
PATIENCE = 60
"""Seconds after which a run counts as stuck: then the process ends, with what each thread is at."""


@pytest.fixture(autouse=True)
def three_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "CONFIG", replace(config.CONFIG, cpu_devices=3))


class CallbackError(Exception):
    """What callbacks raise."""


@dataclass
class Outcome:
    """What a run came to, and what it left in its arguments."""

    result: Any = None
    error: BaseException | None = None
    told: list[tuple[Any, ...]] = field(default_factory=list)
    left: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    history: dict[str, list[bytes]] = field(default_factory=dict)
    """What each argument was behind each statement."""


class Subject:
    """A program over some devices, compiled and by Python."""

    def __init__(self, seed: int, devices: Sequence[str] = ("cpu:0", "cpu:1", "cpu:2"), *, slow: bool = False) -> None:
        self.program = RandomProgram(seed, devices, slow=slow)
        self.heard = threading.local()
        self.raises_at = -1
        self.inputs = self.program.inputs({}, 99, 1)
        self.compiled = jitflow.function(self.program.function(jitflow.callback(self._tell)))
        self.shared = self.variables()
        self.run(self.inputs)
        for specialisation in self.compiled._specialisations:
            injuries.wound(specialisation)
        self.run(self.inputs)

    def _tell(self, *given: Any) -> None:
        told = self.heard.told
        if len(told) == self.raises_at:
            raise CallbackError(f"told {given}")
        told.append(given)

    def call(self, arguments: list[Any]) -> Any:
        """Call the compiled program."""
        return self.compiled(*arguments)

    def variables(self) -> dict[str, jitflow.Variable]:
        return {name: jitflow.Variable(self.inputs[name], device=at) for name, at in self.program.variables.items()}

    def run(
        self,
        inputs: dict[str, Any],
        around: AbstractContextManager[None] | None = None,
        variables: dict[str, jitflow.Variable] | None = None,
    ) -> Outcome:
        """Call the compiled program, which starts with the variables as the inputs have them."""
        given, outcome = copy.deepcopy(inputs), Outcome()
        variables = variables or self.shared
        for name, variable in variables.items():
            variable.assign(given[name])
        self.heard.told = outcome.told
        arguments = [variables.get(name, given[name]) for name in self.program.parameters]
        try:
            with around or nullcontext():
                outcome.result = self.call(arguments)
        except BaseException as error:
            outcome.error = error.with_traceback(None)
        outcome.left = {**given, **{name: variable.numpy() for name, variable in variables.items()}}
        return outcome

    def expect(self, inputs: dict[str, Any]) -> Outcome:
        """What Python comes to."""
        given, outcome = copy.deepcopy(inputs), Outcome()
        arrays = [*self.program.variables, *self.program.arguments]
        history: dict[str, list[bytes]] = {name: [given[name].tobytes()] for name in arrays}

        def note() -> None:
            for name, seen in history.items():
                seen.append(given[name].tobytes())

        self.heard.told = outcome.told
        try:
            outcome.result = self.program.function(self._tell, note)(**given)
        except Exception as error:
            outcome.error = error
        note()
        outcome.left, outcome.history = given, history
        return outcome


# -- judging ---------------------------------------------------------------------------------------


def assert_equal(got: Any, expected: Any) -> None:
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def judge_as_python(subject: Subject, inputs: dict[str, Any], got: Outcome, expected: Outcome) -> None:
    """The same result or error, after the same stores and callbacks; variables are as they were before an error."""
    if expected.error is None:
        assert got.error is None, f"expected no error, got {got.error!r}"
        assert_equal(got.result, expected.result)
    else:
        assert isinstance(got.error, type(expected.error)), f"expected {expected.error!r}, got {got.error!r}"
        assert str(got.error) == str(expected.error)
    assert got.told == expected.told
    for name in subject.program.variables:
        wanted = expected.left if expected.error is None else inputs
        np.testing.assert_array_equal(got.left[name], wanted[name], err_msg=name)
    for name in subject.program.arguments:
        np.testing.assert_array_equal(got.left[name], expected.left[name], err_msg=name)


def judge_from_outside(
    subject: Subject, inputs: dict[str, Any], got: Outcome, expected: Outcome, kind: type[BaseException]
) -> None:
    """Either all is done, or the error is the one from outside, and what is left is from some time in between."""
    program = subject.program
    if got.error is None:
        judge_as_python(subject, inputs, got, expected)
        return
    assert isinstance(got.error, kind), f"expected {kind.__name__}, got {got.error!r}"
    assert got.told == expected.told[: len(got.told)]
    before = all(np.array_equal(got.left[name], inputs[name]) for name in program.variables)
    after = all(np.array_equal(got.left[name], expected.left[name]) for name in program.variables)
    # Python raises what has come in the very moment in which the call returns.
    assert before or (after and not issubclass(kind, Exception)), "expected variables as they were"
    for name in program.arguments:
        assert got.left[name].tobytes() in expected.history[name], f"expected {name} as it was at some time"


# -- injuring --------------------------------------------------------------------------------------

Injury = Callable[[Subject, Random], None]


def check_fails(subject: Subject, random: Random) -> None:
    """One or two checks fail, in some turn."""
    checks = subject.program.checks
    chosen = random.sample(sorted(checks), min(len(checks), random.choice([1, 2])))
    codes = {check: random.randint(1, checks[check]) for check in chosen}
    inputs = subject.program.inputs(codes, random.choice([98, 99, *chosen]), 1)
    expected = subject.expect(inputs)
    judge_as_python(subject, inputs, subject.run(inputs), expected)


def callback_raises(subject: Subject, random: Random) -> None:
    """One of the calls of callbacks raises; perhaps a check fails as well."""
    inputs = subject.program.inputs({}, 99, 1)
    calls = len(subject.expect(inputs).told)
    subject.raises_at = random.randrange(calls) if calls else 0
    if subject.program.checks and random.random() < 0.3:
        inputs = subject.program.inputs({random.choice(sorted(subject.program.checks)): 1}, 99, 1)
    try:
        expected = subject.expect(inputs)
        judge_as_python(subject, inputs, subject.run(inputs), expected)
    finally:
        subject.raises_at = -1


def no_memory(subject: Subject, random: Random) -> None:
    """The system has none for an array, a message, or the call itself."""
    inputs, counter = subject.program.inputs({}, 99, 1), injuries.allocations()
    expected = subject.expect(inputs)
    subject.run(inputs, counter.refusing(-1))
    calls = counter.count
    got = subject.run(inputs, counter.refusing(random.randrange(calls) if calls else 0))
    judge_from_outside(subject, inputs, got, expected, MemoryError)


def no_message(subject: Subject, random: Random) -> None:
    """There is no memory for messages, from some moment on: senders wait for each other, whatever else fails."""
    checks, counter = subject.program.checks, injuries.messages()
    failing = [random.choice(sorted(checks))] if checks and random.random() < 0.5 else []
    inputs = subject.program.inputs({check: random.randint(1, checks[check]) for check in failing}, 99, 1)
    expected = subject.expect(inputs)
    subject.run(inputs, counter.refusing(-1))
    calls = counter.count
    got = subject.run(inputs, counter.refusing(random.randrange(calls) if calls else 0))
    judge_as_python(subject, inputs, got, expected)


def no_thread(subject: Subject, random: Random) -> None:
    """There is no thread for a device, if the program needs one."""
    inputs = subject.program.inputs({}, 99, 1)
    expected = subject.expect(inputs)
    got = subject.run(inputs, injuries.no_more_threads())
    if not any(one.plan.releases_gil_bytes == -1 for one in subject.compiled._specialisations):  # all is on one GPU
        judge_as_python(subject, inputs, got, expected)
        return
    assert isinstance(got.error, RuntimeError)
    assert str(got.error) == "can't start new thread"
    for name in (*subject.program.variables, *subject.program.arguments):
        np.testing.assert_array_equal(got.left[name], inputs[name])
    assert got.told == []


def signalled(subject: Subject, random: Random) -> None:
    """Ctrl-C comes some time."""
    _stopped(subject, random, injuries.interrupted_after, injuries.Interrupted)


def cancelled(subject: Subject, random: Random) -> None:
    """A thread is told to stop."""
    elsewhere(lambda: _stopped(subject, random, injuries.cancelled_after, injuries.Cancelled))


def _stopped(
    subject: Subject, random: Random, after: Callable[[float], AbstractContextManager[None]], kind: type[BaseException]
) -> None:
    inputs = subject.program.inputs({}, 99, 1)
    expected = subject.expect(inputs)
    seconds = random.random() ** 2 * (0.3 if subject.program.slow else 0.003)
    long = subject.program.inputs({}, 99, random.choice([1_000_000, FOR_EVER]) if subject.program.slow else 1)
    judge_from_outside(subject, inputs, subject.run(long, after(seconds)), expected, kind)


def beside(injury: Injury) -> Injury:
    """While something else calls the function as well, which must not notice."""

    def injure_one(subject: Subject, random: Random) -> None:
        inputs, variables, outcomes = subject.inputs, subject.variables(), list[Outcome]()
        expected, over = subject.expect(inputs), threading.Event()

        def call() -> None:
            while not over.is_set():
                outcomes.append(subject.run(inputs, variables=variables))

        thread = threading.Thread(target=call)
        thread.start()
        try:
            for _ in range(3):
                injury(subject, random)
        finally:
            over.set()
            thread.join()
        for outcome in outcomes:
            judge_as_python(subject, inputs, outcome, expected)

    injure_one.__name__ = f"{injury.__name__} beside another call"
    return injure_one


INJURIES: list[Injury] = [check_fails, callback_raises, no_memory, no_message, no_thread, signalled, cancelled,
                          *map(beside, (check_fails, no_message, signalled, cancelled))]  # fmt: skip


def elsewhere(work: Callable[[], None]) -> None:
    """Work in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


# -- campaigns -------------------------------------------------------------------------------------


def check_call(subject: Subject) -> None:
    """A call from another thread, at once, and one from this: both give what they should."""
    expected = subject.expect(subject.inputs)

    def check() -> None:
        judge_as_python(subject, subject.inputs, subject.run(subject.inputs), expected)

    elsewhere(check)
    check()


@pytest.fixture
def watched() -> Iterator[Callable[[], None]]:
    """Starts the clock anew when it is called. Where something is stuck, the process ends."""

    def watch() -> None:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)

    watch()
    yield watch
    faulthandler.cancel_dump_traceback_later()


def injure(
    subject: Subject, kinds: list[Injury], runs: int, watch: Callable[[], None],
    check: Callable[[], None] = lambda: None,
) -> None:  # fmt: skip
    """Let a program fail so many times, each time in one of some ways; ``check`` is called behind each."""
    watch()
    random = Random(subject.program.name)
    check_call(subject)
    gc.collect()
    used, threads = memory_stats()["bytes_in_use"], threading.active_count()
    workers = max(workers_started(), 2 * 2)  # two calls at once, with two devices each beside the caller's
    for number in range(runs):
        watch()
        kind = kinds[number % len(kinds)]
        try:
            kind(subject, random)
            check_call(subject)
            gc.collect()
            check()
            assert memory_stats()["bytes_in_use"] == used
            assert threading.active_count() == threads
            assert injuries.idle_workers() == workers_started() <= workers
        except BaseException as error:
            error.add_note(f"{subject.program.name}, run {number}, {kind.__name__}\n{subject.program.source}")
            raise


@pytest.mark.parametrize("seed", range(3))
def test_calls_that_fail(seed: int, watched: Callable[[], None]) -> None:
    injure(Subject(seed), INJURIES, len(INJURIES), watched)


def test_long_calls_that_are_stopped(watched: Callable[[], None]) -> None:
    injure(Subject(4, slow=True), [signalled, cancelled], 4, watched)


@pytest.mark.stress
@pytest.mark.parametrize("block", range(10))
def test_many_calls_that_fail(block: int, watched: Callable[[], None]) -> None:
    for seed in range(1000 + 10 * block, 1010 + 10 * block):
        injure(Subject(seed), INJURIES, len(INJURIES), watched)
        injure(Subject(seed, slow=True), [signalled, cancelled], 2, watched)
