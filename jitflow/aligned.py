"""Arguments as arrays that native code reads."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["aligned", "aligned_item"]


def aligned(flat: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments as arrays that native code reads: unaligned ones copied, other libraries' as NumPy's by DLPack.

    Neither the program nor its caller may write to what shows such a copy: the array itself would not change.
    """
    return tuple(aligned_item(item) for item in flat)


def aligned_item(item: Any) -> Any:
    """An argument, with what is inside of it."""
    kind = type(item)
    if kind is np.ndarray:
        return item if item.flags.aligned else _read_only(item.copy(order="K"))
    if kind is tuple or kind is list:
        items = [aligned_item(inner) for inner in item]
        return item if all(map(_same, items, item)) else kind(items)
    if kind is dict:
        values = {key: aligned_item(inner) for key, inner in item.items()}
        return item if all(map(_same, values.values(), item.values())) else values
    if hasattr(kind, "__dlpack_device__") and not isinstance(item, np.ndarray):
        return np.from_dlpack(item) if item.__dlpack_device__()[0] == _ON_HOST else item
    return item


_ON_HOST = 1
"""DLPack's name for the host's memory."""


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


def _same(one: Any, other: Any) -> bool:
    return one is other
