"""Arrays in the heap of a call, as items of containers refer to them.

Each is a container of numbers that has as many from the first on as it will ever have, so that they stay where they
are. What reads and writes them is what does so with all storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.ir.dtypes import I64
from jitflow.ir.records import Attributes, Effect, OpDef, TypeRuleError
from jitflow.ir.types import Container, Place, Scalar, Type

__all__ = ["HELD_ARRAY_OPS", "WORD_BYTES"]

WORD_BYTES = 8
"""How many bytes a word of an entry takes, whatever number it is."""


def _infer_added(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    held, count = operands
    if not isinstance(held, Container) or held.kind != "array" or count != Scalar(I64):
        raise TypeRuleError(f"add_items: expected an array and a count, got {held} and {count}")
    return ()


def _infer_shown(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    (held,) = operands
    if not isinstance(held, Container) or held.kind != "array" or not isinstance(held.item, Scalar):
        raise TypeRuleError(f"show_items: expected an array, got {held}")
    return (Place(held.item.dtype, attributes["dims"]),)


def _add_items(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    held, count = operands
    dtype = held.kind.item.dtype.numpy
    width = max(1, WORD_BYTES // dtype.itemsize)
    held.elements = np.zeros(int(count) * width, dtype)[::width]
    return ()


def _show_items(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    (held,) = operands
    return held.elements.reshape(attributes["dims"])


HELD_ARRAY_OPS = [
    OpDef("add_items", "array without items, count: from now on it has so many, all of them 0", "any", 2,
          _infer_added, _add_items, (Effect("reads", 0), Effect("writes", 0))),
    OpDef("show_items", "the items of an array as storage of ``dims``, in C order", "tensor", 1, _infer_shown,
          _show_items, (Effect("reads", 0, "entries"),), frozenset(), ("dims",)),
]  # fmt: skip
