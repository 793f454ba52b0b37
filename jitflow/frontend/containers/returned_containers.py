"""Containers that the program returns: arrays of words, of which Python's objects are made.

Of one container of numbers each word of an entry has an array of its own. Several, and what holds others, are told in
one array (`pack_containers`), so that an object that is found in several places is one there, too.
"""

from __future__ import annotations

import builtins
import collections
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from jitflow.frontend.containers.containers import ProgramContainer, refusal
from jitflow.frontend.containers.held_arrays import require_own
from jitflow.frontend.containers.held_items import columns_of, standing_for
from jitflow.frontend.containers.item_types import leads_to_objects
from jitflow.frontend.control.alternatives import option
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.leaves import parts_of
from jitflow.frontend.outside.pooled_objects import Pools, is_pooled
from jitflow.frontend.outside.slots import Slotted
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording.heap_arrays import reference_to, types_behind
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import Alternatives, ArrayTracer
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import I64
from jitflow.ir.types import MADE_BY, Container, Reference, Scalar
from jitflow.runtime.objects.returned_containers import deque_of, dict_of, of_columns, set_of, shaped, unfilled
from jitflow.runtime.objects.returned_objects import PoolTable, container_with_objects, object_of_words, of_words
from jitflow.runtime.objects.stores import Call

__all__ = ["Returned", "kind_of_container", "returned_containers"]

Returned = tuple[Callable[..., Any], list[Any]]
"""What makes Python's object, and the arrays, or the objects in registers, that it makes it of."""


def returned_containers(result: Any, stored: Sequence[Any]) -> Mapping[Any, Returned]:
    """How each container in a result is returned, by its reference; by its class if nobody knows what it holds.

    So is what may have been ``stored``.
    """
    found: dict[Any, Returned] = {}
    held: dict[Value, Container] = {}
    is_chosen = False
    seen: dict[int, Any] = {}
    made = [*_containers_in(result, seen, chosen=False)]
    has_pooled = False
    arrays: dict[Value, ArrayTracer] = {}
    merged: list[ArrayTracer] = []
    for thing, chosen in (*made, *(pair for one in stored for pair in _containers_in(one, seen, chosen=True))):
        if is_pooled(thing):
            has_pooled = True
        elif type(thing) is ArrayTracer:
            if (reference := reference_to(thing._value)) is None:
                merged.append(thing)
                continue
            arrays[reference] = thing
            require_own(_type_of(reference))
            is_chosen |= chosen
        elif thing.is_known:
            _require_factories(thing.held, set())
            held[thing.value] = thing.held
            is_chosen |= chosen
        else:
            found[type(thing)] = partial(unfilled, thing.held), []
    _require_apart(merged, [*held.values(), *map(_type_of, arrays)], has_pooled=has_pooled)
    if len(arrays) == 1 and not held and not has_pooled:
        return found  # the array is copied
    held |= {reference: _type_of(reference) for reference in arrays}
    return found | {
        value: _with_shape(arrays[value], returned) if value in arrays else returned
        for value, returned in _returned(held, has_pooled=has_pooled, is_chosen=is_chosen).items()
    }


def _type_of(reference: Value) -> Container:
    assert isinstance(reference.type, Container)
    return reference.type


def _require_apart(merged: Sequence[ArrayTracer], others: list[Any], *, has_pooled: bool) -> None:
    """Raise where an array that may be one of the heap, or show one, is returned beside others that are the same."""
    seen: set[Container] = set()
    waiting = [*others, *(pool.rows.held for pool in current_trace().state(Pools).values() if has_pooled)]
    for held in waiting:  # which grows
        words = held.words if held not in seen else ()
        seen.add(held)
        waiting += [word for word in words if isinstance(word, Container)]
        waiting += [current_trace().state(Pools)[word.name].rows.held for word in words if isinstance(word, Reference)]
    for array in merged:
        kinds = types_behind(array._value)
        if not kinds.isdisjoint(seen):
            raise refusal("an array that may be one of those in containers, or a view of one, returned beside these",
                          "return a copy of it: x.copy()")  # fmt: skip
        seen |= kinds


def _with_shape(array: ArrayTracer, returned: Returned) -> Returned:
    """How an array is returned whose elements are."""
    make, parts = returned
    shape = surface.apply_function(np.array, ([*array.shape],), {"dtype": np.int64})
    return partial(shaped, make), [*parts, shape]


def _returned(held: Mapping[Value, Container], *, has_pooled: bool, is_chosen: bool) -> Mapping[Any, Returned]:
    """How containers are returned, and the elements of arrays."""
    stores = current_trace().state(Stores)
    if has_pooled or any(map(leads_to_objects, held.values())):
        return _returned_with_objects(held)
    if held and stores.passed:
        call = stores.return_containers(held)
        return {value: (partial(_passed_back, place), [call]) for place, value in enumerate(held)}
    return _returned_alone(held, is_chosen=is_chosen)


