"""The native entry: one LLVM function that carries out a plan.

`ptr entry(ptr record, ptr arguments, i64 count)` returns a new reference, null with a Python
exception set, or `MISMATCH` when the arguments do not fit. It holds the GIL, except around `run`
when the plan says so. It does step for step what `entry_python` does:

    read and check registers, pack slots      entry_checks
    guard(arguments)                          facts on sizes and overlap, in the module's own code
    run(context, arguments, results, error)
    wrap the results                          entry_results

References: what is read from mutable places (globals, cells, lists, dicts, attributes) is owned
until the end, in the `owned` slots; arguments and items of tuples are kept alive by the caller.
Every exit leads through one block that gives the owned references back.

The text stands best in a module of its own, compiled at level 0 (see `native_code`), but may be
appended to that of the kernels: nothing in it is absolute.
"""

from __future__ import annotations

from jitflow.runtime.entry_checks import CheckWriter, check_functions
from jitflow.runtime.entry_frame import MISMATCH, EntryFrame
from jitflow.runtime.entry_results import ResultWriter, result_functions
from jitflow.runtime.plan import Plan
from jitflow.runtime.specialisation import EntryCode, record_offset

__all__ = ["MISMATCH", "emit_entry"]


def emit_entry(plan: Plan, name: str = "entry") -> EntryCode:
    """Emit the entry of a plan; every symbol in the text begins with `name`.

    The same plan gives the same text and the same order of constants, so that stored code can be
    joined with constants found anew.
    """
    frame = EntryFrame(plan, name)
    checks = CheckWriter(frame)
    checks.write()
    _call_guard(frame)
    _call_run(frame, checks.array_bytes)
    ResultWriter(frame, checks.registers).write()
    _write_exits(frame)
    support = [*check_functions(name, checks), *result_functions(name)]
    return EntryCode(name, "\n".join([*support, frame.function.text()]), frame.constants)


def _call_guard(frame: EntryFrame) -> None:
    function = frame.function
    guard = function.load("ptr", "%record", record_offset("guard"))
    ask, matched = function.label("ask"), function.label("matched")
    function.branch(function.is_null(guard), matched, ask)
    function.begin(ask)
    answer = function.call("i32", guard, f"ptr {frame.arguments}")
    function.branch(function.equal("i32", answer, "0"), frame.mismatch, matched)
    function.begin(matched)


def _call_run(frame: EntryFrame, array_bytes: str) -> None:
    function, threshold = frame.function, frame.plan.releases_gil_bytes
    error = frame.error
    context = function.load("ptr", "%record", record_offset("context"))
    run = function.load("ptr", "%record", record_offset("run"))
    arguments = [f"ptr {pointer}" for pointer in (context, frame.arguments, frame.results, error)]
    if threshold is None:
        status = function.call("i32", run, *arguments)
    else:
        held, released, done = (function.label(hint) for hint in ("held", "released", "done"))
        function.branch(function.let(f"icmp ugt i64 {array_bytes}, {threshold}"), released, held)
        function.begin(held)
        status_held = function.call("i32", run, *arguments)
        function.jump(done)
        function.begin(released)
        thread = frame.python.call("ptr", "PyEval_SaveThread")
        status_released = function.call("i32", run, *arguments)
        frame.python.run("PyEval_RestoreThread", f"ptr {thread}")
        function.jump(done)
        function.begin(done)
        status = function.let(f"phi i32 [{status_held}, %{held}], [{status_released}, %{released}]")
    succeeded, raised = function.label("succeeded"), function.label("raised")
    function.branch(function.equal("i32", status, "0"), succeeded, raised)
    function.begin(raised)
    _raise_error(frame, status, error)
    function.begin(succeeded)


def _raise_error(frame: EntryFrame, status: str, error: str) -> None:
    """Call `raise_error(status, error_address)`; whatever it does, the call fails."""
    function, python = frame.function, frame.python
    number = python.call("ptr", "PyLong_FromLongLong", f"i64 {function.let(f'sext i32 {status} to i64')}")
    address = python.call("ptr", "PyLong_FromVoidPtr", f"ptr {error}")
    function.store("ptr", number, frame.handler_arguments)
    function.store("ptr", address, frame.handler_arguments, 8)
    handler = frame.raise_error()
    returned = python.call(
        "ptr", "PyObject_Vectorcall", f"ptr {handler}", f"ptr {frame.handler_arguments}", "i64 2", "ptr null"
    )
    python.release(number)
    python.release(address)
    silent = function.label("silent")
    function.branch(function.is_null(returned), frame.failed, silent)
    function.begin(silent)
    python.release(returned)
    message = f"ptr @{frame.name}_silent_handler"
    python.run("PyErr_SetString", f"ptr {frame.constant(SystemError)}", message)
    function.jump(frame.failed)


def _write_exits(frame: EntryFrame) -> None:
    function, python = frame.function, frame.python
    occurred, swallowed = function.label("occurred"), function.label("swallowed")
    function.begin(frame.unreadable)
    error = python.call("ptr", "PyErr_Occurred")
    function.branch(function.is_null(error), frame.mismatch, occurred)
    function.begin(occurred)
    ordinary = python.call("i32", "PyErr_ExceptionMatches", f"ptr {frame.constant(Exception)}")
    function.branch(function.equal("i32", ordinary, "0"), frame.failed, swallowed)
    function.begin(swallowed)
    python.run("PyErr_Clear")
    function.jump(frame.mismatch)

    function.begin(frame.mismatch)
    frame.finish_with(MISMATCH)
    function.begin(frame.failed)
    frame.finish_with("null")
    function.begin(frame.finish)
    for place in range(frame.owned_count):
        python.release(function.load("ptr", frame.owned, 8 * place))
    function.give("ptr", function.load("ptr", frame.outcome))
