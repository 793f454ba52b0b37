"""Which functions that call themselves are being traced."""

from __future__ import annotations

from collections import Counter
from typing import Any

from jitflow.frontend.recording.choices import Site

__all__ = ["Running"]


class Running:
    """The functions that call themselves whose bodies are being traced, outermost first."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.names: Counter[str] = Counter()
        self.written_out: set[Site] = set()
        """Where the functions begin whose outermost calls are being written out."""
