"""Groups: the variables that one optimiser steps along together, as replicas and shards agree on them.

Each group has one layout of bytes, which is that of every block of memory and of every message about it. Servers hold
whole variables, shared out so that each has about as many bytes; in an all-reduce each replica sums a part of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

from jitflow.records import dataclass

__all__ = ["Group", "Piece", "add_up"]

Array = np.ndarray[Any, Any]
_ALIGNMENT = 64


@dataclass(frozen=True)
class Piece:
    """Elements ``start`` to ``stop`` of a variable of a group, counted in C order."""

    place: int
    start: int
    stop: int


@dataclass(frozen=True)
class Group:
    """The variables of a step: their names in the model, dtypes and shapes, and which optimiser it is that steps.

    ``positions`` are the numbers of their slots in the optimiser, as the whole model has them.
    """

    optimiser: str
    names: tuple[str, ...]
    dtypes: tuple[np.dtype[Any], ...]
    shapes: tuple[tuple[int, ...], ...]
    positions: tuple[int, ...]

    @cached_property
    def number(self) -> int:
        """The same in all processes, in whatever order their steps are compiled."""
        return crc32(f"{self.optimiser} {self.names}".encode())

    @property
    def kinds(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """What each variable is, for comparing."""
        return {
            name: (str(dtype), shape) for name, dtype, shape in zip(self.names, self.dtypes, self.shapes, strict=True)
        }

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The bytes of each variable."""
        return tuple(dtype.itemsize * math.prod(shape) for dtype, shape in zip(self.dtypes, self.shapes, strict=True))

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each variable begins in the layout."""
        found, end = [], 0
        for size in self.sizes:
            found.append(end)
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
        return (*found, end)

    @property
    def size(self) -> int:
        """The bytes of the layout."""
        return self.offsets[-1]

    def arrays(self, memory: Array, start: int = 0) -> list[Array]:
        """The variables in a layout that begins at a byte of some memory."""
        return [
            memory[start + offset : start + offset + size].view(dtype).reshape(shape)
            for offset, size, dtype, shape in zip(self.offsets, self.sizes, self.dtypes, self.shapes, strict=False)
        ]

    def shares(self, count: int) -> Sequence[Sequence[int]]:
        """Which variables each of ``count`` servers holds: the largest first, to the one that has least."""
        return _shares(self.sizes, count)

    def pieces(self, count: int) -> Sequence[Sequence[Piece]]:
        """Which elements each of ``count`` replicas sums: as many bytes for each, in the order of the layout."""
        return _pieces(self.sizes, tuple(dtype.itemsize for dtype in self.dtypes), self.offsets, count)

    def cut(self, arrays: Sequence[Array], pieces: Sequence[Piece]) -> list[Array]:
        """The elements of some pieces, of arrays in C order."""
        return [arrays[piece.place].reshape(-1)[piece.start : piece.stop] for piece in pieces]


@lru_cache  # each step asks
def _shares(sizes: tuple[int, ...], count: int) -> Sequence[Sequence[int]]:
    loads, found = [0] * count, [[] for _ in range(count)]  # type: list[int], list[list[int]]
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        server = min(range(count), key=lambda number: loads[number])
        loads[server] += sizes[place] + _ALIGNMENT
        found[server].append(place)
    return [sorted(places) for places in found]


@lru_cache
def _pieces(
    sizes: tuple[int, ...], itemsizes: tuple[int, ...], offsets: tuple[int, ...], count: int
) -> Sequence[Sequence[Piece]]:
    borders = [offsets[-1] * number // count for number in range(count + 1)]
    found: list[list[Piece]] = [[] for _ in range(count)]
    for pieces, (first, last) in zip(found, pairwise(borders), strict=True):
        for place, (offset, size, itemsize) in enumerate(zip(offsets, sizes, itemsizes, strict=False)):
            # A border within an element belongs to the part in which the element begins.
            start = max(0, -(-(first - offset) // itemsize))
            stop = min(size // itemsize, -(-(last - offset) // itemsize))
            if start < stop:
                pieces.append(Piece(place, start, stop))
    return found


def add_up(totals: Sequence[Array], given: Sequence[Sequence[Array]]) -> None:
    """Make each total, which may be the first of them, the sum of the arrays at its place, added in their order."""
    for place, total in enumerate(totals):
        first, *rest = [arrays[place] for arrays in given]
        if rest:
            np.add(first, rest[0], out=total)
        elif total is not first:
            total[...] = first
        for array in rest[1:]:
            total += array
