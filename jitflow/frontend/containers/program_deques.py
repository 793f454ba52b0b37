"""Deques of the running program: lists that are changed at both ends, and may drop what is too much."""

from __future__ import annotations

import collections
from typing import Any

from jitflow.errors import UserTypeError
from jitflow.frontend.arrays.operands import static_int
from jitflow.frontend.containers import container_programs as programs
from jitflow.frontend.containers.containers import NOTHING
from jitflow.frontend.containers.held_items import KINDS
from jitflow.frontend.containers.program_lists import ProgramList, Turns
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.tracers import Tracer
from jitflow.frontend.tracers.base import located
from jitflow.ir.types import Container

__all__ = ["ProgramDeque", "parts_of_deque"]


class ProgramDeque(ProgramList):
    """A deque of the running program."""

    held = Container(kind="deque")

    @property
    def maxlen(self) -> int | None:
        """``deque.maxlen``."""
        return self.held.most

    def append(self, item: Any) -> None:
        if self._has_room(front=True):
            super().append(item)

    def _has_room(self, front: bool) -> bool:
        """Whether it takes an item, for which one at the other end goes if there are too many."""
        if self.held.most:
            programs.make_room(self, self.held.most, front)
        return self.held.most != 0

    def insert(self, position: Any, item: Any) -> None:
        if self.held.most is not None:
            programs.require_room(self, self.held.most)
        super().insert(position, item)

    def __getitem__(self, position: Any) -> Any:
        return super().__getitem__(_no_slice(position))

    def __setitem__(self, position: Any, item: Any) -> None:
        super().__setitem__(_no_slice(position), item)

    def __delitem__(self, position: Any) -> None:
        super().__delitem__(_no_slice(position))

    def rotate(self, n: Any = 1) -> None:
        """``deque.rotate``."""
        programs.rotate(self, n)

    def popleft(self) -> Any:
        """``deque.popleft``."""
        return self.pop(0)

    def appendleft(self, item: Any) -> None:
        """``deque.appendleft``."""
        if self._has_room(front=False) and (found := self.admitted(NOTHING, item)) is not None:
            self.op("append_item", *found, front=True)

    def extendleft(self, items: Any) -> None:
        """``deque.extendleft``."""
        own_loop(Turns(items, stays=False) if isinstance(items, ProgramList) else items, self.appendleft)


def _no_slice(position: Any) -> Any:
    if isinstance(position, slice):
        raise located(UserTypeError("sequence index must be integer, not 'slice'"))
    return position


@raising_for_the_program
def parts_of_deque(iterable: Any = (), maxlen: Any = None) -> tuple[Any, int | None]:
    """What a deque is made of, and its largest length, which has to be known."""
    most = static_int(maxlen, "maxlen") if isinstance(maxlen, Tracer) else maxlen
    return iterable, collections.deque(maxlen=most).maxlen


KINDS.update(deque=ProgramDeque)
