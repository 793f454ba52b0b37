"""What runs the partitions of a call, as LLVM text: `together`, and the life of a worker.

The caller's thread runs the first partition. For each of the others `together` takes an idle *worker*, a native thread,
or starts one: so no call waits for another one, there is no order of calls that could close a circle, and a callback
may call a function that needs workers itself. Which device a worker works for changes from call to call; how many there
are is how many were ever needed at once. A worker is idle again just before it notes that its partition has ended, so
whoever calls next finds it.

    caller                                     worker
      take workers, or fail before anything      until there is a task: look for a while, then sleep
      hand out tasks                             run it
      run the first partition, finish            idle again, finish
      until all have ended: wait
      free the messages, tell of the first failure

Workers never end, and know nothing of Python, but that a partition may call routines (``python``): then its exception
has to be taken out of the worker's thread, for the caller to raise it.
"""

from __future__ import annotations

from jitflow.ir.status import INTERRUPTED, NO_WORKER, OUT_OF_MEMORY, ROUTINE_FAILED, ROUTINE_FAILED_ELSEWHERE
from jitflow.ir.together import PART_WORDS, SHAPE_FIELDS
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.python_api import PythonCalls
from jitflow.runtime.parallel.channels_text import CHANNEL_BYTES, ERROR_WORDS, wait_until
from jitflow.runtime.parallel.frames_text import (
    FRAME_FIELDS,
    HEADER_BYTES,
    Frame,
    frame_offset,
    party_offset,
    system_function,
)

__all__ = ["PYTHON_POINTERS", "devices_text"]

PYTHON_POINTERS = ("devices_api", "devices_drawer", "devices_attribute", "devices_exception")
"""The table of C functions, where a routine's exception waits, the object and the name of its attribute, and the class
`Exception`."""

_NEXT, _TASK, _ASLEEP, _CONDITION, _WORKER_BYTES = 0, 8, 16, 64, 256
_MUTEX_BYTES = 128
_LINE = 64
"""Bytes of a line of the caches: parties should not share one."""


def devices_text() -> str:
    """The functions, the list of idle workers with its mutex, and how long who waits looks before he sleeps."""
    return "\n".join(
        [
            f"@devices_mutex = global [{_MUTEX_BYTES} x i8] zeroinitializer, align 64",
            "@idle = global ptr null",
            "@workers = global i64 0",
            "@processors = global i64 1",
            "@most_spins = global i64 0",
            *(f"@{name} = global ptr null" for name in PYTHON_POINTERS),
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            _work(),
            _hire(),
            _assign(),
            _run_party(),
            _run_with_python(),
            _run_at_home(),
            _drop_exceptions(),
            _join(),
            _first_failure(),
            _together(),
        ]
    )


def _lock(function: FunctionText) -> None:
    function.call("i32", system_function(function, "pthread_mutex_lock"), "ptr @devices_mutex")


def _unlock(function: FunctionText) -> None:
    function.call("i32", system_function(function, "pthread_mutex_unlock"), "ptr @devices_mutex")


def _party(function: FunctionText, party: str, field: str, kind: str = "ptr") -> str:
    return function.load(kind, party, party_offset(field))


# -- workers ---------------------------------------------------------------------------------------


def _work() -> str:
    """The life of a worker."""
    function = FunctionText("ptr @work_for_calls(ptr %worker)")
    turn, task_place = function.label("turn"), function.at("%worker", _TASK)
    function.jump(turn)
    function.begin(turn)

    def task() -> str:
        return function.let(f"load atomic ptr, ptr {task_place} seq_cst, align 8")

    def sleep() -> None:
        function.store("i64", "1", "%worker", _ASLEEP)
        condition = function.at("%worker", _CONDITION)
        wait = system_function(function, "pthread_cond_wait")
        function.call("i32", wait, f"ptr {condition}", "ptr @devices_mutex")
        function.store("i64", "0", "%worker", _ASLEEP)

    spins = function.load("i64", "@most_spins")
    wait_until(function, spins, lambda: function.compare("ne", task(), "null", "ptr"), lambda: _lock(function), sleep)
    party = task()
    function.do(f"store atomic ptr null, ptr {task_place} seq_cst, align 8")
    _unlock(function)
    status = function.call("i32", "@run_with_python", f"ptr {party}")
    _lock(function)
    function.store("ptr", function.load("ptr", "@idle"), "%worker", _NEXT)
    function.store("ptr", "%worker", "@idle")
    _unlock(function)
    function.run("@finish", f"ptr {_party(function, party, 'frame')}", f"ptr {party}", f"i32 {status}")
    function.jump(turn)
    return function.text()


