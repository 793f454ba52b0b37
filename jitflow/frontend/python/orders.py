"""``max``, ``min`` and ``sorted`` of what only the running program knows, by a ``key`` too."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from jitflow.errors import UserNotImplementedError, UserValueError
from jitflow.frontend.containers import conversions
from jitflow.frontend.containers.compared_by import ComparedBy
from jitflow.frontend.containers.held_items import columns_of
from jitflow.frontend.containers.item_types import are_sorted_as_items
from jitflow.frontend.containers.lists import Listed, best, in_order, of_numbers
from jitflow.frontend.containers.made_containers import CONSTRUCTORS, changeable
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.comparisons import compared, is_decided_by_run, is_traced
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import Range, traced_range
from jitflow.frontend.control.sources import as_source, is_open
from jitflow.frontend.control.steps import Source
from jitflow.frontend.control.switching import common_dtype, one_of
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.pooled_objects import compared_in_python
from jitflow.frontend.outside.proxies import OutsideList
from jitflow.frontend.outside.records import fields_compared
from jitflow.frontend.outside.sets import in_any_order
from jitflow.frontend.outside.slots import Slotted
from jitflow.frontend.python.chosen_items import indexed
from jitflow.frontend.python.gathering import FEW, array_of, is_long
from jitflow.frontend.python.math_functions import extremum
from jitflow.frontend.python.spreading import listed_steps
from jitflow.frontend.recording import values
from jitflow.frontend.texts.building import is_text
from jitflow.frontend.texts.characters import characters_of
from jitflow.frontend.tracers import (
    ArrayTracer,
    NumberTracer,
    ScalarTracer,
    Tracer,
    distributed,
    holds_alternatives,
    lift,
    located,
    size_of,
    wrap,
)
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.dims import Dim
from jitflow.ir.types import Scalar

__all__ = ["extremum_of", "sorted_"]

_BETTER = {"max": ">", "min": "<"}


def extremum_of(name: str, *args: Any, **keywords: Any) -> Any:
    """`max` and `min`, of what may be Python's or NumPy's numbers of one dtype as well."""
    if len(args) > 1 and not keywords and holds_alternatives(args) and common_dtype(args) is not None:
        return _chosen(name, args)
    return distributed(partial(_of_one_kind, name), args, keywords)


def _of_one_kind(name: str, *args: Any, **keywords: Any) -> Any:
    """`max` and `min`: of sizes a size, of numbers a number, without a decision."""
    args = (listed_steps(args[0]),) if len(args) == 1 else args
    args = (in_any_order(characters_of(args[0])),) if len(args) == 1 and "key" not in keywords else args
    thing = args[0] if len(args) == 1 else None
    source = as_source(thing) if isinstance(thing, Listed | ArrayTracer | Source | Range) else None
    if source is not None and "default" in keywords:
        default = keywords.pop("default")
        some = size_of(source.count) > 0
        return choose(some, lambda: _of_one_kind(name, thing, **keywords), lambda: default)
    key = keywords.get("key")
    if source is not None and key is not None:
        _require_an_item(name, source.count)
        return _best_by(name, key, source)
    if isinstance(thing, Listed) and thing.is_uniform:
        return best(name, partial(extremum_of, name), thing)
    if source is not None and not isinstance(thing, ArrayTracer):
        _require_an_item(name, source.count)
        return _best_by(name, lambda item: item, source)
    if isinstance(thing, ArrayTracer) and thing.ndim == 1:
        _require_an_item(name, thing.type.dims[0])
        return conversions.fold(thing[1:], thing[0], lambda chosen, other: extremum_of(name, chosen, other))
    items = list(args[0]) if len(args) == 1 else list(args)
    if any(map(is_text, items)) and any(map(is_traced, items)):
        return _best_of(name, items, items if key is None else [*map(key, items)], keywords)
    if key is not None:
        return _best_of(name, items, [key(item) for item in items], keywords)
    if not any(is_decided_by_run(item, "__lt__", "__gt__") for item in items):
        return getattr(builtins, name)(items, **keywords)
    if not any(isinstance(item, Tracer) for item in items):
        return _best_of(name, items, items, keywords)
    if len({kind_of(item) for item in items}) > 1 or any(isinstance(item, ArrayTracer) for item in items):
        return _chosen(name, items)
    if any(isinstance(item, ScalarTracer) and not isinstance(item, NumberTracer) for item in items):
        return _numpy_extremum(name, items)
    return extremum(name, items)


def _chosen(name: str, items: Sequence[Any]) -> Any:
    """The largest or smallest of numbers of several types: one of these itself."""
    chosen = items[0]
    for item in items[1:]:
        chosen = one_of(compared(_BETTER[name], item, chosen), item, chosen)
    return chosen


def _best_of(name: str, items: Sequence[Any], keys: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The first of the items whose key is the best."""
    key = keywords.get("key")
    if isinstance(key, ComparedBy) and items:
        by: ComparedBy = key
        return reduce(lambda chosen, item: _better_by(name, by, item, chosen), items)
    if not is_decided_by_run([*keys], "__lt__", "__gt__"):
        keywords = {**keywords, "key": lambda place: keys[place]}
        found = getattr(builtins, name)(range(len(items)), **keywords) if items or "default" not in keywords else None
        return keywords["default"] if found is None else items[found]
    chosen, worth = items[0], keys[0]
    for item, key in zip(items[1:], keys[1:], strict=True):
        chosen, worth = _better(name, (item, key), (chosen, worth))
    return chosen


