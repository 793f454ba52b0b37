"""What a defaultdict makes its items by, where that is a function: its type has a name for it.

A defaultdict may be an item of another one, or come out of a branch or loop: only its type is known there. So a class
of numbers is told by the type, one of containers by the type of the items, and all else by a name under which the trace
keeps what is called. A name says where the text of a function stands, and not which object it is, so that those which a
helper makes in each of its calls have one type; but these must mean the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.types import MADE_BY
from jitflow.runtime.objects.returned_containers import FACTORIES

__all__ = ["factory_by_name", "factory_name", "known_factory_name"]

_CONTAINERS = ("list", "set", "dict", "deque")


class _Factories(dict[str, Callable[[], Any]]):
    """What is called, by the names that types have for it."""


def known_factory_name(factory: Any) -> str:
    """The name of a class of numbers; nothing for all else."""
    name = getattr(factory, "__name__", "")
    return name if name in FACTORIES else ""


def factory_name(factory: Any) -> str:
    """The name that the type of a defaultdict has for what makes its items: none for a class of containers."""
    if factory is None or known_factory_name(factory):
        return known_factory_name(factory)
    parts = _parts_of(factory)
    if len(parts) == 1 and parts[0] in _CONTAINERS:
        return ""
    name = MADE_BY + "_".join("".join(one if one.isalnum() else "_" for one in part) for part in parts)
    known = current_trace().state(_Factories).setdefault(name, factory)
    if not _means_the_same(known, factory):
        raise located(UserNotImplementedError(
            "a defaultdict whose function for missing keys has other variables around it each time that it is made",
            mend="write if key not in d: d[key] = ... with a dict",
        ))  # fmt: skip
    return name


def factory_by_name(name: str) -> Callable[[], Any]:
    """What makes the items of a defaultdict whose type has a name for that."""
    found: Callable[[], Any] = FACTORIES[name] if name in FACTORIES else current_trace().state(_Factories)[name]
    return found


def _parts_of(factory: Any) -> tuple[str, ...]:
    """Words for what is called, and for what it is given."""
    if type(factory) is partial and not factory.keywords:
        return tuple(word for part in (factory.func, *factory.args) for word in _parts_of(part))
    if type(factory) is FunctionType:
        code = factory.__code__
        column = next((place[2] for place in code.co_positions() if place[2]), 0)  # that of the body: it has the name
        return code.co_name.strip("<>"), str(code.co_firstlineno), str(column)
    return (str(getattr(factory, "__name__", type(factory).__name__)),)


def _means_the_same(one: Any, other: Any) -> bool:
    if type(one) is partial and type(other) is partial:
        pairs = zip((one.func, *one.args), (other.func, *other.args), strict=False)
        return all(_means_the_same(*pair) for pair in pairs)
    if type(one) is FunctionType and type(other) is FunctionType:
        cells = zip(one.__closure__ or (), other.__closure__ or (), strict=False)
        is_same = one.__defaults__ is other.__defaults__ and all(first is second for first, second in cells)
        return is_same and one.__code__ is other.__code__
    return one is other
