"""What objects of the program's classes say of themselves, by ``__str__``, ``__repr__`` and ``__format__``.

Python would take nothing but text from these methods, and what they make may be known only when the program runs.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

from jitflow.errors import UserTypeError
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.proxies import ObjectProxy
from jitflow.frontend.recording.locate import is_internal
from jitflow.frontend.texts.structure import structure
from jitflow.frontend.tracers import Alternatives, Tracer, located
from jitflow.frontend.tracers.surface import surface

__all__ = ["said", "speaks"]

_METHODS = {"": ("__format__", "__str__", "__repr__"), "s": ("__str__", "__repr__"), "r": ("__repr__",)}
_NOBODY = (str, type, enum.Enum, BaseException, Tracer, Recorded)
"""What has text of its own, or methods that are looked at elsewhere."""


def speaks(thing: Any) -> bool:
    """Whether a method of the program's makes the text of something."""
    return _method(thing, "") is not None


def said(thing: Any, conversion: str, specification: Any) -> tuple[Any, str, Any] | None:
    """A field with the text that an object makes of itself in the place of the object; None for all else."""
    found = _method(thing, conversion)
    if found is None:
        return None
    name, method = found
    if name != "__format__" and not conversion and specification:
        return None  # which Python refuses
    words = method(specification) if name == "__format__" else method()
    if type(words) is Alternatives:
        words = surface.program_text(words)
    if not (issubclass(words.__class__, str) or (isinstance(words, Recorded) and words.is_text)):
        kind = words.__class__.__name__
        raise located(UserTypeError(f"{name} returned non-string (type {kind})"))
    return words, "s" if conversion else "", "" if name == "__format__" else specification


def _method(thing: Any, conversion: str) -> tuple[str, Callable[..., Any]] | None:
    """The method that makes the text, by its name, if it is written in Python and not with the class."""
    kind = thing._jitflow_object.__class__ if isinstance(thing, ObjectProxy) else type(thing)
    if issubclass(kind, _NOBODY) or conversion not in _METHODS:
        return None
    for name in _METHODS[conversion]:
        method = getattr(kind, name, None)
        if isinstance(method, FunctionType):
            if is_internal(method.__code__.co_filename) or structure(thing) is not None:
                return None
            return name, thing._jitflow_special(name) if isinstance(thing, ObjectProxy) else partial(method, thing)
        if method is not getattr(object, name):
            return None
    return None
