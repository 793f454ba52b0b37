"""Modules compiled at the same time: results in order, errors handed on, the same code as one after the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.backends.llvm import at_once as module
from jitflow.backends.llvm.at_once import at_once
from jitflow.backends.llvm.engine import ENGINE
from jitflow.backends.llvm.module import ModuleCode


def test_results_come_in_the_order_of_the_items() -> None:
    assert at_once(lambda number: number * number, range(50)) == [number * number for number in range(50)]


def test_no_items_no_results() -> None:
    assert at_once(lambda number: number, []) == []


def test_the_first_error_is_raised_and_no_thread_is_left() -> None:
    before = threading.active_count()

    def fail(number: int) -> int:
        raise RuntimeError(f"number {number}")

    with pytest.raises(RuntimeError, match="number"):
        at_once(fail, range(5))
    assert threading.active_count() == before


def _modules() -> list[ModuleCode]:
    return [ModuleCode("vectors" if number % 2 else "loops", _text(number)) for number in range(12)]


def test_without_threads_it_goes_on_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*arguments: Any) -> None:
        raise RuntimeError("can't start new thread")

    for start_new_thread in (start, lambda *arguments: 1):  # the latter gives a thread that never comes to run
        monkeypatch.setattr(module, "start_new_thread", start_new_thread)
        monkeypatch.setattr(module, "processors", lambda: 4)
        assert at_once(lambda number: -number, range(9)) == [-number for number in range(9)]


def test_programs_compile_while_python_ends() -> None:
    program = (
        "import atexit, numpy as np, jitflow\n"
        "f = jitflow.function(lambda x: np.exp(x).sum() + x.max())\n"
        "atexit.register(lambda: print(f(np.zeros(4))))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "4.0"
    assert not done.stderr


def _text(number: int) -> str:
    body = f"  %y = fadd double %x, {number}.0\n  ret double %y"
    return f"{ENGINE.header()}\ndefine double @f{number}(double %x) {{\n{body}\n}}"


def test_code_is_the_same_as_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "processors", lambda: 4)
    together = ENGINE.generate(_modules())
    monkeypatch.setattr(module, "processors", lambda: 1)
    assert ENGINE.generate(_modules()) == together


def test_a_module_that_llvm_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "processors", lambda: 4)
    with pytest.raises(RuntimeError, match="expected"):
        ENGINE.generate([*_modules(), ModuleCode("calls", "define nothing")])
    assert len(ENGINE.generate(_modules())) == 12


def test_several_threads_may_compile() -> None:
    def compile_and_call(number: int) -> float:
        function = jitflow.function(lambda x: np.exp(x).sum() + np.sin(x * number).max())
        return float(function(np.arange(5.0)))

    expected = [float(np.exp(np.arange(5.0)).sum() + np.sin(np.arange(5.0) * n).max()) for n in range(6)]
    results: list[float] = [0.0] * 6
    threads = [
        threading.Thread(target=lambda n=n: results.__setitem__(n, compile_and_call(n))) for n in range(6)
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(results, expected, rtol=1e-14)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals that are sent to threads")
def test_no_call_is_left_running_when_a_signal_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "processors", lambda: 2)
    ended: list[int] = []
    interrupted: list[int] = []
    main = threading.main_thread().ident
    assert main is not None

    def interrupt(number: int, _: Any) -> None:
        interrupted.append(number)
        raise KeyboardInterrupt

    def call(number: int) -> None:
        if number == 0:
            signal.pthread_kill(main, signal.SIGINT)  # which runs one of the calls, and ends its sleep
        while not interrupted:  # a busy machine may take its time
            time.sleep(0.01)
        time.sleep(0.2)
        ended.append(number)

    before = threading.active_count()
    handler = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            at_once(call, range(3))
    finally:
        signal.signal(signal.SIGINT, handler)
    assert threading.active_count() == before
    assert 2 not in ended


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_may_be_forked_while_another_thread_compiles() -> None:
    shared = jitflow.function(lambda x: np.exp(x).sum() + np.cumsum(x)[-1])
    going = True

    def compile_on_and_on() -> None:
        number = 0
        while going:
            number += 1
            jitflow.function(lambda x, number=number: np.sort(x * number).mean())(np.arange(3.0))
            shared.cache_clear()
            shared(np.arange(3.0))

    thread = threading.Thread(target=compile_on_and_on)
    thread.start()
    try:
        assert [_ends_well_in_a_child(shared) for _ in range(4)] == [True] * 4
    finally:
        going = False
        thread.join()


def _ends_well_in_a_child(function: Any) -> bool:
    """Whether a forked process can compile, within some seconds."""
    time.sleep(0.03)
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        function.cache_clear()
        os._exit(0 if float(function(np.zeros(2))) == 2.0 else 1)
    return os.waitpid(child, 0)[1] == 0


def test_an_error_holds_what_its_call_made_no_longer_than_it_is_held_itself() -> None:
    """A cycle would leave modules and their contexts to the garbage collector, which knows no order."""
    made: list[Any] = []

    def fail(_: int) -> None:
        thing = threading.Event()
        made.append(weakref.ref(thing))
        raise RuntimeError("refused")

    with suppress(RuntimeError):
        at_once(fail, range(3))
    assert all(thing() is None for thing in made)
