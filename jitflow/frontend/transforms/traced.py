"""A function that was traced into a region, to be differentiated: what it is differentiated by, and what it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jitflow.frontend.control.leaves import Leaves
from jitflow.frontend.transforms.left_behind import LeftBehind
from jitflow.ir.core import Region, Value
from jitflow.records import dataclass

__all__ = ["Chosen", "Traced"]


@dataclass(frozen=True, eq=False)
class Chosen:
    """The numbers and arrays in the arguments of a call that are differentiated by."""

    args: tuple[Any, ...]
    leaves: Mapping[int, Leaves]
    """The structure of each argument that has some."""
    places: tuple[tuple[int, int], ...]
    """Argument, and number of the leaf in it, of each."""
    inputs: tuple[Value, ...]
    """Their values when they were chosen, whatever is written to them later."""

    @property
    def items(self) -> list[Any]:
        """The program's numbers and arrays in these places."""
        return [self.leaves[number].items[leaf] for number, leaf in self.places]

    def with_items(self, items: Sequence[Any]) -> list[Any]:
        """The arguments with other numbers and arrays in these places."""
        own = {number: list(leaves.items) for number, leaves in self.leaves.items()}
        for (number, leaf), item in zip(self.places, items, strict=True):
            own[number][leaf] = item
        return [
            self.leaves[number].rebuild(own[number]) if number in own else arg for number, arg in enumerate(self.args)
        ]


@dataclass(frozen=True, eq=False)
class Traced:
    """A function that was traced into a region: its differentiated inputs, and its result."""

    region: Region
    chosen: Chosen
    inputs: tuple[Value, ...]
    result: Leaves
    positions: tuple[int | None, ...]
    """For each leaf of the result the value that the region yields; None for what is no number or array."""
    outputs: int
    """How many of the first values yielded are differentiated."""
    variables: tuple[Value, ...] = ()
    """The memory of the variables that are differentiated by."""
    written: tuple[tuple[Any, int], ...] = ()
    """The arguments that the function writes to, and which of the values yielded they are then."""
    left: tuple[LeftBehind, ...] = ()
    """What the function leaves in objects and locals around it."""
