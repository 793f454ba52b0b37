"""What containers of the caller's are as some of the running program: their types, which their items tell."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from jitflow.frontend.containers.factories import known_factory_name
from jitflow.ir.dtypes import BOOL, F64, I64, dtype_of
from jitflow.ir.types import Container, Item, Scalar
from jitflow.runtime.objects.returned_containers import FACTORIES

__all__ = ["has_factory", "is_as_long", "type_of_passed"]

_NUMBERS = {bool: Scalar(BOOL, True), int: Scalar(I64, True), float: Scalar(F64, True)}
_KINDS: Mapping[type, str] = {
    list: "list", collections.deque: "deque", dict: "dict", set: "set", collections.defaultdict: "defaultdict",
    collections.Counter: "Counter",
}  # fmt: skip
_DEEPEST = 8
"""Levels of containers in containers."""


def type_of_passed(thing: Any) -> tuple[Container | None, list[Container]]:
    """The type of a container of the caller's, None for what is none of the running program's; and what is guessed.

    Containers of which none holds anything are taken for some of ints.
    """
    guesses: list[Container] = []
    return _container_type(type(thing), [thing], 0, guesses), guesses


def _container_type(kind: type, things: Sequence[Any], depth: int, guesses: list[Container]) -> Container | None:
    name = _KINDS.get(kind)
    if name is None or depth > _DEEPEST:
        return None
    factory = known_factory_name(things[0].default_factory) if name == "defaultdict" else ""
    held = Container(kind=name, factory=factory, most=things[0].maxlen if name == "deque" else None)
    if not all(is_as_long(thing, held) for thing in things):
        return None
    key: Item | None
    item: Item | None
    if not any(things):
        key = None if held.family in ("list", "deque") else _NUMBERS[int]
        item = None if name == "set" else _made_item(things, guesses)
        guesses.append(replace(held, key=key, item=item))
        return guesses[-1] if all(has_factory(thing, guesses[-1]) for thing in things) else None
    if held.family != "dict":
        item = _item_type([*chain.from_iterable(things)], depth, guesses)
        if item is None:
            return None
        if name == "set":
            return replace(held, key=item) if _is_key(item) else None
        return replace(held, item=item)
    key = _item_type([*chain.from_iterable(things)], depth, guesses)
    item = _item_type([*chain.from_iterable(map(dict.values, things))], depth, guesses)
    found = None if key is None or item is None or not _is_key(key) else replace(held, key=key, item=item)
    return found if found is None or all(has_factory(thing, found) for thing in things) else None


def _made_item(things: Sequence[Any], guesses: list[Container]) -> Item:
    """What containers without anything in them are going to hold: what a defaultdict makes."""
    factory: Any = next((thing.default_factory for thing in things if type(thing) is collections.defaultdict), int)
    if factory not in _KINDS:
        return _NUMBERS.get(factory, _NUMBERS[int])
    made = _container_type(factory, [factory()], 1, guesses)
    return _NUMBERS[int] if made is None else made


def _is_key(item: Item) -> bool:
    """Whether items of a type are keys."""
    if isinstance(item, tuple):
        return all(map(_is_key, item))
    return type(item) is Scalar and (item.dtype.kind != "f" or item.dtype == F64)


def is_as_long(thing: Any, held: Container) -> bool:
    """Whether a deque has the largest length of those of a type, if it has one."""
    return type(thing) is not collections.deque or thing.maxlen == held.most


def has_factory(thing: Any, held: Container) -> bool:
    """Whether a defaultdict makes what those of a type do."""
    if type(thing) is not collections.defaultdict:
        return True
    factory: Any = thing.default_factory
    if isinstance(held.item, Container):
        return _KINDS.get(factory) == held.item.kind
    return bool(held.factory) and factory is FACTORIES[held.factory]


def _item_type(things: list[Any], depth: int, guesses: list[Container]) -> Item | None:
    kinds = {*map(type, things)}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if issubclass(kind, np.number | np.bool_):
        dtype = dtype_of(np.dtype(kind))
        return None if dtype is None or dtype.is_complex or dtype.name == "bf16" else Scalar(dtype)
    if kind is tuple:
        lengths = {*map(len, things)}
        parts = (
            [_item_type([*column], depth, guesses) for column in zip(*things, strict=True)] if len(lengths) == 1 else []
        )
        return tuple(part for part in parts if part is not None) if parts and None not in parts else None
    held = _container_type(kind, things, depth + 1, guesses)
    return held if held is not None and held.words else None
