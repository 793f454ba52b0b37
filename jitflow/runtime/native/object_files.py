"""Object code into memory without LLVM: relocatable ELF files for x86-64, laid out and bound as its ABI says.

Importing LLVM takes longer than all else that a process does before its first result, where it finds its code on disk
and needs nothing else of LLVM. A library is one mapping, so that its parts are in reach of each other:

    code, stubs | read-only data, table of addresses | data

A stub jumps to what may lie anywhere, by way of the table. Known is what code of the small position-independent model
has; anything else raises `Unknown`, and LLVM links it (`linking.py`). Tables for unwinding are left out: nothing comes
back through compiled code that way, and what ends a thread (`pthread_exit`) takes a frame without one for the last.

Sources: ELF-64 Object File Format, version 1.5; System V ABI, AMD64 Architecture Processor Supplement, table 4.9.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

__all__ = ["Unknown", "are_known", "load"]

_FILE = struct.Struct("<16sHHIQQQIHHHHHH")
_IDENTITY = b"\x7fELF\x02\x01\x01"
_RELOCATABLE, _X86_64 = 1, 62
_SECTION = np.dtype("u4, u4, u8, u8, u8, u8, u4, u4, u8, u8")
"""Name, kind, flags, address, offset, size, link, further section, alignment, size of a row."""
_SYMBOL = np.dtype("u4, u1, u1, u2, i8, u8")
"""Name, kind, visibility, section, value, size."""
_BINDING = np.dtype("i8, u4, u4, i8")
"""Offset, kind, symbol, what is added."""

_BYTES, _SYMBOLS, _BINDINGS, _ZEROS, _UNWINDING = 1, 2, 4, 8, 0x70000001
_WRITEABLE, _IN_MEMORY, _EXECUTABLE, _OF_A_THREAD = 1, 2, 4, 1 << 10
"""Kinds of sections, and their flags."""

_WORD, _NEAR, _BY_TABLE = 1, 2, 3
_RELOCATIONS = {1: _WORD, 2: _NEAR, 4: _NEAR, 9: _BY_TABLE, 41: _BY_TABLE, 42: _BY_TABLE}
"""By the ABI's numbers: R_X86_64_64; PC32 and PLT32; GOTPCREL, GOTPCRELX and REX_GOTPCRELX."""
_WAYS = np.zeros(256, np.uint8)
_WAYS[[*_RELOCATIONS]] = [*_RELOCATIONS.values()]

_STUB = b"\xff\x25"
"""``jmp [rip + ...]``"""
_SLOT = 8
"""Bytes of an address in the table, and of a stub."""
_LARGEST = 1 << 30
"""Bytes of a library, all of which are in reach of 32 bits."""
_READ, _RUN = 1, 4


class Unknown(Exception):
    """An object file has what is not known here."""


