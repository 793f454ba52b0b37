"""What a container of the running program holds: numbers, tuples of such, containers, or one of several kinds of them.

An item has a type (`jitflow.ir.types.Item`) and words, the numbers and references that it is made of, so that each
comes out as what it was. What is read from items of several kinds is `Alternatives`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.runtime_sizes import bind, from_front, integer
from jitflow.frontend.containers.held_arrays import array_of_words, array_words
from jitflow.frontend.containers.item_types import Kept, item_type, joined
from jitflow.frontend.containers.named_items import named_tuple
from jitflow.frontend.control.alternatives import described, number_of, option
from jitflow.frontend.control.local_types import converted, placeholder
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.possible_kinds import is_of_kind, possible_numbers
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.outside.pooled_objects import number_of_object, pooled_object
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts.building import built, can_be_built
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.array_items import is_array_item
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.named_types import Named
from jitflow.ir.types import TEXT, Container, Item, Member, NoneKind, Reference, Scalar, Several, Tag, words_of

__all__ = [
    "KINDS",
    "class_of",
    "columns_of",
    "place_of",
    "python_int",
    "size_of",
    "sought_words",
    "standing_for",
    "words",
]

KINDS: dict[str, Any] = {}
"""The class of what stands for a container, by its kind."""


@cache
def class_of(held: Container) -> Any:
    """The class of what stands for containers of a type."""
    base = KINDS[held.kind]
    named = {"__qualname__": str(held)}  # which tells structures apart; messages of Python's have the name
    return type(held.kind, (base,), {"held": held, "__jitflow_arrays__": ("reference",), **named})


def python_int(number: Value) -> Any:
    """An i64 as Python's int."""
    return tracers.wrap(values.emit("cast", number, dtype=I64, weak=True))


def words(thing: Any, item: Item) -> Iterator[Value]:
    """The words of an item of a type."""
    if type(thing) is Kept:
        yield from thing.words
    elif isinstance(item, Several):
        yield from _words_of_several(thing, item)
    elif is_array_item(item):
        yield from array_words(thing, item)  # type: ignore[arg-type]
    elif isinstance(item, tuple):
        for part, kind in zip(thing, item, strict=True):
            yield from words(part, kind)
    elif item == TEXT:
        yield built(thing if can_be_built(thing) else str(thing))
    elif isinstance(item, Container):
        yield thing.value
    elif isinstance(item, Reference):
        yield tracers.lift(number_of_object(thing))
    elif isinstance(item, Scalar):
        value = converted(thing, item)
        if item.dtype.is_complex:
            yield from (values.emit("real", value), values.emit("imag", value))
        else:
            yield value


def _words_of_several(thing: Any, item: Several) -> Iterator[Value]:
    """A tag, and in the words of its kind what it is; without a branch, though it be of several kinds itself."""
    tag: Value | None = None
    carried: list[Value | None] = [None] * len(item.carriers)
    for is_this, one in _kinds_of(thing):
        number = item.kinds.index(_place_among(item, one))
        this = values.constant(number, I64)
        tag = this if tag is None else values.select(is_this, this, tag)
        for place, word in zip(item.places[number], words(one, item.kinds[number]), strict=True):
            known, value = carried[place], _as_carrier(word, item.carriers[place])
            carried[place] = value if known is None or known is value else values.select(is_this, value, known)
    assert tag is not None
    yield tag
    for known, carrier in zip(carried, item.carriers, strict=True):
        yield placeholder(current_trace(), carrier) if known is None else known


def _kinds_of(thing: Any) -> Iterator[tuple[Value, Any]]:
    """The things that it may be, and whether it is: what is tested last counts."""
    if type(thing) is not tracers.Alternatives:
        yield values.constant(True, BOOL), thing
        return
    for number in possible_numbers(thing):
        yield is_of_kind(thing, number), option(thing, number)


def _place_among(item: Several, thing: Any) -> Item:
    """The kind among several that a thing is of."""
    kind = Member(type(thing), thing.name) if isinstance(thing, enum.Enum) else item_type(thing)
    assert kind is not None
    return next(known for known in item.kinds if joined(known, _only(kind)) == known)


