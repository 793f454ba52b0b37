"""Where in the user's program something comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from jitflow.records import dataclass

__all__ = ["NOWHERE", "Loc"]


@dataclass(frozen=True, slots=True)
class Loc:
    """A place in the user's source. ``column`` and ``end_column`` count from 0; -1 where unknown.

    ``device`` is where the user wants what comes from here, empty if it may be anywhere. ``caller`` is the place of the
    call that led here, where a helper became part of the function: the same line is one place whoever calls it.
    """

    file: str
    line: int
    function: str = ""
    column: int = -1
    end_column: int = -1
    device: str = ""
    caller: Loc | None = field(default=None, compare=False, repr=False)

    def chain(self) -> Iterator[Loc]:
        """The place and the calls that led to it, innermost first."""
        place: Loc | None = self
        while place is not None:
            yield place
            place = place.caller

    def __str__(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"


NOWHERE = Loc("", 0)
