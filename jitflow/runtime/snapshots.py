"""Several variables at one moment: read together, and written together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["assign_all", "snapshot"]

Array = np.ndarray[Any, Any]


def snapshot(variables: Sequence[Any]) -> list[Array]:
    """Copies of all variables (or of arrays, as they are), as they were between two steps."""
    return [_memory(variable).copy() for variable in variables]


def assign_all(variables: Sequence[Any], values: Sequence[Array]) -> None:
    """Give all variables (or arrays) values of their dtypes and shapes, between two steps."""
    for variable, value in zip(variables, values, strict=True):
        _memory(variable)[...] = value


def _memory(variable: Any) -> Array:
    memory: Array = variable if isinstance(variable, np.ndarray) else variable._array
    return memory
