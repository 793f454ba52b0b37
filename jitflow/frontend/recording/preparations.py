"""What a trace has had made ready outside, by the registers of the objects that took part."""

from __future__ import annotations

from jitflow.runtime.preparation import Preparation, Slot

__all__ = ["Preparations"]


class Preparations:
    """Those of one trace."""

    def __init__(self) -> None:
        self.made: list[Preparation] = []
        self.slots: dict[int, Slot] = {}
        """Where the variables in registers were found, that no path of the program's leads to."""
