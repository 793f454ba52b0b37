"""The statements that make containers, and what asks Python's own for something that only the running program knows.

A display, a comprehension or a call of ``dict``, ``set``, ``deque``... makes Python's own object, which is remembered
with its place; where the last trace has found that it has to be one of the running program, it is that.
"""

from __future__ import annotations

import builtins
import collections
import dis
from collections.abc import Callable
from functools import partial
from types import GeneratorType
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.containers.containers import ProgramContainer, made, refusal
from jitflow.frontend.containers.growing_lists import Growing, as_growing
from jitflow.frontend.containers.held_items import KINDS
from jitflow.frontend.containers.item_types import are_keys_of_one_kind, item_type, type_of_container, widest
from jitflow.frontend.containers.list_operations import require_memory
from jitflow.frontend.containers.list_tapes import Form
from jitflow.frontend.containers.lists import Listed, ListedRows
from jitflow.frontend.containers.program_counters import ProgramCounter
from jitflow.frontend.containers.program_deques import parts_of_deque
from jitflow.frontend.containers.program_dicts import ProgramDefaultDict, ProgramDict
from jitflow.frontend.containers.program_lists import ProgramList
from jitflow.frontend.containers.program_ordered_dicts import ProgramOrderedDict
from jitflow.frontend.containers.program_sets import ProgramSet
from jitflow.frontend.containers.reflected import joined_with
from jitflow.frontend.containers.running_keys import is_running_key, restart_keyed
from jitflow.frontend.containers.slotted_dicts import SlottedDict
from jitflow.frontend.containers.slotted_kinds import SLOTTED_KINDS, with_slots
from jitflow.frontend.containers.slotted_lists import SlottedList
from jitflow.frontend.control.changing_lists import (
    SLOTTED,
    MadeHere,
    ProgramLists,
    begin_anew_with,
    site_of_making,
    slotted_site,
)  # fmt: skip
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.control.sources import as_source, is_open
from jitflow.frontend.control.stepwise import is_stepwise, iterator_of
from jitflow.frontend.control.told import is_merged
from jitflow.frontend.outside.keys_of_sets import note_keys
from jitflow.frontend.outside.made_objects import CONTAINERS
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.proxies import OutsideDict, OutsideList
from jitflow.frontend.outside.sets import frozen, python_set
from jitflow.frontend.outside.slots import Slotted
from jitflow.frontend.recording.choices import AT_LAST, Restart, Site
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.texts.characters import characters_of
from jitflow.frontend.tracers.base import asked, pinning_site
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.types import TEXT, Container, Scalar
from jitflow.runtime.objects.set_orders import order_of_adding

__all__ = ["CONSTRUCTORS", "changeable", "keyed", "like_of", "list_at", "list_of", "list_of_program",
           "made_container", "made_dict", "made_set"]  # fmt: skip


def made_container(items: Any, name: str) -> Any:
    """``name = [...]``: the object itself, or one of the running program if that has to be."""
    if active_trace() is None or type(items) not in CONTAINERS:
        return items
    return _made(items, site_of_making(name))


def made_set(name: str, *parts: tuple[bool, Any]) -> Any:
    """``{key, *keys}``, which goes by a name: things, and whether each is one whose items are taken."""
    if active_trace() is not None:
        answer = current_trace().choices.answer(site := site_of_making(name))
        single = [thing for is_taken, thing in parts if not is_taken]
        if answer is None and any(map(is_running_key, single)):
            answer = Container(kind="set", key=item_type(single[0]))
        if answer is not None or any(is_taken and is_of_run(thing) for is_taken, thing in parts):
            found = made("set", site, answer)
            for is_taken, thing in parts:
                if is_taken:
                    found.update(thing)
                else:
                    found.add(thing)
            return found
    keys = set[Any]()
    for is_taken, thing in parts:
        keys.update(python_set(thing) if is_taken else (thing,))
    return keys if active_trace() is None else _made(keys, site_of_making(name))


