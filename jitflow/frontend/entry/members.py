"""Attributes that an object has by its class: what a property or a descriptor of the user's computes, what was stored.

A property is a part of the program, as a method is: what it reads may have changed since the call began. Descriptors
are read where they are written, in the class, and asked what an object has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial, partialmethod
from types import FunctionType, ModuleType
from typing import Any

from jitflow.frontend.control.raising import has_shown_something
from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.outside.special_methods import is_descriptor
from jitflow.frontend.outside.stores import Stores, refusal
from jitflow.frontend.recording.trace import current_trace
from jitflow.runtime.entry.guard_tests import class_member, has_own, lacks_own
from jitflow.runtime.entry.plan import Attribute, Made, Read, Satisfies

__all__ = ["MISSING", "Members"]

MISSING = object()
"""The answer where an object holds an attribute itself, or its class does without computing it."""


class Members:
    """Reads of attributes through classes. ``take`` gives what stands for something that a read finds."""

    def __init__(self, inputs: Inputs, take: Callable[[Any, Read, str], Any], stores: Stores) -> None:
        self._inputs, self._take, self._stores = inputs, take, stores

    def read(self, thing: Any, register: int, name: str, proxy: Callable[[], Any]) -> Any:
        """``thing.name``, of which ``proxy`` gives what stands for the object."""
        if isinstance(thing, ModuleType):
            return MISSING
        is_class = isinstance(thing, type)
        kind = thing if is_class else type(thing)
        stored = self._stores.stored_in_class(kind, name)
        try:
            member = class_member(name, kind)
        except AttributeError:
            return MISSING
        if isinstance(member, cached_property) and not is_class and has_shown_something(current_trace()):
            return self._cached(thing, register, name, proxy, member)
        is_asked = is_descriptor(member, "__get__") or (is_class and isinstance(member, partialmethod))
        if isinstance(member, property) and type(member.fget) is FunctionType and not is_class:
            path = f"{self._inputs.path(register)}.{name}"
            property_ = self._inputs.register(self._member_of(register, name, path, is_class), path)
            return self._take(member.fget, Attribute(property_, "fget"), path)(proxy())
        if not is_asked and stored is None:
            return MISSING
        if not is_class and not is_descriptor(member, "__set__", "__delete__"):
            is_own = has_own(name, thing)
            test, text = (has_own, "has") if is_own else (lacks_own, "lacks")
            self._inputs.guard(Satisfies(register, partial(test, name), f"{text} an attribute {name} of its own"))
            if is_own:
                return MISSING
        if stored is not None:
            return stored.read(name)
        path = f"{self._inputs.path(register)}.{name}"
        descriptor = self._take(member, self._member_of(register, name, path, is_class), path)
        if is_class:  # which asks with what stands for it
            return descriptor
        return descriptor._jitflow_special("__get__")(proxy(), proxy()._jitflow_read("__class__"))

    def _cached(self, thing: Any, register: int, name: str, proxy: Callable[[], Any], member: Any) -> Any:
        """What is found once: behind what the program has written, by what it has written."""
        is_own = has_own(name, thing)
        test, text = (has_own, "has") if is_own else (lacks_own, "lacks")
        self._inputs.guard(Satisfies(register, partial(test, name), f"{text} an attribute {name} of its own"))
        if is_own:
            return MISSING
        path, trace = f"{self._inputs.path(register)}.{name}", current_trace()
        overlay = self._stores.overlays.get(register)
        if trace.scope is not trace.root or (overlay is not None and name in overlay.targets):
            raise refusal("computing, behind stores and on a decision of the run, the cached property", path,
                          "read it in front of these, or make it a property")  # fmt: skip
        cached = self._inputs.register(self._member_of(register, name, path, is_class=False), path)
        value = self._take(member.func, Attribute(cached, "func"), path)(proxy())
        setattr(proxy(), name, value)
        return value

    def _member_of(self, register: int, name: str, path: str, is_class: bool) -> Made:
        """What the class of an object, or this class, has under a name, as it is written."""
        if not is_class:
            register = self._inputs.register(Attribute(register, "__class__"), path)
        return Made(partial(class_member, name), (register,))