def are_known() -> bool:
    """Whether this process's object code is of the kind that is read here."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def load(
    codes: Sequence[bytes], names: Sequence[str], outside: Mapping[str, int]
) -> tuple[object, dict[str, int]]:  # fmt: skip
    """Put object files into memory as one library: what owns it, and the addresses of the functions called ``names``.

    ``outside`` are addresses of what the files call and that is not found by its name. Raises `Unknown`.
    """
    try:
        library = _Library([_File(code) for code in codes], outside)
        return library.memory, {name: library.defined[name] for name in names}
    except (ValueError, IndexError, KeyError, OverflowError, struct.error) as error:
        raise Unknown(str(error)) from error


class _File:
    """An object file, and where its parts are in the library."""

    def __init__(self, code: bytes) -> None:
        identity, kind, machine, *_, start, _, _, _, _, each, count, _ = _FILE.unpack_from(code)
        if not identity.startswith(_IDENTITY) or (kind, machine, each) != (_RELOCATABLE, _X86_64, _SECTION.itemsize):
            raise Unknown("not a relocatable file for x86-64")
        self.code = code
        self.sections = np.frombuffer(code, _SECTION, count, start).tolist()
        (table,) = (section for section in self.sections if section[1] == _SYMBOLS)
        self.symbols = np.frombuffer(self.content(table), _SYMBOL).tolist()
        texts = self.content(self.sections[table[6]])
        self.names = {symbol: texts[at : texts.index(b"\0", at)].decode()
                      for symbol, (at, kind, *_) in enumerate(self.symbols) if kind >> 4}  # fmt: skip
        """Of the symbols that are not this file's own."""
        self.bindings = [*self._bindings()]
        """What depends on where things are: a section's number, offsets, ways, symbols, what is added."""
        self.places: dict[int, int] = {}
        """Of the sections in memory, in bytes from the beginning of the library."""
        self.slots: dict[int, int] = {}
        self.stubs: dict[int, int] = {}
        """By symbol: where the table has its address, and where is jumped to it."""

    def content(self, section: Sequence[int]) -> bytes:
        """The bytes of a section."""
        offset, size = section[4:6]
        if offset + size > len(self.code):
            raise Unknown("a section that is not there")
        return self.code[offset : offset + size]

    def _bindings(self) -> Iterator[tuple[int, Any, Any, Any, Any]]:
        for section in self.sections:
            if section[1] == _BINDINGS and _group(self.sections[section[7]]) is not None:
                rows = np.frombuffer(self.content(section), _BINDING)
                offsets, kinds, symbols, added = (rows[name] for name in rows.dtype.names or ())
                ways = _WAYS[kinds]
                if not ways.all():
                    raise Unknown("a relocation of another kind")
                yield section[7], offsets, ways, symbols, added

    def defines(self) -> Iterator[tuple[int, str]]:
        """The symbols that other files see."""
        return ((symbol, name) for symbol, name in self.names.items() if self.symbols[symbol][3])

    def need_ways(self, inside: set[str]) -> None:
        """Note which symbols need a slot in the table, and which a stub too; ``inside`` is what the library defines."""
        far = [symbol for symbol, name in self.names.items() if not self.symbols[symbol][3] and name not in inside]
        for _, _, ways, symbols, _ in self.bindings:
            self.stubs |= dict.fromkeys({*far}.intersection(symbols[ways == _NEAR].tolist()), 0)
            self.slots |= dict.fromkeys(symbols[ways == _BY_TABLE].tolist(), 0)
        self.slots |= self.stubs