def made_dict(name: str, *parts: tuple[Any, ...]) -> Any:
    """``{key: item, **others}``, which goes by a name."""
    trace = active_trace()
    if trace is not None:
        site = site_of_making(name)
        keys = [part[0] for part in parts if len(part) > 1]
        if not trace.choices.is_settled(site) and any(map(is_running_key, keys)) and are_keys_of_one_kind(keys):
            raise trace.begin_anew(Restart(site, is_wish=True))
        answer = trace.choices.answer(site)
        if answer is not None or any(isinstance(part[0], Recorded) for part in parts if len(part) == 1):
            has_slots = answer is None and any(isinstance(part[0], SlottedDict) for part in parts if len(part) == 1)
            found = SlottedDict.of({}) if has_slots else made("dict", site, answer)
            for part in parts:
                if len(part) > 1:
                    found[part[0]] = part[1]
                else:
                    found.update(part[0])
            return found
    items = dict[Any, Any]()
    for part in parts:
        items.update([part] if len(part) > 1 else part[0])
    return items if trace is None else _made(items, site_of_making(name))


def is_of_program(name: str) -> bool:
    """Whether what a statement makes here by this name is a container of the running program."""
    return active_trace() is not None and current_trace().choices.answer(site_of_making(name)) is not None


def _made(items: Any, site: Site) -> Any:
    trace = current_trace()
    note_keys(items)
    answer = trace.choices.answer(site)
    slotted = trace.choices.answer(slotted_site(site)) if type(items) in SLOTTED_KINDS else None
    if answer is None or slotted == AT_LAST:
        if slotted:
            items = SLOTTED_KINDS[type(items)].of(items)
        trace.state(ProgramLists).made[id(items)] = MadeHere(items, site, trace.scope)
        return items
    return _of_program(items, site, answer)


def _of_program(items: Any, site: Site, answer: Any) -> Any:
    """The container of the running program in the place of one of Python's."""
    kind = type(items).__name__
    if kind == "list" and (isinstance(answer, Form) or _is_differentiated()):
        return Growing(items, site.name, site, answer if isinstance(answer, Form) else None)
    found = made(kind, site, answer, items.maxlen if type(items) is collections.deque else None)
    found.may_be_tape = kind == "list"
    if isinstance(found, ProgramDefaultDict):
        found.make_items_by(items.default_factory)
    _fill(found, items)
    return found


@raising_for_the_program
def repeated(left: Any, right: Any, name: str) -> Any:
    """``[0] * n``, written so, which goes by a name."""
    items, number = (left, right) if type(left) is list else (right, left)
    if type(number) is int and number <= 0:
        return made_container(left * right, name)
    if active_trace() is None or type(items) is not list:
        return left * right
    if is_of_program(name) and isinstance(number, int | tracers.SizeTracer | tracers.NumberTracer):
        return _repeated(items, number, name)
    return made_container(left * right, name)


def list_at(site: Site, like: Container | None) -> Any:
    """A new list of the running program, of what is known of it, else of a type."""
    answer = current_trace().choices.answer(site)
    if isinstance(answer, Form) or _is_differentiated():
        return Growing([], site.name, site, answer if isinstance(answer, Form) else None)
    found = made("list", site, widest(answer, like))
    found.may_be_tape = True
    return found


def begun_list(name: str) -> Any:
    """A new list of the running program, which ``name`` tells from others at this line."""
    return list_at(site_of_making(name), None)


def _is_in_place() -> bool:
    """Whether what the program does is ``items *= number``, which Python tells nobody: to a number it is a product."""
    frame = current_trace().user_frame()
    if frame is None:
        return False
    instructions = (step for step in dis.get_instructions(frame.f_code) if step.offset == frame.f_lasti)
    return any(step.argrepr == "*=" for step in instructions)  # none where a call goes on in its cache


