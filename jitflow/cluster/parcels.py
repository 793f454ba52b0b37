"""Arrays on their way to another process: by address where both are on one machine, in the message otherwise.

What is large is laid into a block that both processes map, so a message holds no elements of it. Blocks are used again
and again: whoever has laid something down takes the block back once the other process has answered, since by then it
has what it needed.
"""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from functools import cache
from typing import Any

import numpy as np

from jitflow.cluster.memory import Address, Block, mapped
from jitflow.records import dataclass
from jitflow.runtime.variable import HEADER

__all__ = [
    "FORGOTTEN",
    "MAPPINGS",
    "ROOMS",
    "Given",
    "Known",
    "Mappings",
    "Parcel",
    "Rooms",
    "address_of",
    "memory_for",
]

Array = np.ndarray[Any, Any]

_LARGE = 1 << 16
"""Bytes from which on an array does not travel in a message: about what a copy of them more takes as a block does."""
_KEPT = 1 << 28
"""Bytes of blocks that are kept for later."""
_MAPPINGS = 32
"""How many blocks of messages a process has mapped at once."""


@dataclass(frozen=True)
class Known:
    """Memory in a block: where it begins there."""

    address: Address
    offset: int
    lasts: bool = False
    """Whether it stays there until it is forgotten, as the memory of a variable does."""


Parcel = Known | Array
"""The bytes of an array, or where they are."""


@dataclass(frozen=True)
class Given:
    """An array that is an argument: its bytes, and how it lies there."""

    parcel: Parcel
    sizes: tuple[int, ...]
    """Its dims, then its strides."""
    returns: int = 0
    """How many bytes go back at the end, since the program writes to them and the caller does not see them."""


class Rooms:
    """The blocks into which this process lays what others of this machine read."""

    def __init__(self) -> None:
        self._free: list[Block] = []
        self._lock = threading.Lock()

    def pack(self, pointer: int, size: int, shares: bool, lent: list[Block]) -> Parcel:
        """Copy memory for another process; a block for it is noted as ``lent``, to be given back."""
        if not shares or size < _LARGE:
            return np.frombuffer(ctypes.string_at(pointer, size), np.uint8) if size else np.empty(0, np.uint8)
        block = self._take(size)
        lent.append(block)
        ctypes.memmove(block.bytes.ctypes.data, pointer, size)
        return Known(block.address, 0)

    def take(self, buffer: int, size: int, shares: bool, lent: list[Block]) -> Parcel:
        """The same of a buffer of the pool, which is given back to that."""
        parcel = self.pack(buffer, size, shares, lent)
        _pool()[1](buffer, size)
        return parcel

    def give_back(self, lent: list[Block]) -> None:
        """The blocks can be used again."""
        with self._lock:
            self._free += lent
            while sum(block.address.size for block in self._free) > _KEPT:
                self._free.pop(0)
        lent.clear()

    def _take(self, size: int) -> Block:
        with self._lock:
            fitting = [block for block in self._free if size <= block.address.size <= 2 * size]
            if fitting:
                block = min(fitting, key=lambda one: one.address.size)
                self._free.remove(block)
                return block
        return Block(size)


class Mappings:
    """The blocks of other processes that this one has mapped: those of variables, and of messages the latest."""

    def __init__(self) -> None:
        self._lasting: dict[int, Array] = {}
        self._passing: OrderedDict[int, Array] = OrderedDict()
        self._lock = threading.Lock()

    def pointer(self, parcel: Parcel) -> tuple[int, object]:
        """Where the bytes of a parcel lie in this process, and what keeps them there."""
        if not isinstance(parcel, Known):
            return parcel.ctypes.data, parcel
        address = parcel.address
        with self._lock:
            known = self._lasting if parcel.lasts else self._passing
            found = known.pop(address.mark, None)
            found = mapped(address) if found is None else found
            known[address.mark] = found
            if len(self._passing) > _MAPPINGS:
                self._passing.popitem(last=False)
        return found.ctypes.data + parcel.offset, found

    def copied(self, parcel: Parcel, size: int) -> int:
        """A buffer of the pool with the bytes of a parcel. Raises MemoryError."""
        buffer: int | None = _pool()[0](size)
        if not buffer:
            raise MemoryError(f"Unable to allocate {size} bytes for an array")
        source, _ = self.pointer(parcel)
        ctypes.memmove(buffer, source, size)
        return buffer

    def forget(self, marks: list[int]) -> None:
        """Blocks that are no more."""
        with self._lock:
            for mark in marks:
                self._lasting.pop(mark, None)


@cache
def _pool() -> tuple[Any, Any]:
    """How a buffer is taken from the pool of native code, and given back."""
    from jitflow.runtime.native.pool import pool

    made, pointer, size = pool(), ctypes.c_void_p, ctypes.c_int64
    return (ctypes.CFUNCTYPE(pointer, size)(made.allocate_address),
            ctypes.CFUNCTYPE(None, pointer, size)(made.free_address))  # fmt: skip


ROOMS, MAPPINGS = Rooms(), Mappings()
"""Those of this process."""

# -- memory of variables that others map


FORGOTTEN: list[int] = []
"""The marks of what this process no longer has, and of programs that are no longer called."""

_SHARED: dict[int, tuple[Block, int]] = {}
"""By the address of the first element of a variable: its block, and where in the block that is."""


class _Owned(np.ndarray[Any, Any]):
    """The bytes of a block, which is known as long as somebody uses them."""

    block: Block | None = None
    start = 0

    def __del__(self) -> None:
        if self.block is not None:
            _SHARED.pop(self.start, None)
            FORGOTTEN.append(self.block.address.mark)


def memory_for(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Memory of zeros for the array of a variable, with a header in front of it, which other processes map."""
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    block = Block(size + HEADER)
    owned = block.bytes.view(_Owned)
    owned.block, owned.start = block, block.bytes.ctypes.data + HEADER
    _SHARED[owned.start] = block, HEADER
    return np.ndarray(shape, dtype, owned, HEADER)


def address_of(pointer: int) -> Known | None:
    """Where other processes of this machine find a variable's elements; None of other memory."""
    found = _SHARED.get(pointer)
    return None if found is None else Known(found[0].address, found[1], lasts=True)