class _Library:
    """Files that see each other's functions, in memory; ``defined`` are these with their addresses."""

    def __init__(self, files: Sequence[_File], outside: Mapping[str, int]) -> None:
        inside = [name for file in files for _, name in file.defines()]
        if len({*inside}) < len(inside):
            raise Unknown("a name is defined twice")
        for file in files:
            file.need_ways({*inside})
        code, constants, end = _lay_out(files)
        self.memory = mmap.mmap(-1, max(end, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._bytes = np.frombuffer(self.memory, np.uint8)
        self._base = int(self._bytes.__array_interface__["data"][0])
        self._outside = outside
        self.defined: dict[str, int] = {}
        for file in files:
            self.defined |= {name: self._address(file, symbol) for symbol, name in file.defines()}
        for file in files:
            self._fill(file)
        _protect(self._base, code, _READ | _RUN)
        _protect(self._base + code, constants - code, _READ)

    def _address(self, file: _File, symbol: int) -> int:
        """Where a symbol is; 0 for what says something about the file."""
        _, _, _, section, value, _ = file.symbols[symbol]
        if section:
            return self._base + file.places[section] + value if section in file.places else 0
        name = file.names.get(symbol, "")
        return self.defined.get(name) or self._outside.get(name) or (_of_the_process(name) if name else 0)

    def _fill(self, file: _File) -> None:
        """Write a file's sections, its slots and stubs, and then what depends on where things are."""
        addresses = [self._address(file, symbol) for symbol in range(len(file.symbols))]
        for number, place in file.places.items():
            if file.sections[number][1] == _BYTES:
                self._write(place, file.content(file.sections[number]))
        for symbol, slot in file.slots.items():
            self._write(slot, addresses[symbol].to_bytes(_SLOT, "little"))
        for symbol, stub in file.stubs.items():
            self._write(stub, _STUB + (file.slots[symbol] - (stub + len(_STUB) + 4)).to_bytes(4, "little"))
        exact, near, table = np.array(addresses), np.array(addresses), np.zeros(len(addresses), np.int64)
        for symbol, slot in file.slots.items():
            table[symbol] = self._base + slot
        for symbol, stub in file.stubs.items():
            near[symbol] = self._base + stub
        for binding in file.bindings:
            for way, targets in ((_WORD, exact), (_NEAR, near), (_BY_TABLE, table)):
                self._bind(file, way, targets, *binding)

    def _write(self, place: int, content: bytes) -> None:
        self.memory[place : place + len(content)] = content

    def _bind(
        self, file: _File, way: int, targets: Any, section: int, offsets: Any, ways: Any, symbols: Any, added: Any
    ) -> None:
        """Write the addresses of what a section refers to in one way, from where they stand or as they are."""
        chosen = np.flatnonzero(ways == way)
        if not len(chosen):
            return
        size = 8 if way == _WORD else 4
        offsets, targets = offsets[chosen], targets[symbols[chosen]]
        if not targets.all() or offsets.min() < 0 or offsets.max() > file.sections[section][5] - size:
            raise Unknown("a relocation of nothing")
        places = offsets + file.places[section]
        values = targets + added[chosen]
        if way != _WORD:
            values -= places + self._base
            if abs(values).max() >= 1 << 31:
                raise Unknown("an address out of reach")
        self._bytes[places[:, None] + np.arange(size)] = values.astype(f"<i{size}").view(np.uint8).reshape(-1, size)


def _lay_out(files: Sequence[_File]) -> tuple[int, int, int]:
    """Give everything its place. Returns where code, what is only read, and all of it end."""
    end, ends = 0, []
    for group in range(3):
        for file in files:
            for number, section in enumerate(file.sections):
                if _group(section) == group:
                    file.places[number] = _aligned(end, section[8])
                    end = file.places[number] + section[5]
                    if end > _LARGEST:
                        raise Unknown("a library that is too large")
            for places in (file.stubs, file.slots)[group : group + 1]:
                for symbol in places:
                    places[symbol] = _aligned(end, _SLOT)
                    end = places[symbol] + _SLOT
        end = _aligned(end, mmap.PAGESIZE)
        ends.append(end)
    return ends[0], ends[1], ends[2]


def _group(section: Sequence[int]) -> int | None:
    """Whether a section is code, read-only data, or data, in their order; None for what is not in memory."""
    _, kind, flags, *_, alignment, _ = section
    if not flags & _IN_MEMORY or kind == _UNWINDING:
        return None
    if kind not in (_BYTES, _ZEROS) or flags & _OF_A_THREAD or alignment > mmap.PAGESIZE:
        raise Unknown("a section of another kind")
    return 0 if flags & _EXECUTABLE else 2 if flags & _WRITEABLE else 1


def _aligned(place: int, alignment: int) -> int:
    return -(-place // max(alignment, 1)) * max(alignment, 1)


@cache
def _of_the_process(name: str) -> int:
    """The address of a function of the C library, or of what else the process shows."""
    try:
        return ctypes.cast(getattr(_process(), name), ctypes.c_void_p).value or 0
    except AttributeError as error:
        raise Unknown(f"there is no {name}") from error


@cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _protect(start: int, size: int, rights: int) -> None:
    if size and _process().mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), ctypes.c_int(rights)):
        raise OSError(ctypes.get_errno(), "memory cannot be made executable")
