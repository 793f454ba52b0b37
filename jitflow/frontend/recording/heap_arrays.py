"""Which arrays of a trace lie in the heap of the call, as items of containers do."""

from __future__ import annotations

from collections.abc import Callable

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.types import Container

__all__ = ["HeapArrays", "are_one_array", "reference_to", "types_behind"]


class HeapArrays:
    """The arrays in the heap of a trace."""

    def __init__(self) -> None:
        self.references: dict[Value, Value] = {}
        """By the root that stands for its memory."""
        self.written: set[Container] = set()
        """The types of those to which the program writes."""
        self.copied: set[Container] = set()
        """The types of those that are copies, for which something else stands as well."""
        self.known: set[Container] = set()
        """The types of those that are copies of what may be known by another name, to the caller as well."""
        self.everything: dict[Container, Value] = {}
        """What stands for the memory of all of a type: a write to one may show in any other."""

    def enter(self, root: Value, place: Value, reference: Value, noticed: Callable[[], None]) -> None:
        """From now on the memory of an array is a place in the heap; ``noticed`` is called where it is written to."""
        storage, held = current_trace().storage, reference.type
        assert isinstance(held, Container)
        if held not in self.everything:
            self.everything[held] = Value(place.type)
            storage.outlive(self.everything[held])
        storage.move(root, place, self.everything[held])
        storage.keep(root, noticed)
        self.references[root] = reference


def reference_to(array: Value) -> Value | None:
    """The reference to an array that lies in the heap; None for all others, and for views."""
    trace = current_trace()
    found = trace.state(HeapArrays).references
    return None if not found or trace.storage.is_a_view(array) else found.get(trace.storage.root(array))


def types_behind(array: Value) -> set[Container]:
    """The types of the arrays in the heap that an array may be, or show."""
    trace = current_trace()
    everything = trace.state(HeapArrays).everything
    behind = trace.storage.behind(array) if everything else set()
    return {held for held, one in everything.items() if one in behind}


def are_one_array(one: Value, other: Value) -> tuple[Value, Value] | None:
    """The references to compare if it takes the run to tell whether two arrays are one; None if it does not.

    Raises where one may be what the other is a copy of.
    """
    left, right = reference_to(one), reference_to(other)
    if left is not None and right is not None:
        return (left, right) if left.type == right.type else None
    alone = left if right is None else right
    if alone is not None and alone.type in current_trace().state(HeapArrays).copied:
        raise UserNotImplementedError(
            "is of an array in a container, where a view or an argument is in such a container as well",
            mend="put a copy into the container: x.copy()",
        )
    return None
