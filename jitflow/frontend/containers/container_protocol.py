"""What Python asks a container of the running program for that it does not give: refused by name."""

from __future__ import annotations

import builtins
import collections
from collections.abc import Iterator
from typing import Any, ClassVar

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.recording.choices import Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import Tracer, begin_anew_rewritten, located, place_of_pin
from jitflow.ir.types import Container

__all__ = ["PythonProtocol"]


class PythonProtocol:
    """What containers of all kinds have of Python's protocols."""

    held: ClassVar[Container]
    repeated_by: tuple[Tracer, Site] | None = None
    """The number that Python would have made so many items of, and where."""

    def __getattr__(self, name: str) -> Any:
        kind = getattr(builtins, self.held.kind, None) or getattr(collections, self.held.kind)
        if name.startswith("_") or not hasattr(kind, name):
            raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
        raise self._unknown(f"{kind.__name__}.{name} of", "write a loop")

    def __iter__(self) -> Iterator[Any]:
        begin_anew_rewritten(current_trace())
        error = self._unknown("an iteration by Python of", "go through it in a loop, or make a list of it: list(...)")
        error.needs_number = True
        raise error

    def __index__(self) -> int:
        error = self._unknown("sizes, axes or counts in", "write them as a tuple: (items[0], items[1])")
        error.pin = place_of_pin(*self.repeated_by) if self.repeated_by is not None else None
        raise error

    def _unknown(self, what: str, mend: str) -> UserNotImplementedError:
        message = f"{what} a {self.held.kind} that the running program changes"
        return located(UserNotImplementedError(message, mend=mend))
