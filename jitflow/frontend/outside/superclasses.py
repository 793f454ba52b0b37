"""``super()`` while tracing."""

from __future__ import annotations

import sys
from contextlib import suppress
from types import FunctionType, MethodType
from typing import Any

from jitflow.errors import UserAttributeError, UserRuntimeError
from jitflow.frontend.outside.made_objects import is_made_object, known_as
from jitflow.frontend.outside.proxies import OBJECT_PROXIES, ClassProxy, ObjectProxy
from jitflow.frontend.outside.records import RecordProxy
from jitflow.frontend.tracers import located

__all__ = ["SuperProxy", "new_object", "super_"]


class SuperProxy:
    """``super()`` of a proxied object: reads along the classes behind ``kind``."""

    __slots__ = ("_jitflow_kind", "_jitflow_thing")

    def __init__(self, kind: type, thing: ObjectProxy) -> None:
        self._jitflow_kind = kind
        self._jitflow_thing = thing

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__deepcopy__") or name.startswith("_jitflow_"):
            return object.__getattribute__(self, name)
        thing = self._jitflow_thing
        kind = known_as(type(thing)) if is_made_object(thing) else thing._jitflow_read("__class__")
        order, classes = kind._jitflow_object.__mro__, kind._jitflow_read("__mro__")
        for position in range(order.index(self._jitflow_kind) + 1, len(order)):
            if name not in vars(order[position]):
                with suppress(AttributeError):  # a read that notices when the class gets it
                    getattr(classes[position], name)
                continue
            if order[position] is object:
                return getattr(object, name).__get__(thing)
            found = getattr(classes[position], name)
            member = vars(order[position])[name]
            if isinstance(member, property):
                return found.fget(thing)
            is_method = isinstance(found, FunctionType) and not isinstance(member, staticmethod)
            return MethodType(found, thing) if is_method else found
        raise located(UserAttributeError(f"'super' object has no attribute '{name}'"))


def new_object(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """`object.__new__`, of the class that is traced. Arguments that `__init__` takes are none of its own."""
    made: Any = kind._jitflow_traced() if isinstance(kind, ClassProxy) else kind
    return object.__new__(made, *args, **kwargs) if made.__init__ is object.__init__ else object.__new__(made)


def super_(*args: Any) -> Any:
    """`super`: of a proxy, what reads the methods of the next class, so that they are traced as well."""
    if not args:
        frame = sys._getframe(2)  # the method: above this function is the call of the class that stands for `super`
        names = frame.f_locals
        if "__class__" not in names or not frame.f_code.co_varnames:
            raise located(UserRuntimeError("super(): no arguments"))
        args = (names["__class__"], names[frame.f_code.co_varnames[0]])
    kind, thing = args
    if isinstance(kind, ClassProxy):
        kind = kind._jitflow_object
    is_foreign = type(thing) in (*OBJECT_PROXIES, RecordProxy) or is_made_object(thing)
    return SuperProxy(kind, thing) if is_foreign else super(kind, thing)
