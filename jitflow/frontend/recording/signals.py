"""What the compiler raises for itself: the trace has to start anew, because of what it has come to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["AS_IT_WAS", "Overlap", "Restart", "Signal", "Site"]


@dataclass(frozen=True, slots=True)
class Site:
    """A local of a branch or loop that merges arrays: the file, the first line and the name."""

    file: str
    line: int
    name: str


class Signal(BaseException):
    """What the compiler raises for itself alone: no handler of the program's sees it."""


class Restart(Signal):
    """The trace has to start anew, and treat ``site`` in another way.

    An array that was merged as a value there is written to later, a ``try`` statement there would have to catch what
    the running program raises, or a list that is made there grows where the running program decides; ``kind`` is the
    form of its items, if that is known. ``is_wish``: what is there now would do as well, though not as fast.
    """

    def __init__(self, site: Site, kind: Any = None, *, is_wish: bool = False) -> None:
        super().__init__(site)
        self.site = site
        self.kind = kind
        self.is_wish = is_wish


AS_IT_WAS = "as it was"
"""What is known of a site whose wish cannot be granted."""


class Overlap(Signal):
    """The trace has to start anew: arrays of this call overlap, and the program writes to parameters ``written``."""

    def __init__(self, written: frozenset[int]) -> None:
        super().__init__()
        self.written = written
