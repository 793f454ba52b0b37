"""Dicts with slots in which a key that is not there has an item: ``defaultdict`` and ``Counter``.

See `slotted_dicts`. Their keys are known, if not whether they are there: ``count["big" if x > 2 else "small"] += 1``.
"""

from __future__ import annotations

import builtins
import collections
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any, cast

from jitflow.frontend.containers.program_dicts import ProgramDict
from jitflow.frontend.containers.slotted_dicts import SlottedDict, for_each_key
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.outside.slots import ITEM, THERE
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.tracers.surface import surface

__all__ = ["SlottedCounter", "SlottedDefaultDict"]


class SlottedDefaultDict(SlottedDict):
    """A defaultdict: who asks for a key that is not there puts it there."""

    kind = collections.defaultdict
    default_factory: Callable[[], Any] | None = None

    @classmethod
    def of(cls, items: Any) -> Any:
        made = super().of(items)
        made.default_factory = items.default_factory
        return made

    def like(self) -> SlottedDefaultDict:
        made = cast(SlottedDefaultDict, super().like())
        made.default_factory = self.default_factory
        return made

    @property
    def form(self) -> Any:
        return type(self), self.default_factory

    @property
    def empty(self) -> Callable[[], Any]:
        factory = self.default_factory
        named = getattr(builtins, getattr(factory, "__name__", ""), None)
        if factory is not None and not (isinstance(named, type) and factory == named):
            raise self.refusal("what is handed over, with a function of the program's in it,")
        return partial(self.kind, named)

    @for_each_key
    def __getitem__(self, key: Any) -> Any:
        if self.default_factory is None:
            return super().__getitem__(key)
        if self.there(self.number(key)) is True:
            return super().__getitem__(key)
        factory: Any = self.default_factory
        if isinstance(factory, type):  # which does nothing but make it
            return self.setdefault(key, surface.constructor_of(factory)())
        choose(self.contains(key), lambda: None, lambda: self.__setitem__(key, factory()), self)
        return self.slots[ITEM, self.number(key)]

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, dict | SlottedDict):
            return NotImplemented
        made = self.like()
        made.fill(other)
        return made.with_added(self)


class SlottedCounter(SlottedDict):
    """A Counter: a key that is not there counts 0."""

    kind = collections.Counter

    def fill(self, items: Any) -> None:
        super().update(items)

    @for_each_key
    def __getitem__(self, key: Any) -> Any:
        return self.get(key, 0)

    @for_each_key
    def __delitem__(self, key: Any) -> None:
        self.pop(key, None)

    @raising_for_the_program
    def update(self, *others: Any, **named: Any) -> None:
        """``Counter.update``: count once more."""
        self._count(others, named, lambda known, number: number + known)

    @raising_for_the_program
    def subtract(self, *others: Any, **named: Any) -> None:
        """``Counter.subtract``."""
        self._count(others, named, lambda known, number: known - number)

    def _count(self, others: tuple[Any, ...], named: Any, changed: Callable[[Any, Any], Any]) -> None:
        def turn(key: Any, number: Any) -> None:
            self[key] = changed(self[key], number)

        for other in (*others, named):
            if isinstance(other, Mapping | SlottedDict | ProgramDict):
                own_loop(other.items(), lambda pair: turn(*pair))
            elif other is not None:
                own_loop(other, lambda key: turn(key, 1))

    def total(self) -> Any:
        """``Counter.total``."""
        slots = self.slots
        return reduce(lambda total, number: total + self._counted(number), slots.possible(), 0)

    def _counted(self, number: int) -> Any:
        there, item = self.slots[THERE, number], self.slots[ITEM, number]
        return item if there is True else choose(there, lambda: item, lambda: 0, item)

    def most_common(self, n: Any = None) -> Any:
        """``Counter.most_common``: what is counted as often stays in order."""
        found = surface.sorted_container(self.items(), lambda pair: pair[1], True)
        return found if n is None else found[:n]

    def __refused(self, other: Any) -> Any:
        raise self.refusal("arithmetic")

    __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __and__ = __rand__ = __iand__ = __refused
    __or__ = __ror__ = __ior__ = __refused

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, collections.Counter | SlottedCounter):
            raise self.refusal("a comparison")
        return super().__eq__(other)

    __hash__ = None