def _hire() -> str:
    """A worker without a task, null where the system gives none. The mutex of the devices is held."""
    function = FunctionText("ptr @hire()")
    none, thread = function.label("none"), function.stack(1)
    idle = function.load("ptr", "@idle")
    with function.when(function.compare("ne", idle, "null", "ptr")):
        function.store("ptr", function.load("ptr", idle, _NEXT), "@idle")
        function.give("ptr", idle)
    worker = function.call("ptr", system_function(function, "malloc"), f"i64 {_WORKER_BYTES}")
    function.require_not(function.is_null(worker), none)
    function.run("@llvm.memset.p0.i64", f"ptr {worker}", "i8 0", f"i64 {_WORKER_BYTES}", "i1 false")
    condition = function.at(worker, _CONDITION)
    function.call("i32", system_function(function, "pthread_cond_init"), f"ptr {condition}", "ptr null")
    create, free = (system_function(function, name) for name in ("pthread_create", "free"))
    failed = function.call("i32", create, f"ptr {thread}", "ptr null", "ptr @work_for_calls", f"ptr {worker}")
    with function.when(function.compare("ne", failed, "0", "i32")):
        function.run(free, f"ptr {worker}")
        function.jump(none)
    detach = system_function(function, "pthread_detach")
    function.call("i32", detach, f"ptr {function.load('ptr', thread)}")
    function.add_to("@workers", 0, "1")
    function.give("ptr", worker)
    function.begin(none)
    function.give("ptr", "null")
    return function.text()


def _assign() -> str:
    """Give all parties but the first to workers: all or none, and whether that was possible."""
    function = FunctionText("i1 @assign(ptr %frame)")
    frame, taken, short = Frame(function, "%frame"), function.stack(1), function.label("short")
    function.store("ptr", "null", taken)
    others = function.let(f"sub i64 {frame.get('parties')}, 1")
    _lock(function)
    with function.each_below(others):
        worker = function.call("ptr", "@hire")
        function.require_not(function.is_null(worker), short)
        function.store("ptr", function.load("ptr", taken), worker, _NEXT)
        function.store("ptr", worker, taken)
    with function.each_below(others) as number:
        worker = function.load("ptr", taken)
        function.store("ptr", function.load("ptr", worker, _NEXT), taken)
        party = frame.party(function.let(f"add i64 {number}, 1"))
        function.do(f"store atomic ptr {party}, ptr {function.at(worker, _TASK)} seq_cst, align 8")
        with function.when(function.compare("ne", function.load("i64", worker, _ASLEEP), "0")):
            signal = system_function(function, "pthread_cond_broadcast")
            function.call("i32", signal, f"ptr {function.at(worker, _CONDITION)}")
    _unlock(function)
    function.give("i1", "true")
    function.begin(short)
    next_, back, done = map(function.label, ("next", "back", "done"))
    function.jump(next_)
    function.begin(next_)
    worker = function.load("ptr", taken)
    function.branch(function.is_null(worker), done, back)
    function.begin(back)
    function.store("ptr", function.load("ptr", worker, _NEXT), taken)
    function.store("ptr", function.load("ptr", "@idle"), worker, _NEXT)
    function.store("ptr", worker, "@idle")
    function.jump(next_)
    function.begin(done)
    _unlock(function)
    function.give("i1", "false")
    return function.text()


# -- calls -----------------------------------------------------------------------------------------


def _run_party() -> str:
    """Run what a party is to run; gives its status."""
    function = FunctionText("i32 @run_party(ptr %party)")
    code, *given = (_party(function, "%party", name) for name in ("function", "context", "arguments", "results"))
    error = function.at("%party", party_offset("error"))
    function.give("i32", function.call("i32", code, *(f"ptr {value}" for value in (*given, error))))
    return function.text()


def _run_with_python() -> str:
    """The same in a worker's thread, which has a thread state of Python's meanwhile if routines are called."""
    function = FunctionText("i32 @run_with_python(ptr %party)")
    with function.when(function.compare("eq", _party(function, "%party", "python", "i64"), "0")):
        function.give("i32", function.call("i32", "@run_party", "ptr %party"))
    python, drawer, attribute, _ = _python(function)
    state = python.call("i32", "PyGILState_Ensure")
    thread = python.call("ptr", "PyEval_SaveThread")
    status = function.call("i32", "@run_party", "ptr %party")
    python.run("PyEval_RestoreThread", f"ptr {thread}")
    error = party_offset("error")
    with function.when(function.compare("eq", status, str(ROUTINE_FAILED), "i32")):
        exception = python.call("ptr", "PyObject_GetAttr", f"ptr {drawer}", f"ptr {attribute}")
        function.store("i64", str(ROUTINE_FAILED_ELSEWHERE), "%party", error)
        function.store("ptr", exception, "%party", error + 16)
    python.run("PyGILState_Release", f"i32 {state}")
    function.give("i32", status)
    return function.text()


