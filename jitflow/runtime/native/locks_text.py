"""Who may use which variables now, as LLVM text.

A call that uses variables has a *frame*, 64-bit words on its stack: links of a list, what `FRAME_FIELDS` says, and an
item for each variable, the address of its header with bit 0 set where the call writes. It takes all of them at once or
none. So nobody who waits holds anything, but for a call made inside another one, and no order of locks is needed.

A header holds the variable's *state*, -1 while a call writes and else how many read, and how many frames *wait* for it.
Frames stand in one of two lists, ``held`` and ``waiting``. Who finds a variable in use, or waited for by somebody who
came before, waits his turn in Python (`jitflow.runtime.native.locks`): whoever gives variables back takes them for
those of the waiting who can go on, in their order, and wakes them. All of it runs under the GIL, so plain loads and
stores do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.python_api import PythonCalls

__all__ = ["FAILED", "FRAME_FIELDS", "HOLDS", "LOCKED", "NOWHERE", "REPEATED", "WAITS", "frame_offset", "locks_text"]

FRAME_FIELDS = ("next", "previous", "thread", "list", "is_nested", "wake", "count")
"""`list` says in which list the frame is, `is_nested` that its thread holds another one; `wake` is called when it is
the frame's turn."""

NOWHERE, HOLDS, WAITS = range(3)
"""The lists."""

FAILED, LOCKED, REPEATED = range(3)
"""What `lock_variables` returns. REPEATED: a variable that is written is there twice, so the code does not fit."""

_STATE, _WAITED_FOR = 0, 8


def frame_offset(field: str) -> int:
    """Where a field of a frame lies, in bytes; the items follow the fields."""
    return 8 * FRAME_FIELDS.index(field)


def locks_text() -> str:
    """The functions, the two lists, and ``@wait``, Python's function for those who have to."""
    lists = [f"@{name} = internal global [2 x ptr] [ptr @{name}, ptr @{name}]" for name in ("held", "waiting")]
    functions = (
        _link, _unlink, _give_up, _take, _want, _is_repeated, _grant, _try_lock, _lock, _unlock, _enqueue, _abandon,
        _copy_list, _copy_frames,
    )  # fmt: skip
    return "\n".join([*lists, "@wait = global ptr null", *(write() for write in functions)])


def _field(function: FunctionText, frame: str, name: str, kind: str = "i64") -> str:
    return function.load(kind, frame, frame_offset(name))


def _set_field(function: FunctionText, frame: str, name: str, value: str, kind: str = "i64") -> None:
    function.store(kind, value, frame, frame_offset(name))


@contextmanager
def _each_item(function: FunctionText, frame: str, count: str) -> Iterator[tuple[str, str, str]]:
    """What is written inside runs for each of the first items: the number, the header and whether it is written."""
    items = function.at(frame, 8 * len(FRAME_FIELDS))
    with function.each_below(count) as number:
        item = function.load("i64", function.element(items, number))
        header = function.let(f"inttoptr i64 {function.let(f'and i64 {item}, -2')} to ptr")
        yield number, header, function.let(f"trunc i64 {item} to i1")


@contextmanager
def _each_frame(function: FunctionText, head: str) -> Iterator[str]:
    """What is written inside runs for each frame of a list, which it may take out."""
    start, body, behind, done = (function.label(hint) for hint in ("frames", "frame", "behind", "end"))
    first, before, following = _field(function, head, "next", "ptr"), function.block, f"%next_{body}"
    function.jump(start)
    function.begin(start)
    frame = function.phi("ptr", (first, before), (following, behind))
    function.branch(function.compare("eq", frame, head, "ptr"), done, body)
    function.begin(body)
    function.do(f"{following} = load ptr, ptr {function.at(frame, frame_offset('next'))}")
    yield frame
    function.jump(behind)
    function.begin(behind)
    function.jump(start)
    function.begin(done)


def _link() -> str:
    """Put a frame at the end of a list."""
    function = FunctionText("internal void @link(ptr %frame, i64 %list)")
    holds = function.compare("eq", "%list", str(HOLDS))
    head = function.let(f"select i1 {holds}, ptr @held, ptr @waiting")
    last = _field(function, head, "previous", "ptr")
    for place, field, value in (
        ("%frame", "next", head),
        ("%frame", "previous", last),
        (last, "next", "%frame"),
        (head, "previous", "%frame"),
    ):
        _set_field(function, place, field, value, "ptr")
    _set_field(function, "%frame", "list", "%list")
    function.give("void")
    return function.text()


