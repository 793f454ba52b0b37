"""Where NumPy's loops start: the C functions in a ufunc object, and those of the floating-point flags.

The fields of a ufunc object are part of NumPy's ABI. Nothing takes them on trust all the same: where name, count or
types are not what Python says they are, there is no loop, and compiled code calls the routine through Python.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from jitflow.ir.inner_loops import FLAG_FUNCTIONS, LOOP_PREFIX, find_ufunc
from jitflow.runtime.native.object_layout import layout_is_known

__all__ = ["flag_function", "loop_address"]


class _UFunc(ctypes.Structure):
    """The beginning of ``PyUFuncObject``."""

    _fields_ = (
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("operands", ctypes.c_int),
        ("results", ctypes.c_int),
        ("arguments", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("count", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_byte)),
    )


@cache
def loop_address(symbol: str) -> int:
    """The address of the loop that a context calls ``symbol``; 0 if it cannot be called from outside."""
    name, types = symbol.removeprefix(LOOP_PREFIX).split(":")
    ufunc = find_ufunc(name)
    if not layout_is_known() or not all(map(flag_function, FLAG_FUNCTIONS)):
        return 0
    record = _UFunc.from_address(id(ufunc))
    if not _is_as_expected(record, ufunc):
        return 0
    number = ufunc.types.index(types)
    has_data = bool(record.data) and bool(record.data[number])
    return 0 if has_data else record.functions[number] or 0


def _is_as_expected(record: _UFunc, ufunc: Any) -> bool:
    counts = (record.operands, record.results, record.arguments, record.count)
    return counts == (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes) and record.name == ufunc.__name__.encode()


@cache
def flag_function(name: str) -> int:
    """The address of a function of C's ``fenv.h``; 0 if the process has none."""
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    try:
        function = getattr(library, name)
    except AttributeError:
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0
