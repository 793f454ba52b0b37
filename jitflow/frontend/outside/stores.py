"""Stores to objects of the caller's: `self.count += 1`.

What the program has stored in the attributes of an object is an `Overlay`, which it reads from then on. Branches merge
what an overlay holds, and loops carry it, as they do for a dict of the program (`control.mutables`); beside each value
stands whether it was stored. When the program ends, the entry makes the stores. Where the call may fail, those before
are made as well: a number is noted in memory of the call at each store, with all else that the caller sees; what is no
number is handed over by `before_failure`, in front of what fails. `jitflow.runtime.objects.stores` does all this at a
call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.outside.arguments import NumberClass, array_class
from jitflow.frontend.outside.overlays import Container, Overlay, content_of, differ, is_stored
from jitflow.frontend.outside.slots import class_of, holder_of
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers import (
    Alternatives,
    ArrayTracer,
    SizeTracer,
    Tracer,
    VariableTracer,
    located,
    type_of,
)
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Container as Held
from jitflow.ir.types import Scalar
from jitflow.runtime.entry.plan import Attribute, IsOther, Made, SameObject
from jitflow.runtime.objects.stores import APPENDED, MOST_TARGETS, Call, MetOtherwise, StoreTable, Target, Way

__all__ = ["PASSED_TOGETHER", "Stores", "active_stores", "refusal"]

ONE_OBJECT, UNNOTED, PASSED_TOGETHER = map(Site, (Choice.ONE_OBJECT, Choice.UNNOTED, Choice.PASSED_TOGETHER))


def refusal(what: str, path: str, mend: str = "") -> UserError:
    """The error for a store that is not compiled."""
    return located(
        UserNotImplementedError(
            f"{what} {path}, which lives outside the compiled function, would happen once, while tracing",
            mend=mend or "return the new value and store it outside the compiled function",
        )
    )


class Stores:
    """What the program stores in objects from outside, in one trace."""

    def __init__(self) -> None:
        self.table = StoreTable()
        self.inputs: Any = None
        """Makes inputs of what is read (`entry.inputs`)."""
        self.hand_over: Callable[[Op], None] | None = None
        """Is told of each op, to do what the stores ask for in front of it (`control.handing_over`)."""
        self.overlays: dict[int, Overlay] = {}
        """By the register of the object."""
        self.containers: dict[int, Container] = {}
        """The lists and dicts that are stored to, by register."""
        self.tails: dict[int, tuple[Any, int, str]] = {}
        """What is appended to lists that are not looked at, by register, the number of its target, and the path."""
        self.lists: dict[int, int] = {}
        """The registers of lists that are stored to, and of the arrays of their items."""
        self.passed: list[tuple[int, Any]] = []
        """The registers of containers of the caller's that are some of the running program, and what these are."""
        self._address: Any = None
        self._objects: list[int] = []
        """The registers of the objects that the table knows by number."""
        self._found: dict[int, tuple[int, Any]] = {}
        """All objects that were found: by identity, their first registers, and what stands for them."""
        self._things: dict[int, Any] = {}
        """The same by their first registers."""
        self._repeated: set[type] = set()
        """The types of which an object was found by several paths."""
        self.may_fail = False
        """Whether something may fail, or calls out, behind a store."""
        self._call: Call | None = None
        self._notes: dict[str, ArrayTracer] = {}
        self._register = -1

    @property
    def are_made(self) -> bool:
        """Whether there are stores."""
        return bool(self.overlays or self.lists or self.containers or self.tails)

    # -- which objects there are -------------------------------------------------------------------

    def meet(self, thing: Any, register: int, make: Callable[[], Any]) -> Any:
        """What stands for an object: the same, by whatever path it is found, if the program stores to objects."""
        known = self._found.get(id(thing))
        if known is None:
            self._things[register], made = thing, make()
            self._found[id(thing)] = register, made
            return made
        trace = current_trace()
        if trace.choices.answer(ONE_OBJECT):
            self.inputs.guard_same(register, known[0])
            return known[1]
        self._repeated.add(type(thing))
        if type(thing) in {type(self._things[stored]) for stored in self._stored() & self._things.keys()}:
            raise trace.begin_anew(Restart(ONE_OBJECT))
        return make()

    def _stored(self) -> set[int]:
        """The registers of the objects that are stored to."""
        return {*self.overlays, *self.lists, *self.containers, *self.tails}

    def number_of(self, register: int) -> int:
        """The number under which a call knows the object in a register."""
        if register not in self._objects:
            self._objects.append(register)
        return self._objects.index(register)

    # -- stores --------------------------------------------------------------------------------------

    def store(self, proxy: Any, name: str, value: Any) -> None:
        """``proxy.name = value``."""
        trace, register = current_trace(), proxy._jitflow_register
        self._begin(f"assigning to the attribute {name!r} of", proxy._jitflow_path, type(proxy._jitflow_object))
        overlay = self.overlays.setdefault(register, Overlay(proxy))
        if name not in overlay:
            if self._is_read_there(value, register, name):
                return
            overlay.targets[name] = self._target(register, name)
            if trace.scope is not trace.root:
                overlay.before(name)
        elif overlay[name] is value:
            return
        overlay[name], overlay[is_stored(name)] = value, True
        self._note(overlay.targets[name], value)

    def stored_in_class(self, kind: type, name: str) -> Overlay | None:
        """What the program has stored in the first of a class and its bases that has such an attribute."""
        holder = next((base for base in kind.__mro__ if name in vars(base)), None)
        overlays = (overlay for overlay in self.overlays.values() if overlay.proxy._jitflow_object is holder)
        return next((overlay for overlay in overlays if name in overlay), None)

    def _begin(self, what: str, path: str, kind: type) -> None:
        """A store to an object of a type is about to be recorded."""
        trace = current_trace()
        if any(scope.is_differentiated for scope in trace.scope.around()):
            raise refusal(f"in what is differentiated, {what}", path, "return the value as well, with has_aux=True")
        if trace.is_batched:
            raise refusal(f"for each example of a batch, {what}", path, "return the value as well")
        if kind in self._repeated and not trace.choices.answer(ONE_OBJECT):
            raise trace.begin_anew(Restart(ONE_OBJECT))
        trace.announced = self.hand_over

    def open_list(self, register: int, array: int, are_pythons: bool) -> None:
        """The program stores to the items of a list, numbers which are in an array."""
        self._begin("a store to", self.inputs.path(register), list)
        if register not in self.lists:
            self.lists[register] = array
            self.table.lists.append((self.number_of(register), self.number_of(array), are_pythons))

    def open_container(self, thing: Any) -> None:
        """The program changes a list or dict, which goes on as one of Python's until the end."""
        self._begin("a store to", thing.path, class_of(thing))
        thing.is_closed = False
        target = self._target(thing.register, None)
        self.containers[thing.register] = Container(thing, target, content_of(thing))

    def open_tail(self, register: int, path: str, tail: Any) -> None:
        """The program appends to a list."""
        self._begin("appending to", path, list)
        if register not in self.tails:
            self.tails[register] = tail, self._target(register, APPENDED), path
            current_trace().watched += 1

    def pass_container(self, register: int, thing: Any, held: Held) -> Value:
        """A container of the caller's as one of the running program, of a type."""
        trace, table = current_trace(), self.table
        trace.announced = self.hand_over
        trace.watched += 1
        self.passed.append((register, thing))
        table.passed.append((self.number_of(register), held))
        with trace.region(trace.root):
            return trace.make("pass_container", self.address(), number=len(self.passed) - 1, type=held)

    def address(self) -> Value:
        """The address of the words of the containers that are passed."""
        if self._address is None:
            self.call()
            register = self.inputs.register(Attribute(self._register, "address"), "passed")
            self._address = self.inputs.number(register, NumberClass(I64, "python")).value
        found: Value = self._address
        return found

    def return_containers(self, held: Mapping[Value, Held]) -> SameObject:
        """Return containers that may be the caller's; what holds them, then."""
        self.table.returned += held.values()
        current_trace().add("give_containers", self.address(), *held)
        return SameObject(self.register)

    def _is_read_there(self, value: Any, register: int, name: str) -> bool:
        """Whether a value is what the attribute holds: ``self.x += 1`` of an array ends with such a store."""
        known = current_trace().origins.get(id(value)) if isinstance(value, Tracer) else None
        read = None if known is None else self.inputs.reads[known]
        return isinstance(read, Attribute) and (read.parent, read.name) == (register, name)

    def _target(self, register: int, name: str | None) -> int:
        self.table.targets.append(Target(self.number_of(register), name))
        if len(self.table.targets) > MOST_TARGETS:
            raise located(
                UserNotImplementedError(
                    f"a function that stores to more than {MOST_TARGETS} attributes of objects from outside",
                    mend="keep them in arrays, or in several functions",
                )
            )
        return len(self.table.targets) - 1

    # -- what is noted in case that the call fails -----------------------------------------------------

    def _note(self, target: int, value: Any) -> None:
        if current_trace().choices.answer(UNNOTED) is True:
            return
        if type(value) is Alternatives:
            value.each(lambda one: self._note(target, one))
            return
        way = self._way(value)
        if way.kind in ("python", "numpy"):
            self._notes_of(way.about)[target] = value
        self._notes_of("kinds")[target] = self.table.targets[target].number_of(way)

    def _way(self, value: Any) -> Way:
        register = self.inputs.register_of(value)
        if register is not None:
            return Way("object", self.number_of(register))
        if isinstance(value, Tracer) and not isinstance(value, ArrayTracer | VariableTracer):
            kind = type_of(value)
            assert isinstance(kind, Scalar)
            return Way("python" if kind.weak or isinstance(value, SizeTracer) else "numpy", kind.dtype.name)
        if value is None or isinstance(value, bool | int | float | complex | str | np.generic):
            return Way("constant", value)
        return Way("held")

    def _notes_of(self, name: str) -> Any:
        """The memory of the call in which numbers of a dtype are noted, or of what kind they are."""
        if name not in self._notes:
            call = self.call()
            array = getattr(call, name, None)
            if array is None:
                self.table.dtypes.append(name)
                array = call.add(name)
            path = f"stored_{name}"
            register = self.inputs.register(Attribute(self._register, name), path)
            kind = replace(array_class(array, path), fixed=True)
            self._notes[name] = self.inputs.array(register, kind)
        return self._notes[name]

    def call(self) -> Call:
        """The stores of this call, which is read as all others are."""
        if self._call is None:
            self._call = self.table.begin()
            self._register = self.inputs.register(Made(self.table.begin, ()), "stored")
        return self._call

    def held(self) -> Iterator[tuple[int, Any]]:
        """The targets that may have been stored something that is no number, and what they hold."""
        for overlay in self.overlays.values():
            for name, target in overlay.targets.items():
                way = None if type(overlay[name]) is Alternatives else self._way(overlay[name])
                if overlay[is_stored(name)] is not False and (way is None or way.kind == "held"):
                    yield target, overlay[name]
        for container in self.containers.values():
            if container.is_changed:
                yield container.target, content_of(container.thing)
        for tail, target, _ in self.tails.values():
            yield target, tail

    def reached(self) -> Iterator[Any]:
        """What the program has stored, which leads to objects of its own."""
        for held in (*self.overlays.values(), *(holder_of(each.thing) for each in self.containers.values())):
            yield from held.values() if isinstance(held, dict) else held

    def dirty(self) -> Iterator[tuple[Overlay, str]]:
        """The attributes that may have been stored."""
        for overlay in self.overlays.values():
            for name in overlay.targets:
                if overlay[is_stored(name)] is not False:
                    yield overlay, name

    def notice_failure(self) -> None:
        """Something may fail, or calls out, behind a store: starts the trace anew if stores are not noted."""
        self.may_fail = True
        if current_trace().choices.answer(UNNOTED) is True:
            raise current_trace().begin_anew(Restart(UNNOTED, "noted"))

    def forget(self, overlay: Overlay, name: str) -> None:
        """What was stored has been made."""
        if name not in overlay.missing:
            overlay[is_stored(name)] = False
        if current_trace().choices.answer(UNNOTED) is not True:
            self._notes_of("kinds")[overlay.targets[name]] = 0

    def note_content(self) -> None:
        """What was changed in lists and dicts has been made; on one path, what is made in the end is made once more."""
        if current_trace().scope is current_trace().root:
            for container in self.containers.values():
                container.before = content_of(container.thing)
        for tail, _, _ in self.tails.values():
            tail.clear()

    def contents(self) -> dict[int, Any]:
        """What those lists and dicts hold that are stored to, by register."""
        things = {number: tail for number, (tail, *_) in self.tails.items() if class_of(tail) is list}
        things |= {number: container.thing for number, container in self.containers.items()}
        return {number: content_of(thing) for number, thing in things.items()}

    def has_changed(self, before: Mapping[int, Any]) -> bool:
        """Whether they hold something else than before."""
        return any(register not in before or differ(now, before[register]) for register, now in self.contents().items())

    # -- the end of the trace ------------------------------------------------------------------------

    @property
    def is_noted(self) -> bool:
        """Whether calls note what they store: they may fail or call out behind it, or store to lists of numbers."""
        return self.may_fail or bool(self.lists) or bool(self.passed)

    def made(self) -> Iterator[tuple[int, Any, Any, str]]:
        """What the entry stores in the end: the number of the target, whether it was stored, what, and its path."""
        for overlay, name in self.dirty():
            yield overlay.targets[name], overlay[is_stored(name)], overlay[name], f"{overlay.path}.{name}"
        for container in self.containers.values():
            if container.is_changed:
                yield container.target, True, content_of(container.thing), container.thing.path
        for tail, target, path in self.tails.values():
            yield target, True, tail, path

    def object_of(self, target: int) -> int:
        """The register of the object of a target."""
        return self._objects[self.table.targets[target].object]

    def finish(self) -> None:
        """Let each call know its objects, and guard that those which are stored to are no others."""
        if not self.are_made and not self.passed:
            return
        unnoted = current_trace().choices.answer(UNNOTED)
        if self._notes and not self.may_fail and not self.lists and unnoted is None:
            raise Restart(UNNOTED)
        if self.passed:
            self._finish_passed()
        if self.is_noted:
            self.call()
            self.inputs.finish_made(self._register, Made(self.table.begin, tuple(self._objects)))
        stored = self._stored()
        for register in stored & self._things.keys():  # classes are guarded as those that they are
            kind = type(self._things[register])
            for other, thing in self._things.items():
                if type(thing) is kind and (other > register or (other not in stored and other != register)):
                    self.inputs.guard(IsOther(other, register))

    def _finish_passed(self) -> None:
        """Guard that what is passed is found in no list or dict which the program knows otherwise."""
        others = [register for register, thing in self._things.items() if isinstance(thing, list | dict)]
        self.table.apart = [*map(self.number_of, others)]
        assert self.table.convert is not None
        types = [held for _, held in self.table.passed]
        try:
            self.table.convert([*zip([thing for _, thing in self.passed], types, strict=True)],
                               [self._things[register] for register in others])  # fmt: skip
        except MetOtherwise:
            if not current_trace().choices.answer(PASSED_TOGETHER):
                raise Restart(PASSED_TOGETHER) from None
            path = self.inputs.path(self.passed[0][0])
            raise refusal("a change of a list or dict that is found by two paths, one of which is", path) from None

    @property
    def register(self) -> int:
        """The register of the stores of a call."""
        self.call()
        return self._register


def active_stores() -> Stores | None:
    """The stores of the trace that is being recorded, if there are some."""
    trace = active_trace()
    found = None if trace is None else trace.state(Stores)
    return found if found is not None and found.are_made else None
