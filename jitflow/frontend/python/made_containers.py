"""The statements that make containers, and what asks Python's own for something that only the running program knows.

A display, a comprehension or a call of ``dict``, ``set``, ``deque``... makes Python's own object, which is remembered
with its place; where the last trace has found that it has to be one of the running program, it is that.
"""

from __future__ import annotations

import builtins
import collections
from collections.abc import Callable
from functools import partial
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.changing_lists import ProgramLists
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.sources import as_source
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.python.containers import ProgramContainer, made
from jitflow.frontend.python.growing_lists import Growing
from jitflow.frontend.python.held_items import item_type
from jitflow.frontend.python.list_tapes import Form
from jitflow.frontend.python.program_dicts import ProgramDefaultDict, ProgramDict
from jitflow.frontend.python.program_lists import ProgramList
from jitflow.frontend.python.program_sets import ProgramSet
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.ir.types import Container

__all__ = ["CONSTRUCTORS", "keyed", "made_container", "restart_keyed"]


def made_container(items: Any, name: str) -> Any:
    """``name = [...]``: the object itself, or one of the running program if that has to be."""
    trace = active_trace()
    if trace is None or type(items) not in (list, dict, set):
        return items
    here = trace.here()
    return _made(items, Site(Choice.GROWING, here.file, here.line, name))


def _made(items: Any, site: Site) -> Any:
    trace = current_trace()
    answer = trace.choices.answer(site)
    kind = type(items).__name__
    if answer is None:
        trace.state(ProgramLists).made[id(items)] = items, site
        return items
    if kind == "list" and (isinstance(answer, Form) or _is_differentiated()):
        return Growing(items, site.name, site, answer if isinstance(answer, Form) else None)
    found = made(kind, site, answer)
    if isinstance(found, ProgramDefaultDict):
        found.factory = items.default_factory
    _fill(found, items)
    return found


def _is_differentiated() -> bool:
    return any(scope.is_differentiated for scope in current_trace().scope.around())


def _fill(found: Any, items: Any) -> None:
    if isinstance(items, dict):
        for key, item in items.items():
            found[key] = item
    elif isinstance(items, set):
        for key in items:
            found.add(key)
    else:
        found.extend(items)


# -- constructors ---------------------------------------------------------------------------------------------


def _constructed(kind: Any, *args: Any, **keywords: Any) -> Any:
    """A call of a class of containers."""
    trace = active_trace()
    if trace is None or keywords:
        return kind(*args, **keywords)
    frame = trace.user_frame()
    here = trace.here()
    place = "" if frame is None else f"@{frame.f_lasti}"
    site = Site(Choice.GROWING, here.file, here.line, f"{kind.__name__}{place}")
    *first, given = args or ((),)
    is_source = isinstance(given, Recorded) or (kind is not builtins.dict and _runs(given))
    if kind is collections.defaultdict and len(args) == 1:
        is_source = False
    if not is_source:
        return _made(kind(*args), site)
    answer = trace.choices.answer(site)
    known = given.held if isinstance(given, ProgramContainer) else None
    if answer is None and known is not None and known.kind == kind.__name__:
        answer = known
    found = made(kind.__name__, site, answer)
    if first and isinstance(found, ProgramDefaultDict):
        (found.factory,) = first
    if isinstance(found, ProgramDict):
        found.update(given)
    elif isinstance(found, ProgramSet):
        own_loop(given, found.add)
    else:
        found.extend(given)
    return found


def _runs(thing: Any) -> bool:
    """Whether the running program goes through something."""
    source = as_source(thing)
    return source is not None and not isinstance(source.count, int)


CONSTRUCTORS: dict[Any, Callable[..., Any]] = {
    kind: partial(_constructed, kind)
    for kind in (list, dict, set, collections.deque, collections.defaultdict, collections.Counter)
}


# -- Python's own, asked for what only the running program knows -----------------------------------------------


def is_running(thing: Any) -> bool:
    """Whether a key or item is known only when the program runs."""
    if type(thing) is tuple:
        return any(map(is_running, thing))
    if isinstance(thing, tracers.NumberTracer):
        return thing.pinned() is None
    return isinstance(thing, tracers.ScalarTracer)


def restart_keyed(container: Any, key: Any, item: Any = None) -> None:
    """Start the trace anew if a dict or set of Python's is asked for a key of the running program."""
    trace = current_trace()
    known = None if type(container) is list else trace.state(ProgramLists).made.get(id(container))
    if known is None or trace.choices.is_settled(known[1]):
        return
    held: Any = True
    key_type, kind = item_type(key), item_type(item)
    if key_type is not None and isinstance(container, set):
        held = Container(kind="set", key=key_type)
    elif key_type is not None and kind is not None and type(container) is dict:
        held = Container(kind="dict", key=key_type, item=kind)
    raise trace.begin_anew(Restart(known[1], held))


_OWN = (dict, set, collections.deque, collections.defaultdict, collections.Counter)


def keyed(owner: Any, name: str) -> Any:
    """What ``owner.name`` is called for, where that may be a method of a container."""
    if name == "count" and isinstance(owner, ProgramList):
        return owner.counted
    method = getattr(owner, name)
    if type(owner) not in _OWN or active_trace() is None:
        return method

    def call(*args: Any, **keywords: Any) -> Any:
        if args and is_running(args[0]):
            restart_keyed(owner, *args[:2])
        return method(*args, **keywords)

    return call
