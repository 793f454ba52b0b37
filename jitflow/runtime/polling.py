"""What long native loops ask: whether they are to go on. So Ctrl-C ends them.

``i32 poll(ptr last)`` is cheap when asked often: it looks at the clock, and only now and then takes the GIL and lets
Python run the handlers of the signals that have arrived, which Python does in the main thread alone. Then a function
that does nothing is called (`breathe`), since Python raises in front of its instructions what another thread has told
this one to raise. What comes of this, KeyboardInterrupt as a rule, waits for the failure handler, and the answer is 1.
``last`` is a word of the run's own, 0 at first: the time of its last look.

A run over small arrays keeps the GIL. If it takes long after all, other threads get their turn here.
"""

from __future__ import annotations

import ctypes
import sys

from jitflow.runtime.llvm_text import FunctionText
from jitflow.runtime.python_api import PythonCalls

__all__ = ["breathe", "clock_address", "poll_text"]

_MILLISECOND = 1_000_000
_WITH_GIL = 5 * _MILLISECOND
"""How long other threads wait for the GIL, as in Python itself."""

_WITHOUT_GIL = 200 * _MILLISECOND
"""Taking the GIL may itself take 5 ms, where other threads run Python code all the time."""

_MONOTONIC = 6
"""The id of a clock that never goes backwards, on macOS as on Linux, where it is the coarse and cheap one."""


def clock_address() -> int:
    """C's clock_gettime; 0 where there is none."""
    function = getattr(ctypes.CDLL(None), "clock_gettime", None) if sys.platform != "win32" else None
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def breathe() -> None:
    """Let Python look at what has come for this thread."""


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
