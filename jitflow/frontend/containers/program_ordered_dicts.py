"""Ordered dicts of the running program: dicts that know how to move a key to either end."""

from __future__ import annotations

from typing import Any

from jitflow.frontend.containers import container_programs as programs
from jitflow.frontend.containers.program_dicts import ProgramDict
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.raising import raise_
from jitflow.frontend.recording import values
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Container

__all__ = ["ProgramOrderedDict"]


class ProgramOrderedDict(ProgramDict):
    """An ordered dict: a dict whose keys can be moved, and that compares by its order with its like."""

    held = Container(kind="OrderedDict")

    def move_to_end(self, key: Any, last: Any = True) -> None:
        """``OrderedDict.move_to_end``."""
        choose(last, lambda: self._move_behind(key), lambda: programs.move_to_front(self, key))

    def _move_behind(self, key: Any) -> None:
        self[key] = self.pop(key)

    def popitem(self, last: Any = True) -> Any:
        """``OrderedDict.popitem``."""
        if not self.is_known:
            raise_(KeyError("dictionary is empty"))
        values.check(self.truth(), KeyError, "dictionary is empty")
        self.op("settle_keys")
        behind = values.emit("subtract", self.number(), values.constant(1, I64))
        return choose(last, lambda: self._taken(behind), lambda: self._taken(values.constant(0, I64)))

    def _taken(self, place: Any) -> Any:
        entry = self.entry(place)
        self.op("remove_item", place)
        return entry

    def __eq__(self, other: Any) -> Any:
        return programs.equal_in_order(self, other) if isinstance(other, ProgramOrderedDict) else super().__eq__(other)

    __hash__ = None
