"""Which functions that call themselves are being traced."""

from __future__ import annotations

import itertools
from typing import Any

from jitflow.frontend.recording.choices import Site

__all__ = ["Running"]


class Running:
    """The functions that call themselves whose bodies are being traced, outermost first."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.names: set[str] = set()
        self.written_out: set[Site] = set()
        """Where the functions begin whose outermost calls are being written out."""

    def new_name(self, word: str) -> str:
        """A name that no other function has."""
        names = itertools.chain([word], (f"{word}_{number}" for number in itertools.count(2)))
        name = next(name for name in names if name not in self.names)
        self.names.add(name)
        return name
