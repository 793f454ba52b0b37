"""``super()`` while tracing."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

from jitflow.errors import UserAttributeError, UserRuntimeError, UserTypeError
from jitflow.frontend.outside.made_objects import bound_member, is_made_object, known_as
from jitflow.frontend.outside.proxies import OBJECT_PROXIES, ClassProxy
from jitflow.frontend.outside.records import RecordProxy
from jitflow.frontend.tracers import located

__all__ = ["SuperProxy", "new_object", "super_"]


class SuperProxy:
    """``super()`` of what stands for an object, or for a class: reads along the classes behind ``kind``."""

    __slots__ = ("_jitflow_kind", "_jitflow_thing")

    def __init__(self, kind: type, thing: Any) -> None:
        self._jitflow_kind = kind
        self._jitflow_thing = thing

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__deepcopy__") or name.startswith("_jitflow_"):
            return object.__getattribute__(self, name)
        thing, owner = self._jitflow_thing, _class_behind(self._jitflow_thing, self._jitflow_kind)
        order, classes = owner._jitflow_object.__mro__, owner._jitflow_read("__mro__")
        for position in range(order.index(self._jitflow_kind) + 1, len(order)):
            if name not in vars(order[position]):
                with suppress(AttributeError):  # a read that notices when the class gets it
                    getattr(classes[position], name)
                continue
            instance = None if owner is thing else thing
            if order[position] is object:
                return getattr(object, name).__get__(instance, object)
            found, member = classes[position]._jitflow_read(name), vars(order[position])[name]
            return bound_member(found, name, member, instance, owner)
        raise located(UserAttributeError(f"'super' object has no attribute '{name}'"))


def _class_behind(thing: Any, kind: type) -> Any:
    """What stands for the class along which ``super(kind, thing)`` reads."""
    if type(thing) is ClassProxy:
        owner = thing
    else:
        owner = known_as(type(thing)) if is_made_object(thing) else thing._jitflow_read("__class__")
    if not issubclass(owner._jitflow_object, kind):
        raise located(UserTypeError("super(type, obj): obj must be an instance or subtype of type"))
    return owner


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
    is_foreign = type(thing) in (*OBJECT_PROXIES, ClassProxy, RecordProxy) or is_made_object(thing)
    return SuperProxy(kind, thing) if is_foreign else super(kind, thing)
