"""A call as it is remembered, for `explain` of code that no trace of this process has made.

What is looked at later is traced then, for arguments as those of the call: arrays by their class, since nobody is to
keep their memory, numbers as they were, and other objects as long as they live.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.records import dataclass
from jitflow.runtime.entry.plan import layout_of

__all__ = ["recalled", "remembered"]

_KEPT = (type(None), bool, int, float, complex, str, bytes, type, np.generic)


_NAMES = "nmkpqrstuvw"


@dataclass(frozen=True, eq=False)
class _Array:
    """The class of an array, and its sizes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    layout: str


@dataclass(frozen=True, eq=False)
class _Living:
    """An object, while somebody else has it."""

    reference: weakref.ref[Any]


class Gone(Exception):
    """An object of the call is no more."""


def remembered(flat: Sequence[Any]) -> Any:
    """What stands for the arguments of a call; None if they cannot be remembered."""
    try:
        return tuple(map(_remembered, flat))
    except TypeError:
        return None


def _remembered(thing: Any) -> Any:
    if type(thing) is np.ndarray:
        return _Array(thing.dtype, thing.shape, layout_of(thing))
    if isinstance(thing, _KEPT):
        return thing
    if type(thing) in (tuple, list):
        return type(thing)(map(_remembered, thing))
    if type(thing) is dict:
        return {key: _remembered(item) for key, item in thing.items()}
    return _Living(weakref.ref(thing))


def _name(place: int) -> str:
    return _NAMES[place] if place < len(_NAMES) else f"n{place}"


def recalled(call: Any) -> tuple[Any, ...] | None:
    """The arguments that are remembered, arrays as `Spec`; None if some are no more."""
    from jitflow.frontend.outside.arguments import Spec

    names: dict[int, str] = {}

    def back(thing: Any) -> Any:
        if isinstance(thing, _Array):
            sizes = [size if size == 1 else names.setdefault(size, _name(len(names))) for size in thing.shape]
            return Spec(thing.dtype, sizes, layout=thing.layout)  # type: ignore[arg-type]
        if isinstance(thing, _Living):
            found = thing.reference()
            if found is None:
                raise Gone
            return found
        if type(thing) in (tuple, list):
            return type(thing)(map(back, thing))
        return {key: back(item) for key, item in thing.items()} if type(thing) is dict else thing

    try:
        return None if call is None else tuple(map(back, call))
    except Gone:
        return None
