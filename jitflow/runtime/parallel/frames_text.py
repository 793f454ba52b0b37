"""What the partitions of one call share, and where it lies in memory: the frame, as LLVM text reads and writes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jitflow.runtime.native.llvm_text import FunctionText

__all__ = [
    "FRAME_FIELDS",
    "HEADER_BYTES",
    "PARTY_FIELDS",
    "SYSTEM_FUNCTIONS",
    "Frame",
    "frame_offset",
    "party_offset",
    "system_function",
]

FRAME_FIELDS = (
    "first", "parties", "party_bytes", "channels", "channel_bytes", "levels", "ended", "arrived", "turn", "sleepers",
    "crowded", "spins", "allocate", "free", "poll",
)  # fmt: skip
"""``first``: the party whose failure is the user's, null if none has failed. ``ended``: how many parties have.
``arrived``: how many at the next meeting, which has the number ``turn``. ``crowded``: how many wait to send."""

PARTY_FIELDS = ("frame", "function", "context", "arguments", "results", "python", "ended", "status", "error")
"""What a party runs, and how it ended; the error slots follow, and then the record."""

SYSTEM_FUNCTIONS = (
    "pthread_mutex_init", "pthread_mutex_destroy", "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_init",
    "pthread_cond_destroy", "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_broadcast", "pthread_create",
    "pthread_detach", "clock_gettime", "malloc", "free",
)  # fmt: skip
"""The pointers of `@devices_system`."""

MUTEX, CONDITION = 128, 256
HEADER_BYTES = 384


def frame_offset(field: str) -> int:
    """Where a field of a frame lies, in bytes."""
    return 8 * FRAME_FIELDS.index(field)


def party_offset(field: str) -> int:
    """Where a field of a party lies, in bytes."""
    return 8 * PARTY_FIELDS.index(field)


def system_function(function: FunctionText, name: str) -> str:
    """The pointer to a function of the system."""
    return function.load("ptr", "@devices_system", 8 * SYSTEM_FUNCTIONS.index(name))


class Frame:
    """Emits what is done to a frame."""

    def __init__(self, function: FunctionText, pointer: str) -> None:
        self._function = function
        self.pointer = pointer

    def get(self, field: str, kind: str = "i64") -> str:
        """Read a field, in the one order of all threads."""
        address = self._function.at(self.pointer, frame_offset(field))
        return self._function.let(f"load atomic {kind}, ptr {address} seq_cst, align 8")

    def set(self, field: str, value: str, kind: str = "i64") -> None:
        address = self._function.at(self.pointer, frame_offset(field))
        self._function.do(f"store atomic {kind} {value}, ptr {address} seq_cst, align 8")

    def add(self, field: str, amount: int) -> str:
        """Add to a field, whose mutex is held, and give what it is then."""
        total = self._function.let(f"add i64 {self.get(field)}, {amount}")
        self.set(field, total)
        return total

    def party(self, number: str) -> str:
        """The address of a party."""
        place = self._function.let(f"mul i64 {number}, {self.get('party_bytes')}")
        return self._function.let(f"getelementptr i8, ptr {self._function.at(self.pointer, HEADER_BYTES)}, i64 {place}")

    def channel(self, number: str) -> str:
        """The address of a channel."""
        place = self._function.let(f"mul i64 {number}, {self.get('channel_bytes')}")
        behind = self.party(self.get("parties"))
        return self._function.let(f"getelementptr i8, ptr {behind}, i64 {place}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        self.lock()
        yield
        self.unlock()

    def lock(self) -> None:
        self._call("pthread_mutex_lock", MUTEX)

    def unlock(self) -> None:
        self._call("pthread_mutex_unlock", MUTEX)

    def wake_all(self) -> None:
        """Wake all who sleep; the mutex is held."""
        with self._function.when(self._function.compare("ne", self.get("sleepers"), "0")):
            self._call("pthread_cond_broadcast", CONDITION)

    def open(self) -> None:
        """Make the mutex and the condition."""
        for name, place in (("pthread_mutex_init", MUTEX), ("pthread_cond_init", CONDITION)):
            self._call(name, place, "ptr null")

    def close(self) -> None:
        for name, place in (("pthread_mutex_destroy", MUTEX), ("pthread_cond_destroy", CONDITION)):
            self._call(name, place)

    def _call(self, name: str, place: int, *rest: str) -> None:
        address = self._function.at(self.pointer, place)
        self._function.call("i32", system_function(self._function, name), f"ptr {address}", *rest)
