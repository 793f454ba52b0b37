"""Native code calls Python: the call sites of ``invoke``.

Native code hands the trampoline (`host_call_text`) the record of the call site, whose address stands in the context,
and two areas of 64-bit words:

    operands   for each argument: pointer, dims, byte strides
    results    for each result: pointer and dims. The program has filled in what it knows: the memory of a result whose
               dims it knows, and each dim that it knows. The rest is written here: memory from the pool, and sizes.

The trampoline takes the GIL, so that it may be called while a run has released it. Operands are wrapped without copying
(a callback of the user's, which may keep what it gets, gets copies), and what the routine returns is copied into place,
or taken over where the place is the caller's to choose (`host_call_text`).
An exception waits for the failure handler (`pending`), and the native program ends with a status.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from jitflow.ir.routines import (
    adopt_results,
    argument_of,
    comes_with_memory,
    keeps_arguments,
    prepared,
    results_of,
)
from jitflow.runtime.calls.host_call_record import CallRecord
from jitflow.runtime.calls.host_call_text import invoke_text, slow_invoke_text
from jitflow.runtime.native.native_code import NativeCode, make_immortal
from jitflow.runtime.native.object_layout import layout_is_known
from jitflow.runtime.native.pool import pool
from jitflow.runtime.native.python_api import numpy_function

__all__ = ["CallSite", "call_site", "trampoline"]

_ALIGNED, _WRITEABLE = 0x0100, 0x0400
_WORD = struct.Struct("q")


class CallSite:
    """What one ``invoke`` runs, and its record, which `host_call_text` reads.

    Making an array costs more than many a routine, and a program that calls again mostly does it with the same memory,
    since the pool hands out the block that was given back last. So the record keeps the arrays of the last call, with
    the words that describe them.
    """

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self.routine = attributes["routine"]
        # A routine that there is not is an error now, not at the call.
        self._call = prepared(self.routine, attributes["keywords"], attributes["options"])
        self._copies = keeps_arguments(self.routine)
        self._takes = [(dtype.numpy, kind, kind if isinstance(kind, int) else 0) for dtype, kind in attributes["takes"]]
        self._dtypes = [dtype for dtype, _ in attributes["gives"]]
        self._fresh = [dims for _, dims in attributes["gives"]]
        self._comes = [comes_with_memory(attributes, dims) for dims in self._fresh]
        self._operand_words = sum(1 + 2 * rank for _, _, rank in self._takes)
        self._starts = list(accumulate((1 + len(dims) for dims in self._fresh), initial=0))
        self._record = CallRecord(attributes, _slow_way())
        _SITES[self.address] = self

    @property
    def address(self) -> int:
        """Where the record lies."""
        return self._record.address

    def run(self, operands: int, results: int) -> None:
        """Call the routine on the operand words at an address, and fill in the result words at another."""
        try:
            words = ctypes.string_at(operands, 8 * self._operand_words)
            arrays = self._arrays(operands, words)
        except ctypes.ArgumentError as error:  # what was raised while ctypes looked at an argument
            raise RecursionError(str(error).partition("RecursionError: ")[2]) from None
        arguments = [argument_of(array, kind, copied=self._copies)
                     for array, (_, kind, _) in zip(arrays, self._takes, strict=True)]  # fmt: skip
        result = self._call(arguments)
        found = results_of(self.routine, result, len(self._dtypes))
        if self._dtypes:
            self._hand_over(found, results)
        self._record.note(words, arguments, result)

    def _arrays(self, address: int, words: bytes) -> list[np.ndarray[Any, Any]]:
        """The operands as arrays. Routines only read them; NumPy would copy many that may not be written to."""
        arrays, place = [], 0
        for dtype, _, rank in self._takes:
            (data,) = _WORD.unpack_from(words, place)
            dims = address + place + 8
            arrays.append(_wrap(dtype, rank, dims, dims + 8 * rank, data, _ALIGNED | _WRITEABLE))
            place += 8 * (1 + 2 * rank)
        return arrays

    def _hand_over(self, found: Sequence[Any], address: int) -> None:
        """Copy results into the program's memory or into new blocks, which are given back if one is missing."""
        words = (ctypes.c_int64 * self._starts[-1]).from_address(address)
        shapes = [words[start + 1 : end] for start, end in pairwise(self._starts)]
        arrays, _ = adopt_results(self.routine, found, self._dtypes, shapes, self._fresh)
        blocks: list[int] = []
        try:
            for start, array, comes in zip(self._starts, arrays, self._comes, strict=False):
                words[start + 1 : start + 1 + array.ndim] = list(array.shape)
                if comes:
                    if words[start]:  # of what the fast way took before it gave up
                        _pool_functions()[1](words[start], 0)
                    words[start] = _allocate(array.nbytes)
                    blocks.append(words[start])
                place = address + 8 * (start + 1)
                target = _wrap(array.dtype, array.ndim, place, None, words[start], _ALIGNED | _WRITEABLE)
                target[...] = array
        except BaseException:
            for block in blocks:
                _pool_functions()[1](block, 0)
            raise


_SITES: WeakValueDictionary[int, CallSite] = WeakValueDictionary()
"""The call sites by the addresses of their records."""


# -- what native code calls ------------------------------------------------------------------------


def _run_site(record: int, operands: int, results: int) -> None:
    _SITES[record].run(operands, results)


@cache
def _slow_way() -> int:
    make_immortal(_run_site)
    return id(_run_site)


@cache
def trampoline() -> int:
    """The address of the function that native code calls with a record."""
    code = NativeCode(invoke_text if layout_is_known() else slow_invoke_text)
    make_immortal(code)
    return code.address("invoke")


def call_site(attributes: Mapping[str, Any]) -> CallSite:
    """The call site of an op with these attributes, on the device that it is for."""
    if "device" not in attributes:
        return CallSite(attributes)
    from jitflow.runtime.calls.device_calls import DeviceCallSite  # which only programs for GPUs need

    return DeviceCallSite(attributes)


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
