"""Where in the user's program something comes from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NOWHERE", "Loc"]


@dataclass(frozen=True, slots=True)
class Loc:
    """A place in the user's source. ``column`` and ``end_column`` count from 0; -1 where unknown.

    ``device`` is where the user wants what comes from here, empty if it may be anywhere.
    """

    file: str
    line: int
    function: str = ""
    column: int = -1
    end_column: int = -1
    device: str = ""

    def __str__(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"


NOWHERE = Loc("", 0)
