"""The type of a compiled function: what is called, and how it finds the code for a call.

`make_function_type(methods)` gives a class with the methods of `methods` and, on every instance,

    _prepare(function)          to be called first, by `__init__`
    _bind(args, kwargs)         the flat arguments of a call, or Python's own TypeError
    _call_linked(flat)          call what matches, or return `NOT_MATCHED`
    _link(specialisation)       add code; `_unlink`, `_unlink_all` take it away
    _specialisations            what is linked, oldest first

and asks of `methods` only `_miss(args, kwargs)`, which is called with the arguments of a call that
nothing matches, and whose result is the call's.

There are two such classes. The native one is a heap type whose instances carry a vectorcall slot
(`dispatcher_text`): calling it costs a few nanoseconds, and no Python code runs. The other is written
in Python, for interpreters that the native one does not know and for `JITFLOW_ENTRY=python`.

Any number of threads may call; linking and unlinking are for one thread at a time, and whoever
does it (the cache of a function) has a lock anyway.

Both are ordinary types made of a namespace: `super()` without arguments does not work in `methods`.
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any, Generic

from jitflow.config import CONFIG
from jitflow.runtime.entry.parameters import make_binder
from jitflow.runtime.entry.specialisation import NOT_MATCHED, Specialisation
from jitflow.runtime.native.object_layout import layout_is_known

__all__ = ["make_function_type", "uses_native_entry"]

_retired: dict[int, Specialisation] = {}
"""Unlinked specialisations that a native call may still be inside, by their identity."""


def uses_native_entry() -> bool:
    """Whether calls go through native code."""
    return CONFIG.entry == "native" and layout_is_known()


def make_function_type(methods: type, *, native: bool | None = None) -> type[Any]:
    """Make the type of compiled functions; `native` overrides what the platform and config say."""
    if uses_native_entry() if native is None else native:
        from jitflow.runtime.entry.dispatcher_native import NativeChain, new_native_type

        return _attach(new_native_type(methods.__name__), NativeChain, methods)
    return _attach(type(methods.__name__, (), {}), PythonChain, methods)


def _attach(target: type, *sources: type) -> type:
    """Copy what the sources define into a type, the last one winning."""
    namespace: dict[str, Any] = {}
    for source in sources:
        for base in reversed(source.__mro__[:-1]):
            if base is not Generic:  # which is for type checkers
                namespace |= vars(base)
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    for name, value in namespace.items():
        setattr(target, name, value)
    return target


class Chain:
    """What both dispatchers share: binding and the list of specialisations."""

    def _prepare(self, function: FunctionType) -> None:
        self._wrapped = function
        self._binder = make_binder(function)
        self._linked: tuple[Specialisation, ...] = ()

    def _bind(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        return self._binder(*arguments, **keywords)

    @property
    def _specialisations(self) -> tuple[Specialisation, ...]:
        return self._linked

    def _unlink_all(self) -> None:
        for specialisation in self._linked:
            self._unlink(specialisation)

    def _link(self, specialisation: Specialisation) -> None:
        self._linked = (*self._linked, specialisation)

    def _unlink(self, specialisation: Specialisation) -> None:
        self._linked = tuple(other for other in self._linked if other is not specialisation)


class PythonChain(Chain):
    """The dispatcher in Python. A call holds the specialisation it is in, so freeing needs no care."""

    def __call__(self, /, *arguments: Any, **keywords: Any) -> Any:
        """Call what matches."""
        result = self._call_linked(self._bind(arguments, keywords))
        return self._miss(arguments, keywords) if result is NOT_MATCHED else result

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def _call_linked(self, flat: tuple[Any, ...]) -> Any:
        for specialisation in reversed(self._linked):
            result = specialisation.call(flat)
            if result is not NOT_MATCHED:
                return result
        return NOT_MATCHED

    def _miss(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError


def retire(specialisation: Specialisation) -> None:
    """Keep an unlinked specialisation until no call is inside it."""
    _retired[id(specialisation)] = specialisation
    release_retired()


def release_retired() -> None:
    """Drop the unlinked specialisations that no call is inside any more.

    Each step is one operation on a dict, so threads and finalisers may get in between.
    """
    for key, specialisation in list(_retired.items()):
        if not specialisation.active_calls:
            _retired.pop(key, None)
