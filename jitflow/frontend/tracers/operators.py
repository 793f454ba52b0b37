"""Python's operators and the NumPy functions that they stand for: one table, from which every tracer's methods come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

__all__ = ["BINARY", "COMPARISONS", "UNARY", "define_operators"]

BINARY: Mapping[str, np.ufunc] = MappingProxyType(
    {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "matmul": np.matmul,
        "truediv": np.true_divide,
        "floordiv": np.floor_divide,
        "mod": np.remainder,
        "divmod": np.divmod,
        "pow": np.power,
        "lshift": np.left_shift,
        "rshift": np.right_shift,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
)
"""Operators that also have a reflected form (``__radd__``) and, but for ``divmod``, an in-place one (``__iadd__``)."""

COMPARISONS: Mapping[str, np.ufunc] = MappingProxyType(
    {
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "eq": np.equal,
        "ne": np.not_equal,
    }
)

UNARY: Mapping[str, np.ufunc] = MappingProxyType(
    {"neg": np.negative, "pos": np.positive, "invert": np.invert, "abs": np.absolute}
)

Binary = Callable[[str, Any, Any], Any]
Unary = Callable[[str, Any], Any]


def define_operators(kind: type, binary: Binary, unary: Unary, in_place: Binary | None = None) -> None:
    """Give ``kind`` Python's operators. Each calls its function with the operator's name (``"add"``) and operands."""

    def define(name: str, method: Callable[..., Any]) -> None:
        method.__name__ = name
        method.__qualname__ = f"{kind.__qualname__}.{name}"
        setattr(kind, name, method)

    for name in (*BINARY, *COMPARISONS):
        define(f"__{name}__", lambda self, other, name=name: binary(name, self, other))
    for name in BINARY:
        define(f"__r{name}__", lambda self, other, name=name: binary(name, other, self))
        if in_place is not None and name != "divmod":
            define(f"__i{name}__", lambda self, other, name=name: in_place(name, self, other))
    for name in UNARY:
        define(f"__{name}__", lambda self, name=name: unary(name, self))
