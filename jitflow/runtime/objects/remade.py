"""Views that compiled code has no layout for, made of an array by NumPy when a call is over.

A frontend that cannot show memory in some way (as elements of another size, or where only the run knows whether NumPy
copies) computes what is in it, and says here how the array that the caller gets is made: step by step, each the name of
what makes a view, with its attributes. A size that the program computes is the text of its position among the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from jitflow.ir.ops import OPS
from jitflow.runtime.native.dtypes import numpy_dtype

__all__ = ["remade"]

Attributes = Sequence[tuple[str, Any]]


def remade(steps: Sequence[tuple[str, Attributes]], array: Any, *sizes: int) -> Any:
    """The view of an array to which the steps lead."""
    for name, attributes in steps:
        known = {key: _with_sizes(value, sizes) for key, value in attributes}
        array = _OF_MEMORY[name](array, **known) if name in _OF_MEMORY else _shown(name, array, known)
    return array


def _with_sizes(attribute: Any, sizes: Sequence[int]) -> Any:
    if isinstance(attribute, tuple):
        return tuple(_with_sizes(part, sizes) for part in attribute)
    return sizes[int(attribute)] if isinstance(attribute, str) and attribute.isdigit() else attribute


def _shown(name: str, array: Any, attributes: Mapping[str, Any]) -> Any:
    evaluate = OPS[name].evaluate
    assert evaluate is not None
    return evaluate((array,), attributes, ())


_OF_MEMORY: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "same": lambda array: array,
        "in order": lambda array: np.asarray(array, order="C"),
        "view": lambda array, dtype: array.view(numpy_dtype(dtype)),
        "as_strided": as_strided,
    }
)
