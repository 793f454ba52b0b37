"""Lists, deques, dicts and sets of the running program.

An entry of a container is a row of words: those of its key, if there are keys, then those of its item. Lists and
deques are asked by position, from the front; dicts and sets are asked for a key (`find_key`), which gives the position
of an entry for as long as nothing is added or removed. Entries of a dict stand in the order in which they were added;
those that were removed leave gaps until `settle_keys`. The order of a set is CPython's (`keys_of`).

Nothing here is checked: who asks for a position knows that there is an entry. What an op may fail at is memory.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitflow.ir.dtypes import I64
from jitflow.ir.records import Attributes, Effect, OpDef, TypeRuleError
from jitflow.ir.types import TEXT, Container, Index, NoneKind, Scalar, Several, Type, leaves_of

__all__ = ["CONTAINER_OPS", "Entries"]

_READS = (Effect("reads", 0),)
_WRITES = (Effect("reads", 0), Effect("writes", 0))
_READS_ITEMS = (Effect("reads", 0, "items"),)
_READS_ENTRIES = (Effect("reads", 0, "entries"),)
_WRITES_ITEMS = (Effect("reads", 0), Effect("writes", 0, "items"))


class Entries:
    """What stands for a container in the interpreter."""

    def __init__(self, kind: Container) -> None:
        self.kind = kind
        self.rows: list[Any] = []
        """Tuples of words; None where one was removed."""
        self.places: dict[Any, int] = {}
        self.order: set[Any] = set()
        """The keys of a set, whose order is Python's."""
        self.changes = 0
        self.elements: Any = None
        """The numbers of an array, in one that NumPy may show."""

    @property
    def length(self) -> int:
        return len(self.rows) if self.kind.key is None else len(self.places)

    def words(self) -> list[Any]:
        """The entries, of an array each number or the parts of it."""
        if self.elements is None:
            return self.rows
        is_complex = self.elements.dtype.kind == "c"
        return [(one.real, one.imag) if is_complex else (one,) for one in self.elements]

    def key(self, words: Sequence[Any]) -> Any:
        """Python's key of the words of one."""
        return _whole(self.kind.key, iter(words))

    def characters(self) -> tuple[Any, ...]:
        """What tells a text from others."""
        return tuple(int(number) for (number,) in self.rows)


def _whole(item: Any, words: Any) -> Any:
    """What Python compares, of the words of a key or item."""
    if isinstance(item, tuple):
        return tuple(_whole(part, words) for part in item)
    if isinstance(item, Several):
        number, carried = int(next(words)), [next(words) for _ in item.carriers]
        return _whole(item.kinds[number], iter([carried[place] for place in item.places[number]]))
    if isinstance(item, NoneKind):
        return item.thing
    word = next(words)
    if item == TEXT:
        return word.characters()
    if item.dtype.is_complex:
        return complex(word, next(words))
    return word.item() if isinstance(word, np.generic) else word  # NumPy rounds integers that it compares with floats


def _leaves(held: Entries, row: Sequence[Any], count: int) -> list[Any]:
    """The parts of an item in its first ``count`` words, as Python compares them."""
    return [_whole(leaf, iter(row[first:])) for first, leaf in leaves_of(held.kind.item) if first < count]


class _Ordered:
    """A row of words with the order of its item."""

    def __init__(self, held: Entries, row: Any) -> None:
        self.row = row
        self.leaves = _leaves(held, row, len(row))

    def __lt__(self, other: _Ordered) -> bool:
        return self.leaves < other.leaves


def _container(name: str, type: Type) -> Container:
    if not isinstance(type, Container):
        raise TypeRuleError(f"{name}: expected a container, got {type}")
    return type


def _plain(type: Type) -> object:
    """A type for comparison: machine code knows no Python numbers."""
    return type.dtype if isinstance(type, Scalar) and not isinstance(type, Container) else type


