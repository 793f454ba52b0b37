"""Several variables at one moment: read together, and written together, while no call that conflicts runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.runtime.variable import Variable, using

__all__ = ["assign_all", "snapshot"]

Array = np.ndarray[Any, Any]


def snapshot(variables: Sequence[Variable]) -> list[Array]:
    """Copies of all variables, as they were between two steps."""
    with using(variables):
        return [variable._elements.copy() for variable in variables]


def assign_all(variables: Sequence[Variable], values: Sequence[Array]) -> None:
    """Give all variables values of their dtypes and shapes, between two steps."""
    with using((), variables):
        for variable, value in zip(variables, values, strict=True):
            variable._elements[...] = value
