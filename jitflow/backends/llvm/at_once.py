"""Modules compiled at the same time.

LLVM asks that a context, and with it a module, and a target machine be used by one thread at a time, and nothing else
(LLVM Programmer's Manual, "Threads and LLVM"). llvmlite holds one lock around every call into LLVM all the same, which
would make one module wait for the other. So the two calls that take long are made here past that lock; where a
version of llvmlite does not let them, they wait, with the same results.
"""

from __future__ import annotations

from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from ctypes import string_at
from functools import cache
from typing import Any, TypeVar

from llvmlite.binding import ffi

from jitflow.machines.cores import usable_cores

__all__ = ["LIBRARY_LOCK", "at_once", "emit_object", "processors", "run_passes"]

MOST = 8
"""Threads that compile at the same time, at most: more would wait for memory."""

LIBRARY_LOCK: Any = getattr(ffi.lib, "_lock", nullcontext())
"""The lock around calls into LLVM."""


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@cache
def processors() -> int:
    """How many threads may compile at the same time. To ask the system takes as long as to lower a small kernel."""
    return min(usable_cores(), MOST)


def at_once(function: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """The function's results for the items, in their order, several at the same time. Raises what a call raised.

    No call is left running when this one ends, or is interrupted by what a signal handler raises.
    """
    results: list[Any] = [None] * len(items)
    errors: list[BaseException] = []
    waiting = list(enumerate(items))

    over = False

    def work() -> None:
        try:
            while not errors:
                try:
                    number, item = waiting.pop(0)
                except IndexError:
                    return
                results[number] = function(item)
        except BaseException as error:
            errors.append(error)

    def help_(lock: LockType) -> None:
        with lock:
            if not over:
                work()

    helpers = [allocate_lock() for _ in range(min(len(items), processors()) - 1)]
    try:
        _start(help_, helpers)
        work()
        _wait(helpers)
    except BaseException as error:
        errors.append(error)
        over = True
        _wait(helpers)
    over = True
    del errors[1:]
    if errors:
        raise errors.pop()  # which would else refer to itself, by way of its traceback
    return results


def _start(help_: Callable[[LockType], None], helpers: Sequence[LockType]) -> None:
    """Start as many threads as there are to be had; at the end of the program, say, there are none.

    A thread holds its lock while it works. Nobody waits for one to begin, as `threading.Thread` does: where memory is
    short the system may give one that ends before it has run any Python.
    """
    with suppress(RuntimeError, MemoryError):
        for lock in helpers:
            start_new_thread(help_, (lock,))


def _wait(helpers: Sequence[LockType]) -> None:
    """Wait for the threads that work."""
    for lock in helpers:
        with lock:
            pass


def run_passes(manager: Any, module: Any, builder: Any) -> None:
    """Run a pass manager of llvmlite's on a module."""
    _past_the_lock("LLVMPY_RunNewModulePassManager")(manager, module, builder)


def emit_object(machine: Any, module: Any) -> bytes:
    """The object code of a module. Raises RuntimeError where LLVM refuses it."""
    with ffi.OutputString() as message:
        buffer = _past_the_lock("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, message)
        if not buffer:
            raise RuntimeError(str(message))
    try:
        return string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _past_the_lock(name: str) -> Callable[..., Any]:
    locked: Callable[..., Any] = getattr(ffi.lib, name)
    free: Callable[..., Any] = getattr(locked, "_cfn", locked)
    return free
