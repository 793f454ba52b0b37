"""Lists, deques, dicts and sets of the running program: what stands for a reference to one.

A trace begins with Python's own. Where a branch or loop changes one on a decision of the running program, or it is
asked for a key that only the running program knows, the trace starts anew (`control.changing_lists`), and the statement
that makes it makes one of the running program. Whatever is done to that is an op, so it is one object by all its names,
and a reference flows through branches and loops as a number does.

What it holds the first item tells. As long as nobody has put one there, nothing is recorded; the trace starts anew with
the type when somebody does. A container of containers of which nobody knows yet what is in them gives one of these to
whoever asks, so that it is told.
"""

from __future__ import annotations

import builtins
import collections
from dataclasses import replace
from typing import Any, ClassVar, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.arrays.runtime_sizes import integer
from jitflow.frontend.control.changing_lists import ProgramLists
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.raising import fail
from jitflow.frontend.control.sources import traced_range
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.python.container_protocol import PythonProtocol
from jitflow.frontend.python.held_items import (
    class_of,
    item_type,
    python_int,
    size_of,
    standing_for,
    type_of_list,
    words,
)
from jitflow.frontend.python.list_tapes import Form, form_of
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Restart, Site
from jitflow.frontend.recording.trace import Undoable, current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import Container, Item, Scalar

__all__ = ["NOTHING", "ProgramContainer", "Unknown", "columns_of", "made", "python_class", "refusal"]


class Unknown(Undoable):
    """The containers of which nobody has told what they hold."""

    def __init__(self) -> None:
        self.sites: list[Site] = []

    def mark(self) -> Any:
        known = len(self.sites)

        def forget() -> None:
            del self.sites[known:]

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
        parts = [
            None if isinstance(part, _Nothing) else (_as_item(part), name)
            for part, name in ((key, "keys"), (item, "items"))
        ]
        kinds = [None if part is None else item_type(part[0]) for part in parts]
        for part, kind in zip(parts, kinds, strict=True):
            if part is not None and kind is None:
                if is_unknown(part[0]):
                    self.sample = tuple(None if one is None else one[0] for one in parts)
                    return None
                self._hold_arrays(part[0])
                raise refusal(
                    f"a {self.held.kind} that the running program changes, of other {part[1]} than numbers, tuples of "
                    "numbers, and containers",
                    "write to arrays that are made before, and count in a variable",
                    found=f"one of class {_class_name(part[0])}",
                )
        if not self.is_known:
            self._start_anew(Container(kind=self.held.kind, key=kinds[0], item=kinds[1]))
        for kind, known in zip(kinds, (self.held.key, self.held.item), strict=True):
            if kind != known:
                self._hold_several(kind, known)
                raise self._several(kind, known)
        return [word for part, kind in zip(parts, kinds, strict=True) if part is not None and kind is not None
                for word in words(part[0], kind)]  # fmt: skip

    def _several(self, kind: Any, known: Any) -> Exception:
        return refusal(
            f"a {self.held.kind} that the running program changes, of items of several types",
            "give all of them one type, from the first on: 0.0 instead of 0, np.float64(0), tuples of one length",
            found=f"{known} and {kind}",
        )

    def _start_anew(self, answer: Any) -> NoReturn:
        if self.site is None:
            raise refusal(
                f"a {self.held.kind} in another container, of which nobody knows what it holds when it is put there",
                "make it by a statement of its own, which gives it a name, and append to it before it is put there",
            )
        raise current_trace().begin_anew(Restart(self.site, answer))

    def _hold_arrays(self, item: Any) -> None:
        form = form_of(item)
        if form is not None and self.held.kind == "list" and self.site is not None and not self.is_known:
            self._start_anew(form)
        if form is not None and self.is_known:
            raise self._several(form, self.held.item)

    def _hold_several(self, kind: Any, known: Any) -> None:
        if self.held.kind != "list" or self.site is None or not (type(kind) is type(known) is Scalar):
            return
        if both := Form((known,)).with_those_of(Form((kind,))):
            self._start_anew(both)

    def key_words(self, key: Any) -> list[Value] | None:
        """The words of a key that is looked for; None if none of its type can be there."""
        kind = item_type(key)
        if kind is None:
            raise refusal(f"a key of a {self.held.kind} that is no number or tuple of numbers",
                           "use numbers as keys", found=f"one of class {key.__class__.__name__}")  # fmt: skip
        if not self.is_known:
            return None
        if kind != self.held.key and not (_is_integer(kind) and _is_integer(self.held.key)):
            raise refusal(
                f"a {self.held.kind} that the running program changes, asked for a key of another type",
                "give all keys one type: int(k), float(k)", found=f"{self.held.key} and {kind}",
            )  # fmt: skip
        return [*words(key, kind if self.held.key is None else self.held.key)]

    def _refuse(self, name: str) -> NoReturn:
        kind = self.held.kind
        raise refusal(f"{kind}.{name} of a {kind} that the running program changes", "write a loop")

    __hash__ = object.__hash__


