"""Variables while a program is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError
from jitflow.frontend.recording.trace import Trace
from jitflow.frontend.tracers.array import ArrayTracer
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.lifting import type_of
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.types import Scalar, dims_of
from jitflow.runtime.variable import Variable

__all__ = ["VariableTracer"]


class VariableTracer(ArrayTracer):
    """A `Variable`: an array whose memory outlives the call, with a variable's methods.

    There is one for each variable in a trace (`Trace.variable`), however many paths lead to it. ``read`` reads an
    attribute of the object outside.
    """

    __slots__ = ("_read", "_variable")

    def __init__(self, value: Value, trace: Trace, variable: Variable, read: Callable[[str], Any]) -> None:
        super().__init__(value, trace)
        object.__setattr__(self, "_variable", variable)
        object.__setattr__(self, "_read", read)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return Variable

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self._variable)

    @property
    def name(self) -> Any:
        """What the variable is called."""
        return self._read("name")

    @property
    def trainable(self) -> Any:
        """Whether an optimiser may update it."""
        return self._read("trainable")

    def numpy(self) -> Any:
        """A snapshot, which the program cannot write to."""
        copy: Any = surface.methods["copy"](self)
        self._trace.storage.make_read_only(copy._value)
        return copy

    def assign(self, value: Any) -> Any:
        """Make the variable be ``value``, as ``np.copyto`` does."""
        if isinstance(value, Value):
            return super().assign(value)
        _require_cast(value, self.dtype)
        self[...] = value
        return self

    def assign_add(self, value: Any) -> Any:
        """Add ``value`` in place."""
        return self.__iadd__(value)

    def assign_sub(self, value: Any) -> Any:
        """Subtract ``value`` in place."""
        return self.__isub__(value)

    def scatter_add(self, indices: Any, values: Any) -> Any:
        """Add ``values`` at ``indices``, as ``np.add.at`` does: indices that occur twice add twice."""
        surface.apply_ufunc(np.add, "at", (self, indices, values), {})
        return self


def _require_cast(value: Any, wanted: np.dtype[Any]) -> None:
    """Raise NumPy's error where a value cannot be assigned."""
    kind = type_of(value)
    found = kind.dtype.numpy
    if isinstance(kind, Scalar) and kind.weak:
        fits = _KINDS.index(found.kind) <= _KINDS.index(wanted.kind.replace("u", "i"))
    else:
        fits = np.can_cast(found, wanted, "same_kind")
    if not fits:
        what = "array data" if dims_of(kind) else "scalar"
        raise located(
            UserTypeError(
                f"Cannot cast {what} from {found!r} to {wanted!r} according to the rule 'same_kind'",
                mend=f"convert it: value.astype({wanted.name!r})",
            )
        )


_KINDS = "bifc"
"""The kinds of Python numbers, each of which casts to those behind it."""
