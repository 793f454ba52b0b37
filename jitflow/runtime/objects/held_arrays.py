"""Arrays that the caller's objects keep of a call that fails: what shows one memory in the program goes on doing so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from jitflow.runtime.calls.calls_out import Template

__all__ = ["Group", "held_things"]

Array = np.ndarray[Any, Any]
Group = tuple[Sequence[int], Sequence[int], Sequence[set[int] | None]]
"""Operands that may show one memory; the numbers of the caller's arrays that they may show; and of which of these each
operand may be a view, where it is an array or one of several, and None where it is a view itself."""


def held_things(
    parts: Sequence[Template], groups: Sequence[Group], objects: Callable[[], Sequence[Any]],
    operands: tuple[Any, ...],
) -> list[Any]:  # fmt: skip
    """What templates make of the operands, behind which they find what has been made."""
    found = [*operands]
    for places, numbers, views in groups:
        arrays, known = [operands[place] for place in places], [objects()[number] for number in numbers]
        made: dict[Any, Array] = {}
        for place, array, shown, held in zip(places, arrays, views, _held(arrays, known), strict=True):
            found[place] = held
            if shown is not None and array.size:
                itself = (one for number, one in zip(numbers, known, strict=True)
                          if number not in shown and _lies(one) == _lies(array))  # fmt: skip
                found[place] = made.setdefault(_lies(array), next(itself, held))
    shared = (*found, {})
    return [part(shared) for part in parts]


def _lies(array: Array) -> Any:
    """What two arrays have in common that are one: where, and how."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def _held(arrays: Sequence[Array], known: Sequence[Array]) -> list[Array]:
    """The program's arrays as views of the caller's that they show, or of copies of what several of them show."""
    memory = [(*byte_bounds(one), one, one) for one in known]
    alone: list[Array] = []
    for array in arrays:
        low, high = byte_bounds(array)
        if not any(start <= low and high <= end for start, end, _, _ in memory):
            alone.append(array)
    for group in _overlapping(alone):
        if len(group) > 1:
            bounds = [byte_bounds(one) for one in group]
            low, high = min(start for start, _ in bounds), max(end for _, end in bounds)
            shown = _view(group[0], low, (high - low,), (1,), "|u1")
            memory.append((low, high, shown, shown.copy()))
    return [_moved(array, memory) for array in arrays]


def _overlapping(arrays: Sequence[Array]) -> list[list[Array]]:
    """The arrays, those together whose memory lies between the same bounds."""
    groups: list[list[Array]] = []
    reached = 0
    for array in sorted(arrays, key=lambda one: byte_bounds(one)[0]):
        low, high = byte_bounds(array)
        if groups and low < reached:
            groups[-1].append(array)
        else:
            groups.append([array])
        reached = max(reached, high)
    return groups


def _moved(array: Array, memory: Sequence[tuple[int, int, Array, Array]]) -> Array:
    low, high = byte_bounds(array)
    for start, end, before, now in memory:
        if array.size and start <= low and high <= end:
            place = array.__array_interface__["data"][0] + (byte_bounds(now)[0] - byte_bounds(before)[0])
            return _view(now, place, array.shape, array.strides, array.dtype.str)
    return array.copy()


class _Memory:
    """Memory of an owner, as NumPy asks for it."""

    def __init__(self, owner: Array, interface: dict[str, Any]) -> None:
        self.owner, self.__array_interface__ = owner, interface


def _view(owner: Array, address: int, shape: Sequence[int], strides: Sequence[int], dtype: str) -> Array:
    data = address, not owner.flags.writeable
    interface = {"data": data, "shape": tuple(shape), "strides": tuple(strides), "typestr": dtype, "version": 3}
    return np.asarray(_Memory(owner, interface))
