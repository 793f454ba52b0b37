"""``thing.name = value`` and ``del thing.name`` of an object of the caller's, as its class says."""

from __future__ import annotations

import abc
from types import MemberDescriptorType, ModuleType
from typing import Any

from jitflow.errors import UserAttributeError
from jitflow.frontend.outside.special_methods import is_descriptor
from jitflow.frontend.outside.stores import Stores, refusal
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import located

__all__ = ["delete_attribute", "store_attribute"]


def store_attribute(proxy: Any, name: str, value: Any) -> None:
    """``proxy.name = value``, as the class of the object says."""
    kind = type(proxy._jitflow_object)
    if isinstance(proxy._jitflow_object, type):
        _store_in_class(proxy, name, value)
        return
    if isinstance(proxy._jitflow_object, ModuleType):
        raise refusal(f"assigning to the attribute {name!r} of", proxy._jitflow_path)
    if any("__setattr__" in vars(base) or "__getattribute__" in vars(base) for base in kind.__mro__[:-1]):
        raise refusal(
            f"assigning to the attribute {name!r}, by a __setattr__ of the class's own, of", proxy._jitflow_path
        )
    member = _member_of(kind, name)
    if isinstance(member, property):
        if member.fset is None:
            raise located(UserAttributeError(f"property {name!r} of {kind.__name__!r} object has no setter"))
        proxy._jitflow_read("__class__")._jitflow_read(name).fset(proxy, value)
    elif is_descriptor(member, "__set__"):
        proxy._jitflow_read("__class__")._jitflow_read(name)._jitflow_special("__set__")(proxy, value)
    elif hasattr(type(member), "__set__") and not isinstance(member, MemberDescriptorType):
        raise refusal(f"assigning to the attribute {name!r}, a descriptor, of", proxy._jitflow_path)
    else:
        current_trace().state(Stores).store(proxy, name, value)


def _store_in_class(proxy: Any, name: str, value: Any) -> None:
    """``C.name = value``, of a number, say, that the class has already: its objects find it there."""
    kind, what = proxy._jitflow_object, f"assigning to the attribute {name!r} of"
    if name not in vars(kind):
        raise refusal(
            f"for the first time, {what}", proxy._jitflow_path, "give the class the attribute where it is defined"
        )
    if type(kind) not in (type, abc.ABCMeta) or hasattr(type(vars(kind)[name]), "__get__"):
        raise refusal(what, proxy._jitflow_path)
    current_trace().state(Stores).store(proxy, name, value)


def delete_attribute(proxy: Any, name: str) -> None:
    """``del proxy.name``, where the class of the object says what that does."""
    kind = type(proxy._jitflow_object)
    member = _member_of(kind, name)
    if isinstance(member, property):
        if member.fdel is None:
            raise located(UserAttributeError(f"property {name!r} of {kind.__name__!r} object has no deleter"))
        proxy._jitflow_read("__class__")._jitflow_read(name).fdel(proxy)
    elif is_descriptor(member, "__delete__"):
        proxy._jitflow_read("__class__")._jitflow_read(name)._jitflow_special("__delete__")(proxy)
    else:
        raise refusal(f"deleting the attribute {name!r} of", proxy._jitflow_path)


def _member_of(kind: type, name: str) -> Any:
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
