"""Objects of the caller's as keys: which of them are one, Python finds out by their hashes, and asks nobody.

So of each that is hashed it is guarded which of the others it is, or which very object, where those are many.
"""

from __future__ import annotations

from typing import Any

from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording.trace import active_trace

__all__ = ["Hashed"]

_MOST_PAIRS = 8


class Hashed:
    """What was hashed by its identity in one trace: what another call may find another object as, and what not."""

    def __init__(self) -> None:
        self._open: dict[int, Any] = {}
        self._fixed: dict[int, Any] = {}

    def meet(self, proxy: Any) -> int:
        """The hash of the object that a proxy stands for."""
        register, trace = proxy._jitflow_register, active_trace()
        inputs = None if trace is None else trace.state(Stores).inputs
        if inputs is not None and register not in self._open and register not in self._fixed:
            is_fixed = inputs.is_fixed(register)
            if not is_fixed and len(self._open) + len(self._fixed) > _MOST_PAIRS:
                inputs.fix(register)
                is_fixed = True
            others = [*self._open.values()] if is_fixed else [*self._open.values(), *self._fixed.values()]
            (self._fixed if is_fixed else self._open)[register] = proxy
            for other in others:
                inputs.are_same(proxy, other)
        return hash(id(proxy._jitflow_object))
