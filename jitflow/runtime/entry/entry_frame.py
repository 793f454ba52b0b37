"""What the parts of a native entry share while it is written: its stack, labels and constants."""

from __future__ import annotations

from typing import Any

from jitflow.runtime.entry.entry_constants import EntryConstants
from jitflow.runtime.entry.plan import (
    ERROR_SLOTS,
    Argument,
    KeysAre,
    Made,
    Plan,
    container_count,
    named_objects,
    new_arrays,
)
from jitflow.runtime.entry.specialisation import record_offset
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.locks_text import FRAME_FIELDS
from jitflow.runtime.native.python_api import PythonCalls


class EntryFrame:
    """One entry function under construction.

    `python` is for what every call of the entry needs, `rarely` for what few of them do.
    """

    def __init__(self, plan: Plan, name: str) -> None:
        self.plan = plan
        self.name = name
        function = self.function = FunctionText(f"ptr @{name}(ptr %record, ptr %call_arguments, i64 %count)")
        self.constants = EntryConstants(plan)
        self._pointers: dict[int, str] = {}
        self.versions = 0
        self.mismatch = function.label("mismatch")
        self.unreadable = function.label("unreadable")
        self.failed = function.label("failed")
        self.finish = function.label("finish")

        self.arguments = function.stack(plan.argument_slots)
        self.results = function.stack(plan.result_slots)
        self.error = function.stack(ERROR_SLOTS)
        self.handler_arguments = function.stack(2)
        self.scratch = function.stack(1)
        most = max((len(read.parents) for read in plan.reads if isinstance(read, Made)), default=0)
        self.made = function.stack(most) if most else "null"
        self.outcome = function.stack(1)
        self.variables = function.stack(len(FRAME_FIELDS) + len(plan.uses)) if plan.uses else ""
        self.held_count = len(new_arrays(plan)) + container_count(plan.results)
        self.held = function.stack(self.held_count)
        self.owned_count = _owned_count(plan)
        self.owned = function.stack(self.owned_count)
        if self.owned_count:
            self.clear(self.owned, self.owned_count)
        self._taken = 0
        self.table = function.load_first("ptr", "%record", record_offset("api"))
        self._constant_table = function.load_first("ptr", "%record", record_offset("constants"))
        self.python = PythonCalls(function, self.table, ahead=True)
        self.rarely = PythonCalls(function, self.table)

    def constant(self, thing: Any) -> str:
        """A pointer to an object that the specialisation keeps alive, loaded at the start."""
        if id(thing) not in self._pointers:
            self._pointers[id(thing)] = self.function.load_first("ptr", self._constant_table, self._offset(thing))
        return self._pointers[id(thing)]

    def constant_here(self, thing: Any) -> str:
        """The same, loaded just here."""
        return self.function.load("ptr", self._constant_table, self._offset(thing))

    def _offset(self, thing: Any) -> int:
        """Where the table of constants has an object, behind the error handler, which comes first."""
        return 8 * (1 + self.constants.place(thing))

    def take_versions(self, count: int) -> str:
        """A pointer to words of the specialisation's own, for the versions of so many namespaces."""
        place = self.versions
        self.versions += count
        return self.function.at(self.function.load("ptr", "%record", record_offset("versions")), 8 * place)

    def raise_error(self) -> str:
        """A pointer to the specialisation's error handler, the first of the table."""
        return self.function.load("ptr", self._constant_table)

    def take_owned(self, count: int = 1) -> int:
        """Reserve slots for references that are given back at the end."""
        place = self._taken
        self._taken += count
        return place

    def clear(self, slots: str, count: int) -> None:
        """Fill slots with null."""
        with self.function.each_below(str(count)) as place:
            self.function.store("ptr", "null", self.function.element(slots, place))

    def release(self, slots: str, count: int) -> None:
        """Give the references in slots back."""
        with self.function.each_below(str(count)) as place:
            self.python.release(self.function.load("ptr", self.function.element(slots, place)))

    def finish_with(self, value: str) -> None:
        """End the block: leave the function with a value."""
        self.function.store("ptr", value, self.outcome)
        self.function.jump(self.finish)

    def type_of(self, thing: str) -> str:
        """The type of an object."""
        return self.function.load("ptr", thing, 8)


def _owned_count(plan: Plan) -> int:
    """An upper bound of the references that the entry will own."""
    reads = sum(not isinstance(read, Argument) for read in plan.reads) - len(named_objects(plan))
    return plan.draws + reads + sum(len(check.keys) for check in plan.checks if isinstance(check, KeysAre))
