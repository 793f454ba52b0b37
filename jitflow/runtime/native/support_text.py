"""The module of the functions that native code calls (`entry_support.py`), as LLVM text."""

from __future__ import annotations

from jitflow.runtime.native import object_layout as layout
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.locks_text import locks_text
from jitflow.runtime.native.python_api import COMPARE_EQUAL, PythonCalls

__all__ = ["support_text"]

_MILLISECOND = 1_000_000
_WITH_GIL = 5 * _MILLISECOND
"""How long other threads wait for the GIL, as in Python itself."""

_WITHOUT_GIL = 200 * _MILLISECOND
"""Taking the GIL may itself take 5 ms, where other threads run Python code all the time."""

_MONOTONIC = 6
"""The id of a clock that never goes backwards, on macOS as on Linux, where it is the coarse and cheap one."""


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


# -- exceptions --------------------------------------------------------------------------------------


def keep_raised_text() -> str:
    """``void keep_raised(ptr api)``: put away the exception that is set, in ``@drawer`` as ``@drawer_name``."""
    function = FunctionText("void @keep_raised(ptr %api)")
    python = PythonCalls(function, "%api")
    parts = function.stack(3)
    places = [function.at(parts, 8 * number) for number in range(3)]
    pointers = [f"ptr {place}" for place in places]
    python.run("PyErr_Fetch", *pointers)
    python.run("PyErr_NormalizeException", *pointers)
    kind, exception, traceback = (function.load("ptr", place) for place in places)
    with function.when(function.compare("ne", traceback, "null", "ptr")):
        python.call("i32", "PyException_SetTraceback", f"ptr {exception}", f"ptr {traceback}")
    place = [f"ptr {function.load('ptr', name)}" for name in ("@drawer", "@drawer_name")]
    python.call("i32", "PyObject_SetAttr", *place, f"ptr {exception}")
    python.run("PyErr_Clear")  # there was no memory
    for reference in (kind, exception, traceback):
        python.release(reference)
    function.give("void")
    return "\n".join(["@drawer = global ptr null", "@drawer_name = global ptr null", function.text()])


def hide_frame_text() -> str:
    """``void hide_frame(ptr api)``: take the outermost entry out of the traceback of the exception that is set."""
    function = FunctionText("void @hide_frame(ptr %api)")
    python = PythonCalls(function, "%api")
    parts = function.stack(3)
    pointers = [f"ptr {function.at(parts, 8 * number)}" for number in range(3)]
    python.run("PyErr_Fetch", *pointers)
    traceback = function.load("ptr", parts, 16)
    with function.when(function.compare("ne", traceback, "null", "ptr")):
        inner = python.call("ptr", "PyObject_GetAttr", f"ptr {traceback}", f"ptr {function.load('ptr', '@next_name')}")
        is_last = function.compare("eq", inner, function.load("ptr", "@none"), "ptr")
        python.release(traceback)
        function.store("ptr", inner, parts, 16)
        with function.when(is_last):
            python.release(inner)
            function.store("ptr", "null", parts, 16)
    python.run("PyErr_Restore", *(f"ptr {function.load('ptr', parts, 8 * number)}" for number in range(3)))
    function.give("void")
    return "\n".join(["@next_name = global ptr null", "@none = global ptr null", function.text()])


# -- polling -----------------------------------------------------------------------------------------


def poll_text() -> str:
    """The function, which finds the table of C functions, `breathe` and the clock in global variables."""
    function = FunctionText("i32 @poll(ptr %last)")
    go_on = function.label("go_on")
    _leave_early(function, go_on)
    api = function.load("ptr", "@poll_api")
    python = PythonCalls(function, api)
    with function.when(_holds_gil(function, python)):
        thread = python.call("ptr", "PyEval_SaveThread")
        python.run("PyEval_RestoreThread", f"ptr {thread}")
    state = python.call("i32", "PyGILState_Ensure")
    raised = function.label("raised")
    signals = python.call("i32", "PyErr_CheckSignals")
    function.require(function.compare("eq", signals, "0", "i32"), raised)
    nothing = python.call("ptr", "PyObject_CallNoArgs", f"ptr {function.load('ptr', '@poll_breathe')}")
    function.require_not(function.is_null(nothing), raised)
    python.release(nothing)
    python.run("PyGILState_Release", f"i32 {state}")
    function.jump(go_on)
    function.begin(go_on)
    function.give("i32", "0")
    function.begin(raised)
    python.run("keep_raised", f"ptr {api}")
    python.run("PyGILState_Release", f"i32 {state}")
    function.give("i32", "1")
    names = ("poll_api", "poll_breathe", "clock")
    return "\n".join([*(f"@{name} = global ptr null" for name in names), function.text()])


def _leave_early(function: FunctionText, go_on: str) -> None:
    """Go on at once if this run has looked a short while ago, and note the time if not."""
    time, clock = function.stack(2), function.load("ptr", "@clock")
    with function.when(function.compare("ne", clock, "null", "ptr")):
        function.run(f"{clock}", f"i32 {_MONOTONIC}", f"ptr {time}")
        seconds = function.let(f"mul i64 {function.load('i64', time)}, {1000 * _MILLISECOND}")
        now = function.let(f"add i64 {seconds}, {function.load('i64', time, 8)}")
        last = function.load("i64", "%last")
        with function.when(function.compare("eq", last, "0")):
            function.store("i64", now, "%last")
            function.jump(go_on)
        passed = function.let(f"sub i64 {now}, {last}")
        function.require(function.compare("ugt", passed, str(_WITH_GIL)), go_on)
        with function.when(function.compare("ult", passed, str(_WITHOUT_GIL))):
            python = PythonCalls(function, function.load("ptr", "@poll_api"))
            function.require(_holds_gil(function, python), go_on)
        function.store("i64", now, "%last")


def _holds_gil(function: FunctionText, python: PythonCalls) -> str:
    return function.compare("ne", python.call("i32", "PyGILState_Check"), "0", "i32")
