"""Elements of a dataset are structures of arrays: dicts, tuples and lists of arrays and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError, UserValueError

__all__ = ["stacked"]


def stacked(elements: Sequence[Any], path: str = "") -> Any:
    """One structure like each of the elements, whose arrays have a new first axis with a place for each of them.

    Texts and other objects become lists. Raises ValueError for arrays of several shapes, TypeError for structures that
    differ; both say where.
    """
    first = elements[0]
    if isinstance(first, dict):
        _require(all(isinstance(element, dict) and element.keys() == first.keys() for element in elements), path)
        return {key: stacked([element[key] for element in elements], f"{path}[{key!r}]") for key in first}
    if isinstance(first, tuple | list):
        alike = all(type(element) is type(first) and len(element) == len(first) for element in elements)
        _require(alike, path)
        parts = [stacked([element[i] for element in elements], f"{path}[{i}]") for i in range(len(first))]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if not all(isinstance(element, np.ndarray | np.generic | bool | int | float | complex) for element in elements):
        return list(elements)
    values = [np.asarray(element) for element in elements]
    shapes = {value.shape: None for value in values}
    if len(shapes) > 1:
        raise UserValueError(
            f"the elements{f' at {path}' if path else ''} of a batch have several shapes: "
            f"{', '.join(map(str, shapes))}",
            mend="give them one shape with .map(...) in front of .batch(...)",
        )
    return np.stack(values)


def _require(alike: bool, path: str) -> None:
    if not alike:
        raise UserTypeError(f"the elements{f' at {path}' if path else ''} of a batch have several structures")
