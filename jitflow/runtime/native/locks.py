"""Calls that use the same variables, one after the other: readers share a variable, a writer has it alone.

`jitflow.runtime.native.locks_text` takes and gives variables back, in a few nanoseconds where nobody waits. Here is
what is left to Python: waiting, which releases the GIL and which Ctrl-C ends, and the errors of those who would wait
for ever. Who comes first goes first, so nobody starves.

Only calls made inside another call (by a callback, or by the handler of a signal) wait while their thread holds
variables. Such a call does not wait behind those who came before, since one of them may wait for its own thread; a
variable that its own thread uses is an error, and so is a circle of threads that wait for each other.
"""

from __future__ import annotations

import _thread
import ctypes
import sysconfig
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from jitflow.errors import UserRuntimeError
from jitflow.records import dataclass
from jitflow.runtime.native.entry_support import api_address, api_table
from jitflow.runtime.native.locks_text import FRAME_FIELDS, WAITS

__all__ = ["Frame", "frame_of", "is_repeated", "lock", "unlock", "wait"]

Frame = ctypes.Array[ctypes.c_int64]

_FIELDS = len(FRAME_FIELDS)
_THREAD, _LIST, _IS_NESTED, _WAKE, _COUNT = range(2, _FIELDS)
_WRITES = 1
_EMPTY = (0,) * _COUNT


@dataclass(frozen=True, slots=True)
class _Call:
    """A copy of a frame: whose it is, and from headers to whether they are written."""

    thread: int
    is_waiting: bool
    uses: dict[int, bool]

    def conflicts(self, other: _Call) -> bool:
        """Whether the two cannot go on at once."""
        return any(header in other.uses and (writes or other.uses[header]) for header, writes in self.uses.items())


def frame_of(items: Sequence[tuple[int, bool]]) -> Frame:
    """A frame for variables: the address of the header of each, and whether it is written."""
    words = [header | _WRITES if writes else header for header, writes in items]
    return (ctypes.c_int64 * (_FIELDS + len(words)))(*_EMPTY, len(words), *words)


def lock(frame: Frame) -> None:
    """Take the variables of a frame. Raises RuntimeError where that would never end.

    To be called inside of a ``try`` that ends with `unlock`, which knows how far this got: Ctrl-C may come any time.
    """
    if not _try_lock(_API, ctypes.addressof(frame)):
        wait(ctypes.addressof(frame))


# -- waiting ---------------------------------------------------------------------------------------


def wait(address: int) -> None:
    """Wait until it is the turn of the frame at an address; native code calls this as well."""
    count = ctypes.c_int64.from_address(address + 8 * _COUNT).value
    frame = (ctypes.c_int64 * (_FIELDS + count)).from_address(address)
    thread = threading.get_ident()
    call = _read([*frame], 0)
    outer = [other for other in _calls() if other.thread == thread and not other.is_waiting]
    if any(call.conflicts(other) for other in outer):
        raise _used_by_itself()
    turn = _thread.allocate_lock()
    turn.acquire()
    wake = turn.release  # whose address the frame holds while it waits
    frame[_WAKE], frame[_IS_NESTED] = id(wake), bool(outer)
    try:  # whose last call is inside: a signal is handled behind a call
        if not _enqueue(address):
            if outer and _closes_a_circle(thread):
                raise _waits_for_itself()
            turn.acquire()
    except BaseException:
        unlock(frame)
        raise


def _closes_a_circle(thread: int) -> bool:
    """Whether a thread waits for one that waits, maybe by way of others, for that thread."""
    calls = _calls()
    frontier, seen = [thread], set[int]()
    while frontier:
        waiting = [call for call in calls if call.is_waiting and call.thread == frontier[-1]]
        frontier.pop()
        for other in calls:
            if not other.is_waiting and any(call.conflicts(other) for call in waiting):
                if other.thread == thread:
                    return True
                if other.thread not in seen:
                    seen.add(other.thread)
                    frontier.append(other.thread)
    return False


def _calls() -> list[_Call]:
    """All calls that use variables or wait for some."""
    capacity = 0
    while True:
        words = (ctypes.c_int64 * max(capacity, 1))()
        used = _copy_frames(ctypes.addressof(words), capacity)
        if used <= capacity:
            break
        capacity = 2 * used
    found, place = [], 0
    while place < used:
        found.append(_read(words, place))
        place += _FIELDS + words[place + _COUNT]
    return found


def _read(words: Any, place: int) -> _Call:
    first = place + _FIELDS
    uses: dict[int, bool] = {}
    for item in words[first : first + words[place + _COUNT]]:
        header = item & ~_WRITES
        uses[header] = uses.get(header, False) or bool(item & _WRITES)
    return _Call(words[place + _THREAD], words[place + _LIST] == WAITS, uses)


def _used_by_itself() -> UserRuntimeError:
    return UserRuntimeError(
        "a variable is used that the compiled function which is running here updates, or updated while that reads it",
        expected="callbacks, and handlers of signals, to use other variables than the function that they interrupt",
        mend="pass the variable to the callback as an argument, and return what it is to become",
    )


def _waits_for_itself() -> UserRuntimeError:
    return UserRuntimeError(
        "threads wait for each other's variables: each is inside a compiled function, calls another one from a "
        "callback, and neither can go on",
        mend="use all variables in one compiled function, or call no compiled functions from callbacks",
    )


# -- native code -----------------------------------------------------------------------------------


def _native(name: str, result: Any, count: int) -> Callable[..., Any]:
    """A function of `locks_text`, called while the GIL, or a lock where there is none, keeps other threads out."""
    function = ctypes.PYFUNCTYPE(result, *[ctypes.c_void_p] * count)(api_address(name))
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return function

    def exclusively(*arguments: Any) -> Any:
        with _MUTEX:
            return function(*arguments)

    return exclusively


_MUTEX = threading.Lock()
_API = api_table()
_try_lock = _native("try_lock", ctypes.c_bool, 2)
_enqueue = _native("enqueue", ctypes.c_bool, 1)
_copy_frames = _native("copy_frames", ctypes.c_int64, 2)
is_repeated = _native("is_repeated", ctypes.c_bool, 1)
"""Whether a variable that is written occurs twice in a frame."""

unlock = partial(_native("abandon", None, 2), _API)
"""Give back the variables of a frame, or wait for them no longer. No Python code runs, so no signal gets in between."""
