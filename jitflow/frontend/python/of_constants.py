"""Functions of `re` and `textwrap`, which are asked while tracing about texts that are known then.

Texts that the caller passes are known: a call with another one is another specialisation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.outside.objects import is_frozen
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.tracers.base import located

__all__ = ["Known", "of_constants"]


def of_constants(function: Any) -> Callable[..., Any]:
    """What runs in the place of a function or method that depends on nothing but constants."""

    @wraps(function)
    @raising_for_the_program
    def call(*args: Any, **keywords: Any) -> Any:
        given = [one._thing if isinstance(one, Known) else one for one in args]
        if not all(is_frozen(one) or isinstance(one, re.Pattern) for one in (*given, *keywords.values())):
            name = getattr(function, "__qualname__", "a function")
            raise located(UserNotImplementedError(
                f"{name}() of a text that the running program makes, or with a function",
                mend="take the text apart by its methods: split, find, replace, startswith",
            ))  # fmt: skip
        found = function(*given, **keywords)
        return Known(found) if isinstance(found, re.Pattern | re.Match) else found

    return call


class Known:
    """A pattern or a match, which is known while tracing."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._thing, name)
        return of_constants(member) if callable(member) else member

    def __getitem__(self, group: Any) -> Any:
        return self.group(group)
