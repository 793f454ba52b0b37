"""The types of items: what one is of, and what is of one type or of another.

A container has one type for all its items. Where one of another type is put there, the trace starts anew with a type
for both: of tuples of one length and of containers of one kind part by part, of all else one of `Several`. So types
only grow, and tracing ends.
"""

from __future__ import annotations

import collections
import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.containers.factories import factory_name
from jitflow.frontend.containers.named_items import is_named_tuple, kind_of_named
from jitflow.frontend.control.alternatives import option
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.possible_kinds import possible_numbers
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.pooled_objects import is_pooled, reference_type
from jitflow.frontend.texts.building import can_be_built, is_text
from jitflow.ir.array_items import array_item, is_array_item, join_array_items
from jitflow.ir.core import Value
from jitflow.ir.dtypes import C128, DType
from jitflow.ir.named_types import Named, like_tuple
from jitflow.ir.types import NONE, TEXT, Container, Item, Member, Reference, Scalar, Several, Tensor, leaves_of
from jitflow.records import dataclass

__all__ = [
    "Kept",
    "are_keys_of_one_kind",
    "are_sorted_as_items",
    "as_key",
    "common_dtype",
    "containers_beside",
    "containers_in",
    "has_objects",
    "has_order",
    "item_type",
    "joined",
    "joined_containers",
    "leads_to_objects",
    "parts_inside",
    "replaced",
    "type_of_container",
    "widest",
]

_MOST_KINDS = 8
"""Of how many kinds items may be. What is done with more than four of them is refused."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A part of an item that has a type, and words."""

    kind: Item
    words: Sequence[Value]


def item_type(thing: Any) -> Item | None:
    """The type of an item; None for what no container holds."""
    if thing is None:
        return Several((NONE,))
    if type(thing) is Kept:
        return thing.kind
    if isinstance(thing, enum.Enum):
        return _type_of_members(type(thing))
    if is_pooled(thing):
        return reference_type(thing)
    if type(thing) is tracers.Alternatives:
        return _all_joined(item_type(option(thing, number)) for number in possible_numbers(thing))
    if type(thing) is tuple or is_named_tuple(thing):
        parts = [item_type(part) for part in thing]
        known = tuple(part for part in parts if part is not None)
        if not parts or len(known) < len(parts):
            return None
        return known if type(thing) is tuple else Named(kind_of_named(thing), known)
    if is_text(thing):
        return TEXT if can_be_built(thing) else item_type(str(thing))  # which is refused, unless Python knows it
    if isinstance(thing, Recorded):
        held: Container | None = getattr(thing, "held", None)
        return None if held is None or held.words == () else held
    kind = kind_of(thing)
    if isinstance(kind, Tensor):
        return _type_of_array(kind) if type(thing) is tracers.ArrayTracer else None
    return kind


def _type_of_array(kind: Tensor) -> Item | None:
    """The type of an array as an item. Complex numbers of 64 bits have their parts in two words: no array has."""
    if kind.dtype.is_complex and kind.dtype != C128:
        return None
    return array_item(kind.dtype, [dim if isinstance(dim, int) else None for dim in kind.dims])


def _type_of_members(owner: type[enum.Enum]) -> Item | None:
    """The type of all members of an enumeration, so that none is found later; None for flags, which are combined."""
    if issubclass(owner, enum.Flag):
        return None
    return Several.of(Member(owner, member.name) for member in owner)


def type_of_container(thing: Any) -> Container | None:
    """The type of a container of Python's as one of the running program, if what it holds tells it."""
    kind = type(thing).__name__
    if type(thing) not in _KEYED | _LISTS or not thing:
        return None
    key = _all_joined(map(_type_inside, thing)) if type(thing) in _KEYED else None
    if type(thing) in _KEYED and (key is None or (key := as_key(key)) is None):
        return None
    if type(thing) is set:
        return Container(kind=kind, key=key)
    item = _all_joined(map(_type_inside, thing if type(thing) in _LISTS else thing.values()))
    factory = factory_name(thing.default_factory) if type(thing) is collections.defaultdict else ""
    most = thing.maxlen if type(thing) is collections.deque else None
    return None if item is None else Container(kind=kind, key=key, item=item, factory=factory, most=most)


_LISTS = frozenset({list, collections.deque})
_KEYED = frozenset({dict, set, collections.defaultdict, collections.Counter, collections.OrderedDict})


