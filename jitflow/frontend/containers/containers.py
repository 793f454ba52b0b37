"""Lists, deques, dicts and sets of the running program: what stands for a reference to one.

A trace begins with Python's own. Where a branch or loop changes one on a decision of the running program, or it is
asked for a key that only the running program knows, the trace starts anew (`control.changing_lists`), and the statement
that makes it makes one of the running program. Whatever is done to that is an op, so it is one object by all its names,
and a reference flows through branches and loops as a number does.

What it holds the first item tells, and each of another type widens (`item_types`). As long as nobody has put one there,
nothing is recorded; the trace starts anew with the type when somebody does. A container of containers of which nobody
knows yet what is in them gives one of these to whoever asks, so that it is told.
"""

from __future__ import annotations

import builtins
import collections
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NoReturn

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.containers.container_protocol import PythonProtocol
from jitflow.frontend.containers.factories import factory_name
from jitflow.frontend.containers.held_items import class_of, python_int, sought_words, standing_for, words
from jitflow.frontend.containers.item_types import (
    as_key,
    containers_beside,
    containers_in,
    item_type,
    joined,
    joined_containers,
    parts_inside,
    replaced,
    type_of_container,
)
from jitflow.frontend.containers.list_tapes import form_of
from jitflow.frontend.containers.named_items import is_named_tuple
from jitflow.frontend.containers.untold import note_untold
from jitflow.frontend.control.changing_lists import ProgramLists, begin_anew_displayed, begin_anew_with_slots
from jitflow.frontend.control.raising import fail
from jitflow.frontend.outside.made_objects import CONTAINERS
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.pooled_objects import begin_anew_pooled
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Restart, Site
from jitflow.frontend.recording.trace import Undoable, current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import Container, Item

__all__ = [
    "NOTHING",
    "Guessed",
    "ProgramContainer",
    "as_item",
    "is_unknown",
    "made",
    "python_class",
    "refusal",
]


_MOST_GUESSES = 4
"""How often the type of a container of the caller's is guessed, of which nothing tells what it holds."""


class Guessed:
    """The types that containers of the caller's have by a guess.

    With each is the site at which another one is learnt, the type of the whole, and how many guesses there were.
    """

    def __init__(self) -> None:
        self.types: dict[Container, tuple[Site, Container, int]] = {}


class Made(Undoable):
    """Where the containers of this trace were made, and what they hold."""

    def __init__(self) -> None:
        self.sites: dict[Site, Container] = {}

    def mark(self) -> Any:
        known = dict(self.sites)

        def forget() -> None:
            self.sites = known

        return forget


