"""What the program has stored in objects from outside, for as long as it is traced; see `outside.stores`."""

from __future__ import annotations

import operator
from typing import Any

from jitflow.errors import UserAttributeError
from jitflow.frontend.outside.slots import Open, Slotted
from jitflow.frontend.recording import values
from jitflow.frontend.tracers import lift, located
from jitflow.frontend.tracers.absent import UNBOUND
from jitflow.ir.dtypes import BOOL
from jitflow.records import dataclass

__all__ = ["Container", "Overlay", "content_of", "differ", "is_stored"]


def is_stored(name: str) -> str:
    """Where an overlay has whether an attribute was stored."""
    return f"whether {name} was stored"


class Overlay(Open):
    """What the program has stored in an object outside, by the names of attributes, and of each whether it has."""

    def __init__(self, proxy: Any) -> None:
        super().__init__()
        self.proxy = proxy
        self.missing: set[str] = set()
        """The attributes that the object has not got before."""
        self.targets: dict[str, int] = {}
        """The numbers of attributes in the table of stores; they are in the order of the first stores."""
        self._before: dict[str, Any] = {}

    @property
    def path(self) -> str:
        """What the program calls the object."""
        return str(self.proxy._jitflow_path)

    def before(self, name: str) -> Any:
        """What the object holds when the call begins; `UNBOUND` if nothing."""
        if name not in self._before:
            try:
                self._before[name] = self.proxy._jitflow_read(name)
            except AttributeError:
                self._before[name] = UNBOUND
                self.missing.add(name)
        return self._before[name]

    def complete(self, content: dict[str, Any]) -> None:
        """Add to what the overlay held at some moment the attributes that had not been stored by then."""
        for name in self.targets:
            if name not in content:
                content[name], content[is_stored(name)] = self.before(name), False

    def read(self, name: str) -> Any:
        """What the attribute holds. Raises AttributeError as Python does, now or when the program runs."""
        thing = self[name]
        if name in self.missing:
            happened = self[is_stored(name)]
            message = f"'{self.proxy.__class__.__name__}' object has no attribute '{name}'"
            if happened is False:
                raise located(UserAttributeError(message))
            if happened is not True:
                values.check(values.cast(lift(happened), BOOL), AttributeError, message)
        return thing


@dataclass(eq=False)
class Container:
    """A list or dict from outside that the program changes, the number of its target, and what it held before."""

    thing: Any
    target: int
    before: Any

    @property
    def is_changed(self) -> bool:
        """Whether it holds something else."""
        return differ(content_of(self.thing), self.before)


def differ(one: Any, other: Any) -> bool:
    """Whether two lists or dicts hold something else."""
    if isinstance(one, Slotted):
        one, other = one.slots, other.slots
    if isinstance(one, dict):
        return [*one] != [*other] or any(item is not other[key] for key, item in one.items())
    return len(one) != len(other) or any(map(operator.is_not, one, other))


def content_of(thing: Any) -> Any:
    """What a list or dict holds, as one of the program's own."""
    if isinstance(thing, Slotted):
        return thing.snapshot()
    return dict(thing) if isinstance(thing, dict) else list(thing)
