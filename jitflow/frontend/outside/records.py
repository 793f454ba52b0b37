"""Dataclasses from outside with other values in their fields: what a function gets that is differentiated by one.

Such an object is not made by its class, whose methods would run unseen. It is a proxy of the one outside that has the
fields of its own. Methods and properties get it in place of the object, and so they see these.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.outside.proxies import OBJECT_PROXIES, ObjectProxy
from jitflow.frontend.recording.locate import is_of_dataclasses
from jitflow.frontend.tracers import located

__all__ = ["OF_DATACLASSES", "RecordProxy", "fields_compared", "is_record"]


def is_record(thing: Any) -> bool:
    """Whether this stands for a dataclass from outside."""
    return type(thing) in OBJECT_PROXIES and dataclasses.is_dataclass(thing._jitflow_object)


def fields_compared(left: Any, right: Any, method: str) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """What ``@dataclass`` compares of two objects in a method that it has written; None for all other objects.

    Python writes ``(self.x, self.y) < (other.x, other.y)`` where the text is not kept, so that nobody can trace it.
    """
    kind = left.__class__
    if not hasattr(kind, "__dataclass_fields__") or kind is not right.__class__ or isinstance(left, type):
        return None
    base = next(base for base in kind.__mro__ if method in vars(base))
    code = getattr(vars(base)[method], "__code__", None)
    if "__dataclass_fields__" not in vars(base) or code is None or not is_of_dataclasses(code):
        return None
    names = [field.name for field in dataclasses.fields(base) if field.compare]
    return tuple(getattr(left, name) for name in names), tuple(getattr(right, name) for name in names)


class RecordProxy(ObjectProxy):
    """An object like ``proxy`` with these ``fields``, all that its constructor takes."""

    __slots__ = ("_jitflow_fields",)

    def __init__(self, proxy: ObjectProxy, fields: Mapping[str, Any]) -> None:
        super().__init__(proxy._jitflow_object, proxy._jitflow_register, proxy._jitflow_path, self._jitflow_found)
        object.__setattr__(self, "_jitflow_fields", (proxy, dict(fields)))

    def _jitflow_with(self, fields: Mapping[str, Any]) -> RecordProxy:
        return RecordProxy(self._jitflow_fields[0], fields)

    def _jitflow_found(self, name: str) -> Any:
        proxy, fields = self._jitflow_fields
        if name in fields:
            return fields[name]
        member = inspect.getattr_static(type(self._jitflow_object), name, None)
        if isinstance(member, property):
            return proxy._jitflow_read("__class__")._jitflow_read(name).fget(self)
        if isinstance(member, functools.cached_property):
            raise located(
                UserNotImplementedError(
                    f"the cached property {name!r} of {self._jitflow_path}, which is differentiated by",
                    mend="make it a method or a property",
                )
            )
        found = proxy._jitflow_read(name)
        if isinstance(found, MethodType) and type(found.__self__) in OBJECT_PROXIES:
            owner: Any = found.__self__
            is_own = owner._jitflow_object is self._jitflow_object
            return MethodType(found.__func__, self) if is_own else found
        return found


def _of_dataclass(function: Callable[..., Any], thing: Any, *args: Any, **keywords: Any) -> Any:
    """`dataclasses.replace` and its like: of a proxy, they get an object of the class with the traced fields."""
    if function is dataclasses.is_dataclass and isinstance(thing, ObjectProxy):
        return function(thing._jitflow_object)
    if isinstance(thing, ObjectProxy) and dataclasses.is_dataclass(thing.__class__):
        fields = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing.__class__)}
        thing = object.__new__(thing.__class__)
        for name, value in fields.items():
            object.__setattr__(thing, name, value)
    return function(thing, *args, **keywords)


OF_DATACLASSES: Mapping[Any, Any] = {
    function: functools.partial(_of_dataclass, function)
    for function in (dataclasses.replace, dataclasses.asdict, dataclasses.astuple, dataclasses.is_dataclass)
}
"""From functions of `dataclasses` to what runs in their places."""