def _unlink() -> str:
    """Take a frame out of its list."""
    function = FunctionText("internal void @unlink(ptr %frame)")
    following, previous = (_field(function, "%frame", name, "ptr") for name in ("next", "previous"))
    _set_field(function, previous, "next", following, "ptr")
    _set_field(function, following, "previous", previous, "ptr")
    _set_field(function, "%frame", "list", str(NOWHERE))
    function.give("void")
    return function.text()


# -- variables -------------------------------------------------------------------------------------


def _take() -> str:
    """Take all variables of a frame, or none; says which."""
    function = FunctionText("internal i1 @take(ptr %frame)")
    taken = function.label("taken")
    nested = function.compare("ne", _field(function, "%frame", "is_nested"), "0")
    with _each_item(function, "%frame", _field(function, "%frame", "count")) as (number, header, writes):
        state, waited_for = function.load("i64", header, _STATE), function.load("i64", header, _WAITED_FOR)
        unused, unwritten = function.compare("eq", state, "0"), function.compare("sge", state, "0")
        free = function.let(f"select i1 {writes}, i1 {unused}, i1 {unwritten}")
        in_turn = function.let(f"or i1 {nested}, {function.compare('eq', waited_for, '0')}")
        function.require(function.let(f"and i1 {free}, {in_turn}"), taken)
        more = function.let(f"add i64 {state}, 1")
        function.store("i64", function.let(f"select i1 {writes}, i64 -1, i64 {more}"), header, _STATE)
    function.give("i1", "true")
    function.begin(taken)
    function.run("@give_up", "ptr %frame", f"i64 {number}")
    function.give("i1", "false")
    return function.text()


def _give_up() -> str:
    """Give back the first variables of a frame."""
    function = FunctionText("internal void @give_up(ptr %frame, i64 %count)")
    with _each_item(function, "%frame", "%count") as (_, header, writes):
        less = function.let(f"sub i64 {function.load('i64', header, _STATE)}, 1")
        function.store("i64", function.let(f"select i1 {writes}, i64 0, i64 {less}"), header, _STATE)
    function.give("void")
    return function.text()


def _want() -> str:
    """Note that a frame waits for its variables (by 1), or no longer does (by -1)."""
    function = FunctionText("internal void @want(ptr %frame, i64 %by)")
    with _each_item(function, "%frame", _field(function, "%frame", "count")) as (_, header, _writes):
        function.add_to(header, _WAITED_FOR, "%by")
    function.give("void")
    return function.text()


def _is_repeated() -> str:
    """Whether a variable that a frame writes is there twice."""
    function = FunctionText("i1 @is_repeated(ptr %frame)")
    found = function.label("found")
    count = _field(function, "%frame", "count")
    with (
        _each_item(function, "%frame", count) as (number, header, writes),
        _each_item(function, "%frame", number) as (_, other, writes_other),
    ):
        same = function.compare("eq", header, other, "ptr")
        written = function.let(f"or i1 {writes}, {writes_other}")
        function.require_not(function.let(f"and i1 {same}, {written}"), found)
    function.give("i1", "false")
    function.begin(found)
    function.give("i1", "true")
    return function.text()


# -- frames ----------------------------------------------------------------------------------------


def _grant() -> str:
    """Go through those who wait, in their order, and let them go on who can.

    Who has to wait on keeps what he waits for from those behind him.
    """
    function = FunctionText("internal void @grant(ptr %api)")
    python = PythonCalls(function, "%api")
    with _each_frame(function, "@waiting") as frame:
        function.run("@want", f"ptr {frame}", "i64 -1")
    with _each_frame(function, "@waiting") as frame:
        waits, done = function.label("waits"), function.label("done")
        function.require(function.call("i1", "@take", f"ptr {frame}"), waits)
        function.run("@unlink", f"ptr {frame}")
        function.run("@link", f"ptr {frame}", f"i64 {HOLDS}")
        python.release(python.call("ptr", "PyObject_CallNoArgs", f"ptr {_field(function, frame, 'wake', 'ptr')}"))
        function.jump(done)
        function.begin(waits)
        function.run("@want", f"ptr {frame}", "i64 1")
        function.jump(done)
        function.begin(done)
    function.give("void")
    return function.text()