class ProgramContainer(PythonProtocol, Recorded):
    """A container of the running program, of the type ``held``; ``reference`` is its value, if that is known."""

    may_change = True
    flows = True
    held: ClassVar[Container]

    def __init__(self, reference: Any = None) -> None:
        self.reference = reference
        self.site: Site | None = None
        """Where it was made, if this trace has made it."""
        self.home: Any = None
        """The region in which that was."""
        self.sample: Any = None
        """Something that was put there of which nobody knows yet what it holds."""
        self.may_be_tape = False  # in the next trace

    def __repr__(self) -> str:
        return f"<traced {self.held}>"

    @property
    def value(self) -> Value:
        """The reference in the IR."""
        found: Value = self.reference.value
        return found

    @property
    def is_known(self) -> bool:
        """Whether anything was told of what it holds."""
        return self.reference is not None

    @property
    def address(self) -> Any:
        """A number that tells it from all others that there are."""
        return python_int(self.value)

    # -- ops ----------------------------------------------------------------------------------------

    def op(self, name: str, *operands: Value, **attributes: Any) -> tuple[Value, ...]:
        """Record an op on it."""
        return tuple(current_trace().add(name, self.value, *operands, **attributes))

    def number(self) -> Value:
        """How many entries there are, an i64."""
        return self.op("container_length")[0] if self.is_known else values.constant(0, I64)

    @property
    def length(self) -> Any:
        """``len(self)``."""
        return python_int(self.number())

    def truth(self) -> Value:
        """Whether there is an entry."""
        return values.emit("greater", self.number(), values.constant(0, I64))

    def is_same(self, other: Any) -> Any:
        if not isinstance(other, ProgramContainer) or not (self.is_known and other.is_known) or self.held != other.held:
            return self is other
        return tracers.wrap(as_weak(values.emit("equal", self.value, other.value), BOOL))

    def settled(self) -> Any:
        return self

    def returned(self) -> Any:
        return self

    def in_order(self) -> Any:
        """What has the same entries one behind the other, without gaps."""
        return self

    def holds_position(self, position: Any) -> Any:
        """Whether there is an entry at a position from the front."""
        return position < self.length

    def entry(self, position: Value) -> tuple[Any, Any]:
        """The key and the item at a position from the front that is known to be there."""
        if not self.is_known:
            if self.sample is None:
                fail(IndexError, f"{self.held.kind} index out of range")
            key, item = self.sample
            return key, item
        found = iter(self.op("get_item", position))
        key = None if self.held.key is None else standing_for(self.held.key, found)
        return key, None if self.held.item is None else standing_for(self.held.item, found)

    # -- what it holds ------------------------------------------------------------------------------

    def admitted(self, key: Any, item: Any) -> list[Value] | None:
        """The words of an entry that is put there; None if nobody knows yet what it holds."""
        try:
            return self._admitted(key, item)
        except Restart as restart:
            if not current_trace().leaves_out(restart):
                raise
            self.sample = tuple(None if isinstance(part, _Nothing) else part for part in (key, item))
            return None

    def _admitted(self, key: Any, item: Any) -> list[Value] | None:
        parts = [
            None if isinstance(part, _Nothing) else (as_item(part), name)
            for part, name in ((key, "keys"), (item, "items"))
        ]
        if parts[1] is not None:
            self._hold_arrays(parts[1][0])
        kinds = [None if part is None else item_type(part[0]) for part in parts]
        for part, kind in zip(parts, kinds, strict=True):
            if part is not None and kind is None:
                kind = self.held.key if part is parts[0] else self.held.item
                if untold := [pair for pair in containers_beside(part[0], kind) if is_unknown(pair[0])]:
                    self.sample = tuple(None if one is None else one[0] for one in parts)
                    told = [note_untold(one.site, one.held, like, one._nameless) for one, like in untold]
                    for restart in filter(None, told):
                        raise restart
                    return None
                if current_trace().scope is not current_trace().root:
                    begin_anew_pooled(parts_inside(part[0]))
                if self.held.kind in ("list", "dict"):
                    begin_anew_with_slots(self.site)
                begin_anew_pooled(parts_inside(part[0]))
                raise refusal(
                    f"a {self.held.kind} that the running program changes, of other {part[1]} than numbers, tuples of "
                    "numbers, and containers",
                    "write to arrays that are made before, and count in a variable",
                    found=f"one of class {_class_name(part[0])}",
                )
        if self.is_known and (kinds[0], kinds[1]) != (self.held.key, self.held.item):
            self._guess_again(*kinds)
        found = self._joined_with(*kinds)
        if found != self.held:
            self._start_anew(found)
        for inside in [*containers_in(kinds[0]), *containers_in(kinds[1])]:
            self._widen(inside)
        return [word for part, kind in zip(parts, (found.key, found.item), strict=True)
                if part is not None and kind is not None for word in words(part[0], kind)]  # fmt: skip

    def _joined_with(self, key: Item | None, item: Item | None) -> Container:
        """What it holds if that is put there as well."""
        if key is not None and as_key(key) is None:
            raise _no_key(self.held, key)
        factory = factory_name(getattr(self, "factory", None)) or self.held.factory
        told = replace(self.held, key=key, item=item, factory=factory)
        found = joined_containers(self.held, told)
        if found is not None:
            return found
        both = None if key is None or self.held.key is None else joined(self.held.key, key)
        if key is not None and (both is None or as_key(both) is None):
            raise self.of_several_keys(key)
        raise refusal(
            f"a {self.held.kind} that the running program changes, of items of too many types",
            "give all of them one type, from the first on: 0.0 instead of 0, np.float64(0), tuples of one length",
            found=f"{self.held.item} and {item}",
        )

    def of_several_keys(self, key: Item) -> UserNotImplementedError:
        """The error for a key of a type that cannot be one of these keys."""
        return refusal(f"a {self.held.kind} that the running program changes, of keys of several types",
                       "give all keys one type: int(k), float(k)", found=f"{self.held.key} and {key}")  # fmt: skip

    def _widen(self, inside: Container) -> None:
        """Start the trace anew if what is put there has a type of its own, which is part of that of the items."""
        known = [*containers_in(self.held.key), *containers_in(self.held.item)]
        if inside not in known:
            wider = next(held for held in known if held.kind == inside.kind)
            begin_anew_as({inside: wider})

    def _nameless(self) -> Exception:
        return refusal(
            f"a {self.held.kind} in another container, of which nobody knows what it holds when it is put there",
            "make it by a statement of its own, which gives it a name, and append to it before it is put there",
        )

    def _start_anew(self, answer: Any) -> NoReturn:
        if self.site is not None:
            raise current_trace().begin_anew(Restart(self.site, answer))
        if isinstance(answer, Container) and self.is_known:
            begin_anew_as({self.held: answer})
        if self.register is not None and isinstance(answer, Container):
            raise refusal(f"a {self.held.kind} of the caller's, to which something of another type is put",
                          "convert what is put there: int(k), float(v)", found=f"{self.held} and {answer}")  # fmt: skip
        raise self._nameless()

    def _hold_arrays(self, item: Any) -> None:
        """Start the trace anew with a list on tapes for arrays, of which an array of all of them is made at once."""
        if self.may_be_tape and not self.is_known:
            form = form_of(item)
            if form is not None and form.has_arrays:
                self._start_anew(form)

    def _guess_again(self, key: Item | None, item: Item | None) -> None:
        """Start the trace anew with the keys and items that it was told of, if others were guessed."""
        trace = current_trace()
        site, whole, count = trace.state(Guessed).types.get(self.held, (None, self.held, 0))
        if site is not None and count < _MOST_GUESSES:
            told = replace(self.held, key=key, item=item)
            raise trace.begin_anew(Restart(site, (replaced(whole, {self.held: told}), count + 1)))

    def key_words(self, key: Any) -> list[Value] | None:
        """The words of a key that is looked for; None if none of its type can be there."""
        kind = item_type(key)
        if kind is None or (sought := as_key(kind)) is None:
            raise _no_key(self.held, kind or key.__class__.__name__)
        if not self.is_known or self.held.key is None:
            return None
        if sought != self.held.key:
            self._guess_again(sought, self.held.item)
        found = joined(self.held.key, sought)
        if found is None or as_key(found) is None:
            raise refusal(
                f"a {self.held.kind} that the running program changes, asked for a key of another type",
                "give all keys one type: int(k), float(k)", found=f"{self.held.key} and {kind}",
            )  # fmt: skip
        return [*sought_words(key, self.held.key)]

    def _refuse(self, name: str) -> NoReturn:
        kind = self.held.kind
        raise refusal(f"{kind}.{name} of a {kind} that the running program changes", "write a loop")

    __hash__ = None  # type: ignore[assignment]