def _class_name(thing: Any) -> str:
    return "list" if isinstance(thing, Recorded) else str(thing.__class__.__name__)


def _is_integer(kind: Item | None) -> bool:
    """Whether keys of a type are integers of at most 64 bits with a sign, which are equal whatever their class."""
    return type(kind) is Scalar and kind.dtype.kind in "bi"


class _Nothing:
    """In the place of a key or an item where there is none."""


NOTHING = _Nothing()


def is_unknown(thing: Any) -> bool:
    """Whether it is a container of which nobody knows yet what it holds."""
    return isinstance(thing, ProgramContainer) and not thing.is_known


def made(kind: str, site: Site | None, answer: Any) -> Any:
    """A new container, empty. ``answer`` is its type, if that is known."""
    held = answer if isinstance(answer, Container) else Container(kind=kind)
    if held.key is None and held.item is None:
        found = class_of(held)()
        if site is not None:
            current_trace().state(Unknown).sites.append(site)
    else:
        found = standing_for(held, iter([current_trace().make("make_container", type=held)]))
    found.site, found.home = site, current_trace().scope
    return found


def refusal(what: str, mend: str, found: str = "") -> UserNotImplementedError:
    """The error for what such a container cannot do, at the user's line."""
    error = located(UserNotImplementedError(what, found=found, mend=mend))
    assert isinstance(error, UserNotImplementedError)
    return error


def columns_of(thing: ProgramContainer) -> list[Any]:
    """An array for each word of an entry, of entries without gaps."""
    size = size_of(thing.number())
    columns = [surface.apply_function(np.empty, ((size,),), {"dtype": word.dtype.numpy}) for word in thing.held.words]

    def take(position: Any) -> None:
        for column, word in zip(columns, thing.op("get_item", integer(position)), strict=True):
            column[position] = tracers.wrap(word)

    own_loop(traced_range(0, size), take)
    return columns


def _as_item(thing: Any) -> Any:
    """What a container can hold in the place of one of Python's own."""
    if type(thing) is tuple:
        return tuple(map(_as_item, thing))
    if type(thing) not in (list, dict, set):
        return thing
    trace = current_trace()
    known = trace.state(ProgramLists).made.get(id(thing))
    if known is not None:
        raise trace.begin_anew(Restart(known[1], type_of_list(thing) or True))
    raise refusal(
        f"a {type(thing).__name__} of Python's that is put into one of the running program",
        "make it by a display or comprehension in the compiled function: row = [...]",
    )


def _told(thing: Any) -> Any:
    """What is known of a container of Python's that has to be one of the running program."""
    found = type_of_list(list(thing) if type(thing) is collections.deque else thing)
    return True if found is None else replace(found, kind=type(thing).__name__)


surface.install(container_type=_told)


def python_class(thing: Any) -> type | None:
    """Python's class of a container of the running program; None for everything else."""
    if not isinstance(thing, ProgramContainer):
        return None
    kind: type = getattr(builtins, thing.held.kind, None) or getattr(collections, thing.held.kind)
    return kind
