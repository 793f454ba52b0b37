"""Keys of dicts and items of sets from outside, which are known while tracing."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from types import CellType
from typing import Any

from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.outside.arguments import too_large, unsupported
from jitflow.frontend.outside.objects import is_frozen
from jitflow.frontend.outside.sets import OutsideSet, outside_set
from jitflow.frontend.python.builtin_functions import replacement
from jitflow.frontend.tracers import located
from jitflow.runtime.entry.guard_tests import has_items, has_order
from jitflow.runtime.entry.plan import Cell, IsObject, Read, Satisfies
from jitflow.runtime.variable import Variable

__all__ = ["KnownKeys"]

_LARGEST_SET = 4096
"""Items of a set through which each call goes."""


class KnownKeys:
    """What the program knows keys as. ``take`` gives the counterpart of what is read, ``adopt`` that of a variable."""

    def __init__(
        self, inputs: Inputs, take: Callable[[Any, Read, str], Any], adopt: Callable[[Variable], Any]
    ) -> None:  # fmt: skip
        self._inputs, self._take, self._adopt = inputs, take, adopt

    def key(self, key: Any) -> Any:
        """What the program knows a key as. The guard of the dict holds its keys, so an object is this very one."""
        if type(key) is Variable:
            return self._adopt(key)
        is_by_identity = getattr(type(key), "__hash__", None) is object.__hash__ or replacement(key) is not None
        if not is_by_identity or is_frozen(key):
            return key
        read, path = Cell(CellType(key)), repr(key)
        taken = self._take(key, read, path)
        self._inputs.fix(self._inputs.register(read, path))
        return taken

    def set(self, thing: Any, register: int) -> OutsideSet:
        """What stands for a set or frozenset."""
        inputs, path, is_large = self._inputs, self._inputs.path(register), len(thing) > _LARGEST_SET
        if is_large and type(thing) is set:
            raise located(too_large(thing, path, _LARGEST_SET))
        items = (*thing,)
        is_it = Satisfies(register, partial(has_items, type(thing), items), "holds what it held")
        inputs.guard(IsObject(register, thing) if is_large else is_it)
        known = tuple(self._member(item, path) for item in items)
        order = Satisfies(register, partial(has_order, set(thing), items), "goes through its items as it did")
        return outside_set(thing, known, register, path, partial(inputs.guard, order))

    def _member(self, item: Any, path: str) -> Any:
        """What the program knows an item of a set as, which hashes and compares as that does."""
        if type(item) in (tuple, frozenset):
            known = [self._member(one, path) for one in item]
            return item if all(map(operator.is_, known, item)) else type(item)(known)
        known = self.key(item)
        if known is item and not is_frozen(item):
            raise located(unsupported(item, f"an item of {path}"))
        return replacement(known) or known
