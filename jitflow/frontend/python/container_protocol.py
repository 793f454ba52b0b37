"""What Python asks a container of the running program for that it does not give: refused by name."""

from __future__ import annotations

import builtins
import collections
from collections.abc import Iterator
from typing import Any, ClassVar

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.tracers.base import located
from jitflow.ir.types import Container

__all__ = ["PythonProtocol"]


class PythonProtocol:
    """What containers of all kinds have of Python's protocols."""

    held: ClassVar[Container]

    def __getattr__(self, name: str) -> Any:
        kind = getattr(builtins, self.held.kind, None) or getattr(collections, self.held.kind)
        if name.startswith("_") or not hasattr(kind, name):
            raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
        raise self._unknown(f"{kind.__name__}.{name} of", "write a loop")

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        if any(isinstance(word, Container) for word in self.held.words):
            raise self._unknown("copy.deepcopy of", "copy what it holds one by one: [row[:] for row in rows]")
        return self.copy()

    def __iter__(self) -> Iterator[Any]:
        raise self._unknown("an iteration by Python of", "go through it in a loop, or make a list of it: list(...)")

    def _unknown(self, what: str, mend: str) -> UserNotImplementedError:
        message = f"{what} a {self.held.kind} that the running program changes"
        error = located(UserNotImplementedError(message, mend=mend))
        assert isinstance(error, UserNotImplementedError)
        return error