def _repeated(items: list[Any], number: Any, name: str = "a list of so many items") -> Any:
    """``items * number``: a list of the running program."""
    if _is_in_place():
        begin_anew_with(items)
        raise refusal("`*=` of this list by a number that only the running program knows", "write items = items * n")
    known = asked(number) if isinstance(number, tracers.NumberTracer) else None
    if known is not None:
        return made_container(items * known, name)
    require_memory(number, len(items))
    found = list_at(site_of_making(name), type_of_container(items))
    if isinstance(number, tracers.NumberTracer):
        found.repeated_by = number, pinning_site()

    def turn(_: Any) -> None:
        for item in items:
            found.append(item)

    own_loop(traced_range(number), turn)
    return found


def list_of_program(items: list[Any]) -> Any:
    """A list of the running program with the same items."""
    found = list_at(site_of_making("a list with the same items"), type_of_container([*items]))
    found.extend(items)
    return found


def list_of(name: str, items: Listed) -> Any:
    """A list of the running program with these items, numbers of one type."""
    if _is_differentiated():
        return as_growing(name, items)
    site = site_of_making(name)
    answer = current_trace().choices.answer(site)
    held = Container(item=Scalar(items.array.type.dtype, items.weak))
    found = as_growing(name, items) if isinstance(answer, Form) else made("list", site, widest(answer, held))
    if isinstance(found, ProgramList):
        found.extend(items)
    return found


def changeable(name: str, items: Listed) -> Any:
    """The same list, which is one of the running program if it is changed later."""
    if is_of_program(name):
        return list_of(name, items)
    items.site = site_of_making(name)
    return items


def is_of_run(thing: Any) -> bool:
    """Whether only the running program knows what is in it."""
    return isinstance(thing, Recorded) or is_open(thing)


def _is_differentiated() -> bool:
    return any(scope.is_differentiated for scope in current_trace().scope.around())


def _fill(found: Any, items: Any) -> None:
    if isinstance(items, dict):
        for key, item in items.items():
            found[key] = item
    elif isinstance(items, set):
        order = order_of_adding([*items])
        if order is None:
            raise refusal("a set of Python's in this order, which the running program changes", "begin with set()")
        for key in order:
            found.add(key)
    else:
        found.extend(items)


# -- constructors ---------------------------------------------------------------------------------------------


def _constructed(kind: Any, *args: Any, **keywords: Any) -> Any:
    """A call of a class of containers."""
    trace = active_trace()
    most = None
    if kind is collections.deque and trace is not None:
        items, most = parts_of_deque(*args, **keywords)
        args, keywords = (items,), {}
    if trace is None or keywords:
        return kind(*args, **keywords)
    frame = trace.user_frame()
    place = "" if frame is None else f"@{frame.f_lasti}"
    lists = trace.state(ProgramLists)
    site = site_of_making(f"{kind.__name__}{place}" + " inside" * lists.making)
    lists.making += 1
    try:
        return _constructed_at(site, kind, *args, most=most)
    finally:
        lists.making -= 1


def _constructed_at(site: Site, kind: Any, *args: Any, most: int | None = None) -> Any:
    trace = current_trace()
    *first, given = args or ((),)
    given = iterator_of(characters_of(given))
    given = [*given] if kind is collections.Counter and isinstance(given, GeneratorType) else given
    if (found := with_slots(kind, given)) is not None:
        return found
    if isinstance(given, Recorded) and (known := given.known_items()) is not None:
        given = [*known]
    given = python_set(given) if kind is set else given
    is_long = type(given) is range and trace.choices.answer(site) is not None
    is_hashed = kind in (set, collections.Counter) and isinstance(given, list | tuple)
    is_source = isinstance(given, Recorded) or _runs(given) or is_stepwise(given)
    is_source = is_source or (kind is not builtins.dict and is_long) or (is_hashed and any(map(is_running_key, given)))
    if kind is collections.defaultdict and len(args) == 1:
        is_source = False
    if not is_source:
        made_by = kind if most is None else partial(kind, maxlen=most)
        return _made(made_by(*first, given) if args else kind(), site)
    name = kind.__name__
    like, answer = like_of(given, name), trace.choices.answer(site)
    if kind is list and answer is None and isinstance(given, tracers.ArrayTracer) and given.ndim > 1:
        return ListedRows(given, site)
    found = list_at(site, like) if kind is list else made(name, site, widest(answer, like), most)
    if first and isinstance(found, ProgramDefaultDict):
        found.make_items_by(*first)
    if isinstance(found, ProgramCounter | ProgramDict | ProgramSet):
        found.update(given)
    else:
        found.extend(given)
    return found


