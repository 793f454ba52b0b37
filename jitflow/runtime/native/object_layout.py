"""Where the fields of Python's and NumPy's objects are, and the check that they really are there.

Native entries read array headers and number objects directly. The offsets below are those of
64-bit CPython with the GIL and of NumPy 2. Nothing takes them on trust: `layout_is_known` looks
at known objects through them once, and where anything differs (a free-threaded or debugging
build, a version to come) every call takes the Python entry path, which has the same results. A
pointer is looked into only when what is known of it has been confirmed.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from jitflow.runtime.native.python_api import numpy_function

REFERENCES = 0
"""How many references there are: the lower 32 bits."""

OBJECT_TYPE = 8
TUPLE_ITEMS = 24
VALUE = 16
"""Where float, complex and all NumPy scalar objects hold their value."""

FIRST_SLOT = 16
"""Where an object of a class with slots holds the one that comes first by its name."""

DICT_VERSION = 24
"""Where a dict of Python 3.11 to 3.13 has a number that no other state of any dict has had, and never -1."""

ARRAY_DATA = 16
ARRAY_RANK = 24
ARRAY_DIMS = 32
ARRAY_STRIDES = 40
ARRAY_DTYPE = 56
ARRAY_FLAGS = 64
ARRAY_MEMORY_HANDLER = 88

DTYPE_BYTE_ORDER = 26
DTYPE_NUMBER = 28

C_CONTIGUOUS = 0x0001
F_CONTIGUOUS = 0x0002
OWNS_DATA = 0x0004
ALIGNED = 0x0100
WRITEABLE = 0x0400


@cache
def layout_is_known() -> bool:
    """Whether this interpreter's objects lie in memory as the offsets above say."""
    if sys.implementation.name != "cpython" or sys.byteorder != "little":
        return False
    if struct.calcsize("P") != 8 or object.__basicsize__ != 16 or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    return _numbers_fit() and _containers_fit() and _dtypes_fit() and _arrays_fit()


@cache
def dicts_have_versions() -> bool:
    """Whether a dict's version is where it is expected: changed by what changes the dict, and by nothing else."""
    if not layout_is_known() or dict.__basicsize__ < DICT_VERSION + 8:
        return False
    changes: tuple[Callable[[dict[str, int]], object], ...] = (
        lambda things: things.__setitem__("a", 1),
        lambda things: things.update(a=2),
        lambda things: things.setdefault("b", 1),
        lambda things: things.__delitem__("b"),
        lambda things: things.pop("a"),
        lambda things: things.update({str(number): number for number in range(100)}),
        lambda things: things.clear(),
    )
    things: dict[str, int] = {}
    versions = [_read(ctypes.c_int64, things, DICT_VERSION)]
    for change in changes:
        change(things)
        versions.append(_read(ctypes.c_int64, things, DICT_VERSION))
        things.get("a")
        if versions[-1] != _read(ctypes.c_int64, things, DICT_VERSION):
            return False
    return len({*versions, -1}) == len(versions) + 1


def _read(kind: Any, thing: object, offset: int) -> Any:
    return kind.from_address(id(thing) + offset).value


def _read_pointer(thing: object, offset: int) -> int:
    return _read(ctypes.c_void_p, thing, offset) or 0


def _numbers_fit() -> bool:
    size = VALUE + 8
    if float.__basicsize__ != size or complex.__basicsize__ != size + 8 or np.float64(0).nbytes != 8:
        return False
    number, pair = 1234.5, complex(1.5, -2.5)
    return (
        _read_pointer(number, OBJECT_TYPE) == id(float)
        and _read(ctypes.c_double, number, VALUE) == number
        and _read(ctypes.c_double, pair, VALUE) == pair.real
        and _read(ctypes.c_double, pair, VALUE + 8) == pair.imag
        and _read(ctypes.c_float, np.float32(1.25), VALUE) == 1.25
        and _read(ctypes.c_double, np.float64(1.25), VALUE) == 1.25
        and _read(ctypes.c_int64, np.int64(-77), VALUE) == -77
        and _read(ctypes.c_int8, np.int8(-7), VALUE) == -7
        and _read(ctypes.c_uint8, np.True_, VALUE) == 1
        and _read(ctypes.c_double, np.complex128(pair), VALUE + 8) == pair.imag
    )


def _containers_fit() -> bool:
    items = (object(), object())
    if ctypes.c_int32.from_address(id(items) + REFERENCES).value != 1:  # calls would own it as well
        return False
    slotted = _Slotted(*items)
    return [_read_pointer(items, TUPLE_ITEMS + 8 * k) for k in range(2)] == [id(item) for item in items] and (
        _read_pointer(slotted, FIRST_SLOT) == id(slotted.a)
    )


class _Slotted:
    __slots__ = ("__weakref__", "a", "b")

    def __init__(self, a: object, b: object) -> None:
        self.a, self.b = a, b


def _dtypes_fit() -> bool:
    swapped = np.dtype("f8").newbyteorder()
    return all(
        _read(ctypes.c_int32, dtype, DTYPE_NUMBER) == dtype.num
        and _read(ctypes.c_char, dtype, DTYPE_BYTE_ORDER) == dtype.byteorder.encode()
        for dtype in (np.dtype("f4"), np.dtype("i1"), np.dtype("c16"), swapped)
    )


def _arrays_fit() -> bool:
    samples = [np.zeros((3, 5), "f4"), np.zeros((4, 6), "i8")[::2, 1:], np.asfortranarray(np.ones((2, 3)))]
    samples[0].flags.writeable = False
    handler = ctypes.PYFUNCTYPE(ctypes.py_object)(numpy_function("PyDataMem_GetHandler"))()
    return all(_array_fits(sample) for sample in samples) and (
        _read_pointer(samples[0], ARRAY_MEMORY_HANDLER) == id(handler)
    )


def _array_fits(array: np.ndarray[Any, Any]) -> bool:
    rank = array.ndim
    dims, strides = (_read_pointer(array, offset) for offset in (ARRAY_DIMS, ARRAY_STRIDES))
    numbers = ctypes.c_int64 * rank
    flags = _read(ctypes.c_int32, array, ARRAY_FLAGS)
    expected_flags = (
        (C_CONTIGUOUS * array.flags.c_contiguous)
        | (F_CONTIGUOUS * array.flags.f_contiguous)
        | (OWNS_DATA * array.flags.owndata)
        | (ALIGNED * array.flags.aligned)
        | (WRITEABLE * array.flags.writeable)
    )
    return (
        _read_pointer(array, ARRAY_DATA) == array.ctypes.data
        and _read(ctypes.c_int32, array, ARRAY_RANK) == rank
        and strides - dims == 8 * rank  # they are one block; anything else must not be looked into
        and tuple(numbers.from_address(dims)) == array.shape
        and tuple(numbers.from_address(strides)) == array.strides
        and _read_pointer(array, ARRAY_DTYPE) == id(array.dtype)
        and flags & (C_CONTIGUOUS | F_CONTIGUOUS | OWNS_DATA | ALIGNED | WRITEABLE) == expected_flags
    )