def _best_by(name: str, key: Callable[[Any], Any], source: Source) -> Any:
    """The same, of as many items as only the running program knows."""
    source.begin()
    chosen = source.item(0)
    worth = None if isinstance(key, ComparedBy) else key(chosen)

    def turn(position: Any) -> None:
        nonlocal chosen, worth
        item = source.item(position)
        if isinstance(key, ComparedBy):
            chosen = _better_by(name, key, item, chosen)
            return
        chosen, worth = _better(name, (item, key(item)), (chosen, worth))

    own_loop(traced_range(1, size_of(source.count)), turn, "chosen", "worth")
    source.end()
    return chosen


def _better_by(name: str, key: ComparedBy, item: Any, chosen: Any) -> Any:
    """The better of two items, of which a function compares the keys: these are nothing that a branch could leave."""
    return choose(compared(_BETTER[name], key(item), key(chosen)), lambda: item, lambda: chosen)


def _better(name: str, other: tuple[Any, Any], known: tuple[Any, Any]) -> Any:
    return choose(compared(_BETTER[name], other[1], known[1]), lambda: other, lambda: known)


def _require_an_item(name: str, count: Dim) -> None:
    try:
        getattr(builtins, name)(())
    except ValueError as error:  # whose words differ between versions of Python
        if count == 0:
            raise located(UserValueError(str(error))) from None
        has_one = values.emit("greater_equal", values.size(count), values.size(1))
        values.check(has_one, ValueError, str(error))


def _numpy_extremum(name: str, items: list[Any]) -> Any:
    # Python keeps the first operand when the comparison with it is false, as it is with nan.
    compare = np.greater if name == "max" else np.less
    chosen = items[0]
    for item in items[1:]:
        better = surface.apply_ufunc(compare, "__call__", (item, chosen), {})
        chosen = surface.apply_function(np.where, (better, item, chosen), {})[()]
    return chosen


# -- sorted -------------------------------------------------------------------------------------------------