def _run_at_home() -> str:
    """The same in the caller's thread, where a handler of signals may raise inside of a routine, as with Ctrl-C.

    That ends all, wherever they are. What is an `Exception` is the routine's, which has its place in the program.
    """
    function = FunctionText("i32 @run_at_home(ptr %party)")
    status = function.call("i32", "@run_party", "ptr %party")
    with function.when(function.compare("ne", status, str(ROUTINE_FAILED), "i32")):
        function.give("i32", status)
    python, drawer, attribute, usual = _python(function)
    state = python.call("i32", "PyGILState_Ensure")
    exception = python.call("ptr", "PyObject_GetAttr", f"ptr {drawer}", f"ptr {attribute}")
    is_usual = python.call("i32", "PyErr_GivenExceptionMatches", f"ptr {exception}", f"ptr {usual}")
    python.release(exception)
    python.run("PyGILState_Release", f"i32 {state}")
    with function.when(function.compare("ne", is_usual, "0", "i32")):
        function.give("i32", status)
    function.store("i64", str(INTERRUPTED), "%party", party_offset("error"))
    function.give("i32", str(INTERRUPTED))
    return function.text()


def _python(function: FunctionText) -> tuple[PythonCalls, str, str, str]:
    """Calls of Python's functions, and the objects that they are given here."""
    api, *objects = (function.load("ptr", f"@{name}") for name in PYTHON_POINTERS)
    drawer, attribute, usual = objects
    return PythonCalls(function, api), drawer, attribute, usual


def _drop_exceptions() -> str:
    """Let go of what was raised in parties whose failure is not the user's."""
    function = FunctionText("void @drop_exceptions(ptr %frame)")
    frame, error = Frame(function, "%frame"), party_offset("error")
    with function.each_below(frame.get("parties")) as number:
        party = frame.party(number)
        raised = function.compare("eq", function.load("i64", party, error), str(ROUTINE_FAILED_ELSEWHERE))
        other = function.compare("ne", party, frame.get("first", "ptr"), "ptr")
        with function.when(function.let(f"and i1 {raised}, {other}")):
            python, *_ = _python(function)
            state = python.call("i32", "PyGILState_Ensure")
            python.release(function.load("ptr", party, error + 16))
            python.run("PyGILState_Release", f"i32 {state}")
    function.give("void")
    return function.text()


def _join() -> str:
    """Wait until all parties have ended. Where the first one has failed, Ctrl-C stops the others."""
    function = FunctionText("void @join(ptr %frame, ptr %first)")
    frame, word = Frame(function, "%frame"), function.stack(1)
    function.store("i64", "0", word)
    failed = function.compare("ne", _party(function, "%first", "status", "i64"), "0")
    last = function.let(f"select i1 {failed}, ptr {word}, ptr null")

    def sleep() -> None:
        function.run("@doze", "ptr %frame", f"ptr {last}")
        answer = function.call("i32", "@poll_between", "ptr %frame", f"ptr {last}")
        with function.when(function.compare("ne", answer, "0", "i32")):
            function.store("i64", str(INTERRUPTED), "%first", party_offset("status"))
            function.store("i64", str(INTERRUPTED), "%first", party_offset("error"))
            frame.set("first", "%first", "ptr")

    def ended() -> str:
        return function.compare("eq", frame.get("ended"), frame.get("parties"))

    wait_until(function, frame.get("spins"), ended, frame.lock, sleep)
    frame.unlock()
    function.give("void")
    return function.text()


def _first_failure() -> str:
    """The status of the call, with what the error slots say: that of the failure that is the user's."""
    function = FunctionText("i32 @first_failure(ptr %frame, ptr %error)")
    frame, found = Frame(function, "%frame"), function.stack(1)
    function.store("ptr", frame.get("first", "ptr"), found)
    with function.when(function.is_null(function.load("ptr", found))), function.each_below(frame.get("parties")) as n:
        party = frame.party(n)  # one that was stopped, though nobody has failed, is a mistake, which is told
        with function.when(function.compare("ne", _party(function, party, "status", "i64"), "0")):
            function.store("ptr", party, found)
    party = function.load("ptr", found)
    with function.when(function.is_null(party)):
        function.give("i32", "0")
    source = function.at(party, party_offset("error"))
    size = f"i64 {8 * ERROR_WORDS}"
    function.run("@llvm.memcpy.p0.p0.i64", "ptr %error", f"ptr {source}", size, "i1 false")
    function.give("i32", function.let(f"trunc i64 {_party(function, party, 'status', 'i64')} to i32"))
    return function.text()


