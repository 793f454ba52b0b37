"""What may go wrong while a program runs: checks, callbacks, memory, messages, threads, signals, being told to stop.

An injury is done to a compiled function from outside: the context of its specialisations, in which native code finds
the functions of the runtime, gets functions that count how often they are called, and refuse once.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from jitflow.ir.together import SEND
from jitflow.runtime import devices
from jitflow.runtime.channels_text import SYSTEM_FUNCTIONS
from jitflow.runtime.llvm_text import FunctionText
from jitflow.runtime.native_code import NativeCode, make_immortal
from jitflow.runtime.pool import pool

__all__ = ["Cancelled", "Counter", "Interrupted", "allocations", "cancelled_after", "idle_workers", "interrupted_after",
           "messages", "no_more_threads", "wound"]  # fmt: skip


class Interrupted(BaseException):
    """What the handler of the signal raises."""


class Cancelled(BaseException):
    """What a thread is told to raise."""


class Counter:
    """How often a function of the runtime was called, and at which of its next calls it is to refuse."""

    def __init__(self, address: int, refuse: int, count: int) -> None:
        self.address = address
        self._refuse, self._count = (ctypes.c_int64.from_address(place) for place in (refuse, count))

    @property
    def count(self) -> int:
        return self._count.value

    @contextmanager
    def refusing(self, number: int) -> Iterator[None]:
        """Refuse the call with a number, counted from 0."""
        self._count.value, self._refuse.value = 0, number
        try:
            yield
        finally:
            self._refuse.value = -1


def _counting(name: str, signature: Sequence[str], result: str, refusal: str, address: int) -> str:
    """A function that calls the one at an address, but once."""
    parameters = [f"{kind} %p{number}" for number, kind in enumerate(signature)]
    function = FunctionText(f"{result} @{name}({', '.join(parameters)})")
    number = function.let(f"atomicrmw add ptr @{name}_count, i64 1 seq_cst")
    with function.when(function.compare("eq", number, function.load("i64", f"@{name}_refuse"))):
        function.give(result, refusal)
    function.give(result, function.call(result, f"inttoptr (i64 {address} to ptr)", *parameters))
    return f"@{name}_count = global i64 0\n@{name}_refuse = global i64 -1\n{function.text()}"


@cache
def _counters() -> tuple[Counter, Counter]:
    send = ("ptr", "i64", "ptr", "i64", "ptr", "i64")
    code = NativeCode(
        _counting("allocate", ("i64",), "ptr", "null", pool().allocate_address)
        + _counting("send", send, "i32", "1", devices.device_function(SEND))
    )
    make_immortal(code)
    one, other = (
        Counter(*(code.address(name + suffix) for suffix in ("", "_refuse", "_count"))) for name in ("allocate", "send")
    )
    return one, other


def allocations() -> Counter:
    """Of memory, for arrays, messages and frames of calls."""
    return _counters()[0]


def messages() -> Counter:
    """Of messages that are sent."""
    return _counters()[1]


def wound(function: Any) -> None:
    """Let a compiled function use the functions that may refuse."""
    for specialisation in function._specialisations:
        executable, _ = specialisation.keep_alive
        specialisation.context[0] = allocations().address
        if SEND in executable.symbols:
            specialisation.context[2 + executable.symbols.index(SEND)] = messages().address


@contextmanager
def no_more_threads() -> Iterator[None]:
    """As where the system has no thread to give, and nobody is idle."""
    runtime, place = devices._runtime(), SYSTEM_FUNCTIONS.index("pthread_create")
    refuse = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(lambda *_: 11)
    before, idle = runtime.functions[place], runtime.words["idle"].value
    runtime.functions[place], runtime.words["idle"].value = ctypes.cast(refuse, ctypes.c_void_p).value, 0
    try:
        yield
    finally:
        runtime.functions[place], runtime.words["idle"].value = before, idle


def idle_workers() -> int:
    """How many of the threads that work for devices have nothing to do."""
    word, count = devices._runtime().words["idle"].value, 0
    while word:
        word, count = ctypes.c_int64.from_address(word).value, count + 1
    return count


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Ctrl-C, or another signal, in this thread, which is the main one: it raises `Interrupted`, if still inside."""
    inside = True

    def interrupt(*_: object) -> None:
        if inside:
            raise Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    timer = threading.Timer(seconds, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        inside = False
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)


@contextmanager
def cancelled_after(seconds: float) -> Iterator[None]:
    """This thread is told to raise `Cancelled`, as runners of jobs do that have a limit of time."""
    thread = threading.get_ident()
    set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc

    def cancel() -> None:
        set_exception(ctypes.c_ulong(thread), ctypes.py_object(Cancelled))

    timer = threading.Timer(seconds, cancel)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        set_exception(ctypes.c_ulong(thread), None)
