"""Types of arrays as items of containers: a reference to what has the elements, and a number for each axis.

Such a type is a named tuple whose name says what is known of the sizes, ``ndarray__3_n``: the first axis has 3 elements
in all arrays of the type, the second has so many as each says. So to all that takes items apart it is a tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitflow.ir.dtypes import I64, DType
from jitflow.ir.named_types import Named
from jitflow.ir.types import Container, Scalar

__all__ = ["array_item", "elements_of", "is_array_item", "join_array_items", "sizes_of"]

_NAME = "ndarray_"


def array_item(dtype: DType, sizes: Sequence[int | None]) -> Named:
    """The type of arrays of a dtype; None stands for a size that each array says."""
    name = "_".join([_NAME, *("n" if size is None else str(size) for size in sizes)])
    return Named(name, (Container(kind="array", item=Scalar(dtype)), *[Scalar(I64, True)] * len(sizes)))


def is_array_item(item: Any) -> bool:
    """Whether it is the type of an array."""
    return isinstance(item, Named) and isinstance(item.kind, str) and item.kind.startswith(_NAME)


def elements_of(item: Named) -> Container:
    """The type of what has the elements."""
    held = item[0]
    assert isinstance(held, Container)
    return held


def sizes_of(item: Named) -> tuple[int | None, ...]:
    """The sizes of the axes, as far as they are known."""
    return tuple(None if size == "n" else int(size) for size in item.name.removeprefix(_NAME).split("_")[1:])


def join_array_items(one: Named, other: Named) -> Named | None:
    """The type of arrays of one type or of another; None if they differ in more than their sizes."""
    if tuple(one) != tuple(other):
        return None
    both = [first if first == second else None for first, second in zip(sizes_of(one), sizes_of(other), strict=True)]
    dtype = elements_of(one).item.dtype  # type: ignore[union-attr]
    return array_item(dtype, both)
