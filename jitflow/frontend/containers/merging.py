"""Lists in order: by a native function for numbers, texts and tuples of such, and else by a merge sort.

Of lists and of objects of the user's, only a comparison tells which comes first. Every stable sort gives the order that
Python's gives, as long as the items have one; how often it compares, only comparisons that do something would show.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.containers.container_programs import program
from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.containers.held_items import columns_of
from jitflow.frontend.containers.item_types import has_objects, has_order
from jitflow.frontend.control.sharing import is_seen
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.types import TEXT, Container, Item, leaves_of, words_of

__all__ = ["compares_in_python", "sort_items"]


def sort_items(items: Any, reverse: bool, *, by_first: bool = False) -> None:
    """Sort a list in its place, one of pairs ``by_first``, by what is first in each of them."""
    kind = items.held.item[0] if by_first else items.held.item
    count = len(words_of(kind))
    _require_numbers(items, count)
    if has_order(kind):
        items.op("sort_items", words=count, **({"reverse": True} if reverse else {}))
        return
    if not all(_is_compared(leaf) for _, leaf in leaves_of(kind)):
        raise refusal("sort() of a list that the running program changes, of items without an order", "write a loop")
    own: Callable[[Any], Any] = itemgetter(0) if by_first else lambda item: item

    def is_less(one: Any, other: Any) -> Any:
        return items.is_less(own(one), own(other))

    if has_objects(kind):
        _require_unseen(items, is_less)
    merge_sort(items, is_less, reverse)


def compares_in_python(kind: Item | None) -> bool:
    """Whether items of a type are compared as Python's text says, for there are objects or lists of numbers in them."""
    leaves = [leaf for _, leaf in leaves_of(kind)]
    lists = [leaf for leaf in leaves if leaf != TEXT and isinstance(leaf, Container)]
    are_of_numbers = all(_is_compared(leaf) and has_order(leaf.item) and leaf.item != TEXT for leaf in lists)
    return has_objects(kind) or (bool(lists) and are_of_numbers)


def _is_compared(leaf: Any) -> bool:
    """Whether what is of a type is in order, or Python raises."""
    return leaf == TEXT or not isinstance(leaf, Container) or leaf.kind in ("list", "tuple")


def _require_numbers(items: Any, count: int) -> None:
    """Have the program raise where the first words of items, or those of lists that they are, are no numbers."""
    floats = [place for place, word in enumerate(items.held.items[:count]) if word.dtype.kind == "f"]
    columns = columns_of(items) if floats else []
    for column in (columns[place] for place in floats):
        is_number = values.emit("logical_not", tracers.lift(np.isnan(column).any()))
        values.check(is_number, NotImplementedError, _WITHOUT_ORDER)
    kind: Item | None = items.held.item
    if isinstance(kind, Container) and any(word.dtype.kind == "f" for word in words_of(kind.item)):
        require_numbers(items, _WITHOUT_ORDER)


_WITHOUT_ORDER = "a list with nan is sorted, where Python's order has no meaning"


def _require_unseen(items: Any, is_less: Callable[[Any, Any], Any]) -> None:
    """Refuse comparisons of the user's that do something."""
    trace = current_trace()
    undo = trace.trial()
    with trace.region() as scope:
        is_less(items.item(0), items.item(0))
        is_shown = is_seen(trace, scope.builder.ops)
    undo()
    if is_shown:
        raise refusal(
            "sort() by a comparison that stores or prints something, which shows how often Python compares",
            "sort by a key: sort(key=...)",
        )


@program
def require_numbers(items: Any, message: Any) -> None:
    """Raise if one of the lists in a list holds what is no number."""
    for item in items:
        for part in item:
            if part != part:
                raise NotImplementedError(message)


@program
def merge_sort(items: Any, is_less: Any, reverse: bool) -> None:
    """Sort a list in its place; equal items stay in their order."""
    if reverse:
        items.reverse()
    width = 1
    while width < len(items):
        before, start = items.copy(), 0
        while start < len(items):
            middle, end = min(start + width, len(items)), min(start + 2 * width, len(items))
            left, right, place = start, middle, start
            while place < end:
                if right == end or (left < middle and not is_less(before[right], before[left])):
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
