"""Sets of the running program: Python's methods as ops on a container (`containers`)."""

from __future__ import annotations

from typing import Any, NoReturn

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.sources import Source
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.python.containers import NOTHING, ProgramContainer, made, refusal
from jitflow.frontend.python.held_items import KINDS, python_int, standing_for
from jitflow.frontend.python.program_keys import ProgramKeyed, is_there
from jitflow.ir.core import Value
from jitflow.ir.types import TEXT, Container

__all__ = ["ProgramSet"]


class ProgramSet(ProgramKeyed):
    """A set of the running program, whose order is that of Python's."""

    held = Container(kind="set")

    def add(self, key: Any) -> None:
        """``set.add``."""
        if (found := self.admitted(key, NOTHING)) is not None:
            self.enter(*found)

    def remove(self, key: Any) -> None:
        """``set.remove``."""
        place = self.find(key)
        self._key_error(place, key)
        assert place is not None
        self.op("remove_item", place)

    def discard(self, key: Any) -> None:
        """``set.discard``."""
        place = self.find(key)
        if place is not None:
            choose(tracers.wrap(is_there(place)), lambda: self._take(place), lambda: None)

    def _take(self, place: Value) -> None:
        self.op("remove_item", place)

    def update(self, *others: Any) -> None:
        """``set.update``, of what is no set."""
        for other in others:
            if isinstance(other, ProgramSet | set | frozenset):
                self._refuse("update(set)")
            own_loop(other, self.add)

    def entered(self) -> Any:
        return _Keys(self)

    def gone_through(self) -> Source:
        found: Source = self.in_order().gone_through()
        return found

    def in_order(self) -> Any:
        """Its keys in a list of their own."""
        if not self.is_known:
            return made("list", None, None)
        if TEXT in self.held.keys:
            raise refusal("the order of a set of texts, which is another one in each process",
                          "go through sorted(...) of a list of them")  # fmt: skip
        (keys,) = self.op("keys_of")
        return standing_for(Container(item=self.held.key), iter([keys]))

    def __eq__(self, other: Any) -> Any:
        self._refuse("__eq__")

    def pop(self) -> NoReturn:
        """``set.pop``."""
        self._refuse("pop()")

    __hash__ = ProgramContainer.__hash__


class _Keys(Recorded):
    """A loop through the keys of a set: what is added or removed meanwhile is an error."""

    def __init__(self, owner: ProgramSet) -> None:
        self._owner = owner
        self._keys = owner.in_order()
        if owner.is_known:
            self._length, self._changes = owner.number(), owner.op("container_changes")[0]

    def holds_position(self, position: Any) -> Any:
        if not self._owner.is_known:
            return False
        self._owner.require_unchanged(self._changes, self._length, "Set")
        return position < python_int(self._length)

    def item(self, position: Any) -> Any:
        return self._keys.item(position)


KINDS.update(set=ProgramSet)
