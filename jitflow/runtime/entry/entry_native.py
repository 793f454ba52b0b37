"""The native entry: one LLVM function that carries out a plan.

`ptr entry(ptr record, ptr arguments, i64 count)` returns a new reference, null with a Python
exception set, or `MISMATCH` when the arguments do not fit. It holds the GIL, except around `run`
when the plan says so. It does step for step what `entry_python` does:

    read and check registers, pack slots      entry_checks
    guard(arguments)                          facts on sizes and overlap, in the module's own code
    take the locks of generators              drawing
    take the variables, and give them back    locks_text
    run(context, arguments, results, error)
    wrap the results                          entry_results

Arrays and dicts are handled by the functions of `entry_support`, which it finds, like Python's own, in
the table of functions.

References: what is read from mutable places (globals, cells, lists, dicts, attributes) is owned
until the end, in the `owned` slots; arguments and items of tuples are kept alive by the caller.
Every exit leads through one block that gives the owned references back.

The text stands best in a module of its own, compiled at level 0 (see `native_code`), but may be
appended to that of the kernels: nothing in it is absolute.
"""

from __future__ import annotations

from jitflow.runtime.entry.entry_checks import CheckWriter
from jitflow.runtime.entry.entry_constants import NOT_RAISED
from jitflow.runtime.entry.entry_frame import EntryFrame
from jitflow.runtime.entry.entry_results import ResultWriter
from jitflow.runtime.entry.plan import ObjectLeaf, Plan
from jitflow.runtime.entry.specialisation import MISMATCH, EntryCode, record_offset
from jitflow.runtime.native.locks_text import FRAME_FIELDS, LOCKED, REPEATED, frame_offset


def emit_entry(plan: Plan, name: str = "entry") -> EntryCode:
    """Emit the entry of a plan: the text of one function called `name`.

    The same plan gives the same text, and constants in the same order, so that stored code can be
    joined with constants found anew.
    """
    frame = EntryFrame(plan, name)
    checks = CheckWriter(frame)
    checks.write()
    _call_guard(frame)
    _begin_drawing(frame, checks)
    _take_variables(frame)
    _call_run(frame, checks.array_bytes)
    ResultWriter(frame, checks.register).write()
    _write_exits(frame)
    return EntryCode(name, frame.function.text(), frame.constants, frame.versions)


def _call_guard(frame: EntryFrame) -> None:
    function = frame.function
    guard = function.load("ptr", "%record", record_offset("guard"))
    with function.when(function.compare("ne", guard, "null", "ptr")):
        answer = function.call("i32", guard, f"ptr {frame.arguments}")
        function.require(function.compare("ne", answer, "0", "i32"), frame.mismatch)


def _take_variables(frame: EntryFrame) -> None:
    """Wait until the call may use its variables."""
    function, uses = frame.function, frame.plan.uses
    if not uses:
        return
    from jitflow.runtime.variable import HEADER

    function.store("i64", str(len(uses)), frame.variables, frame_offset("count"))
    for number, use in enumerate(uses):
        contents = function.load("i64", frame.arguments, 8 * use.slot)
        item = function.let(f"add i64 {contents}, {use.writes - HEADER}")
        function.store("i64", item, frame.variables, 8 * (len(FRAME_FIELDS) + number))
    found = frame.python.call("i32", "lock_variables", f"ptr {frame.table}", f"ptr {frame.variables}")
    with function.when(function.compare("ne", found, str(LOCKED), "i32")):
        function.branch(function.compare("eq", found, str(REPEATED), "i32"), frame.mismatch, frame.failed)


def _begin_drawing(frame: EntryFrame, checks: CheckWriter) -> None:
    """Take the locks of the generators, which are given back with the other references."""
    plan, function = frame.plan, frame.function
    if not plan.draws:
        return
    from jitflow.runtime.generators.drawing import begin

    generators = [checks.register(check.register) for check in plan.checks if isinstance(check, ObjectLeaf)]
    room = function.stack(max(len(generators), 1))
    for place, generator in enumerate(generators):
        function.store("ptr", generator, room, 8 * place)
    made = frame.python.call("ptr", "PyObject_Vectorcall", f"ptr {frame.constant(begin)}", f"ptr {room}",
                             f"i64 {len(generators)}", "ptr null")  # fmt: skip
    function.store("ptr", made, frame.owned, 8 * frame.take_owned())
    function.require_not(function.is_null(made), frame.failed)


def _call_run(frame: EntryFrame, array_bytes: str) -> None:
    function, threshold = frame.function, frame.plan.releases_gil_bytes
    context = function.load("ptr", "%record", record_offset("context"))
    run = function.load("ptr", "%record", record_offset("run"))
    arguments = [f"ptr {pointer}" for pointer in (context, frame.arguments, frame.results, frame.error)]
    done = function.label("done")
    outcomes = []
    if threshold is not None:
        large = "true" if threshold < 0 else function.compare("ugt", array_bytes, str(threshold))
        with function.when(large):
            thread = frame.rarely.call("ptr", "PyEval_SaveThread")
            outcomes.append((function.call("i32", run, *arguments), function.block))
            frame.rarely.run("PyEval_RestoreThread", f"ptr {thread}")
            function.jump(done)
    outcomes.append((function.call("i32", run, *arguments), function.block))
    function.jump(done)
    function.begin(done)
    status = function.phi("i32", *outcomes)
    if frame.plan.uses:
        frame.python.run("unlock_variables", f"ptr {frame.table}", f"ptr {frame.variables}")
    with function.when(function.compare("ne", status, "0", "i32")):
        _raise_error(frame, status)


def _raise_error(frame: EntryFrame, status: str) -> None:
    """Call `raise_error(status, error_address)`; whatever it does, the call fails."""
    function, python = frame.function, frame.rarely
    number = python.call("ptr", "PyLong_FromLongLong", f"i64 {function.let(f'sext i32 {status} to i64')}")
    address = python.call("ptr", "PyLong_FromVoidPtr", f"ptr {frame.error}")
    function.store("ptr", number, frame.handler_arguments)
    function.store("ptr", address, frame.handler_arguments, 8)
    stack = f"ptr {frame.handler_arguments}"
    returned = python.call("ptr", "PyObject_Vectorcall", f"ptr {frame.raise_error()}", stack, "i64 2", "ptr null")
    python.release(number)
    python.release(address)
    with function.when(function.compare("ne", returned, "null", "ptr")):
        python.release(returned)
        message = frame.constant(NOT_RAISED)
        python.run("PyErr_SetObject", f"ptr {frame.constant(SystemError)}", f"ptr {message}")
    python.run("hide_frame", f"ptr {frame.table}")
    function.jump(frame.failed)


def _write_exits(frame: EntryFrame) -> None:
    function, python = frame.function, frame.rarely
    function.begin(frame.unreadable)
    function.require_not(function.is_null(python.call("ptr", "PyErr_Occurred")), frame.mismatch)
    ordinary = python.call("i32", "PyErr_ExceptionMatches", f"ptr {frame.constant(Exception)}")
    function.require(function.compare("ne", ordinary, "0", "i32"), frame.failed)
    python.run("PyErr_Clear")
    function.jump(frame.mismatch)

    function.begin(frame.mismatch)
    frame.finish_with(MISMATCH)
    function.begin(frame.failed)
    frame.finish_with("null")
    function.begin(frame.finish)
    if frame.owned_count:
        frame.release(frame.owned, frame.owned_count)
    function.give("ptr", function.load("ptr", frame.outcome))
