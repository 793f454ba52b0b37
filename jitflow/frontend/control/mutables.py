"""What the program's own Python objects hold: no region records that one of them changes.

Lists, dicts, sets, objects with attributes, functions and iterators live in Python while the program is traced, and
change once for each time that a block is traced, not each time that it runs. So who traces a region asks before and
after, gives back what was there, and writes the turns out or refuses. What an iterator has given nobody can give back.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable, Iterator
from types import CellType, FunctionType, GeneratorType, ModuleType
from typing import Any

import numpy as np

from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.control.cells import UNBOUND, assigned_cells, content_of, put, resolved
from jitflow.frontend.control.iterators import progress, with_inner
from jitflow.frontend.control.steps import Source, Stepwise
from jitflow.frontend.outside.made_objects import is_made_object
from jitflow.frontend.outside.module_views import ModuleView
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.pooled_objects import is_being_made, pool_of
from jitflow.frontend.outside.proxies import ObjectProxy, OutsideDict, OutsideList, counterpart
from jitflow.frontend.outside.purity import Impure
from jitflow.frontend.outside.sets import OutsideSet
from jitflow.frontend.outside.slots import Open, Slots, Slotted, holder_of
from jitflow.frontend.outside.stores import active_stores
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts.traced import is_text_value
from jitflow.frontend.tracers import Alternatives
from jitflow.frontend.tracers.base import Tracer, located
from jitflow.records import dataclass
from jitflow.runtime.objects.python_set_tables import RememberedSet, give_back

__all__ = ["Held", "Mutables", "container_in", "held"]

_OUTSIDE = (Tracer, Recorded, Impure, ObjectProxy, ModuleView, OutsideDict, OutsideList, OutsideSet, ModuleType)
"""What lives outside of the program, or is none of its objects: stores to these are recorded, or refused."""
_WRITTEN_BY_PYTHON = ("__dict__", "__weakref__", "__doc__", "__module__")


@dataclass(frozen=True, eq=False)
class Held:
    """An object that can change, and what it held."""

    thing: Any
    content: Any

    def changed(self) -> bool:
        now = _content(self.thing)
        if isinstance(self.thing, dict) and not isinstance(self.thing, Open) and [*now] != [*self.content]:
            return True
        if isinstance(now, dict):
            return now.keys() != self.content.keys() or any(now[key] is not item for key, item in self.content.items())
        if isinstance(now, list):
            return len(now) != len(self.content) or any(map(operator.is_not, now, self.content))
        if isinstance(now, np.ndarray):
            return bool(now.tobytes() != self.content.tobytes())
        return bool(now != self.content)

    def restore(self) -> None:
        self.write(self.content)

    @property
    def now(self) -> Any:
        """What it holds now."""
        return _content(self.thing)

    @property
    def keys(self) -> list[Any]:
        """Where the object holds something: indices, keys of a dict, or the names of attributes."""
        return [*range(len(self.content))] if isinstance(self.content, list) else [*self.content]

    def item(self, key: Any) -> Any:
        """What the object holds somewhere now."""
        if isinstance(self.thing, CellType):
            return content_of(self.thing)
        return self.thing[key] if isinstance(self.thing, dict | list | deque) else getattr(self.thing, key)

    def set_item(self, key: Any, item: Any) -> None:
        """Let the object hold something else there."""
        if isinstance(self.thing, CellType):
            put(self.thing, item)
        elif isinstance(self.thing, OutsideList):
            list.__setitem__(self.thing, key, item)
        elif isinstance(self.thing, dict | list | deque):
            self.thing[key] = item
        else:
            setattr(self.thing, key, item)

    def is_of_form(self, content: Any) -> bool:
        """Whether it can hold ``content`` instead: as many things under the same names."""
        if isinstance(self.content, list):
            return len(self.content) == len(content)
        return isinstance(self.content, dict) and list(self.content) == list(content)

    def write(self, content: Any) -> None:
        """Let the object hold something of the form of what it held."""
        thing = self.thing
        if isinstance(thing, CellType):
            put(thing, *content.values())
        elif isinstance(thing, list):
            list.__setitem__(thing, slice(None), content)
        elif isinstance(thing, np.ndarray):
            thing[...] = content
        elif isinstance(thing, dict):
            thing.clear()
            for key, item in content.items():
                thing[key] = item
        elif isinstance(thing, set):
            give_back(thing, content)
        elif isinstance(thing, deque):
            thing.clear()
            thing.extend(content)
        else:
            for name in _attributes(thing).keys() - content.keys():
                delattr(thing, name)
            for name, item in content.items():
                setattr(thing, name, item)

    @property
    def word(self) -> str:
        if isinstance(self.thing, Open):
            return self.thing.path
        if isinstance(self.thing, CellType):
            return "a local of the function around another one"
        if isinstance(self.thing, OutsideList | OutsideDict):
            return f"the {'list' if isinstance(self.thing, list) else 'dict'} {self.thing.path}"
        if isinstance(self.thing, np.ndarray):
            return "an array that NumPy made of lists"
        return "a list or dict" if type(self.thing) in (list, dict) else f"an object of class {_class_of(self.thing)}"


class Mutables:
    """The mutable objects within reach of some names, and what they held at some moment.

    ``with_stores``: also what the program has stored in objects from outside, all of which are within reach. ``own``:
    also the locals around functions within reach to which these assign, but for those, which somebody else holds.
    """

    def __init__(
        self, things: Iterable[Any], *, with_stores: bool = False, own: Iterable[CellType] | None = None
    ) -> None:
        self._held: dict[int, Held] = {}
        self._iterators: list[tuple[Any, Any]] = []
        self._with_stores = with_stores
        self._own = None if own is None else {*map(id, own)}
        stores = active_stores() if with_stores else None
        self._reach(things if stores is None else (*things, *stores.reached()))
        self._is_made = False
        self._meet_overlays()
        self._is_made = True

    def _reach(self, things: Iterable[Any]) -> None:
        seen: set[int] = set()
        waiting = list(things)
        while waiting:
            thing = holder_of(counterpart(resolved(waiting.pop())))
            if type(thing) is Alternatives:
                waiting += thing.options.values()
            if thing is UNBOUND or id(thing) in seen or _is_outside(thing) or type(thing) in _PLAIN:
                continue
            seen.add(id(thing))
            content = _content(thing)
            if content is not None:
                self._held[id(thing)] = Held(thing, content)
            elif isinstance(thing, Iterator):
                self._iterators.append((thing, progress(thing)))
            waiting += _inside(thing)
            if self._own is not None and type(thing) is FunctionType:
                waiting += (cell for cell in assigned_cells(thing) if id(cell) not in self._own)

    def _meet_overlays(self) -> None:
        """Hold of the objects from outside, whichever the program stores to by now, what they held at that moment.

        Of dicts with slots all keys that are known by now are held.
        """
        for known in self._held.values():
            if type(known.thing) is Slots:
                known.thing.complete(known.content)
        stores = active_stores() if self._with_stores else None
        for overlay in () if stores is None else stores.overlays.values():
            held = self._held.get(id(overlay))
            if held is None:
                held = self._held[id(overlay)] = Held(overlay, {} if self._is_made else dict(overlay))
            overlay.complete(held.content)
        for container in () if stores is None else stores.containers.values():
            thing = holder_of(container.thing)
            if id(thing) not in self._held:
                self._held[id(thing)] = Held(thing, _content(holder_of(container.before) if self._is_made else thing))
        for tail, _, _ in () if stores is None else stores.tails.values():
            holder = holder_of(tail)
            if type(holder) in (list, Slots) and id(holder) not in self._held:
                self._held[id(holder)] = Held(holder, _nothing(holder) if self._is_made else _content(holder))

    def holds(self, thing: Any) -> bool:
        """Whether an object was within reach, so that others may know it."""
        if isinstance(thing, Slotted):
            return thing.register is not None or self.reaches(thing)
        may_change = isinstance(thing, Recorded | OutsideList | OutsideDict | OutsideSet) and not is_text_value(thing)
        return id(thing) in self._held or may_change

    def reaches(self, thing: Any) -> bool:
        """Whether an object was within reach, and may change."""
        return id(holder_of(thing)) in self._held

    def taken_back(self) -> dict[int, Any]:
        """What has changed by now, by identity; what was there is given back."""
        found = {}
        self._meet_overlays()
        for key, held in self._held.items():
            if held.changed():
                found[key] = _content(held.thing)
                held.restore()
        return found

    def behind(self, key: int) -> Held:
        """An object by its identity."""
        return self._held[key]

    def all(self) -> list[Held]:
        """All objects, in the order in which they were reached."""
        self._meet_overlays()
        return [*self._held.values()]

    def changed(self) -> str:
        """What has changed by now, in words; empty if nothing has. Raises for iterators that have moved on."""
        for iterator, before in self._iterators:
            if progress(iterator) != before:
                raise _moved(iterator)
        self._meet_overlays()
        return next((held.word for held in self._held.values() if held.changed()), "")

    def has_moved(self) -> bool:
        """Whether an iterator has given items since, which nobody can give back."""
        return any(progress(iterator) != before for iterator, before in self._iterators)

    def changed_list(self) -> Any:
        """The container that has changed, if what `changed` found is one."""
        return next((container_in(held) for held in self._held.values() if held.changed()), None)

    def holds_iterator(self, iterator: Any) -> bool:
        """Whether the program can go on with an iterator when a loop over it is over."""
        moved = {id(part) for part in with_inner(iterator)}
        return any(id(part) in moved for held, _ in self._iterators for part in with_inner(held))

    def require_unheld(self, iterator: Any) -> None:
        """Raise if the program can go on with an iterator that a loop leaves where nobody knows while tracing."""
        if self.holds_iterator(iterator):
            raise located(
                UserNotImplementedError(
                    f"a loop over an iterator that the program keeps, left on a decision that only the running program "
                    f"makes: {type(iterator).__name__}",
                    mend="loop over what the iterator was made of, or count in a variable and index with it",
                )
            )

    def restore(self) -> None:
        """Give back what they held."""
        self._meet_overlays()
        for held in self._held.values():
            if held.changed():
                held.restore()


def is_held(iterator: Any) -> bool:
    """Whether the program has a name for an iterator."""
    frame = current_trace().user_frame()
    return frame is not None and Mutables(frame.f_locals.values()).holds_iterator(iterator)


def container_in(held: Held) -> Any:
    """The object, if it is a list, deque, dict or set of the program's or the caller's."""
    thing = held.thing
    return thing if isinstance(thing, list | deque | set | dict) and not isinstance(thing, Open) else None


def held(thing: Any) -> Held | None:
    """An object with what it holds now; None for what cannot change."""
    thing = holder_of(thing)
    content = None if _is_outside(thing) or type(thing) in _PLAIN else _content(thing)
    return None if content is None else Held(thing, content)


def _nothing(thing: Any) -> Any:
    """What it held before anything was appended to it."""
    return [] if isinstance(thing, list) else thing.emptied()


def _is_outside(thing: Any) -> bool:
    if pool_of(thing) is not None and not is_being_made(thing):
        return True
    return thing.is_closed if type(thing) in (OutsideList, OutsideDict) else isinstance(thing, _OUTSIDE)


_PLAIN = frozenset([bool, int, float, complex, str, bytes, type(None), slice, range])


def _content(thing: Any) -> Any:
    """What a mutable object holds; None for all others."""
    if isinstance(thing, dict):
        return dict(thing)
    if isinstance(thing, list | deque):
        return list(thing)
    if isinstance(thing, set):
        return RememberedSet(thing)
    if isinstance(thing, np.ndarray):  # one that NumPy computed of lists of numbers
        return thing.copy()
    if isinstance(thing, CellType):
        return {"cell_contents": content_of(thing)}
    return _attributes(thing) if _is_of_the_program(thing) else None


def _is_of_the_program(thing: Any) -> bool:
    """Whether it is an object with attributes, a class or a function, and not one of a library."""
    if type(thing) is FunctionType or isinstance(thing, Source | Stepwise) or is_made_object(thing):
        return True
    kind = thing if isinstance(thing, type) else type(thing)
    if kind.__module__.partition(".")[0] in ("jitflow", "numpy", "builtins"):
        return False
    return hasattr(thing, "__dict__") or any(vars(base).get("__slots__") for base in kind.__mro__)


def _attributes(thing: Any) -> dict[str, Any]:
    found = {name: item for name, item in vars(thing).items() if name not in _WRITTEN_BY_PYTHON} if hasattr(
        thing, "__dict__"
    ) else {}  # fmt: skip
    for kind in () if isinstance(thing, type) else type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in _WRITTEN_BY_PYTHON and hasattr(thing, name):
                found[name] = getattr(thing, name)
    return found


def _inside(thing: Any) -> list[Any]:
    """The objects that one leads to."""
    if isinstance(thing, dict):
        return [*thing.values()]
    if isinstance(thing, list | tuple | deque):
        return [*thing]
    found: list[Any] = []
    if type(thing) is FunctionType:
        found += thing.__defaults__ or ()
        found += (thing.__kwdefaults__ or {}).values()
        found += map(content_of, thing.__closure__ or ())
    if _is_of_the_program(thing):
        found += _attributes(thing).values()
    if isinstance(thing, GeneratorType) and thing.gi_frame is not None:
        found += thing.gi_frame.f_locals.values()
    owner = getattr(thing, "__self__", None)  # of a method
    return found if owner is None else [*found, owner]


def _moved(iterator: Any) -> UserError:
    return located(
        UserNotImplementedError(
            f"an iterator from before a loop or branch that moves on in it: {type(iterator).__name__}",
            mend="make the iterator where it is used, or count in a variable and index with it",
        )
    )


def _class_of(thing: Any) -> str:
    return thing.__name__ if isinstance(thing, type) else type(thing).__name__