def _type_inside(thing: Any) -> Item | None:
    return type_of_container(thing) if type(thing) in _LISTS else item_type(thing)


def joined(one: Item, other: Item) -> Item | None:
    """The type of what is of one type or of another; None if those are too many kinds."""
    if one == other:
        return one
    if is_array_item(one) and is_array_item(other):
        found = join_array_items(one, other)  # type: ignore[arg-type]
        return Several.of((one, other)) if found is None else found
    if isinstance(one, tuple) and isinstance(other, tuple) and _are_alike_tuples(one, other):
        parts = [joined(*pair) for pair in zip(one, other, strict=True)]
        return None if None in parts else like_tuple(one, (part for part in parts if part is not None))
    if isinstance(one, Container) and isinstance(other, Container) and _are_of_one_class(one, other):
        return joined_containers(one, other)
    kinds: list[Item] = []
    for kind in (*_kinds(one), *_kinds(other)):
        place = next((place for place, known in enumerate(kinds) if _are_alike(known, kind)), None)
        if place is None:
            kinds.append(kind)
            continue
        both = joined(kinds[place], kind)
        if both is None:
            return None
        kinds[place] = both
    several = sum(not isinstance(kind, Member) for kind in kinds)
    return Several.of(kinds) if several <= _MOST_KINDS else None


def _kinds(item: Any) -> tuple[Item, ...]:
    return item.kinds if isinstance(item, Several) else (item,)


def _are_alike(one: Item, other: Item) -> bool:
    """Whether what is of one type or of another is no `Several`."""
    if isinstance(one, Container) or isinstance(other, Container):
        return isinstance(one, Container) and isinstance(other, Container) and _are_of_one_class(one, other)
    return one == other or (isinstance(one, tuple) and isinstance(other, tuple) and _are_alike_tuples(one, other))


def _are_alike_tuples(one: tuple[Item, ...], other: tuple[Item, ...]) -> bool:
    if is_array_item(one) or is_array_item(other):
        return is_array_item(one) and is_array_item(other) and tuple(one) == tuple(other)
    return len(one) == len(other) and getattr(one, "kind", None) is getattr(other, "kind", None)


def _are_of_one_class(one: Container, other: Container) -> bool:
    return (one.kind, one.factory, one.most) == (other.kind, other.factory, other.most)


def joined_containers(one: Container, other: Container) -> Container | None:
    """The type of a container of one type or of another, of one kind."""
    parts = []
    for first, second in ((one.key, other.key), (one.item, other.item)):
        part = first if second is None else second if first is None else joined(first, second)
        if part is None and (first, second) != (None, None):
            return None
        parts.append(part)
    key, item = parts
    if key is not None and (key := as_key(key)) is None:
        return None
    return replace(one, key=key, item=item, factory=one.factory or other.factory)


def widest(answer: Any, like: Container | None) -> Any:
    """What a container holds of which a trace has found an ``answer``, if it begins with the items of another one."""
    if not isinstance(answer, Container) or like is None or answer.kind != like.kind:
        return like if answer is None or (answer is True and like is not None) else answer
    return joined_containers(answer, like) or answer


def _all_joined(kinds: Iterable[Item | None]) -> Item | None:
    def both(one: Item | None, other: Item | None) -> Item | None:
        return None if one is None or other is None else joined(one, other)

    found = [*kinds]
    return reduce(both, found) if found else None


def as_key(item: Item) -> Item | None:
    """The type of a key; None for what is no key, or what are no keys of one kind: 1 and 1.0 are.

    Numbers of less than 64 bits are carried in 64, so that a key which is looked for is not cut off.
    """
    if isinstance(item, tuple):
        parts = [as_key(part) for part in item]
        return None if None in parts else like_tuple(item, (part for part in parts if part is not None))
    if isinstance(item, Several):
        return item if len(item.carriers) == 1 and all(map(_is_number, item.kinds)) else None
    if item == TEXT or (isinstance(item, Reference) and item.is_key):
        return item
    if not _is_number(item):
        return None
    assert isinstance(item, Scalar)
    return item if item.dtype.bits == 64 else Several((item,))


def are_keys_of_one_kind(keys: Iterable[Any]) -> bool:
    """Whether one dict of the running program can have all these keys."""
    kind = _all_joined(map(item_type, keys))
    return kind is not None and as_key(kind) is not None


