"""Native code calls Python: the trampoline behind ``invoke``.

One C function serves the process. Native code hands it the call site, an object that the specialisation keeps alive and
whose address stands in the context, and two areas of 64-bit words:

    operands   for each argument: pointer, dims, byte strides
    results    for each result: pointer and dims. The program has filled in what it knows: the memory of a result whose
               dims it knows, and each dim that it knows. The rest is written here: memory from the pool, and sizes.

It takes the GIL, so that it may be called while a run has released it, wraps the operands without copying (a callback
of the user's, which may keep what it gets, gets copies), runs the routine and copies what it returned into place. An
exception waits in this thread's drawer for the failure handler, and the native program ends with a status.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from jitflow.ir.core import Op
from jitflow.ir.routines import (
    SITE_PREFIX,
    TRAMPOLINE,
    Routine,
    adopt_results,
    argument_of,
    routine_function,
    run_routine,
)
from jitflow.runtime.native_code import make_immortal
from jitflow.runtime.pool import pool
from jitflow.runtime.python_api import numpy_function
from jitflow.runtime.symbols import symbol_address

__all__ = ["CallSite", "LinkedSymbols", "link_symbols", "take_exception"]

_ALIGNED, _WRITEABLE = 0x0100, 0x0400


class CallSite:
    """What one ``invoke`` runs."""

    def __init__(self, op: Op) -> None:
        attributes = op.attributes
        self.routine, self.keywords, self.options = (attributes[name] for name in ("routine", "keywords", "options"))
        routine_function(self.routine)  # a routine that there is not is an error now, not at the call
        self.copies = isinstance(self.routine, Routine)
        self.takes = [(dtype.numpy, kind, kind if isinstance(kind, int) else 0) for dtype, kind in attributes["takes"]]
        self.dtypes = [dtype for dtype, _ in attributes["gives"]]
        self.fresh = [dims for _, dims in attributes["gives"]]
        self.operand_words = sum(1 + 2 * rank for _, _, rank in self.takes)
        self.starts = list(accumulate((1 + len(dims) for dims in self.fresh), initial=0))

    def run(self, operands: int, results: int) -> None:
        """Call the routine on the operand words at an address, and fill in the result words at another."""
        found = run_routine(self.routine, self._arguments(operands), self.keywords, self.options, len(self.dtypes))
        if not self.dtypes:
            return
        words = (ctypes.c_int64 * self.starts[-1]).from_address(results)
        shapes = [words[start + 1 : end] for start, end in zip(self.starts, self.starts[1:], strict=False)]
        arrays, _ = adopt_results(self.routine, found, self.dtypes, shapes, self.fresh)
        self._write(arrays, words)

    def _arguments(self, address: int) -> list[Any]:
        words = (ctypes.c_int64 * self.operand_words).from_address(address)
        arguments, place = [], 0
        for dtype, kind, rank in self.takes:
            dims = address + 8 * (place + 1)
            array = _wrap(dtype, rank, dims, dims + 8 * rank, words[place], _ALIGNED)
            arguments.append(argument_of(array, kind, copied=self.copies))
            place += 1 + 2 * rank
        return arguments

    def _write(self, arrays: Sequence[np.ndarray[Any, Any]], words: Any) -> None:
        """Copy the results into the program's memory, or into new blocks, which are given back if one is missing."""
        blocks: list[int] = []
        try:
            for start, array in zip(self.starts, arrays, strict=False):
                words[start + 1 : start + 1 + array.ndim] = list(array.shape)
                if not words[start]:
                    words[start] = _allocate(array.nbytes)
                    blocks.append(words[start])
                target = _wrap(array.dtype, array.ndim, ctypes.addressof(words) + 8 * (start + 1), None, words[start],
                               _ALIGNED | _WRITEABLE)  # fmt: skip
                target[...] = array
        except BaseException:
            for block in blocks:
                _pool_functions()[1](block, 0)
            raise


# -- what native code calls ------------------------------------------------------------------------


class _Drawer(threading.local):
    exception: BaseException | None = None


_DRAWER = _Drawer()


def take_exception() -> BaseException | None:
    """What the last call in this thread that failed raised; None if that was taken already."""
    exception, _DRAWER.exception = _DRAWER.exception, None
    return exception


def _invoke(site: CallSite, operands: int, results: int) -> int:
    try:
        site.run(operands, results)
    except BaseException as exception:  # KeyboardInterrupt as well: native code must end first
        _DRAWER.exception = exception
        return 1
    return 0


@cache
def _trampoline() -> int:
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)
    function = prototype(_invoke)
    make_immortal(function)
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@dataclass(frozen=True)
class LinkedSymbols:
    """The addresses in the order in which a context holds them, and what must live as long as the context."""

    addresses: tuple[int, ...]
    owners: tuple[object, ...]


def link_symbols(names: Sequence[str], sites: Sequence[Op]) -> LinkedSymbols:
    """What the context slots called ``names`` hold; ``sites`` are the program's ops by their site number.

    Raises KeyError for the name of a library function that there is not.
    """
    owners: list[object] = []

    def address(name: str) -> int:
        if name == TRAMPOLINE:
            return _trampoline()
        if not name.startswith(SITE_PREFIX):
            return symbol_address(name)
        owners.append(CallSite(sites[int(name.removeprefix(SITE_PREFIX))]))
        return id(owners[-1])

    return LinkedSymbols(tuple(map(address, names)), tuple(owners))


# -- memory ----------------------------------------------------------------------------------------


def _allocate(nbytes: int) -> int:
    block = _pool_functions()[0](nbytes)
    if not block:
        raise MemoryError(f"Unable to allocate {nbytes} bytes for an array")
    return int(block)


@cache
def _pool_functions() -> tuple[Callable[..., Any], Callable[..., Any]]:
    return (
        ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(pool().allocate_address),
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(pool().free_address),
    )


def _wrap(dtype: np.dtype[Any], rank: int, dims: int, strides: int | None, data: int, flags: int) -> Any:
    """An array over memory that it does not own."""
    _own(dtype)  # the call below takes a reference over
    return _new_from_dtype()(np.ndarray, dtype, rank, dims, strides, data, flags, None)


_own = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))


@cache
def _new_from_dtype() -> Callable[..., Any]:
    thing, pointer, number = ctypes.py_object, ctypes.c_void_p, ctypes.c_int
    prototype = ctypes.PYFUNCTYPE(thing, thing, thing, number, pointer, pointer, pointer, number, pointer)
    return prototype(numpy_function("PyArray_NewFromDescr"))
