"""What a container of the running program holds: numbers, tuples of such, or containers.

An item has a type (`jitflow.ir.types.Item`) and words, the numbers and references that it is made of. All items of a
container have one type, so that each comes out as what it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.runtime_sizes import bind, from_front, integer
from jitflow.frontend.control.local_types import converted, kind_of
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts.building import built, can_be_built, is_text
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import TEXT, Container, Item, Scalar, words_of

__all__ = ["KINDS", "class_of", "item_type", "less", "place_of", "python_int", "same", "size_of", "standing_for",
           "type_of_list", "words"]  # fmt: skip

KINDS: dict[str, Any] = {}
"""The class of what stands for a container, by its kind."""


@cache
def class_of(held: Container) -> Any:
    """The class of what stands for containers of a type."""
    base = KINDS[held.kind]
    return type(held.kind, (base,), {"held": held, "__jitflow_arrays__": ("reference",)})


def python_int(number: Value) -> Any:
    """An i64 as Python's int."""
    return tracers.wrap(values.emit("cast", number, dtype=I64, weak=True))


def item_type(thing: Any) -> Item | None:
    """The type of an item; None for what no container holds."""
    if type(thing) is tuple:
        parts = [item_type(part) for part in thing]
        return None if None in parts or not parts else tuple(part for part in parts if part is not None)
    if is_text(thing):
        return TEXT if can_be_built(thing) else None
    if isinstance(thing, Recorded):
        held: Container | None = getattr(thing, "held", None)
        return None if held is None or held.words == () else held
    kind = kind_of(thing)
    return kind if isinstance(kind, Scalar) and not kind.dtype.is_complex else None


def type_of_list(thing: Any) -> Container | None:
    """The type of a list of Python's as one of the running program, if its items tell it."""
    if type(thing) is not list or not thing:
        return None
    kinds = {type_of_list(item) if type(item) is list else item_type(item) for item in thing}
    kind = kinds.pop()
    return None if kinds or kind is None else Container(item=kind)


def words(thing: Any, item: Item) -> Iterator[Value]:
    """The words of an item of a type."""
    if isinstance(item, tuple):
        for part, kind in zip(thing, item, strict=True):
            yield from words(part, kind)
    else:
        yield _word(thing, item)


def _word(thing: Any, item: Scalar) -> Value:
    if item == TEXT:
        return built(thing)
    if isinstance(item, Container):
        reference: Value = thing.value
        return reference
    return converted(thing, item)


def standing_for(item: Item, found: Iterator[Value]) -> Any:
    """What stands for the item that has these words."""
    if isinstance(item, tuple):
        return tuple(standing_for(part, found) for part in item)
    value = next(found)
    return class_of(item)(tracers.ScalarTracer(value)) if isinstance(item, Container) else tracers.wrap(value)


def same(one: Any, other: Any, item: Item) -> Value:
    """Whether two items of a type are equal."""
    answer = values.constant(True, BOOL)
    for left, right in zip(words(one, item), words(other, item), strict=True):
        answer = values.emit("logical_and", answer, values.emit("equal", *_comparable(left, right)))
    return answer


def less(one: Any, other: Any, item: Item) -> Value:
    """Whether an item comes before another one: of tuples the first parts that differ decide."""
    answer = values.constant(False, BOOL)
    pairs = [*zip(words(one, item), words(other, item), words_of(item), strict=True)]
    for left, right, _ in reversed(pairs):
        pair = _comparable(left, right)
        equal = values.emit("logical_and", values.emit("equal", *pair), answer)
        answer = values.emit("logical_or", values.emit("less", *pair), equal)
    return answer


def _comparable(one: Value, other: Value) -> tuple[Value, Value]:
    """Numbers that compare as two words do."""
    if one.type != TEXT:
        return one, other
    (order,) = current_trace().add("compare_texts", one, other)
    return order, values.constant(0, I64)


def place_of(position: Any, length: Value, error: type[Exception], message: str) -> Value:
    """A position from the front that is inside; checked."""
    front = from_front(integer(position), length)
    inside = values.emit("less", front, length), values.emit("greater_equal", front, values.constant(0, I64))
    values.check(values.emit("logical_and", *inside), error, message)
    return front


def size_of(number: Value) -> Any:
    """A number of entries as a size."""
    return tracers.size_of(bind(number, "length"))
