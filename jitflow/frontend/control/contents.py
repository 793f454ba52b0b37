"""Objects that branches and loops change: what they hold is merged, and carried, as locals are.

    if c:
        counts["n"] += 1          what is behind "n" is one number or the other

An object of the program's own that holds as many things as before, under the same names, goes on with what the path
that was taken has left in it. In a loop each thing in it that a turn changes is carried like a local (`Item`), and the
object holds it in the turn and behind the loop, so that all who know the object see it. A list that becomes longer or
shorter is one of the running program (`growing_lists`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CellType
from typing import Any, NamedTuple, Protocol

import numpy as np

from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.changing_lists import begin_anew_with, container_type, form_of_dict
from jitflow.frontend.control.leaves import parts_of
from jitflow.frontend.control.merge import resolved
from jitflow.frontend.control.mutables import Held, Mutables, container_in
from jitflow.frontend.control.steps import Source
from jitflow.frontend.outside.slots import Open, Slots, holder_of
from jitflow.frontend.recording.choices import Restart
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.records import dataclass

__all__ = ["Changes", "ChangesInLoop", "Place", "changed_items", "item_at"]


class Place(NamedTuple):
    """Where a loop changes what an object holds: its number among those within reach, and the position in it."""

    number: int
    position: int


class ChangesInLoop(Exception):
    """A turn changes an object so that the loop cannot carry what it holds."""

    def __init__(self, held: Held, left: Any = None) -> None:
        super().__init__(f"{held.word} changes in the loop")
        self.thing = held.thing
        self.changed = container_in(held)
        self.left = left if self.changed is held.thing else None
        """What the turn has left in it."""
        self.grows = type(held.thing) is Slots and held.thing.grows
        """Whether it is a list to which each turn appends, with a slot for each item."""


class HasLocals(Protocol):
    """A traced path."""

    locals: dict[str, Any]

    def __hash__(self) -> int: ...


class Changes:
    """The objects within reach of a branch, and what its paths have left in them."""

    def __init__(self, reached: Iterable[Any], own: Iterable[CellType] = ()) -> None:
        self.before = Mutables(reached, with_stores=True, own=own)
        self._left: dict[HasLocals, dict[int, Any]] = {}
        self._names: dict[str, tuple[int, Any]] = {}
        """What is merged: an item of an object, or all that it holds where nothing stands under a key."""

    def take_back(self, path: HasLocals) -> None:
        """A path has been traced: what it has changed is given back."""
        self.before.changed()  # raises for iterators
        self._left[path] = self.before.taken_back()

    def now(self) -> dict[int, Any]:
        """What objects hold that have changed so far."""
        return {id(held.thing): held.now for held in self.before.all() if held.changed()}

    def leave(self, path: HasLocals, content: dict[int, Any]) -> None:
        """What a path leaves in objects is what they held at some moment (`now`)."""
        self._left[path] = content

    def left(self, path: HasLocals) -> dict[int, Any]:
        """What a path has left in objects that it has changed."""
        return self._left[path]

    def write_back(self, content: dict[int, Any]) -> None:
        """Let objects hold what they held at some moment."""
        for key, held in content.items():
            self.before.behind(key).write(held)

    def left_in(self, path: HasLocals, thing: Any) -> Any:
        """An object; if a path has changed it, another one with what the path has left in it."""
        key = id(holder_of(thing))
        left = self._left[path].get(key)
        held = None if left is None else self.before.behind(key)
        if held is None or not held.is_of_form(left):
            return thing
        held.write(left)
        parts = parts_of(thing)
        made = thing if parts is None else parts.make(parts.items)
        held.restore()
        return made

    def as_locals(self, paths: Sequence[HasLocals]) -> list[str]:
        """Let the paths have what is left in the objects as locals; returns their names."""
        for key in dict.fromkeys(key for path in paths for key in self._left[path]):
            held = self.before.behind(key)
            contents = [self._left[path].get(key, held.content) for path in paths]
            for content in contents if isinstance(held.thing, Open) else ():
                held.thing.complete(content)
            if not all(map(held.is_of_form, contents)):
                try:
                    told = form_of_dict(*contents) or container_type(held.thing, max(contents, key=len))
                    begin_anew_with(held.thing, told)
                except Restart as restart:
                    if not current_trace().leaves_out(restart):
                        raise
                    continue
                raise _refused(held)
            number = len({known for known, _ in self._names.values()})
            changed = _changed_parts(held, contents) if isinstance(held.content, list | dict) else {0: None}
            for position, part in changed.items():
                name = f"an item of {held.word} {number}.{position}"
                self._names[name] = key, part
                for path, content in zip(paths, contents, strict=True):
                    path.locals[name] = content if part is None else content[part]
        return [*self._names]

    def write(self, merged: Mapping[str, Any]) -> None:
        """Let the objects hold what was merged."""
        for name, content in merged.items():
            key, part = self._names[name]
            if part is None:
                self.before.behind(key).write(resolved(content))
            else:
                self.before.behind(key).set_item(part, resolved(content))


def _changed_parts(held: Held, contents: Sequence[Any]) -> dict[int, Any]:
    """The keys under which an object does not hold on all paths what it held, by their positions."""
    others = [content for content in contents if content is not held.content]
    return {position: key for position, key in enumerate(held.keys)
            if any(content[key] is not held.content[key] for content in others)}  # fmt: skip


def _refused(held: Held) -> UserError:
    mend = "give it its attributes before, with None for what is not there yet"
    if isinstance(held.thing, dict):
        mend = "give a dict its keys before, with None for what is not there yet"
    elif isinstance(held.content, list | set):
        mend = "make a list of numbers in the function, and return it; or take an array that is written to"
    error = located(
        UserNotImplementedError(
            f"{held.word} that changes on a decision that only the running program makes", mend=mend
        )
    )
    error.tells_least = True
    return error


@dataclass(eq=False)
class Item:
    """What an object holds under a key, in an attribute or at an index, as a cell: a loop carries it like a local."""

    place: Place
    held: Held
    key: Any

    @property
    def name(self) -> str:
        """What messages call it; another one for each place."""
        shown = self.key if isinstance(self.key, str) else self.place.position
        return f"{shown} of {self.held.word} {self.place.number + 1}"

    @property
    def cell_contents(self) -> Any:
        """What is there, unless the object has lost it."""
        try:
            return self.held.item(self.key)
        except (LookupError, AttributeError):
            return UNBOUND

    @cell_contents.setter
    def cell_contents(self, thing: Any) -> None:
        self.held.set_item(self.key, resolved(thing) if isinstance(self.held.thing, Open) else thing)


def item_at(place: Place, before: Mutables) -> Item | None:
    """What there is at a place, if that can be carried."""
    objects = before.all()
    held = objects[place.number] if place.number < len(objects) else None
    if held is None or place.position >= len(held.content) or isinstance(held.content, set | np.ndarray):
        return None
    key = held.keys[place.position]
    return None if _holds_objects(held.item(key)) else Item(place, held, key)


def changed_items(before: Mutables, apart: Mutables) -> Iterator[tuple[Item, Any]]:
    """What a turn has changed in objects that it keeps in their form, and what it has left there; that is given back.

    The objects that are held ``apart`` are none of them: the turn may have seen them by copies, or goes through them.
    """
    before.changed()  # raises for iterators
    objects = before.all()
    numbers = {id(held.thing): number for number, held in enumerate(objects)}
    for identity, content in before.taken_back().items():
        held, number = before.behind(identity), numbers[identity]
        is_apart = isinstance(held.thing, Source) or apart.reaches(held.thing)
        changes_alike = held.is_of_form(content) and not is_apart
        for index, key in enumerate(held.keys if changes_alike else ()):
            if content[key] is held.content[key]:
                continue
            item = item_at(Place(number, index), before)
            if item is None or _holds_objects(content[key]):
                changes_alike = False
                break
            yield item, content[key]
        if not changes_alike:
            raise ChangesInLoop(held, content)


def _holds_objects(thing: Any) -> bool:
    """Whether something is, or holds, an object that can change."""
    return any(not isinstance(held.thing, np.ndarray) for held in Mutables([thing]).all())
