"""`copy.copy` and `copy.deepcopy`, of things that stand for others as well.

Python's own would copy what stands for an object of the caller's, and who changed the copy would change that object. It
still goes through objects of classes that it knows nothing of, and finds the functions of this module in theirs.
"""

from __future__ import annotations

import collections
import copy
from collections.abc import Iterator
from functools import partial
from types import FunctionType
from typing import Any, NoReturn

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.containers import container_programs as programs
from jitflow.frontend.containers.containers import ProgramContainer, made, refusal
from jitflow.frontend.containers.item_types import containers_in
from jitflow.frontend.containers.lists import Listed
from jitflow.frontend.containers.made_containers import made_container
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.outside.made_objects import CONTAINERS
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.pooled_objects import is_pooled, pool_of
from jitflow.frontend.outside.proxies import (
    ClassProxy,
    FunctionProxy,
    ObjectProxy,
    OutsideDict,
    OutsideList,
    outside_register,
)
from jitflow.frontend.outside.sets import OutsideFrozenSet, OutsideSet
from jitflow.frontend.outside.special_methods import written_method
from jitflow.frontend.recording.trace import active_trace
from jitflow.frontend.texts.building import is_text
from jitflow.frontend.tracers import Alternatives, ScalarTracer
from jitflow.frontend.tracers.base import located
from jitflow.ir.dtypes import I64
from jitflow.ir.types import TEXT, Container, Scalar

__all__ = ["COPIES"]

_Memo = dict[Any, Any]


def _copied(thing: Any) -> Any:
    """`copy.copy`."""
    if active_trace() is None:
        return copy.copy(thing)
    if isinstance(thing, Recorded):
        return thing if thing.is_text else thing.copy()  # type: ignore[attr-defined]
    if isinstance(thing, OutsideFrozenSet):
        return thing
    if is_pooled(thing) and written_method(thing, "__copy__") is None:
        return pool_of(thing).copied(thing)  # type: ignore[union-attr]
    if type(thing) in (*CONTAINERS, OutsideList, OutsideDict) or isinstance(thing, OutsideSet):
        return made_container(thing.copy(), "copy.copy()")
    return copy.copy(thing)


def _deeply_copied(thing: Any, memo: _Memo | None = None, name: str = "copy.deepcopy()") -> Any:
    """`copy.deepcopy`. What one object is in the original is one in the copy, by ``memo``."""
    if active_trace() is None:
        return copy.deepcopy(thing, memo)
    if type(thing) is Alternatives:
        if not all(_never_changes(held) for held in thing.options.values()):
            raise _refused("something of several kinds, in another thing that is copied")
        return thing
    if memo is not None and isinstance(thing, ProgramContainer) and thing.is_known and thing.held != TEXT:
        return programs.copied_once(thing, _known(memo, thing.held), partial(_of_program, memo=memo))
    memo = {} if memo is None else memo
    register = outside_register(thing)
    key = id(thing) if register is None else ("register", register)
    if key not in memo:
        memo[key] = _anew(thing, memo, name)
        memo["kept", key] = thing  # or another object might get its id
    return memo[key]


def _anew(thing: Any, memo: _Memo, name: str) -> Any:
    if isinstance(thing, ProgramContainer):
        return _of_program(thing, memo)
    if isinstance(thing, Recorded):
        return thing.copy()  # type: ignore[attr-defined]
    if isinstance(thing, (list, collections.deque)) and type(thing) in (*CONTAINERS, OutsideList):
        items = [_deeply_copied(item, memo, f"{name}[{place}]") for place, item in enumerate(thing)]
        return made_container(items if isinstance(thing, list) else collections.deque(items, thing.maxlen), name)
    if type(thing) in (*CONTAINERS, OutsideDict) and isinstance(thing, dict):
        found = thing.copy()
        for key, item in thing.items():
            found[key] = _deeply_copied(item, memo, f"{name}[{key!r}]")
        return made_container(found, name)
    if isinstance(thing, OutsideFrozenSet):
        return thing
    if isinstance(thing, set):
        return made_container({*thing}, name)
    if is_pooled(thing) and written_method(thing, "__deepcopy__") is None:
        raise _refused("an object of which the run decides which it is")
    if type(thing) is tuple:
        parts = tuple(_deeply_copied(part, memo, f"{name}[{place}]") for place, part in enumerate(thing))
        return thing if all(new is old for new, old in zip(parts, thing, strict=True)) else parts
    return copy.deepcopy(thing, memo)


def _of_program(thing: Any, memo: _Memo) -> Any:
    """A container of the running program, and the containers in it."""
    held = thing.held
    if held == TEXT or not thing.is_known:
        return thing if held == TEXT else thing.copy()
    if held.kind == "set":  # which Python fills anew
        found = made("set", None, held)
        own_loop(thing, found.add)
        return found
    found = thing.copy()
    if not [*_below(held)]:
        return found
    if not isinstance(held.item, Container) or {*containers_in(held.key)} - {TEXT}:
        raise _refused(f"a {held.kind} that the running program changes, of containers among others")
    _known(memo, held.item)
    programs.copy_items(found, thing, partial(_deeply_copied, memo=memo))
    return found


def _below(held: Container) -> Iterator[Container]:
    """The types of the containers that one holds, and these hold, which may change."""
    for inside in (*containers_in(held.key), *containers_in(held.item)):
        if inside != TEXT:
            yield inside
            yield from _below(inside)


def _known(memo: _Memo, held: Container) -> Any:
    """The copies of containers of a type, which only the running program tells apart.

    So it is for what they hold, because a loop would make that again for each turn.
    """
    for each in (held, *_below(held)):
        if each not in memo:
            memo[each] = made("dict", None, Container(kind="dict", key=Scalar(I64, True), item=each))
    return memo[held]


def _never_changes(thing: Any) -> bool:
    return thing is None or is_text(thing) or isinstance(thing, int | float | complex | ScalarTracer)


def _refused(what: str) -> Exception:
    return refusal(f"copy.deepcopy of {what}", "copy what it holds one by one: [row[:] for row in rows]")


def _of_object(thing: Any, *_: Any) -> NoReturn:
    name = type(thing._jitflow_object).__name__
    raise located(UserNotImplementedError(
        f"a copy of {thing._jitflow_path}, an object of class {name}",
        mend=f"make another one of what it holds, {name}(...), or copy it outside the compiled function",
    ))  # fmt: skip


def _of_class(thing: Any, *_: Any) -> Any:
    return thing


def _of_function(thing: Any, *_: Any) -> Any:
    return thing if isinstance(thing._jitflow_object, FunctionType) else _of_object(thing)


_BY_CLASS: dict[Any, Any] = {
    ObjectProxy: (_of_object, _of_object), ClassProxy: (_of_class, _of_class),
    FunctionProxy: (_of_function, _of_function),
}  # fmt: skip
for _kind in (OutsideList, OutsideDict, OutsideSet, Listed, ProgramContainer):
    _BY_CLASS[_kind] = _copied, _deeply_copied
for _kind, (_shallow, _deep) in _BY_CLASS.items():
    _kind.__copy__, _kind.__deepcopy__ = _shallow, _deep

COPIES = {copy.copy: _copied, copy.deepcopy: _deeply_copied}
"""What runs in the place of functions of `copy`."""
