"""Methods that are read from their class: ``list.append(items, item)``, ``map(str.upper, words)``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

from jitflow.frontend.containers.containers import python_class
from jitflow.frontend.containers.lists import Listed
from jitflow.frontend.python.sequence_methods import method as method_of
from jitflow.frontend.tracers import Tracer

__all__ = ["methods_of_containers", "methods_of_numbers"]


def methods_of_numbers(kind: type) -> Mapping[str, Any]:
    """The methods of a class of numbers, of traced ones as well."""
    methods = (member for member in vars(kind).values() if isinstance(member, MethodDescriptorType))
    return {method.__name__: _unbound(method) for method in methods if not method.__name__.startswith("_")}


def methods_of_containers(kind: type) -> Mapping[str, Any]:
    """The methods of a class of containers or of texts, of what stands for one of the caller's or the run's as well."""
    slots = (MethodDescriptorType, WrapperDescriptorType)
    names = [name for name, member in vars(kind).items() if isinstance(member, slots)]
    return {name: _of_container(kind, name) for name in names
            if name in _CHANGING or name in _COMBINING or not name.startswith("_")}  # fmt: skip


def _unbound(method: MethodDescriptorType) -> Callable[..., Any]:
    """``int.bit_length``, of a traced number as well."""

    def call(thing: Any, *args: Any, **keywords: Any) -> Any:
        if not isinstance(thing, Tracer):
            return method(thing, *args, **keywords)
        if not isinstance(thing, method.__objclass__):
            raise _misfit(method.__name__, method.__objclass__, thing)
        return getattr(thing, method.__name__)(*args, **keywords)

    return call


def _misfit(name: str, kind: type, thing: Any) -> TypeError:
    kinds = f"for '{kind.__name__}' objects doesn't apply to a '{thing.__class__.__name__}' object"
    return TypeError(f"descriptor '{name}' {kinds}")


_CHANGING = ("__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__")
_COMBINING: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {"__add__": operator.add, "__and__": operator.and_, "__or__": operator.or_, "__sub__": operator.sub,
     "__xor__": operator.xor}
)  # fmt: skip


def _of_container(kind: type, name: str) -> Any:
    """``list.append``, of what stands for one of the caller's as well: its methods are others."""

    def call(thing: Any, *args: Any, **keywords: Any) -> Any:
        if not _is_of(kind, thing):
            raise _misfit(name, kind, thing)
        if name in _COMBINING and len(args) == 1 and _is_of(kind, args[0]):
            return _COMBINING[name](thing, args[0])
        return method_of(thing, name)(*args, **keywords)

    return staticmethod(call)


def _is_of(kind: type, thing: Any) -> bool:
    known = python_class(thing)
    return (
        issubclass(known, kind) if known is not None else isinstance([] if isinstance(thing, Listed) else thing, kind)
    )
