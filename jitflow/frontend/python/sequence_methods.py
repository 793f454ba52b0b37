"""Methods of Python's own texts, tuples and lists whose items only the running program knows: ``x.index(v)``.

How many items there are is known, so each is compared. Where none is traced, Python's method does it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError
from jitflow.frontend.containers.item_types import are_sorted_as_items
from jitflow.frontend.containers.made_containers import keyed
from jitflow.frontend.containers.slotted_lists import raise_absent
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.changing_lists import begin_anew_with
from jitflow.frontend.control.comparisons import equal, is_decided_by_run, is_traced
from jitflow.frontend.outside.keys_of_sets import noting_keys
from jitflow.frontend.outside.pooled_objects import compared_in_python
from jitflow.frontend.outside.proxies import OutsideList
from jitflow.frontend.python.orders import sorted_
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.texts import format_, join
from jitflow.frontend.texts.building import is_text
from jitflow.frontend.texts.traced import is_text_value
from jitflow.frontend.tracers import Alternatives, ArrayTracer, ScalarTracer, located
from jitflow.frontend.tracers.surface import surface

__all__ = ["method"]


def method(owner: Any, name: str) -> Any:
    """``owner.name``, to be called."""
    kind = type(owner)
    if name == "__array__" and isinstance(owner, ArrayTracer | ScalarTracer):
        return partial(_as_array, owner)
    if name in _OF_TEXTS and (kind is str or is_text(owner)):
        return partial(_OF_TEXTS[name], owner)
    if kind is str:
        return partial(_on_known_text, owner, name)
    if name == "count" and is_text(owner) and kind is not Alternatives:
        return getattr(owner, "count_of" if is_text_value(owner) else "count")
    if kind is Alternatives and not is_text(owner):
        return partial(_of_each_kind, owner, name)
    if kind in (list, tuple, OutsideList) and name in _OF_SEQUENCES and (name != "sort" or kind is list):
        return partial(_OF_SEQUENCES[name], owner)
    return noting_keys(owner, name, keyed(owner, name))


def _of_each_kind(owner: Alternatives, name: str, *args: Any, **keywords: Any) -> Any:
    """A method of something of several kinds: that of the kind which it is."""
    call = raising_for_the_program(lambda thing: method(thing, name)(*args, **keywords))
    return owner.each(call, args, keywords)


def _as_array(owner: Any, dtype: Any = None, *, copy: Any = None) -> Any:
    """``x.__array__(dtype)``."""
    return surface.apply_function(np.asarray, (owner, dtype), {"copy": copy})


def _on_known_text(text: str, name: str, *args: Any, **keywords: Any) -> Any:
    """A method of known text, which may be given what only the running program knows."""
    if not any(map(is_traced, args)):
        return getattr(text, name)(*args, **keywords)
    whole = surface.program_text(text)
    return getattr(whole, "count_of" if name == "count" else name)(*args, **keywords)


def _count(items: Any, *wanted: Any) -> Any:
    """``items.count(wanted)``."""
    if len(wanted) != 1 or not (is_decided_by_run(wanted[0]) or is_decided_by_run(items)):
        return items.count(*wanted)
    found: Any = 0
    for item in items:
        found = found + (1 if item is wanted[0] else choose(equal(item, wanted[0]), lambda: 1, lambda: 0))
    return found


def _index(items: Any, *arguments: Any) -> Any:
    """``items.index(wanted, start, stop)``."""
    if not arguments or not (is_decided_by_run(arguments[0]) or is_decided_by_run(items)):
        return items.index(*arguments)
    wanted, *bounds = arguments
    start, stop = (*bounds, None, None)[:2]
    places = list(range(len(items)))[start:stop]

    def among(places: list[int]) -> Any:
        if not places:
            raise_absent(wanted, "tuple" if type(items) is tuple else "list")
        first, *others = places
        if items[first] is wanted:
            return first
        return choose(equal(items[first], wanted), lambda: first, lambda: among(others))

    return among(places)


def _sort(items: list[Any], *args: Any, **keywords: Any) -> None:
    """``items.sort()``."""
    if args:
        raise located(UserTypeError("sort() takes no positional arguments"))
    if not is_traced(items) and keywords.get("key") is None:
        compared_in_python(list.sort, items, **keywords)
        return
    if are_sorted_as_items(items):
        begin_anew_with(items)
    ordered = sorted_(items, **keywords)
    items[:] = [ordered[place] for place in range(len(items))]


_OF_TEXTS: dict[str, Callable[..., Any]] = {"format": format_, "join": join}
_OF_SEQUENCES: dict[str, Callable[..., Any]] = {"count": _count, "index": _index, "sort": _sort}
