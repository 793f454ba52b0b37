"""What containers with keys have in common."""

from __future__ import annotations

from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.containers.containers import ProgramContainer
from jitflow.frontend.containers.held_items import words
from jitflow.frontend.containers.item_types import item_type
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.raising import raise_
from jitflow.frontend.control.steps import Source
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import holds_alternatives
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import TEXT, Container, Item, Scalar, words_of

__all__ = ["ProgramKeyed", "is_there"]


class ProgramKeyed(ProgramContainer, Source):
    """What has keys."""

    once = False

    def find(self, key: Any) -> Value | None:
        """The position of the entry of a key, negative if there is none; None if there are no entries at all."""
        found = self.key_words(key)
        return None if found is None else self.op("find_key", *found)[0]

    def contains(self, key: Any) -> Any:
        """``key in self``."""
        place = self.find(key)
        return False if place is None else tracers.wrap(_as_bool(is_there(place)))

    def enter(self, *found: Value) -> None:
        """Put the words of an entry there. Python tells one nan from another by which object it is: nan is refused."""
        for word, kind in zip(found, Container(item=self.held.key).words, strict=False):
            if kind.dtype.kind == "f":
                is_number = values.emit("logical_not", values.emit("isnan", word))
                values.check(is_number, NotImplementedError, f"nan as a key of a {self.held.kind}")
        self.op("enter_key", *found)

    def _key_error(self, place: Value | None, key: Any) -> None:
        """Raise KeyError, as Python does, if there is no such entry."""
        if place is None:
            raise_(KeyError(key))
        if holds_alternatives(key):
            choose(tracers.wrap(is_there(place)), lambda: None, lambda: self._raise_key_error(key))
            return
        kind = item_type(key)
        assert kind is not None
        if TEXT in words_of(kind):
            choose(tracers.wrap(is_there(place)), lambda: None, lambda: raise_(KeyError(key)))
            return
        current_trace().add("check", is_there(place), *words(key, kind), error="KeyError", message=_template(kind),
                            literal=_shape(kind))  # fmt: skip

    def _raise_key_error(self, key: Any) -> None:
        """Raise KeyError of a key of several kinds."""
        missing = values.constant(-1, I64)
        tracers.distributed(lambda one: self._key_error(missing, one), (key,), {})

    def clear(self) -> None:
        """``clear()``."""
        if self.is_known:
            self.op("clear_container")

    def require_unchanged(self, changes: Value, length: Value, word: str) -> None:
        """Raise as Python does where a loop goes through what its turns change."""
        same_length = values.emit("equal", self.number(), length)
        values.check(same_length, RuntimeError, f"{word} changed size during iteration")
        unchanged = values.emit("equal", self.op("container_changes")[0], changes)
        message = f"a {self.held.kind} of which a loop removes keys, and to which it adds as many"
        values.check(unchanged, NotImplementedError, message)


def is_there(place: Value) -> Value:
    """Whether there is an entry at the position that was found."""
    return values.emit("greater_equal", place, values.constant(0, I64))


def _as_bool(value: Value) -> Value:
    return values.emit("cast", value, dtype=BOOL, weak=True)


def _template(kind: Item) -> str:
    if not isinstance(kind, tuple):
        return "{!r}"
    return f"({', '.join(map(_template, kind))}{',' if len(kind) == 1 else ''})"


def _shape(kind: Item) -> Any:
    """Of which numbers a key is made: the dtypes of NumPy's, nothing for Python's."""
    if isinstance(kind, tuple):
        return tuple(map(_shape, kind))
    assert isinstance(kind, Scalar)
    return "" if kind.weak else str(kind.dtype.numpy)
