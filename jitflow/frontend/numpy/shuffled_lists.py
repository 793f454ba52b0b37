"""Lists that a random generator shuffles: their items are put where the generator has put the positions."""

from __future__ import annotations

from typing import Any

from jitflow.frontend.containers.container_programs import program
from jitflow.frontend.containers.item_types import type_of_container
from jitflow.frontend.containers.made_containers import list_of_program
from jitflow.frontend.control.changing_lists import begin_anew_with
from jitflow.frontend.python.builtin_functions import class_of, replacement
from jitflow.frontend.python.chosen_items import indexed
from jitflow.ir.types import Scalar

__all__ = ["is_list", "put_in_order"]


def is_list(thing: Any) -> bool:
    """Whether it is a list, one of Python's, of the caller's or of the running program."""
    return class_of(thing) is (replacement(list) or list)


def put_in_order(items: Any, places: Any) -> None:
    """Put into a list, in its place, the items that it has at each of these places, an array.

    Of a list that Python has, each item is chosen, numbers out of a table; texts and tuples are in one of the run.
    """
    if type(items) is not list:
        _put_in_order(items, places)
        return
    held = type_of_container([*items])
    if held is None or isinstance(held.item, Scalar):
        before = indexed([*items])
    else:
        begin_anew_with(items)
        before = list_of_program(items)
    items[:] = [before[places[place].item()] for place in range(len(items))]


@program
def _put_in_order(items: Any, places: Any) -> None:
    before = list(items)
    for place in range(len(places)):
        items[place] = before[places[place]]
