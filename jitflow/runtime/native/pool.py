"""The process-wide memory pool: where results and temporaries of compiled code live.

Fresh pages cost more than most kernels, so blocks are kept and handed out again. New arrays own
their blocks through NumPy's allocator hook (NEP 49): when NumPy frees such an array, however late,
the block comes back here. That may happen while the interpreter shuts down, which is why the
native functions (`pool_text`) and the handler that points to them are never freed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import cache, partial

from jitflow.runtime.native.native_code import NativeCode, make_immortal

STATE_FIELDS = ("lock", "in_use", "cached", "allocations", "reuses", "high_water", "cap", "turn")
"""The 64-bit words of `@pool_state`."""

SYSTEM_FUNCTIONS = ("malloc", "free", "mmap", "munmap", "madvise", "sched_yield")
"""The pointers of `@pool_system`; those from mmap on may be null."""

CLASSES = 256
NO_CLASS = CLASSES

LARGEST_CACHE = 4 << 30
"""Bytes that the pool keeps at most; less on machines where an eighth of the memory is less."""

_HANDLER_VERSION_OFFSET = 127
_HANDLER_FUNCTIONS_OFFSET = 136
_HANDLER_FUNCTIONS = ("handler_malloc", "handler_calloc", "handler_realloc", "handler_free")


def _text(map_flags: int) -> str:
    from jitflow.runtime.native.pool_text import pool_text

    return pool_text(map_flags=map_flags)


class Pool:
    """The pool's addresses and counters; one per process, from `pool()`."""

    def __init__(self) -> None:
        has_mmap = hasattr(mmap, "MAP_PRIVATE")
        code = NativeCode(partial(_text, map_flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS if has_mmap else 0))
        make_immortal(code)
        self.allocate_address = code.address("pool_allocate")
        self.free_address = code.address("pool_free")
        system = (ctypes.c_void_p * len(SYSTEM_FUNCTIONS)).from_address(code.address("pool_system"))
        for place, address in enumerate(_system_functions()):
            system[place] = address
        self._state = (ctypes.c_int64 * len(STATE_FIELDS)).from_address(code.address("pool_state"))
        self._state[STATE_FIELDS.index("cap")] = _cache_cap()
        self._trim = ctypes.CFUNCTYPE(None, ctypes.c_int64)(code.address("pool_trim"))
        self.handler = _make_handler(code)
        if hasattr(os, "register_at_fork"):
            # Another thread may have held the lock when the process forked; it does not exist in the child.
            os.register_at_fork(after_in_child=self._unlock)

    def stats(self) -> dict[str, int]:
        """The counters, in bytes and numbers of blocks."""
        words = dict(zip(STATE_FIELDS, self._state, strict=True))
        return {
            "bytes_in_use": words["in_use"],
            "bytes_cached": words["cached"],
            "bytes_high_water": words["high_water"],
            "bytes_cache_limit": words["cap"],
            "allocations": words["allocations"],
            "reuses": words["reuses"],
        }

    def trim(self) -> None:
        """Give every cached block back to the system."""
        self._trim(NO_CLASS)

    def _unlock(self) -> None:
        self._state[STATE_FIELDS.index("lock")] = 0


@cache
def pool() -> Pool:
    """The pool of this process, made when it is first needed."""
    instance = Pool()
    make_immortal(instance)
    return instance


def memory_stats() -> dict[str, int]:
    """Counters of the memory pool, by name.

    Bytes are counted in whole blocks: `bytes_in_use` by live arrays and running calls,
    `bytes_cached` for reuse, `bytes_high_water` the most that was ever in use. `allocations`
    counts requests, of which `reuses` were served without asking the system.
    """
    return pool().stats()


def trim() -> None:
    """Give the memory that the pool keeps for reuse back to the system."""
    pool().trim()


def _system_functions() -> list[int | None]:
    library = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
    optional = {"mmap", "munmap", "sched_yield"} if sys.platform != "win32" else set[str]()
    if sys.platform.startswith("linux"):
        optional.add("madvise")
    return [
        ctypes.cast(getattr(library, name), ctypes.c_void_p).value if name in {"malloc", "free"} | optional else None
        for name in SYSTEM_FUNCTIONS
    ]


def _cache_cap() -> int:
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return LARGEST_CACHE // 4
    return min(LARGEST_CACHE, memory // 8)


def _make_handler(code: NativeCode) -> object:
    """The "mem_handler" capsule: a `PyDataMem_Handler` that lives in the module's own memory."""
    place = code.address("pool_handler")
    name = b"jitflow_pool"
    ctypes.memmove(place, name, len(name))
    ctypes.c_uint8.from_address(place + _HANDLER_VERSION_OFFSET).value = 1
    functions = (ctypes.c_void_p * len(_HANDLER_FUNCTIONS)).from_address(place + _HANDLER_FUNCTIONS_OFFSET)
    functions[:] = [code.address(function) for function in _HANDLER_FUNCTIONS]
    capsule_name = ctypes.create_string_buffer(b"mem_handler")
    make_immortal(capsule_name)  # a capsule keeps only the pointer to its name
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    capsule = prototype(("PyCapsule_New", ctypes.pythonapi))(place, ctypes.addressof(capsule_name), None)
    make_immortal(capsule)
    return capsule
