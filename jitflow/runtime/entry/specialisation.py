"""One compiled version of a function: its plan, its code, and the record that native code sees.

The record is a C struct of 64-bit words. Native dispatchers chain records through `next`, call
`entry`, and count in `hits` and `active`; native entries find in it what their text must not
contain: the tables of C functions and constants, the context, the addresses of `run` and `guard`,
and the words in which they note the versions of namespaces that they have seen.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from jitflow.records import dataclass
from jitflow.runtime.native.pool import pool

if TYPE_CHECKING:
    from pathlib import Path

    from jitflow.runtime.entry.entry_constants import EntryConstants
    from jitflow.runtime.entry.plan import Plan

RECORD_FIELDS = ("next", "entry", "hits", "active", "api", "constants", "context", "run", "guard", "versions")

NOT_MATCHED: Final = object()
"""What a call returns when the arguments do not fit; it never reaches the user."""

MISMATCH_VALUE: Final = 1
MISMATCH: Final = f"inttoptr (i64 {MISMATCH_VALUE} to ptr)"
"""What a native entry returns in that case: no object lies at an odd address."""


def record_offset(field: str) -> int:
    """Where a field of the record lies, in bytes."""
    return 8 * RECORD_FIELDS.index(field)


@dataclass(frozen=True, eq=False)
class EntryCode:
    """A native entry: its constants, how many versions it notes, and its text, which is empty where it is compiled."""

    name: str
    text: str
    constants: EntryConstants
    versions: int = 0


class Specialisation:
    """A plan with the code that fulfils it.

    `run` and `guard` are addresses (guard 0: none). `symbols` follow the pool's two functions in the
    context. `raise_error(status, error_address)` must raise; it may read `ERROR_SLOTS` words at the
    address during the call. `keep_alive` is whatever owns the machine code. When the module holds a
    native entry, `entry` and `entry_address` tell; otherwise one is compiled when it is needed. `noted`: it is linked
    while a profile is taken, which it tells what it does.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        run: int,
        raise_error: Callable[[int, int], object],
        guard: int = 0,
        symbols: Sequence[int] = (),
        keep_alive: object = None,
        entry: EntryCode | None = None,
        entry_address: int = 0,
        noted: bool = False,
    ) -> None:
        self.plan = plan
        self.raise_error = raise_error
        self.keep_alive = keep_alive
        self.noted = noted
        self.file: Path | None = None
        """Where the cache on disk has it."""
        self._entry_code: object = None
        addresses = (pool().allocate_address, pool().free_address, *symbols)
        self.context = (ctypes.c_void_p * len(addresses))(*addresses)
        self.record = (ctypes.c_int64 * len(RECORD_FIELDS))()
        self._set("context", ctypes.addressof(self.context))
        self._set("run", run)
        self._set("guard", guard)
        self.run_address = run
        self.guard_address = guard
        if entry is not None:
            self._install(entry, entry_address)

    def call(self, arguments: tuple[Any, ...]) -> Any:
        """Call with flat arguments, as the Python entry does; `NOT_MATCHED` when they do not fit."""
        from jitflow.runtime.entry.entry_python import call

        return call(self, arguments)

    @property
    def address(self) -> int:
        """The address of the record."""
        return ctypes.addressof(self.record)

    @property
    def hits(self) -> int:
        """How many calls ended here."""
        return self.record[RECORD_FIELDS.index("hits")]

    @property
    def active_calls(self) -> int:
        """How many native calls are inside right now; the code must not be freed before this is 0."""
        return self.record[RECORD_FIELDS.index("active")]

    def count_hit(self) -> None:
        """Count a call that the Python entry made."""
        self.record[RECORD_FIELDS.index("hits")] += 1

    def need_native_entry(self) -> None:
        """Make sure that there is a native entry, in a module of its own if need be."""
        if self.record[RECORD_FIELDS.index("entry")]:
            return
        from jitflow.runtime.entry.entry_native import emit_entry
        from jitflow.runtime.native.native_code import NativeCode

        entry = emit_entry(self.plan)
        code = NativeCode(entry.text)
        self._entry_code = code
        self._install(entry, code.address(entry.name))

    def _install(self, entry: EntryCode, address: int) -> None:
        from jitflow.runtime.native.entry_support import api_table

        objects = (self.raise_error, *entry.constants.things)
        self._constants = objects  # the table below holds bare pointers
        self._constant_table = (ctypes.c_void_p * len(objects))(*[id(thing) for thing in objects])
        self._set("constants", ctypes.addressof(self._constant_table))
        self._versions = (ctypes.c_int64 * max(entry.versions, 1))(*[-1] * entry.versions)  # of no namespace
        self._set("versions", ctypes.addressof(self._versions))
        self._set("api", api_table())
        self._set("entry", address)

    def _set(self, field: str, value: int) -> None:
        self.record[RECORD_FIELDS.index(field)] = value
