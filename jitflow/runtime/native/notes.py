"""What profiled programs have done: their notes, from all threads, in memory that native code writes.

A note goes two ways. It is summed up in the row of its site, in the program's own `NoteTable`, so sums are exact
however many notes there are; and it is an event, one record in an area that all threads share, as long as there is
room. A thread takes its record by adding to one counter, so nobody waits, whichever thread or device worker it is, and
nothing here needs Python. What no event was kept of is known by the difference.

The area lies there for good: a call that another thread began under a profile may end behind it.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jitflow.ir.context_names import CLOCK, NOTE, NOTE_ROW
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.native_code import NativeCode, make_immortal
from jitflow.runtime.native.polling import clock_address

if TYPE_CHECKING:
    from jitflow.ir.records import Op

__all__ = ["EVENT", "TRACKS", "NoteTable", "Recorder", "Span", "can_record", "is_recording", "recorder", "span"]

EVENT = np.dtype([(name, np.int64) for name in ("row", "start", "end", "bytes", "operations", "thread")])
"""One event: the address of its row, times in nanoseconds, and the thread's `threading.get_ident`."""

_STATE_FIELDS = ("next", "limit", "events", "clock", "self")
_SECOND = 1_000_000_000


TRACKS: dict[int, str] = {}
"""The names of native threads, by the number that C gives them: who starts one says what it works for."""


class NoteTable:
    """The rows of one program, by the numbers of its sites: how often, nanoseconds, bytes, operations."""

    def __init__(self, sites: Sequence[Op]) -> None:
        self.sites = tuple(sites)
        self.rows: np.ndarray[Any, Any] = np.zeros((len(self.sites), NOTE_ROW // 8), np.int64)
        self.address: int = self.rows.ctypes.data
        _TABLES[self.address] = self
        if is_recording():
            recorder().tables.append(self)


_TABLES: weakref.WeakValueDictionary[int, NoteTable] = weakref.WeakValueDictionary()


class Span(NamedTuple):
    """Something that Python did: a stage of a compilation."""

    name: str
    start: int
    end: int
    thread: int


class Recorder:
    """Takes the notes of this process."""

    def __init__(self) -> None:
        code = NativeCode(_text, optimisation=1)
        make_immortal(code)
        self._addresses = {CLOCK: code.address("clock"), NOTE: code.address("note")}
        self._state = (ctypes.c_int64 * len(_STATE_FIELDS)).from_address(code.address("recorder"))
        self._set("clock", clock_address())
        self._set("self", ctypes.cast(ctypes.CDLL(None).pthread_self, ctypes.c_void_p).value or 0)
        self._areas: list[np.ndarray[Any, Any]] = [np.zeros(0, EVENT)]
        self._users = 0
        self.spans: list[Span] = []
        self.tables: list[NoteTable] = []
        """Those that a profile may have notes of, which keeps them."""

    def address(self, name: str) -> int:
        """Where the clock, or what takes a note, starts."""
        return self._addresses[name]

    @property
    def is_used(self) -> bool:
        """Whether somebody records."""
        return self._users > 0

    def begin(self, limit: int) -> bool:
        """Record from now on, at most ``limit`` events if nobody has recorded before; returns whether nobody has."""
        self._users += 1
        if self._users > 1:
            return False
        self._set("limit", 0)
        if len(self._areas[-1]) < limit:
            self._areas.append(np.zeros(limit, EVENT))
        self._areas[-1]["row"] = 0
        self.spans = []
        self.tables = list(_TABLES.values())
        self._set("events", self._areas[-1].ctypes.data)
        self._set("next", 0)
        self._set("limit", limit)
        return True

    def end(self) -> bool:
        """One less records; returns whether nobody does any more."""
        self._users -= 1
        if not self._users:
            self._set("limit", 0)
        return not self._users

    def forget(self) -> None:
        """Let go of what programs own that are no more."""
        if not self._users:
            self.spans, self.tables = [], []

    def position(self) -> int:
        """How many events have been recorded."""
        return min(self._state[0], len(self._areas[-1]))

    def events(self, first: int) -> np.ndarray[Any, Any]:
        """A copy of the events from one on."""
        found = self._areas[-1][first : self.position()]
        whole: np.ndarray[Any, Any] = found[found["row"] != 0]
        return whole

    def _set(self, field: str, value: int) -> None:
        self._state[_STATE_FIELDS.index(field)] = value


@cache
def recorder() -> Recorder:
    """That of this process."""
    return Recorder()


def can_record() -> bool:
    """Whether this system has what notes need."""
    return sys.platform != "win32" and clock_address() != 0


def is_recording() -> bool:
    """Whether a profile is being taken. Asking makes no recorder."""
    return recorder.cache_info().currsize > 0 and recorder().is_used


@contextmanager
def span(name: str) -> Iterator[None]:
    """Record what Python does inside."""
    start = time.monotonic_ns()
    try:
        yield
    finally:
        if is_recording():
            recorder().spans.append(Span(name, start, time.monotonic_ns(), threading.get_ident()))


# -- what native code calls ------------------------------------------------------------------------


def _text() -> str:
    head = [
        f"@recorder = global [{len(_STATE_FIELDS)} x i64] zeroinitializer, align 64",
        f"@clock_id = internal constant i32 {getattr(time, 'CLOCK_MONOTONIC', 1)}",
    ]
    return "\n".join([*head, _clock_text(), _note_text()])


def _field(function: FunctionText, name: str, kind: str = "i64") -> str:
    return function.load(kind, "@recorder", 8 * _STATE_FIELDS.index(name))


def _clock_text() -> str:
    function = FunctionText("i64 @clock()")
    time_now = function.stack(2)
    clock = _field(function, "clock", "ptr")
    function.call("i32", clock, f"i32 {function.load('i32', '@clock_id')}", f"ptr {time_now}")
    seconds = function.let(f"mul i64 {function.load('i64', time_now)}, {_SECOND}")
    function.give("i64", function.let(f"add i64 {seconds}, {function.load('i64', time_now, 8)}"))
    return function.text()


def _note_text() -> str:
    function = FunctionText("void @note(ptr %row, i64 %begun, i64 %bytes, i64 %operations)")
    end = function.call("i64", "@clock")
    passed = function.let(f"sub i64 {end}, %begun")
    for place, amount in enumerate(("1", passed, "%bytes", "%operations")):
        function.let(f"atomicrmw add ptr {function.at('%row', 8 * place)}, i64 {amount} monotonic")
    done = function.label("done")
    number = function.let("atomicrmw add ptr @recorder, i64 1 monotonic")
    function.require(function.compare("slt", number, _field(function, "limit")), done)
    size = EVENT.itemsize
    event = function.let(
        f"getelementptr i8, ptr {_field(function, 'events', 'ptr')}, i64 {function.let(f'mul i64 {number}, {size}')}"
    )
    thread = function.call("i64", _field(function, "self", "ptr"))
    for place, word in enumerate(("%begun", end, "%bytes", "%operations", thread), 1):
        function.store("i64", word, event, 8 * place)
    row = function.let("ptrtoint ptr %row to i64")
    function.do(f"store atomic i64 {row}, ptr {event} release, align 8")  # last: it says that the record is whole
    function.jump(done)
    function.begin(done)
    function.give("void")
    return function.text()
