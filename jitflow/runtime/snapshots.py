"""Several variables at one moment: read together, and written together, while no call that conflicts runs.

Arrays, which a caller may have instead of a variable, are taken as they are: nobody orders their uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.runtime.variable import Variable, using

__all__ = ["assign_all", "snapshot"]

Array = np.ndarray[Any, Any]
Memory = Variable | Array


def snapshot(variables: Sequence[Memory]) -> list[Array]:
    """Copies of all variables, as they were between two steps."""
    with using(_locked(variables)):
        return [_elements(variable).copy() for variable in variables]


def assign_all(variables: Sequence[Memory], values: Sequence[Array]) -> None:
    """Give all variables values of their dtypes and shapes, between two steps."""
    with using((), _locked(variables)):
        for variable, value in zip(variables, values, strict=True):
            _elements(variable)[...] = value


def _locked(variables: Sequence[Memory]) -> list[Variable]:
    return [variable for variable in variables if isinstance(variable, Variable)]


def _elements(variable: Memory) -> Array:
    return variable._array if isinstance(variable, Variable) else variable