def _only(item: Item) -> Item:
    return item.kinds[0] if isinstance(item, Several) and len(item.kinds) == 1 else item


def _as_carrier(word: Value, carrier: Scalar) -> Value:
    return word if isinstance(carrier, Container | Tag) else values.cast(word, carrier.dtype)


def sought_words(key: Any, item: Item) -> Iterator[Value]:
    """The words of a key that is looked for among keys of a type, of which it need not be: tags do not count."""
    if isinstance(item, tuple):
        for part, kind in zip(key, item, strict=True):
            yield from sought_words(part, kind)
        return
    if item == TEXT:
        yield built(key if can_be_built(key) else str(key))
        return
    if isinstance(item, Reference):
        yield tracers.lift(number_of_object(key))
        return
    wanted = words_of(item)
    if isinstance(wanted[0], Tag):
        yield values.constant(0, I64)
    found: Value | None = None
    for is_this, one in _kinds_of(key):
        value = values.cast(tracers.lift(one), wanted[-1].dtype)
        found = value if found is None or found is value else values.select(is_this, value, found)
    assert found is not None
    yield found


def standing_for(item: Item, found: Iterator[Value]) -> Any:
    """What stands for the item that has these words."""
    if isinstance(item, Several):
        return _one_of(item, found)
    if is_array_item(item):
        return array_of_words(item, found)  # type: ignore[arg-type]
    if isinstance(item, tuple):
        parts = tuple(standing_for(part, found) for part in item)
        return named_tuple(item.kind, parts) if isinstance(item, Named) else parts
    if isinstance(item, NoneKind):
        return item.thing
    value = next(found)
    if isinstance(item, Container):
        return class_of(item)(tracers.ScalarTracer(value))
    if isinstance(item, Reference):
        return pooled_object(item.name, python_int(value))
    if item.dtype.is_complex:
        value = values.emit("complex", value, next(found))
    return tracers.wrap(as_weak(value, item.dtype) if item.weak else value)


def _one_of(item: Several, found: Iterator[Value]) -> Any:
    """What is of several kinds, of a tag and the words that carry it."""
    tag, carried = next(found), [next(found) for _ in item.carriers]
    things = []
    for kind, places in zip(item.kinds, item.places, strict=True):
        parts = zip((carried[place] for place in places), words_of(kind), strict=True)
        things.append(standing_for(kind, iter([_as_carrier(word, wanted) for word, wanted in parts])))
    if len(things) == 1:
        return things[0]
    numbers = [number for thing in things if (number := number_of(thing)) is not None]
    chosen, options, told = values.known_int(numbers[-1]), dict[int, Any](), dict[int, str]()
    for place, (number, thing) in enumerate(zip(numbers, things, strict=True)):
        options[number], told[number] = thing, described(thing)
        if place < len(things) - 1:
            is_this = values.emit("equal", tag, values.constant(place, I64))
            chosen = values.select(is_this, values.known_int(number), chosen)
    return tracers.Alternatives(tracers.wrap(chosen), options, "the item", told)


def place_of(position: Any, length: Value, error: type[Exception], message: str) -> Value:
    """A position from the front that is inside; checked."""
    front = from_front(integer(position), length)
    inside = values.emit("less", front, length), values.emit("greater_equal", front, values.constant(0, I64))
    values.check(values.emit("logical_and", *inside), error, message)
    return front


def size_of(number: Value) -> Any:
    """A number of entries as a size."""
    return tracers.size_of(bind(number, "length"))


def columns_of(thing: Any) -> list[Any]:
    """An array for each word of an entry, of entries without gaps."""
    size = size_of(thing.number())
    columns = [surface.apply_function(np.empty, ((size,),), {"dtype": word.dtype.numpy}) for word in thing.held.words]

    def take(position: Any) -> None:
        for column, word in zip(columns, thing.op("get_item", integer(position)), strict=True):
            column[position] = tracers.wrap(word)

    own_loop(traced_range(0, size), take)
    return columns
