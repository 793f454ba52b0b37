"""What a call stores in objects of the caller's, `self.count = n`, and how it gets there.

Where the program ends, its stores are results like others: the entry makes the objects, and `StoreTable.end` sets the
attributes. A call that fails has made those in front of what fails: so each store of a number is also noted in memory
of the call (`Call`), in program order with all else that can be seen, and what is no number is handed over (`hold`) in
front of what fails. `StoreTable.fail` sets the attributes from there.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np

from jitflow.records import dataclass
from jitflow.runtime.native.dtypes import PYTHON_SCALARS, numpy_dtype

__all__ = ["APPENDED", "MOST_TARGETS", "Call", "MetOtherwise", "StoreTable", "Target", "Way", "numbers_in"]

APPENDED = "..."
"""In the place of a name: what is stored is appended to the list."""
MOST_TARGETS = 32
"""Attributes that one function stores to."""


_BY_VALUE = ("python", "numpy", "object")


@dataclass(frozen=True)
class Way:
    """How what was stored is found: a number, by its dtype; an object from outside, by its place; or as it is."""

    kind: Literal["python", "numpy", "object", "constant", "held"]
    about: Any = None


@dataclass(eq=False)
class Target:
    """An attribute of an object that the function stores to, or all that a list or dict holds; and in which ways."""

    object: int
    name: str | None
    ways: list[Way] = field(default_factory=list)

    def number_of(self, way: Way) -> int:
        """What is noted where something is stored in this way; 0 stands for no store."""
        for number, known in enumerate(self.ways, 1):
            is_it = known.about == way.about if way.kind in _BY_VALUE else known.about is way.about
            if known.kind == way.kind and is_it:
                return number
        self.ways.append(way)
        return len(self.ways)


class MetOtherwise(Exception):
    """A list or dict in what is passed is one that the program knows in another way."""


class Call:
    """The stores of one call: the objects, and what has been noted of each target."""

    def __init__(self, objects: Sequence[Any], dtypes: Sequence[str]) -> None:
        self.objects = objects
        self.held: dict[int, Any] = {}
        self.items: list[np.ndarray[Any, Any]] = []
        """What is in each list that is stored to."""
        self.passed: Any = None
        """The containers of the caller's that are some of the running program."""
        self.is_over = False
        self.kinds = np.zeros(MOST_TARGETS, np.int64)
        for dtype in dtypes:
            self.add(dtype)

    @property
    def address(self) -> int:
        """Where the words lie of the containers that are passed."""
        return int(self.passed.address)

    def add(self, dtype: str) -> np.ndarray[Any, Any]:
        """Memory for numbers of one dtype, one for each target."""
        numbers = np.zeros(MOST_TARGETS, numpy_dtype(dtype))
        setattr(self, dtype, numbers)
        return numbers