def _try_lock() -> str:
    """Take the variables of a new frame, if nobody has to wait for that."""
    function = FunctionText("i1 @try_lock(ptr %api, ptr %frame)")
    python = PythonCalls(function, "%api")
    _set_field(function, "%frame", "thread", python.call("i64", "PyThread_get_thread_ident"))
    _set_field(function, "%frame", "is_nested", "0")
    _set_field(function, "%frame", "list", str(NOWHERE))
    taken = function.call("i1", "@take", "ptr %frame")
    with function.when(taken):
        function.run("@link", "ptr %frame", f"i64 {HOLDS}")
    function.give("i1", taken)
    return function.text()


def _lock() -> str:
    """Take the variables of a frame, when it is its turn."""
    function = FunctionText("i32 @lock_variables(ptr %api, ptr %frame)")
    python = PythonCalls(function, "%api")
    with function.when(function.call("i1", "@try_lock", "ptr %api", "ptr %frame")):
        function.give("i32", str(LOCKED))
    with function.when(function.call("i1", "@is_repeated", "ptr %frame")):
        function.give("i32", str(REPEATED))
    address = python.call("ptr", "PyLong_FromVoidPtr", "ptr %frame")
    answer = python.call("ptr", "PyObject_CallOneArg", f"ptr {function.load('ptr', '@wait')}", f"ptr {address}")
    python.release(address)
    with function.when(function.is_null(answer)):
        function.give("i32", str(FAILED))
    python.release(answer)
    function.give("i32", str(LOCKED))
    return function.text()


def _unlock() -> str:
    """Give back the variables of a frame."""
    function = FunctionText("void @unlock_variables(ptr %api, ptr %frame)")
    function.run("@give_up", "ptr %frame", f"i64 {_field(function, '%frame', 'count')}")
    function.run("@unlink", "ptr %frame")
    with function.when(function.compare("ne", function.load("ptr", "@waiting"), "@waiting", "ptr")):
        function.run("@grant", "ptr %api")
    function.give("void")
    return function.text()


def _enqueue() -> str:
    """Take the variables of a frame, or let it wait for them; says which."""
    function = FunctionText("i1 @enqueue(ptr %frame)")
    with function.when(function.call("i1", "@take", "ptr %frame")):
        function.run("@link", "ptr %frame", f"i64 {HOLDS}")
        function.give("i1", "true")
    function.run("@want", "ptr %frame", "i64 1")
    function.run("@link", "ptr %frame", f"i64 {WAITS}")
    function.give("i1", "false")
    return function.text()


def _abandon() -> str:
    """Give back the variables of a frame if it has them, and let it wait no longer if it does."""
    function = FunctionText("void @abandon(ptr %api, ptr %frame)")
    place = _field(function, "%frame", "list")
    with function.when(function.compare("eq", place, str(HOLDS))):
        function.run("@unlock_variables", "ptr %api", "ptr %frame")
    with function.when(function.compare("eq", place, str(WAITS))):
        function.run("@want", "ptr %frame", "i64 -1")
        function.run("@unlink", "ptr %frame")
        function.run("@grant", "ptr %api")
    function.give("void")
    return function.text()


# -- looking on ------------------------------------------------------------------------------------


def _copy_list() -> str:
    """Copy the words of the frames of a list, as far as there is room; returns how many words there are."""
    function = FunctionText("internal i64 @copy_list(ptr %head, ptr %buffer, i64 %capacity, i64 %used)")
    total = function.stack(1)
    function.store("i64", "%used", total)
    with _each_frame(function, "%head") as frame:
        words = function.let(f"add i64 {_field(function, frame, 'count')}, {len(FRAME_FIELDS)}")
        start = function.load("i64", total)
        end = function.let(f"add i64 {start}, {words}")
        function.store("i64", end, total)
        with function.when(function.compare("sle", end, "%capacity")), function.each_below(words) as number:
            word = function.load("i64", function.element(frame, number))
            target = function.element("%buffer", function.let(f"add i64 {start}, {number}"))
            function.store("i64", word, target)
    function.give("i64", function.load("i64", total))
    return function.text()


def _copy_frames() -> str:
    """Copy the words of all frames, those that hold variables first; returns how many words there are."""
    function = FunctionText("i64 @copy_frames(ptr %buffer, i64 %capacity)")
    rest = ("ptr %buffer", "i64 %capacity")
    held = function.call("i64", "@copy_list", "ptr @held", *rest, "i64 0")
    function.give("i64", function.call("i64", "@copy_list", "ptr @waiting", *rest, f"i64 {held}"))
    return function.text()