def sorted_(items: Any, *, key: Any = None, reverse: Any = False) -> Any:
    """`sorted`: of numbers that the running program knows, by NumPy's stable sort."""
    items = listed_steps(items)
    items = characters_of(items if key is not None else in_any_order(items))
    if isinstance(items, Range) or is_open(items):
        items = CONSTRUCTORS[list](items)
    if isinstance(key, ComparedBy):
        return surface.sorted_container(items, key, reverse)
    if isinstance(items, Recorded) and (items.flows or isinstance(items, Slotted)):
        return surface.sorted_container(items, key, reverse)
    is_array = isinstance(items, ArrayTracer) and items.ndim == 1
    known = items if is_array or isinstance(items, Listed) else list(items)
    if isinstance(known, list) and any(map(is_text, known)) and any(map(is_traced, known)):
        return surface.sorted_container(known, key, reverse)
    if isinstance(known, list) and isinstance(reverse, bool) and is_traced(known) and are_sorted_as_items(known):
        return surface.sorted_container(known, key, reverse)
    if isinstance(known, list) and not any(isinstance(item, Tracer) for item in known):
        return _sorted_by_known(known, key, reverse)
    kinds = set() if not isinstance(known, list) else {kind_of(item) for item in known}
    are_numbers = len(kinds) < 2 and all(isinstance(kind, Scalar) for kind in kinds)
    if isinstance(known, list) and not are_numbers and key is not None:
        return _sorted_by_known(known, key, reverse)
    if not isinstance(reverse, bool) or not are_numbers:
        raise _unsorted()
    numbers = known if isinstance(known, Listed) else of_numbers(known)
    if key is None:
        found = in_order(numbers, reverse=reverse)
    elif not is_long(numbers, FEW):
        found = _by_keys(numbers, [key(item) for item in numbers], reverse)
    elif (keys := array_of(numbers, key, key)) is not None:
        found = in_order(numbers, [of_numbers(keys)], reverse)
    else:  # they are tuples, say
        return surface.sorted_container(known, key, reverse)
    return changeable("sorted(...)", found)


def _by_keys(numbers: Listed, keys: list[Any], reverse: bool) -> Any:
    """The numbers in the order of as many keys, of which Python has each."""
    columns = _columns(keys) if keys else ()
    if columns is not None:
        return in_order(numbers, columns, reverse) if columns else numbers
    pairs = surface.sorted_container([*zip(keys, range(len(keys)), strict=True)], itemgetter(0), reverse)
    return type(numbers)(numbers.array[columns_of(pairs)[-1].reshape(len(keys))])


def _columns(keys: Sequence[Any], *, inside: bool = False) -> list[Listed] | None:
    """Keys as lists of numbers, of which the first that differs decides; None where they are something else."""
    kinds = {type(key) for key in keys}
    if kinds in ({tuple}, {list}) and len({len(key) for key in keys}) == 1:
        parts = [_columns(column, inside=True) for column in zip(*keys, strict=True)]
        return None if None in parts else [column for part in parts if part is not None for column in part]
    numbers = {kind_of(key) for key in keys}
    if len(numbers) > 1 or not all(isinstance(kind, Scalar) for kind in numbers):
        if is_traced(keys):
            return None
        keys = _ranks([(key,) for key in keys] if inside else keys)  # what is inside is asked first whether it is equal
    return [of_numbers([wrap(lift(key)) for key in keys])]


def _ranks(things: Sequence[Any]) -> list[int]:
    """Numbers that compare as things do which Python knows."""
    order, ranks = builtins.sorted(range(len(things)), key=things.__getitem__), [0] * len(things)
    for before, place in pairwise(order):
        ranks[place] = ranks[before] + (things[before] < things[place])
    return ranks


def _sorted_by_known(items: list[Any], key: Any, reverse: bool) -> Any:
    keys = items if key is None else [key(item) for item in items]
    if len({one.__class__ for one in keys}) == 1:
        keys = [(fields_compared(one, one, "__lt__") or (one,))[0] for one in keys]
    keys = [[*key] if type(key) is OutsideList else key for key in keys]
    if any(map(is_traced, keys)):
        if not isinstance(reverse, bool):
            raise _unsorted()
        if all(type(item) is int for item in items):
            return _by_keys(of_numbers([wrap(lift(item)) for item in items]), keys, reverse)
        if len(items) > FEW or all(type(item) is tuple for item in items):
            return surface.sorted_container(items, key, reverse)
        places = _by_keys(of_numbers([wrap(lift(place)) for place in range(len(items))]), keys, reverse)
        return [indexed(items)[place] for place in places]

    def places_by(keys: list[Any]) -> list[int]:
        return builtins.sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)

    return [items[place] for place in compared_in_python(places_by, keys)]


def _unsorted() -> Exception:
    return located(
        UserNotImplementedError(
            "sorted() of values that are known only when the compiled code runs, and are no numbers of one type",
            mend="use np.sort(x), which gives an array, or np.sort(np.array([a, b])); np.argsort for an order",
        )
    )