def _require_factories(held: Container, seen: set[str]) -> None:
    """Raise if there is a defaultdict in a container whose factory is a function, which nobody could return."""
    if held.factory.startswith(MADE_BY):
        raise refusal("a defaultdict of the running program, which is returned or handed on with a function for keys "
                      "that are not there", "return a dict: dict(d)")  # fmt: skip
    require_own(held)
    for word in held.words:
        if isinstance(word, Reference) and word.name not in seen:
            seen.add(word.name)
            _require_factories(current_trace().state(Pools)[word.name].rows.held, seen)
        elif isinstance(word, Container):
            _require_factories(word, seen)


def _returned_alone(held: Mapping[Value, Container], *, is_chosen: bool = False) -> dict[Any, Returned]:
    """How containers are returned of which none is the caller's."""
    if len(held) == 1 and not is_chosen:
        ((value, kind),) = held.items()
        if not any(isinstance(word, Container) for word in kind.words):
            thing = standing_for(kind, iter([value]))
            return {value: (partial(of_columns, kind), columns_of(thing.in_order()))}
    found: dict[Any, Returned] = {}
    if held:
        packed = current_trace().make("pack_containers", *held)
        words = standing_for(Container(item=Scalar(I64)), iter([packed])).array
        for place, (value, kind) in enumerate(held.items()):
            found[value] = partial(of_words, kind, place, len(held)), [words]
    return found


def _returned_with_objects(held: Mapping[Value, Container]) -> dict[Any, Returned]:
    """How containers and objects in pools are returned: all of them are told at once, with what is in the pools."""
    trace = current_trace()
    if trace.state(Stores).passed:
        raise refusal("an object of which the run decides which it is, returned beside containers that the caller "
                      "passes", "return what it holds")  # fmt: skip
    tables, roots = dict[str, PoolTable](), dict(held)
    for name, pool in trace.state(Pools).items():
        if pool.rows.is_known:
            _require_factories(pool.rows.held, {name})
            tables[name] = pool.table(len(roots))
            roots[pool.rows.value] = pool.rows.held
    packed = trace.make("pack_containers", *roots)
    words = standing_for(Container(item=Scalar(I64)), iter([packed])).array
    found: dict[Any, Returned] = {
        value: (partial(container_with_objects, tables, kind, place, len(roots)), [words])
        for place, (value, kind) in enumerate(held.items())
    }
    for name, pool in trace.state(Pools).items():
        found[name] = partial(object_of_words, tables, pool.reference, len(roots)), [words]
    return found


def _alone(thing: ProgramContainer) -> Returned:
    if leads_to_objects(thing.held):
        raise refusal("a list, dict or set of objects of which the run decides which they are, handed on where a call "
                      "fails or calls out", "hand on what the objects hold")  # fmt: skip
    if not thing.is_known:
        return partial(unfilled, thing.held), []
    _require_factories(thing.held, set())
    return _returned_alone({thing.value: thing.held})[thing.value]


surface.install(returned_container=_alone)


def _containers_in(result: Any, seen: dict[int, Any], *, chosen: bool) -> Iterator[tuple[Any, bool]]:
    """The containers in a result, and the objects in pools; and whether the running program may have chosen others.

    What stands in several places is looked at once: what was ``seen`` is not looked at again.
    """
    if id(result) in seen:
        return
    if is_pooled(result):
        yield result, chosen
    elif isinstance(result, ProgramContainer):
        if result.register is None:
            yield result, chosen
    elif type(result) is ArrayTracer:
        if types_behind(result._value):
            yield result, chosen
    elif type(result) is Alternatives:
        for number, thing in result.options.items():
            if thing is not UNBOUND:
                yield from _containers_in(option(result, number), seen, chosen=True)
    elif (items := _items_of(result)) is not None:
        chosen = chosen or isinstance(result, Slotted)
        seen[id(result)] = result
        for item in items:
            yield from _containers_in(item, seen, chosen=chosen)


def _items_of(result: Any) -> Sequence[Any] | None:
    """What is in a structure or container of Python's."""
    if (parts := parts_of(result)) is not None:
        return parts.items
    of_kind = kind_of_container(result)
    return None if of_kind is None else of_kind[1]


def kind_of_container(thing: Any) -> tuple[Callable[..., Any], Sequence[Any]] | None:
    """What makes a container of Python's, no list or dict, of its keys and its items; and these."""
    kind = type(thing)
    if kind in (set, frozenset):
        return partial(set_of, thing.copy()), ()
    if kind is collections.deque:
        return partial(deque_of, thing.maxlen), [*thing]
    if kind is collections.defaultdict:
        factory = thing.default_factory
        named = getattr(builtins, getattr(factory, "__name__", ""), None)
        if factory is not None and not (isinstance(named, type) and factory == named):
            return None
        return partial(dict_of, partial(kind, named)), [*thing.values()]
    if kind in (collections.Counter, collections.OrderedDict):
        return partial(dict_of, kind), [*thing.values()]
    return None


def _passed_back(place: int, call: Call) -> Any:
    """A container that may be one of the caller's, at a place among those that are returned."""
    return call.passed.returned(place)