def _class_name(thing: Any) -> str:
    return "list" if isinstance(thing, Recorded) else str(thing.__class__.__name__)


def _no_key(held: Container, found: Any) -> Exception:
    return refusal(f"a key of a {held.kind} that is no number or tuple of numbers, integers or floats",
                   "use numbers of one type as keys", found=f"one of class {found}")  # fmt: skip


class _Nothing:
    """In the place of a key or an item where there is none."""


NOTHING = _Nothing()


def is_unknown(thing: Any) -> bool:
    """Whether it is a container of which nobody knows yet what it holds."""
    return isinstance(thing, ProgramContainer) and not thing.is_known


def made(kind: str, site: Site | None, answer: Any, most: int | None = None) -> Any:
    """A new container, empty. ``answer`` is its type, if that is known; ``most`` is the largest length of a deque."""
    held = answer if isinstance(answer, Container) else Container(kind=kind)
    held = held if most is None else replace(held, most=most)
    if held.key is None and held.item is None:
        found = class_of(held)()
    else:
        found = standing_for(held, iter([current_trace().make("make_container", type=held)]))
        if site is not None:
            current_trace().state(Made).sites[site] = held
    found.site, found.home = site, current_trace().scope
    return found


def begin_anew_as(types: Mapping[Container, Container]) -> None:
    """Start the trace anew with other types of what statements have made, if there are such."""
    trace = current_trace()
    found = [(site, held, replaced(held, types)) for site, held in trace.state(Made).sites.items()]
    restarts = [trace.begin_anew(Restart(site, wider)) for site, held, wider in found if wider != held]
    if restarts:
        raise restarts[0]


def refusal(what: str, mend: str, found: str = "") -> UserNotImplementedError:
    """The error for what such a container cannot do, at the user's line."""
    return located(UserNotImplementedError(what, found=found, mend=mend))


def as_item(thing: Any) -> Any:
    """What a container can hold in the place of one of Python's own."""
    if type(thing) is tuple or is_named_tuple(thing):
        return tuple.__new__(type(thing), map(as_item, thing))
    if (begin_anew_in_heap := getattr(type(thing), "begin_anew_in_heap", None)) is not None:
        begin_anew_in_heap(thing)
    if type(thing) not in CONTAINERS:
        return thing
    trace = current_trace()
    known = trace.state(ProgramLists).made.get(id(thing))
    if known is not None:
        raise trace.begin_anew(Restart(known.site, type_of_container(thing) or True))
    begin_anew_displayed()
    raise refusal(
        f"a {type(thing).__name__} of Python's that is put into one of the running program",
        "make it by a display or comprehension in the compiled function: row = [...]",
    )


def _told(thing: Any) -> Any:
    """What is known of a container of Python's that has to be one of the running program: arrays may lie on tapes."""
    may_be_tape = type(thing) is list and any(form is not None and form.has_arrays for form in map(form_of, thing))
    return True if may_be_tape else type_of_container(thing) or True


surface.install(container_type=_told)


def python_class(thing: Any) -> type | None:
    """Python's class of a container of the running program; None for everything else."""
    if not isinstance(thing, ProgramContainer):
        return None
    kind: type = getattr(builtins, thing.held.kind, None) or getattr(collections, thing.held.kind)
    return kind
