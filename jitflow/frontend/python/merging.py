"""Lists of lists in order: a merge sort, since only a comparison tells which of two lists comes first."""

from __future__ import annotations

from typing import Any

from jitflow.frontend.python.container_programs import program
from jitflow.frontend.python.item_types import has_order
from jitflow.ir.types import Container

__all__ = ["holds_lists_in_order", "merge_sort"]


def holds_lists_in_order(held: Container) -> bool:
    """Whether a list holds lists of numbers, texts or tuples of such, which come one before the other."""
    item = held.item
    return isinstance(item, Container) and item.kind == "list" and item.item is not None and has_order(item.item)


@program
def merge_sort(items: Any, reverse: bool) -> None:
    """Sort a list in its place; equal items stay in their order."""
    for item in items:
        for part in item:
            if part != part:
                raise NotImplementedError("a list with nan is sorted, where Python's order has no meaning")
    if reverse:
        items.reverse()
    width = 1
    while width < len(items):
        before, start = items.copy(), 0
        while start < len(items):
            middle, end = min(start + width, len(items)), min(start + 2 * width, len(items))
            left, right, place = start, middle, start
            while place < end:
                if right == end or (left < middle and not before[right] < before[left]):
                    items[place] = before[left]
                    left += 1
                else:
                    items[place] = before[right]
                    right += 1
                place += 1
            start = end
        width *= 2
    if reverse:
        items.reverse()
