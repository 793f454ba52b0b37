"""Exceptions on their way through native code.

One that is raised inside of a run waits while the run ends, and is raised again by the failure handler. Where a
function of jitflow's raises for the program, its frame is hidden: tracebacks go from the call to the program's lines.
"""

from __future__ import annotations

import threading

from jitflow.runtime.llvm_text import FunctionText
from jitflow.runtime.python_api import PythonCalls

__all__ = ["DRAWER", "hide_frame_text", "keep_raised_text", "take_exception"]


class _Drawer(threading.local):
    exception: BaseException | None = None


DRAWER = _Drawer()
"""Native code sets its attribute. No Python runs for that, because the stack may have room for nothing more."""


def take_exception() -> BaseException | None:
    """What the last call in this thread that failed raised; None if that was taken already."""
    exception, DRAWER.exception = DRAWER.exception, None
    return exception


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
