"""The exception that waits while native code ends: raised inside of a run, raised again by the failure handler."""

from __future__ import annotations

import threading

from jitflow.runtime.llvm_text import FunctionText
from jitflow.runtime.python_api import PythonCalls

__all__ = ["keep_exception", "keep_raised_text", "take_exception"]


class _Drawer(threading.local):
    exception: BaseException | None = None


_DRAWER = _Drawer()


def keep_exception(exception: BaseException) -> None:
    """Put away what was raised in this thread."""
    _DRAWER.exception = exception


def take_exception() -> BaseException | None:
    """What the last call in this thread that failed raised; None if that was taken already."""
    exception, _DRAWER.exception = _DRAWER.exception, None
    return exception


def keep_raised_text() -> str:
    """``void keep_raised(ptr api)``: put away the exception that is set, by a call of ``@keeper``.

    A signal may be handled during that call. What its handler raises then takes the exception's place.
    """
    function = FunctionText("void @keep_raised(ptr %api)")
    python = PythonCalls(function, "%api")
    parts = function.stack(3)
    again, done = function.label("again"), function.label("done")
    function.jump(again)
    function.begin(again)
    places = [function.at(parts, 8 * number) for number in range(3)]
    pointers = [f"ptr {place}" for place in places]
    python.run("PyErr_Fetch", *pointers)
    python.run("PyErr_NormalizeException", *pointers)
    kind, exception, traceback = (function.load("ptr", place) for place in places)
    with function.when(function.compare("ne", traceback, "null", "ptr")):
        python.call("i32", "PyException_SetTraceback", f"ptr {exception}", f"ptr {traceback}")
    kept = python.call("ptr", "PyObject_CallOneArg", f"ptr {function.load('ptr', '@keeper')}", f"ptr {exception}")
    for reference in (kept, kind, exception, traceback):
        python.release(reference)
    function.branch(function.is_null(kept), again, done)
    function.begin(done)
    function.give("void")
    return "\n".join(["@keeper = global ptr null", function.text()])
