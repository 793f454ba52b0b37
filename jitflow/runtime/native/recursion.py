"""How deep native functions that call themselves may go: as deep as Python's, and never beyond the stack.

``i64 recursion_room(ptr room)`` gives how many calls `sys.getrecursionlimit` allows, and fills three words: the address
below which the stack of this thread may not be used, and what polls of the call need. The main thread's stack is known
from the start; that of another is asked for each time, because a thread that comes later may have its address.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from functools import cache

from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.native_code import NativeCode, make_immortal

__all__ = ["room_address"]

_RESERVE = 1 << 16
"""What is kept for kernels, library functions and the handlers of signals, unless the whole stack is small."""
_ATTRIBUTES = 128
"""Bytes that hold a ``pthread_attr_t`` everywhere."""
_UNKNOWN = 1 << 17
"""How much of its stack a thread may use of which nothing is known."""


@cache
def room_address() -> int:
    """The function's address."""
    code = NativeCode(_text)
    end = ctypes.CFUNCTYPE(ctypes.c_uint64)(_end_here)
    for thing in (code, end):
        make_immortal(thing)

    def write(name: str, word: int) -> None:
        ctypes.c_uint64.from_address(code.address(name)).value = word & (2**64 - 1)

    def know_main_thread() -> None:
        main = threading.main_thread().ident or 0
        write("main_end", _end_of(main))
        write("main_thread", main)

    for name in ("PyGILState_Ensure", "Py_GetRecursionLimit", "PyGILState_Release"):
        write(name, _address(getattr(ctypes.pythonapi, name)))
    write("this_thread", _this_thread())
    write("end_here", _address(end))
    know_main_thread()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=know_main_thread)
    return code.address("recursion_room")


def _text() -> str:
    function = FunctionText("i64 @recursion_room(ptr %room)")
    end, this_thread = function.stack(1), function.load("ptr", "@this_thread")
    function.store("i64", function.load("i64", "@main_end"), end)
    known = function.label("known")
    with function.when(function.compare("ne", this_thread, "null", "ptr")):
        thread = function.call("i64", this_thread)
        function.branch(function.compare("eq", thread, function.load("i64", "@main_thread")), known, "asking")
        function.begin("asking")
        function.store("i64", function.call("i64", function.load("ptr", "@end_here")), end)
    function.jump(known)
    function.begin(known)
    with function.when(function.compare("eq", function.load("i64", end), "0")):
        frame = function.let(f"ptrtoint ptr {function.call('ptr', '@llvm.frameaddress.p0', 'i32 0')} to i64")
        function.store("i64", function.let(f"sub i64 {frame}, {_UNKNOWN}"), end)
    function.store("i64", function.load("i64", end), "%room")
    state = function.call("i32", function.load("ptr", "@PyGILState_Ensure"))
    limit = function.call("i32", function.load("ptr", "@Py_GetRecursionLimit"))
    function.run(function.load("ptr", "@PyGILState_Release"), f"i32 {state}")
    function.give("i64", function.let(f"sext i32 {limit} to i64"))
    functions = ("PyGILState_Ensure", "Py_GetRecursionLimit", "PyGILState_Release", "this_thread", "end_here")
    return "\n".join(
        [
            *(f"@{name} = global ptr null" for name in functions),
            *(f"@{name} = global i64 0" for name in ("main_thread", "main_end")),
            "declare ptr @llvm.frameaddress.p0(i32)",
            function.text(),
        ]
    )


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _this_thread() -> int:
    """C's pthread_self; 0 where there is none."""
    return 0 if sys.platform == "win32" else _address(ctypes.CDLL(None).pthread_self)


def _end_here() -> int:
    try:
        return _end_of(threading.get_ident())
    except Exception:  # nobody could catch it
        return 0


def _end_of(thread: int) -> int:
    """The lowest address that a thread's stack may be used down to; 0 if that is not known."""
    bounds = _bounds(thread)
    if bounds is None:
        return 0
    lowest, size = bounds
    return lowest + min(_RESERVE, size // 2)


def _bounds(thread: int) -> tuple[int, int] | None:
    """Where a thread's stack begins, and how long it is."""
    if sys.platform == "win32":
        return None
    library, pointer = ctypes.CDLL(None), ctypes.c_void_p
    if sys.platform == "darwin":
        library.pthread_get_stackaddr_np.restype = pointer
        library.pthread_get_stacksize_np.restype = ctypes.c_size_t
        size = library.pthread_get_stacksize_np(pointer(thread))
        return (library.pthread_get_stackaddr_np(pointer(thread)) or 0) - size, size
    attributes, lowest, length = ctypes.create_string_buffer(_ATTRIBUTES), pointer(), ctypes.c_size_t()
    if not hasattr(library, "pthread_getattr_np") or library.pthread_getattr_np(pointer(thread), attributes):
        return None
    found = library.pthread_attr_getstack(attributes, ctypes.byref(lowest), ctypes.byref(length))
    library.pthread_attr_destroy(attributes)
    return None if found else (lowest.value or 0, length.value)
