"""Both walks over a plan: what is known of the objects around it at one step."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from jitflow.cache.codec import Damaged, Unstorable
from jitflow.cache.content import Incomparable, content_of
from jitflow.interruptions import pass_interruption
from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.python_guards import found_by

__all__ = ["ROOT", "Mismatch", "Walk", "contents_of_defaults"]

ROOT = -1
"""Stands for the register of the function that was compiled."""


class Mismatch(Exception):
    """What the plan reads is not what it was compiled for."""


class Walk:
    """What is known of the objects around a plan, at one step of the walk."""

    def __init__(self, function: FunctionType, arguments: Sequence[Any], reads: int) -> None:
        self.function, self._arguments, self._count = function, arguments, reads
        self._found: dict[int, Any] = {}
        self._reads: dict[int, p.Read] = {}
        self.functions: dict[int, FunctionType] = {ROOT: function}
        """Those whose code was compared, by their registers."""

    def read(self, register: int) -> p.Read:
        """The read of a register, as this process knows it."""
        raise NotImplementedError

    def register(self, number: int) -> Any:
        """What a register holds, read when it is first asked for."""
        if number not in self._found:
            if not 0 <= number < self._count:
                raise Damaged(f"expected one of {self._count} registers, got {number}")
            self._reads[number] = read = self.read(number)
            try:
                self._found[number] = found_by(read, self._arguments, self.register)
            except (Damaged, Unstorable, Mismatch):
                raise
            except Exception as error:
                pass_interruption(error)
                raise Mismatch(f"what register {number} reads is not there") from error
        return self._found[number]


def contents_of_defaults(
    defaults: tuple[Any, ...] | None, keyword_defaults: tuple[tuple[str, Any], ...] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The content of a function's defaults. What can change, a trace reads by guards of its own."""
    pairs = [(f"{name} ", value) for name, value in keyword_defaults or ()]
    return tuple(_default(value) for value in defaults or ()), tuple(name + _default(value) for name, value in pairs)


def _default(value: Any) -> str:
    try:
        return content_of(value)
    except Incomparable:
        return type(value).__qualname__