def _is_number(item: Item) -> bool:
    return isinstance(item, Scalar) and not isinstance(item, Container | Reference) and not item.dtype.is_complex


def has_order(item: Item | None) -> bool:
    """Whether items of a type can be sorted: numbers, but not complex ones, texts, and tuples of them."""
    return all(
        all(map(_is_number, leaf.kinds)) and {carrier.dtype.name for carrier in leaf.carriers} <= {"i64", "f64"}
        if isinstance(leaf, Several)
        else leaf == TEXT or (_is_number(leaf) and leaf.dtype.name not in ("f16", "f32", "bf16"))  # type: ignore[union-attr]
        for _, leaf in leaves_of(item)
    )


def has_objects(item: Item | None) -> bool:
    """Whether objects of the user's classes or arrays are among the parts of an item: these say how they compare."""
    if is_array_item(item):
        return True
    if isinstance(item, tuple):
        return any(map(has_objects, item))
    kinds = _kinds(item)
    return any(isinstance(kind, Reference) or (isinstance(kind, tuple) and has_objects(kind)) for kind in kinds)


def parts_inside(thing: Any) -> Iterator[Any]:
    """What an item is made of, and what that may be."""
    if isinstance(thing, tuple) or type(thing) is tracers.Alternatives:
        for part in thing if isinstance(thing, tuple) else thing.options.values():
            yield from parts_inside(part)
    else:
        yield thing


def containers_beside(thing: Any, item: Item | None) -> Iterator[tuple[Any, Container | None]]:
    """The containers that an item is made of, each with the type of those in its place among items of a type."""
    if isinstance(thing, tuple):
        kind = next((kind for kind in _kinds(item) if isinstance(kind, tuple) and len(kind) == len(thing)), None)
        for place, part in enumerate(thing):
            yield from containers_beside(part, None if kind is None else kind[place])
    elif type(thing) is tracers.Alternatives:
        for one in thing.options.values():
            yield from containers_beside(one, item)
    elif isinstance(held := getattr(thing, "held", None), Container):
        kinds = (kind for kind in _kinds(item) if isinstance(kind, Container))
        yield thing, next((kind for kind in kinds if _are_of_one_class(kind, held)), None)


def leads_to_objects(held: Container) -> bool:
    """Whether objects of the user's classes are in a container, or in one that is in it."""
    return any(
        isinstance(word, Reference) or (isinstance(word, Container) and leads_to_objects(word)) for word in held.words
    )


def are_sorted_as_items(items: list[Any]) -> bool:
    """Whether items of a list of Python's are put in order as those of a container.

    Numbers are put in order as those of an array, and arrays are chosen, so that they stay what they are.
    """
    held = type_of_container(items)
    if held is None or _has_arrays(held.item):
        return False
    return isinstance(held.item, Reference) or not isinstance(held.item, Scalar)


def _has_arrays(item: Item | None) -> bool:
    return is_array_item(item) or (isinstance(item, tuple) and any(map(_has_arrays, item)))


def common_dtype(item: Item | None) -> DType | None:
    """The dtype of NumPy's array of items; None if they are no numbers, or have none that one of them has."""
    kinds = [kind for kind in _kinds(item) if isinstance(kind, Scalar) and not isinstance(kind, Container | Reference)]
    if item is None or len(kinds) < len(_kinds(item)):
        return None
    found = np.result_type(*(kind.dtype.numpy for kind in kinds))
    return next((kind.dtype for kind in kinds if kind.dtype.numpy == found), None)


# -- types in types -------------------------------------------------------------------------------------------


def containers_in(item: Item | None) -> Iterator[Container]:
    """The types of containers in an item, one level down."""
    if isinstance(item, Container):
        yield item
    elif isinstance(item, tuple | Several):
        for part in item if isinstance(item, tuple) else item.kinds:
            yield from containers_in(part)


def replaced(item: Any, by: Mapping[Container, Container]) -> Any:
    """The same type with types of containers in it replaced by others."""
    if isinstance(item, Container):
        found = by.get(item, item)
        return replace(found, key=replaced(found.key, by), item=replaced(found.item, by))
    if isinstance(item, tuple):
        return like_tuple(item, (replaced(part, by) for part in item))
    if isinstance(item, Several):
        kinds = [replaced(kind, by) for kind in item.kinds]
        found = reduce(lambda one, other: None if one is None else joined(one, other), kinds)
        return found if isinstance(found, Several) else Several.of(kinds)
    return item
