"""The functions that native code calls: checking and making arrays, reading dicts, putting exceptions away, polling.

They stand in one module that is compiled once and never freed, and entries find them in the same
table as Python's functions. So an entry is little more than a list of calls, and compiles in a
millisecond or two; a dict of twenty arrays costs twenty calls, not twenty copies of the code.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

from jitflow.runtime import object_layout as layout
from jitflow.runtime.llvm_text import FunctionText
from jitflow.runtime.locks_text import locks_text
from jitflow.runtime.native_code import NativeCode, make_immortal
from jitflow.runtime.pending import DRAWER, hide_frame_text, keep_raised_text
from jitflow.runtime.polling import breathe, clock_address, poll_text
from jitflow.runtime.python_api import (
    COMPARE_EQUAL,
    NUMPY_FUNCTIONS,
    PYTHON_FUNCTIONS,
    SUPPORT_FUNCTIONS,
    PythonCalls,
    api_offset,
    numpy_function,
    python_function,
)


@cache
def api_table() -> int:
    """The address of the table of functions, which is never freed."""
    code = NativeCode(support_text)
    make_immortal(code)
    addresses = [
        *map(python_function, PYTHON_FUNCTIONS),
        *map(numpy_function, NUMPY_FUNCTIONS),
        *map(code.address, SUPPORT_FUNCTIONS),
    ]
    table = (ctypes.c_void_p * len(addresses))(*addresses)
    make_immortal(table)
    drawer_name, next_name = sys.intern("exception"), sys.intern("tb_next")
    make_immortal((drawer_name, next_name))
    make_immortal(wait_for_variables)
    make_immortal(breathe)
    variables = {
        "drawer": id(DRAWER),
        "drawer_name": id(drawer_name),
        "next_name": id(next_name),
        "none": id(None),
        "poll_api": ctypes.addressof(table),
        "poll_breathe": id(breathe),
        "clock": clock_address(),
        "wait": id(wait_for_variables),
    }
    for name, value in variables.items():
        ctypes.c_void_p.from_address(code.address(name)).value = value
    return ctypes.addressof(table)


def wait_for_variables(frame: int) -> None:
    """Wait until it is the turn of a call that uses variables. Raises RuntimeError where that would never be."""
    from jitflow.runtime.locks import wait

    wait(frame)


def api_address(name: str) -> int:
    """The address of one function of the table."""
    return ctypes.c_void_p.from_address(api_table() + api_offset(name)).value or 0


def support_text() -> str:
    """The module of support functions."""
    parts = (
        _check_array,
        _read_dict,
        _new_array,
        _view_array,
        keep_raised_text,
        hide_frame_text,
        poll_text,
        locks_text,
    )
    return "\n".join(part() for part in parts)


# -- arguments -------------------------------------------------------------------------------------


def _check_array() -> str:
    """Check an array and pack its slots; returns its bytes, or -1 when it is not of the class.

    The flags under `mask` must be `flags`, bit i of `ones` says whether dim i is 1, and `touching`
    is 1 where the last stride must be the itemsize, 0 where it must not be, 2 where it may.
    """
    function = FunctionText(
        "i64 @check_array(ptr %array, ptr %array_type, ptr %dtype, ptr %alias, ptr %slots, "
        "i32 %rank, i64 %itemsize, i32 %mask, i32 %flags, i64 %ones, i64 %touching)"
    )
    mismatch = function.label("mismatch")
    total = function.stack(1)
    kind = function.load("ptr", "%array", layout.OBJECT_TYPE)
    function.require(function.compare("eq", kind, "%array_type", "ptr"), mismatch)
    _require_dtype(function, mismatch)
    found_rank = function.load("i32", "%array", layout.ARRAY_RANK)
    function.require(function.compare("eq", found_rank, "%rank", "i32"), mismatch)
    flags = function.let(f"and i32 {function.load('i32', '%array', layout.ARRAY_FLAGS)}, %mask")
    function.require(function.compare("eq", flags, "%flags", "i32"), mismatch)
    function.store("ptr", function.load("ptr", "%array", layout.ARRAY_DATA), "%slots")
    nbytes = _copy_dims(function, total, mismatch)
    _copy_strides(function, mismatch)
    function.give("i64", nbytes)
    function.begin(mismatch)
    function.give("i64", "-1")
    return function.text()


def _require_dtype(function: FunctionText, mismatch: str) -> None:
    """The very dtype object, or another of the same number and native byte order."""
    found = function.load("ptr", "%array", layout.ARRAY_DTYPE)
    with function.when(function.compare("ne", found, "%dtype", "ptr")):
        number = function.load("i32", found, layout.DTYPE_NUMBER)
        is_number, is_alias = (
            function.compare("eq", number, function.load("i32", wanted, layout.DTYPE_NUMBER), "i32")
            for wanted in ("%dtype", "%alias")
        )
        order = function.load("i8", found, layout.DTYPE_BYTE_ORDER)
        is_native = function.compare("ne", order, str(ord(">")), "i8")
        function.require(
            function.let(f"and i1 {is_native}, {function.let(f'or i1 {is_number}, {is_alias}')}"), mismatch
        )


def _copy_dims(function: FunctionText, total: str, mismatch: str) -> str:
    """Pack the dims, each of which is 1 just where it should be; returns the bytes of the array."""
    dims, packed = function.load("ptr", "%array", layout.ARRAY_DIMS), function.at("%slots", 8)
    function.store("i64", "%itemsize", total)
    with function.each_below(function.let("zext i32 %rank to i64")) as axis:
        dim = function.load("i64", function.element(dims, axis))
        bit = function.let(f"trunc i64 {function.let(f'lshr i64 %ones, {axis}')} to i1")
        function.require(function.compare("eq", function.compare("eq", dim, "1"), bit, "i1"), mismatch)
        function.store("i64", dim, function.element(packed, axis))
        function.store("i64", function.let(f"mul i64 {function.load('i64', total)}, {dim}"), total)
    return function.load("i64", total)


def _copy_strides(function: FunctionText, mismatch: str) -> None:
    """Pack the strides; the last one touches or not, as the layout class says."""
    rank = function.let("zext i32 %rank to i64")
    strides = function.load("ptr", "%array", layout.ARRAY_STRIDES)
    packed = function.element(function.at("%slots", 8), rank)
    with function.each_below(rank) as axis:
        function.store("i64", function.load("i64", function.element(strides, axis)), function.element(packed, axis))
    with function.when(function.compare("ne", "%touching", "2")):
        last = function.load("i64", function.element(strides, function.let(f"sub i64 {rank}, 1")))
        touches = function.let(f"zext i1 {function.compare('eq', last, '%itemsize')} to i64")
        function.require(function.compare("eq", touches, "%touching"), mismatch)


def _read_dict() -> str:
    """Compare the keys of a dict with a tuple, in order, and take references to the values."""
    function = FunctionText("i1 @read_dict(ptr %api, ptr %dict, ptr %keys, ptr %values)")
    python = PythonCalls(function, "%api")
    mismatch = function.label("mismatch")
    cursor, key_place, value_place = function.stack(1), function.stack(1), function.stack(1)
    function.store("i64", "0", cursor)
    count = python.call("i64", "PyTuple_Size", "ptr %keys")
    size = python.call("i64", "PyDict_Size", "ptr %dict")
    function.require(function.compare("eq", count, size), mismatch)
    with function.each_below(count) as number:
        places = [f"ptr {place}" for place in (cursor, key_place, value_place)]
        more = python.call("i32", "PyDict_Next", "ptr %dict", *places)
        function.require(function.compare("ne", more, "0", "i32"), mismatch)
        key, value = function.load("ptr", key_place), function.load("ptr", value_place)
        python.own(value)
        function.store("ptr", value, function.element("%values", number))
        expected = function.load("ptr", function.element("%keys", number), layout.TUPLE_ITEMS)
        with function.when(function.compare("ne", key, expected, "ptr")):
            key_type, expected_type = (function.load("ptr", thing, layout.OBJECT_TYPE) for thing in (key, expected))
            function.require(function.compare("eq", key_type, expected_type, "ptr"), mismatch)
            python.own(key)
            equal = python.call(
                "i32", "PyObject_RichCompareBool", f"ptr {key}", f"ptr {expected}", f"i32 {COMPARE_EQUAL}"
            )
            python.release(key)
            function.require(function.compare("eq", equal, "1", "i32"), mismatch)
    function.give("i1", "true")
    function.begin(mismatch)
    function.give("i1", "false")
    return function.text()


# -- results ---------------------------------------------------------------------------------------

_ARRAY_PARAMETERS = "ptr %api, ptr %array_type, ptr %dtype, i32 %rank, ptr %slots"


def _new_array() -> str:
    """An array that owns the block in its data slot; the slot is cleared when the array has it."""
    function = FunctionText(f"ptr @new_array({_ARRAY_PARAMETERS}, ptr %handler)")
    python = PythonCalls(function, "%api")
    array = _array_over_slots(function, python, str(layout.ALIGNED | layout.WRITEABLE))
    with function.when(function.compare("ne", array, "null", "ptr")):
        flags = function.load("i32", array, layout.ARRAY_FLAGS)
        function.store("i32", function.let(f"or i32 {flags}, {layout.OWNS_DATA}"), array, layout.ARRAY_FLAGS)
        python.own("%handler")
        function.store("ptr", "%handler", array, layout.ARRAY_MEMORY_HANDLER)
        function.store("ptr", "null", "%slots")
    function.give("ptr", array)
    return function.text()


def _view_array() -> str:
    """A view of another array, writeable as that is."""
    function = FunctionText(f"ptr @view_array({_ARRAY_PARAMETERS}, ptr %base)")
    python = PythonCalls(function, "%api")
    base_flags = function.load("i32", "%base", layout.ARRAY_FLAGS)
    flags = function.let(f"and i32 {base_flags}, {layout.WRITEABLE}")
    array = _array_over_slots(function, python, function.let(f"or i32 {flags}, {layout.ALIGNED}"))
    with function.when(function.is_null(array)):
        function.give("ptr", "null")
    python.own("%base")  # the call below takes the reference over, even when it fails
    status = python.call("i32", "PyArray_SetBaseObject", f"ptr {array}", "ptr %base")
    with function.when(function.compare("ne", status, "0", "i32")):
        python.release(array)
        function.give("ptr", "null")
    function.give("ptr", array)
    return function.text()


def _array_over_slots(function: FunctionText, python: PythonCalls, flags: str) -> str:
    dims = function.at("%slots", 8)
    strides = function.element(dims, function.let("zext i32 %rank to i64"))
    data = function.load("ptr", "%slots")
    python.own("%dtype")  # the call below takes the reference over
    shape = ("i32 %rank", f"ptr {dims}", f"ptr {strides}", f"ptr {data}", f"i32 {flags}")
    return python.call("ptr", "PyArray_NewFromDescr", "ptr %array_type", "ptr %dtype", *shape, "ptr null")
