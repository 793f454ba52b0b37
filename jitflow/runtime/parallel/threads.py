"""How many threads a call may use, and the threads that work for calls.

Threads other than the caller's run spans of kernels (`workers_text`). They are started when there is first something
for them to do, never end, and cost nothing while there is nothing. A process that was forked works without any until
more code that uses them is linked there.
"""

from __future__ import annotations

import ctypes
import operator
import os
import sys
import threading
import weakref
from functools import cache
from typing import TYPE_CHECKING

from jitflow.config import CONFIG
from jitflow.machines.cores import usable_cores
from jitflow.runtime.native.native_code import NativeCode, make_immortal

if TYPE_CHECKING:
    from typing import Protocol

    class _Compiled(Protocol):
        """A compiled function."""

        def _compile_anew(self) -> None: ...


__all__ = ["most_threads", "name_helpers", "note_compiled", "num_threads", "set_num_threads", "share_address"]

JOB_FIELDS = (
    "limit", "started", "busy", "open", "inside", "generation", "sleepers", "most", "parts", "pieces", "piece", "last",
    "function", "arguments",
)  # fmt: skip
"""The words of `@job`. At most ``limit`` threads work on any job, at most ``most`` on this one, the caller included;
``started`` are there beside the caller."""

SYSTEM_FUNCTIONS = (
    "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait", "pthread_cond_broadcast", "sched_yield",
    "pthread_create", "pthread_detach",
)  # fmt: skip
"""The pointers of `@threads_system`."""

MOST_NAMED = 1024
"""Of the workers started first it is known which threads they are."""

_limit = CONFIG.threads or usable_cores()
_LOCK = threading.Lock()


_compiled_for: weakref.WeakKeyDictionary[_Compiled, int] = weakref.WeakKeyDictionary()
"""From functions to the fewest threads that code of theirs is for."""


def _renew_lock() -> None:
    """In a process that was forked: the thread that held the lock does not exist."""
    global _LOCK
    _LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def set_num_threads(count: int) -> None:
    """Let a call use up to ``count`` threads, its own among them.

    At the start they are as many as ``JITFLOW_THREADS`` says, or as the process has processors, by its affinity and
    its control group. Kernels over large arrays are shared among them. Results have the same bits for any number of
    threads; so products of SciPy's BLAS have the number of threads that it has. Functions that were compiled for fewer
    threads are compiled once more when they are next called. Where the system has no more threads to give, or no POSIX
    threads at all, fewer are used.

    Raises ValueError for less than one.
    """
    global _limit
    number = operator.index(count)
    if number < 1:
        raise ValueError(f"expected a number of threads of at least 1, got {number}")
    with _LOCK:
        _limit = number
        if _workers.cache_info().currsize:
            _workers().allow(number)
        outdated = [function for function, threads in _compiled_for.items() if threads < most_threads()]
        for function in outdated:
            del _compiled_for[function]
    for function in outdated:
        function._compile_anew()


def num_threads() -> int:
    """The limit that `set_num_threads` or ``JITFLOW_THREADS`` has set, else the number of processors."""
    return _limit


def most_threads() -> int:
    """How many threads may share what is compiled now."""
    return _limit if _HAS_THREADS else 1


def note_compiled(function: _Compiled, threads: int) -> None:
    """Note that a function has code for so many threads, which is compiled anew when more are allowed."""
    with _LOCK:
        _compiled_for[function] = min(threads, _compiled_for.get(function, threads))


def name_helpers() -> None:
    """Tell profiles which threads work for calls."""
    if _workers.cache_info().currsize:
        _workers().name_tracks()


_HAS_THREADS = sys.platform != "win32"


def share_address() -> int:
    """The address of the function that lets threads share a loop."""
    with _LOCK:
        workers = _workers()
        workers.allow(_limit)
    return workers.share_address


def _text() -> str:
    from jitflow.runtime.parallel.workers_text import workers_text

    return workers_text()


class _Workers:
    """The threads of this process, and what they share."""

    def __init__(self) -> None:
        code = NativeCode(_text)
        make_immortal(code)
        self.share_address = code.address("share")
        self._job = (ctypes.c_int64 * len(JOB_FIELDS)).from_address(code.address("job"))
        self._names = (ctypes.c_int64 * MOST_NAMED).from_address(code.address("names"))
        self._mutex, self._condition = code.address("mutex"), code.address("condition")
        self._system = ctypes.CDLL(None)
        functions = (ctypes.c_void_p * len(SYSTEM_FUNCTIONS)).from_address(code.address("threads_system"))
        for place, name in enumerate(SYSTEM_FUNCTIONS):
            functions[place] = ctypes.cast(getattr(self._system, name), ctypes.c_void_p).value
        self._begin_anew()
        os.register_at_fork(after_in_child=self._begin_anew)

    def allow(self, count: int) -> None:
        """Let up to ``count`` threads work on a job, or as many as the system gives."""
        self._job[JOB_FIELDS.index("limit")] = count

    def name_tracks(self) -> None:
        """Tell profiles which threads these are."""
        from jitflow.runtime.native.notes import TRACKS

        started = min(self._job[JOB_FIELDS.index("started")], MOST_NAMED)
        TRACKS.update({thread: f"helper {number}" for number, thread in enumerate(self._names[:started], 1)})

    def _begin_anew(self) -> None:
        """No threads, no job: at the start, and in a process that was forked, perhaps in the middle of one."""
        ctypes.memset(ctypes.addressof(self._job), 0, ctypes.sizeof(self._job))
        self._job[JOB_FIELDS.index("limit")] = 1
        self._system.pthread_mutex_init(ctypes.c_void_p(self._mutex), None)
        self._system.pthread_cond_init(ctypes.c_void_p(self._condition), None)


@cache
def _workers() -> _Workers:
    return _Workers()