_TOGETHER = (
    "ptr %context", "ptr %shape", "ptr %parts", "ptr %arguments", "ptr %results", "ptr %error",
)  # fmt: skip
_RECORD = party_offset("error") + 8 * ERROR_WORDS


def _together() -> str:
    """``i32 together(...)``: run the parts of a program and wait for all of them."""
    function = FunctionText(f"i32 @together({', '.join(_TOGETHER)})")
    parties, channels, message, levels, words, frame_slot, poll_slot, site = (
        function.load("i64", "%shape", 8 * place) for place in range(len(SHAPE_FIELDS))
    )
    party_bytes = function.let(f"add i64 {function.let(f'mul i64 {levels}, 8')}, {_RECORD + _LINE - 1}")
    party_bytes = function.let(f"and i64 {party_bytes}, {-_LINE}")
    channel_bytes = function.let(f"add i64 {function.let(f'mul i64 {message}, 8')}, {CHANNEL_BYTES + _LINE - 1}")
    channel_bytes = function.let(f"and i64 {channel_bytes}, {-_LINE}")
    sizes = [
        function.let(f"mul i64 {count}, {size}")
        for count, size in ((parties, party_bytes), (channels, channel_bytes), (words, 8))
    ]
    before_context = function.let(f"add i64 {HEADER_BYTES}, {function.let(f'add i64 {sizes[0]}, {sizes[1]}')}")
    size = function.let(f"add i64 {before_context}, {sizes[2]}")
    allocate, free = function.load("ptr", "%context"), function.load("ptr", "%context", 8)
    pointer = function.call("ptr", allocate, f"i64 {size}")
    with function.when(function.is_null(pointer)):
        _fail(function, OUT_OF_MEMORY, site, size)
    frame = Frame(function, pointer)
    function.run("@llvm.memset.p0.i64", f"ptr {pointer}", "i8 0", f"i64 {before_context}", "i1 false")
    context = function.let(f"getelementptr i8, ptr {pointer}, i64 {before_context}")
    function.run("@llvm.memcpy.p0.p0.i64", f"ptr {context}", "ptr %context", f"i64 {sizes[2]}", "i1 false")
    function.store("ptr", pointer, function.element(context, frame_slot))
    crowded = function.compare("ugt", parties, function.load("i64", "@processors"))
    spins = function.let(f"select i1 {crowded}, i64 0, i64 {function.load('i64', '@most_spins')}")
    poll = function.load("ptr", function.element(context, poll_slot))
    known = {"parties": parties, "channels": channels, "spins": spins, "allocate": allocate, "free": free, "poll": poll,
             "party_bytes": party_bytes, "channel_bytes": channel_bytes, "levels": levels}  # fmt: skip
    for field in FRAME_FIELDS:
        if field in known:
            kind = "ptr" if field in ("allocate", "free", "poll") else "i64"
            function.store(kind, known[field], pointer, frame_offset(field))
    frame.open()
    with function.each_below(parties) as number:
        party = frame.party(number)
        part = function.element("%parts", function.let(f"mul i64 {number}, {PART_WORDS}"))
        results = function.let(f"getelementptr i8, ptr %results, i64 {function.load('i64', part, 8)}")
        for field, value in (
            ("frame", pointer), ("function", function.load("ptr", part)), ("context", context),
            ("arguments", "%arguments"), ("results", results),
        ):  # fmt: skip
            function.store("ptr", value, party, party_offset(field))
        function.store("i64", function.load("i64", part, 16), party, party_offset("python"))
    refused = function.label("refused")
    function.require(function.call("i1", "@assign", f"ptr {pointer}"), refused)
    first = frame.party("0")
    own = function.call("i32", "@run_at_home", f"ptr {first}")
    function.run("@finish", f"ptr {pointer}", f"ptr {first}", f"i32 {own}")
    function.run("@join", f"ptr {pointer}", f"ptr {first}")
    function.run("@clear", f"ptr {pointer}")
    function.run("@drop_exceptions", f"ptr {pointer}")
    frame.close()
    status = function.call("i32", "@first_failure", f"ptr {pointer}", "ptr %error")
    function.run(free, f"ptr {pointer}", f"i64 {size}")
    function.give("i32", status)
    function.begin(refused)
    frame.close()
    function.run(free, f"ptr {pointer}", f"i64 {size}")
    _fail(function, NO_WORKER, site, "0")
    return function.text()


def _fail(function: FunctionText, status: int, site: str, value: str) -> None:
    for place, word in enumerate((str(status), site, value)):
        function.store("i64", word, "%error", 8 * place)
    function.give("i32", str(status))
