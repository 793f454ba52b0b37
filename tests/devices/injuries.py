"""What may go wrong while a program runs: checks, callbacks, memory, messages, threads, signals, being told to stop.

An injury is done to a compiled function from outside: the context of its specialisations, in which native code finds
the functions of the runtime, gets functions that count how often they are called, and refuse once.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from jitflow.ir.together import SEND
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.native_code import NativeCode, make_immortal
from jitflow.runtime.native.pool import pool
from jitflow.runtime.parallel import devices
from jitflow.runtime.parallel.frames_text import SYSTEM_FUNCTIONS, frame_offset

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


def _counter(
    name: str, result: str, kinds: Sequence[str], address: int, refuse: Callable[[FunctionText], None]
) -> Counter:  # fmt: skip
    """A function that stands for the one at an address, and counts; ``refuse`` is what it does where it is to."""
    parameters = [f"{kind} %p{number}" for number, kind in enumerate(kinds)]
    function = FunctionText(f"{result} @{name}({', '.join(parameters)})")
    number = function.let("atomicrmw add ptr @count, i64 1 seq_cst")
    with function.when(function.compare("uge", number, function.load("i64", "@refuse"))):
        refuse(function)
    callee = f"inttoptr (i64 {address} to ptr)"
    if result == "void":
        function.run(callee, *parameters)
        function.give(result)
    else:
        function.give(result, function.call(result, callee, *parameters))
    nothing = FunctionText("ptr @nothing(i64 %bytes)")
    nothing.give("ptr", "null")
    counts = "@count = global i64 0\n@refuse = global i64 -1\n"
    code = NativeCode(counts + nothing.text() + function.text())
    make_immortal(code)
    return Counter(*map(code.address, (name, "refuse", "count")))


@cache
def allocations() -> Counter:
    """Of memory, for arrays, messages and frames of calls: refused once."""

    def refuse(function: FunctionText) -> None:
        function.store("i64", "-1", "@refuse")
        function.give("ptr", "null")

    return _counter("allocate", "ptr", ("i64",), pool().allocate_address, refuse)


@cache
def messages() -> Counter:
    """Of messages that are sent: from the one that is refused on, there is no memory for any of its call."""

    def refuse(function: FunctionText) -> None:
        function.store("ptr", "@nothing", "%p0", frame_offset("allocate"))

    kinds = ("ptr", "i64", "i64", "ptr", "i64", "ptr", "i64")
    return _counter("send", "void", kinds, devices.device_function(SEND), refuse)


def wound(specialisation: Any) -> None:
    """Let compiled code use the functions that may refuse."""
    executable, *_ = specialisation.keep_alive
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
    try:
        timer.start()
        yield
    finally:
        inside = False
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)


@contextmanager
def cancelled_after(seconds: float) -> Iterator[None]:
    """This thread is told to raise `Cancelled`, as runners of jobs do that have a limit of time.

    It is never told not to: CPython 3.11 would take that for news for ever, and turn on the spot under a profiler.
    """
    thread, inside, lock = threading.get_ident(), True, threading.Lock()
    set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc

    def cancel() -> None:
        with lock:
            if inside:
                set_exception(ctypes.c_ulong(thread), ctypes.py_object(Cancelled))

    timer = threading.Timer(seconds, cancel)
    try:
        timer.start()
        yield
    finally:
        with lock:
            inside = False
        timer.cancel()
        timer.join()
