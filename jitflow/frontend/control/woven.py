"""Iterators whose steps call functions of the program's: `filter`, `takewhile` and their like.

Each call happens where the program asks for an item, between what it does with the items. So a loop over one is a loop
over what that goes through, whose turns call the function first.
"""

from __future__ import annotations

from typing import Any

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.control.steps import Stepwise
from jitflow.frontend.tracers.base import located

__all__ = ["Woven"]


class Woven(Stepwise):
    """``items``, and what they are made of."""

    ends = False
    """Whether an item that is left out is the last one that is looked at."""

    def __init__(self, kind: type, items: Any) -> None:
        self.stands_for, self.items = kind, items
        self.ended: Any = False
        self._begun = False

    def begin(self) -> None:
        """A loop goes through the items."""
        self.require_unbegun()
        self._begun = True

    def prepare(self) -> None:
        """The items are to be taken one by one."""

    def require_unbegun(self) -> None:
        """Raise where a loop has left some of the items, from which Python would go on."""
        if self._begun:
            raise located(
                UserNotImplementedError(
                    "an iterator that the program has gone through, or into, before",
                    mend="make it anew where it is used: write filter(...) or takewhile(...) in the head of the loop",
                )
            )

    def sifted(self, item: Any) -> tuple[Any, Any]:
        """Whether there is something for an item, and what that is."""
        raise NotImplementedError