class StoreTable:
    """The targets of one compiled function, and the calls that are running."""

    def __init__(self) -> None:
        self.targets: list[Target] = []
        self.lists: list[tuple[int, int, bool]] = []
        """The lists that are stored to, and the arrays of their items, by their numbers among the objects; and whether
        the items are Python's numbers."""
        self.passed: list[tuple[int, Any]] = []
        """The containers that are some of the running program, by their numbers among the objects, and their types."""
        self.apart: list[int] = []
        """The numbers of lists and dicts that are none of these."""
        self.returned: list[Any] = []
        """The types of containers that are returned and may be the caller's."""
        self.convert: Callable[..., Any] | None = None
        """Makes words of containers, and containers of words."""
        self.dtypes: list[str] = []
        self._running = threading.local()

    def begin(self, *objects: Any) -> Call:
        """What a call stores to, which lives as long as it runs."""
        call = Call(objects, self.dtypes)
        call.items = [objects[array].copy() for _, array, _ in self.lists if objects]
        if self.convert is not None and objects:
            roots = [(objects[number], held) for number, held in self.passed]
            call.passed = self.convert(roots, [objects[number] for number in self.apart], self.returned)
        calls = [known for known in getattr(self._running, "calls", ()) if known() is not None]
        self._running.calls = [*calls, weakref.ref(call)]
        return call

    def current(self) -> Call:
        """The innermost call that is running on this thread."""
        calls: Iterator[Call | None] = (known() for known in reversed(self._running.calls))
        return next(call for call in calls if call is not None and not call.is_over)

    def end(self, targets: Sequence[tuple[Target, bool]], is_noted: bool, result: Any, *given: Any) -> Any:
        """Make the stores of a call that has come to its end, and return its result.

        ``given`` are, behind what has been noted if anything ``is_noted``, for each target the object, whether there
        was a store if only the run knows that, and what was stored.
        """
        things = iter(given)
        call = next(things) if is_noted else None
        for target, is_asked in targets:
            thing = next(things)
            happened = not is_asked or next(things)
            stored = next(things)
            if happened:
                _store(thing, target, stored)
        if call is not None:
            call.is_over = True
            self._store_items(call)
        return result

    def hold(self, *things: Any, targets: Sequence[int]) -> None:
        """Keep what was stored and is no number, in case that the call fails at once."""
        self.current().held.update(zip(targets, things, strict=True))

    def store(self, *stored: Any, targets: Sequence[int]) -> None:
        """Make the stores that have happened by now, because somebody may look."""
        call = self.current()
        for number, happened, thing in zip(targets, stored[::2], stored[1::2], strict=True):
            if happened:
                self._store(call, number, thing)
        self._store_items(call)

    def failing(self, handler: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
        """The handler of failed calls, which have made their stores before."""

        def fail(status: int, address: int) -> Any:
            call = self.current()
            call.is_over = True
            for number, thing in call.held.items():
                if self.targets[number].name in (None, APPENDED):
                    self._store(call, number, thing)
            for number, kind in enumerate(call.kinds.tolist()):
                way = self.targets[number].ways[kind - 1] if kind else None
                if way is not None and (way.kind != "held" or number in call.held):  # not if the user interrupts it
                    self._store(call, number, self._noted(call, number, way))
            self._store_items(call)
            return handler(status, address)

        return fail

    def _store_items(self, call: Call) -> None:
        """Let the lists have the items that are others than they were, and all containers what was put into them."""
        if call.passed is not None:
            call.passed.collect()
        for place, (number, array, are_pythons) in enumerate(self.lists):
            items, before, now = call.objects[number], call.items[place], call.objects[array]
            words = f"V{now.itemsize}"
            positions = np.flatnonzero(now.view(words) != before.view(words))
            changed = now[positions]
            for position, item in zip(positions.tolist(), changed.tolist() if are_pythons else changed, strict=True):
                items[position] = item
            call.items[place] = now.copy()

    def _noted(self, call: Call, number: int, way: Way) -> Any:
        if way.kind == "object":
            return call.objects[way.about]
        if way.kind == "constant":
            return way.about
        if way.kind == "held":
            return call.held[number]
        found = getattr(call, way.about)[number]
        return PYTHON_SCALARS[way.about](found) if way.kind == "python" else found

    def _store(self, call: Call, number: int, thing: Any) -> None:
        target = self.targets[number]
        _store(call.objects[target.object], target, thing)


def _store(thing: Any, target: Target, stored: Any) -> None:
    if target.name == APPENDED:
        thing.extend(stored)
    elif target.name is None:
        replace_content(thing, stored)
    else:
        setattr(thing, target.name, stored)


def replace_content(container: Any, content: Any) -> None:
    """Let a list or dict hold something else. Numbers that are the same stay the objects that they were."""
    if isinstance(container, list):
        rest = len(content) - len(container)
        kept = [old if _is_same(old, new) else new for old, new in zip(container, content, strict=False)]
        container[:] = kept if rest <= 0 else kept + content[-rest:]
        return
    for key in [key for key in container if key not in content]:
        del container[key]
    if [*container] != [*content][: len(container)]:
        container.clear()
    for key, new in content.items():
        if key not in container or not _is_same(container[key], new):
            container[key] = new


def _is_same(old: Any, new: Any) -> bool:
    """Whether two objects are numbers that cannot be told apart but by their identity, or one object."""
    is_number = type(old) in PYTHON_SCALARS.values() or isinstance(old, np.generic)
    return old is new or (is_number and type(old) is type(new) and repr(old) == repr(new))


def numbers_in(kind: type, items: list[Any]) -> np.ndarray[Any, Any]:
    """The numbers in a list, of one type. Raises TypeError for others, and OverflowError for ints beyond 64 bits."""
    if not {*map(type, items)} <= {kind}:
        raise TypeError(f"expected a list of {kind.__name__}")
    return np.fromiter(items, np.int64 if kind is int else kind, len(items))