def like_of(given: Any, kind: str) -> Container | None:
    """The type of a container of another kind with the same things in it."""
    held = given.held if isinstance(given, ProgramContainer) else None
    if held is None or not held.words:
        return None
    item = TEXT if held == TEXT else held.item if held.key is None else held.key
    if kind in ("list", "tuple", "deque"):
        return Container(kind=kind, item=item)
    if kind == "set":
        return Container(kind=kind, key=item)
    return held if held.kind == kind else None


def _runs(thing: Any) -> bool:
    """Whether the running program goes through something."""
    source = as_source(thing)
    return source is not None and not isinstance(source.count, int)


def _sorted(items: Any, key: Any, reverse: Any) -> Any:
    if isinstance(items, ProgramSet) and key is None:  # whose own order is no matter
        items = items.in_order(any_order=True)
    if isinstance(items, Slotted):
        items = items.gone_through() if (known := items.known_items()) is None else [*known]
    found = _constructed(builtins.list, items)
    if type(found) is list:  # which nobody else knows
        made = current_trace().state(ProgramLists).made[id(found)]
        found = _of_program(found, made.site, type_of_container(found))
    found.sort(key=key, reverse=reverse)
    return found


surface.install(sorted_container=_sorted, constructor_of=lambda kind: CONSTRUCTORS.get(kind, kind),
                repeated=_repeated, container_made_anew=_of_program)  # fmt: skip

KINDS.update(OrderedDict=ProgramOrderedDict)


# -- Python's own, asked for what only the running program knows -----------------------------------------------

CONSTRUCTORS: dict[Any, Callable[..., Any]] = {kind: partial(_constructed, kind) for kind in CONTAINERS}
CONSTRUCTORS[frozenset] = frozen

_OF_SETS = ("intersection", "intersection_update", "symmetric_difference", "symmetric_difference_update", "union",
            "update")  # fmt: skip
"""Methods of sets for which the order of another set decides on that of the result."""


@raising_for_the_program
def _method(owner: Any, name: str) -> Any:
    return getattr(owner, name)


def keyed(owner: Any, name: str) -> Any:
    """What ``owner.name`` is called for, where that may be a method of a container."""
    if name == "count" and isinstance(owner, ProgramList | SlottedList):
        return owner.counted
    if name == "add_note" and isinstance(owner, BaseException):
        return vars(owner).setdefault("__notes__", []).append
    method = _method(owner, name)
    if type(owner) in (set, frozenset) and name in _OF_SETS:
        return partial(joined_with, owner, method)
    if name == "copy" and isinstance(owner, list | dict | set):
        return lambda: made_container(method(), "copy()")
    is_placed = type(owner) is OutsideList and name in ("insert", "pop")
    if not (is_placed or type(owner) in (*CONTAINERS, OutsideDict)) or active_trace() is None:
        return method

    @raising_for_the_program
    def call(*args: Any, **keywords: Any) -> Any:
        if name == "update" and any(isinstance(one, SlottedDict) for one in args):
            begin_anew_with(owner, SLOTTED)
        if args and type(owner) in (list, collections.deque, OutsideList):
            is_searched = type(owner) is collections.deque and any(map(is_running_key, owner))
            is_searched |= name == "remove" and any(map(is_merged, (args[0], *owner)))
            if is_searched or is_running_key(args[0]):
                begin_anew_with(owner)
        elif args and tracers.holds_alternatives(args[0]) and not (type(args[0]) is list or is_running_key(args[0])):
            return tracers.distributed(lambda one: call(one, *args[1:], **keywords), args[:1], {}, owner, *args[1:])
        elif args:
            restart_keyed(owner, *args[:2])
        return method(*args, **keywords)

    return call
