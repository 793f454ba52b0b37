"""``thing.name = value`` of an object of the caller's, as its class says."""

from __future__ import annotations

from types import MemberDescriptorType, ModuleType
from typing import Any

from jitflow.errors import UserAttributeError
from jitflow.frontend.outside.stores import Stores, refusal
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import located

__all__ = ["store_attribute"]


def store_attribute(proxy: Any, name: str, value: Any) -> None:
    """``proxy.name = value``, as the class of the object says."""
    kind = type(proxy._jitflow_object)
    if isinstance(proxy._jitflow_object, ModuleType | type):
        raise refusal(f"assigning to the attribute {name!r} of", proxy._jitflow_path)
    if any("__setattr__" in vars(base) or "__getattribute__" in vars(base) for base in kind.__mro__[:-1]):
        raise refusal(
            f"assigning to the attribute {name!r}, by a __setattr__ of the class's own, of", proxy._jitflow_path
        )
    member = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    if isinstance(member, property):
        if member.fset is None:
            raise located(UserAttributeError(f"property {name!r} of {kind.__name__!r} object has no setter"))
        proxy._jitflow_read("__class__")._jitflow_read(name).fset(proxy, value)
        return
    if hasattr(type(member), "__set__") and not isinstance(member, MemberDescriptorType):
        raise refusal(f"assigning to the attribute {name!r}, a descriptor, of", proxy._jitflow_path)
    current_trace().state(Stores).store(proxy, name, value)
