"""Exceptions of the user's classes, as exported libraries hold them: a name, and what of Python's they derive from.

Whoever handles such an exception has its class, so that is looked for when one is raised, among the modules that are
imported by then. Where it is not there, a class of the same name is raised, which handlers of Python's classes handle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitflow.cache.codec import Damaged
from jitflow.cache.content import is_of_a_library, named

__all__ = ["exception_of_name", "name_of_exception"]


def name_of_exception(thing: Any) -> list[Any] | None:
    """The name of a class of exceptions of the user's, and those of its bases that are Python's; None for all else."""
    if not (isinstance(thing, type) and issubclass(thing, BaseException)) or is_of_a_library(thing.__module__):
        return None
    bases = [base for base in thing.__mro__ if issubclass(base, BaseException) and is_of_a_library(base.__module__)]
    return [thing.__module__, thing.__qualname__, [[base.__module__, base.__qualname__] for base in bases]]


def exception_of_name(name: Sequence[Any]) -> type[BaseException]:
    """The class of a name that `name_of_exception` gave, or one of the same name."""
    module, qualified, bases = name
    found = named(module, qualified)
    if isinstance(found, type) and issubclass(found, BaseException):
        return found
    known = [kind for base in bases if isinstance(kind := named(*base), type) and issubclass(kind, BaseException)]
    if not known:
        raise Damaged(f"expected the class of an exception, got {module}.{qualified}")
    last = [kind for kind in known if not any(issubclass(other, kind) for other in known if other is not kind)]
    return type(qualified.rpartition(".")[2], tuple(last), {"__module__": module, "__qualname__": qualified})
