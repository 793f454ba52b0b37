"""The arguments of a partition that another process runs, read from the slots of the call."""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

import numpy as np

from jitflow.cluster.memory import Block
from jitflow.cluster.parcels import MAPPINGS, ROOMS, Given, Parcel, address_of
from jitflow.ir.types import Scalar, Tensor, Type, Variable
from jitflow.records import dataclass

__all__ = ["Argument", "argument"]

_Word = ctypes.c_int64


class Argument(Protocol):
    """One of them; ``slots`` is the address of those of the call."""

    def packed(self, slots: int, shares: bool, lent: list[Block]) -> Given | tuple[int, ...]:
        """What the other process is given: an array, or the words of a number."""

    def write(self, slots: int, parcel: Parcel) -> None:
        """Write back what the program has written to the copy of an array."""


def argument(kind: Type, slot: int) -> Argument:
    """An argument of a type, by its first slot."""
    if isinstance(kind, Tensor | Variable):
        return _Array(slot, kind.dtype.itemsize, len(kind.dims), isinstance(kind, Variable))
    return _Number(slot, 2 if isinstance(kind, Scalar) and kind.dtype.name == "c128" else 1)


@dataclass(frozen=True)
class _Number:
    slot: int
    count: int

    def packed(self, slots: int, shares: bool, lent: list[Block]) -> tuple[int, ...]:
        return tuple((_Word * self.count).from_address(slots + 8 * self.slot))

    def write(self, slots: int, parcel: Parcel) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class _Array:
    slot: int
    itemsize: int
    rank: int
    writes: bool

    def packed(self, slots: int, shares: bool, lent: list[Block]) -> Given:
        pointer, dims, strides = self._read(slots)
        known = address_of(pointer) if shares else None
        if known is not None:
            return Given(known, (*dims, *strides))
        array = self._elements(pointer, dims, strides)
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            array = array.copy()  # in the order of C, which is one of each class of layouts that is not dense
        returns = array.nbytes if self.writes else 0
        parcel = ROOMS.pack(array.ctypes.data, array.nbytes, shares and not returns, lent)
        return Given(parcel, (*dims, *array.strides), returns)

    def write(self, slots: int, parcel: Parcel) -> None:
        pointer, dims, _ = self._read(slots)
        source, _ = MAPPINGS.pointer(parcel)
        ctypes.memmove(pointer, source, int(np.prod(dims, dtype=np.int64)) * self.itemsize)

    def _read(self, slots: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        words = (_Word * (1 + 2 * self.rank)).from_address(slots + 8 * self.slot)
        return words[0], tuple(words[1 : 1 + self.rank]), tuple(words[1 + self.rank :])

    def _elements(self, pointer: int, dims: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray[Any, Any]:
        kind = np.dtype((np.void, self.itemsize))
        if 0 in dims:
            return np.empty(dims, kind)
        reach = [(dim - 1) * stride for dim, stride in zip(dims, strides, strict=True)]
        before, behind = -sum(one for one in reach if one < 0), sum(one for one in reach if one > 0)
        memory: Any = (ctypes.c_char * (before + behind + self.itemsize)).from_address(pointer - before)
        return np.ndarray(dims, kind, memory, before, strides)