def _takes(name: str, words: str, gives: str) -> Callable[[Sequence[Type], Attributes], tuple[Type, ...]]:
    """The rule of an op on a container and, in this order, what ``words`` names: position, keys, items."""

    def infer(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
        held = _container(name, operands[0])
        parts = {"position": (Scalar(I64),), "keys": held.keys, "items": held.items, "words": held.words}
        expected = tuple(word for part in words.split() for word in parts[part])
        if [*map(_plain, operands[1:])] != [*map(_plain, expected)]:
            found = ", ".join(map(str, operands[1:]))
            raise TypeRuleError(f"{name}: expected {', '.join(map(str, expected))} for {held}, got {found}")
        return parts.get(gives, ())

    return infer


def _infer_made(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (_container("make_container", attributes["type"]),)


def _infer_keys(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (Container(item=_container("keys_of", operands[0]).key),)


# -- evaluation -----------------------------------------------------------------------------------------------


def _append(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    held, *words = operands
    held.rows.insert(0 if attributes.get("front") else len(held.rows), tuple(words))
    return ()


def _drop(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    operands[0].rows.pop(0 if attributes.get("front") else -1)
    return ()


def _get(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    row = operands[0].rows[int(operands[1])]
    return row[0] if len(row) == 1 else row


def _set(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    held, position, *words = operands
    held.rows[int(position)] = (*held.rows[int(position)][: len(held.kind.keys)], *words)
    return ()


def _insert(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    held, position, *words = operands
    held.rows.insert(int(position), tuple(words))
    return ()


def _remove(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    held, position = operands
    if held.kind.key is None:
        held.rows.pop(int(position))
        return ()
    key = held.key(held.rows[int(position)])
    held.rows[int(position)] = None
    held.changes += 1
    del held.places[key]
    held.order.discard(key)
    return ()


def _find(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    held, *words = operands
    return held.places.get(held.key(words), -1)


def _enter(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    held, *words = operands
    key = held.key(words)
    if key in held.places:
        return _set((held, held.places[key], *words[len(held.kind.keys) :]), attributes, types)
    held.places[key] = len(held.rows)
    held.rows.append(tuple(words))
    held.order.add(key)
    held.changes += 1
    return ()


def _infer_merged(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    held, other = (_container("merge_keys", operand) for operand in operands)
    if held.family != "set" or other.key is None or [*map(_plain, held.keys)] != [*map(_plain, other.keys)]:
        raise TypeRuleError(f"merge_keys: expected a set and what has keys of its type, got {held} and {other}")
    return ()


def _merge(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    held, other = operands
    held.order.update(other.order if other.kind.family == "set" else dict.fromkeys(other.places))
    for key, place in [*other.places.items()]:
        if key not in held.places:
            held.places[key] = len(held.rows)
            held.rows.append(other.rows[place][: len(held.kind.keys)])
    held.changes += 1
    return ()


def _infer_swapped(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    if _container("swap_keys", operands[0]) != operands[1]:
        raise TypeRuleError(f"swap_keys: expected two sets of one type, got {operands[0]} and {operands[1]}")
    return ()


def _swap(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    one, other = operands
    for name in ("rows", "places", "order"):
        left, right = getattr(one, name), getattr(other, name)
        setattr(one, name, right)
        setattr(other, name, left)
    return ()


def _next_key(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    (held,) = operands
    key = held.order.pop()
    held.order.add(key)
    return held.places[key]


def _settle(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    (held,) = operands
    held.rows = [row for row in held.rows if row is not None]
    held.order.difference_update(())
    held.places = {held.key(row): place for place, row in enumerate(held.rows)}
    return ()


def _keys_of(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    (held,) = operands
    made = Entries(Container(item=held.kind.key))
    words = len(held.kind.keys)
    made.rows = [held.rows[held.places[key]][:words] for key in held.order]
    return made


def _clear(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    (held,) = operands
    held.changes += held.length > 0
    held.rows, held.places, held.order = [], {}, set()
    return ()


def _infer_packed(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    for operand in operands:
        if not isinstance(operand, Index):  # the heap of a host program
            _container("pack_containers", operand)
    return (Container(item=Scalar(I64)),)


def _pack(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    numbers: dict[int, int] = {}
    waiting: list[Entries] = []

    def number_of(held: Entries | None) -> int:
        if held is None:
            return 0
        if id(held) not in numbers:
            numbers[id(held)] = len(waiting) + 1
            waiting.append(held)
        return numbers[id(held)]

    found = [number_of(root) for root in operands if not isinstance(root, int)]
    for held in waiting:
        rows = [held.rows[held.places[key]] for key in held.order] if held.kind.kind == "set" else held.words()
        entries = [row for row in rows if row is not None]
        found += [len(held.kind.words), len(entries)]
        for row in entries:
            for word, kind in zip(row, held.kind.words, strict=True):
                found.append(number_of(word) if isinstance(kind, Container) else _bits(word, kind))
    made = Entries(Container(item=Scalar(I64)))
    made.rows = [(np.int64(word),) for word in found]
    return made


def _bits(word: Any, kind: Scalar) -> int:
    """The number in 64 bits."""
    number = np.asarray(word, kind.dtype.numpy)
    wide = number if number.dtype.kind in "iub" else number.view(f"u{number.dtype.itemsize}")
    return int(wide.astype(np.int64) if wide.dtype.kind != "u" else wide.astype(np.uint64).view(np.int64))


def _infer_given(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return ()


def _passed(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """Words have addresses in a process that runs compiled code; what is passed to the interpreter is empty."""
    return Entries(attributes["type"])


def _sift(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    held, position = operands
    function = "_siftdown" if attributes.get("down") else "_siftup"
    arguments = (0, int(position)) if attributes.get("down") else (int(position),)
    ordered = [_Ordered(held, row) for row in held.rows]
    getattr(heapq, function)(ordered, *arguments)
    held.rows = [each.row for each in ordered]
    return ()


def _sort(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    (held,), words = operands, attributes["words"]
    held.rows.sort(key=lambda row: _leaves(held, row, words), reverse=bool(attributes.get("reverse")))
    return ()


CONTAINER_OPS = [
    OpDef("make_container", "a new container of a type, empty", "any", None, _infer_made,
          lambda operands, attributes, types: Entries(attributes["type"]), (Effect("allocates"),), frozenset(),
          ("type",)),
    OpDef("no_container", "a reference for a path on which a name is not bound, to what stays empty", "any", 0,
          _infer_made, lambda operands, attributes, types: Entries(attributes["type"]), (), frozenset(), ("type",)),
    OpDef("container_length", "how many entries there are", "any", 1, _takes("container_length", "", "position"),
          lambda operands, attributes, types: operands[0].length, _READS_ENTRIES),
    OpDef("container_changes", "a number that is another one whenever a key was added or removed", "any", 1,
          _takes("container_changes", "", "position"),
          lambda operands, attributes, types: operands[0].changes, _READS_ENTRIES),
    OpDef("get_item", "container, position: the words of an entry", "any", 2, _takes("get_item", "position", "words"),
          _get, _READS_ITEMS),
    OpDef("set_item", "container, position, words: another item", "any", None,
          _takes("set_item", "position items", ""), _set, _WRITES_ITEMS),
    OpDef("append_item", "container, words: an entry at the end, or at the ``front``", "any", None,
          _takes("append_item", "items", ""), _append, _WRITES, frozenset(), ("front",)),
    OpDef("drop_item", "takes the last entry off, or that at the ``front``", "any", 1, _takes("drop_item", "", ""),
          _drop, _WRITES, frozenset(), ("front",)),
    OpDef("insert_item", "container, position, words: an entry before another one", "any", None,
          _takes("insert_item", "position items", ""), _insert, _WRITES),
    OpDef("remove_item", "container, position: takes an entry out", "any", 2, _takes("remove_item", "position", ""),
          _remove, _WRITES),
    OpDef("find_key", "container, words of a key: the position of its entry, -1 if there is none", "any", None,
          _takes("find_key", "keys", "position"), _find, _READS_ENTRIES),
    OpDef("enter_key", "container, words of a key and an item: adds an entry, or gives the one there the item", "any",
          None, _takes("enter_key", "words", ""), _enter, _WRITES),
    OpDef("merge_keys", "set, set or dict: adds the keys of the other one as Python does, which decides on their order",
          "any", 2, _infer_merged, _merge, (*_WRITES, Effect("reads", 1))),
    OpDef("next_key", "set with keys: the position of the one that Python pops next", "any", 1,
          _takes("next_key", "", "position"), _next_key, _WRITES),
    OpDef("swap_keys", "set, set: each gets the keys of the other one", "any", 2, _infer_swapped, _swap,
          (*_WRITES, Effect("reads", 1), Effect("writes", 1))),
    OpDef("settle_keys", "closes the gaps between the entries of a dict, whose positions count from 0 then; those of "
          "a set as Python does where it has removed those of another one", "any", 1,
          _takes("settle_keys", "", ""), _settle, _WRITES),
    OpDef("sift_item", "list, position: moves an item to where it belongs in a heap: towards the root (``down``, as "
          "`heapq` calls it), or to a leaf and back", "any", 2, _takes("sift_item", "position", ""), _sift,
          _WRITES_ITEMS, frozenset(), ("down",)),
    OpDef("sort_items", "sorts a list by the first ``words`` of its items; what is equal stays in order", "any", 1,
          _takes("sort_items", "", ""), _sort, _WRITES_ITEMS, frozenset(), ("words", "reverse")),
    OpDef("keys_of", "a list of the keys of a set, in Python's order", "any", None, _infer_keys, _keys_of,
          (*_READS, Effect("allocates"))),
    OpDef("pack_containers", "a list of words that tells containers and all that they hold, each once: the numbers of "
          "the containers, from 1 on, then of each how many words an entry has, how many entries there are, and these. "
          "A reference is the number of a container, 0 for none", "any", None, _infer_packed, _pack,
          (Effect("external"),)),
    OpDef("pass_container", "address of the words of a call, as `jitflow.backends.llvm.heap.passed` has them: the "
          "container with a ``number`` among those that the caller passes", "any", None, _infer_made, _passed,
          (Effect("allocates"),), frozenset(), ("type", "number")),
    OpDef("give_containers", "address of the words of a call, containers: these are returned, told in words", "any",
          None, _infer_given, lambda *_: (), (Effect("external"),)),
    OpDef("tell_containers", "address of the words of a call: what has changed is told in words there", "any",
          None, _infer_given, lambda *_: (), (Effect("external"),)),
    OpDef("clear_container", "takes all entries out", "any", 1, _takes("clear_container", "", ""), _clear, _WRITES),
]  # fmt: skip
