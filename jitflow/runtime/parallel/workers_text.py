"""The threads that share loops, as LLVM text.

A *job* is a function, what it is called with, and a range of positions in pieces. Who has a job publishes it, takes
pieces until none is left, and waits for those who are still at work on one. What it is lies in the words of `@job`.

    owner                                       worker
      open = 1, generation += 1, wake             until generation changes: spin for a while, then sleep
      take pieces                                 inside += 1
      open = 0                                    if open, and wanted: take pieces
      until inside is 0: wait                     inside -= 1

The pieces are in as many parts as there are threads. Each thread takes those of its own part first, then those that
others have left: what it worked on the last time is still in its processor's cache.

``open`` and ``inside`` are in one order for all threads: either a worker finds the job closed and touches nothing, or
the owner finds the worker inside and waits. There is one job at a time; whoever comes while there is one does his work
alone, so nobody waits for a thread that waits. Workers never touch Python. The first owner who wants them starts them;
where the system has no more threads to give, fewer work.
"""

from __future__ import annotations

from jitflow.runtime.native.llvm_text import FunctionText, pause_declarations
from jitflow.runtime.parallel.threads import JOB_FIELDS, MOST_NAMED, SYSTEM_FUNCTIONS

__all__ = ["workers_text"]

PIECES = 4
"""Pieces for each thread: who is late takes fewer."""
MOST_PARTS = 256
"""With more threads than this, some have a part together."""
CACHE_LINE = 64
SPINS = 2000
"""How often a worker looks for the next job before it sleeps, some 100 us: waking it up takes about as long."""
PATIENCE = 1000
"""How often an owner looks before he lets other threads have the processor."""
GENEROUS = 64
"""After so many looks a worker without a job lets other threads have the processor, as those of BLAS."""


def workers_text() -> str:
    """``share``, which owners call, ``work``, the life of a worker, and their state."""
    return "\n".join(
        [
            f"@job = global [{len(JOB_FIELDS)} x i64] zeroinitializer, align 64",
            f"@taken = global [{MOST_PARTS * CACHE_LINE} x i8] zeroinitializer, align {CACHE_LINE}",
            f"@threads_system = global [{len(SYSTEM_FUNCTIONS)} x ptr] zeroinitializer",
            f"@names = global [{MOST_NAMED} x i64] zeroinitializer",
            "@mutex = global [16 x i64] zeroinitializer, align 64",
            "@condition = global [16 x i64] zeroinitializer, align 64",
            "declare i64 @llvm.umin.i64(i64, i64)",
            "declare i64 @llvm.umax.i64(i64, i64)",
            *pause_declarations(),
            _take(),
            _start(),
            _share(),
            _work(),
        ]
    )


def _field(function: FunctionText, name: str) -> str:
    return function.at("@job", 8 * JOB_FIELDS.index(name))


def _get(function: FunctionText, name: str, kind: str = "i64") -> str:
    """Read a field, in the one order of all threads."""
    return function.let(f"load atomic {kind}, ptr {_field(function, name)} seq_cst, align 8")


def _set(function: FunctionText, name: str, value: str, kind: str = "i64") -> None:
    function.do(f"store atomic {kind} {value}, ptr {_field(function, name)} seq_cst, align 8")


def _add(function: FunctionText, name: str, amount: int) -> str:
    """Add to a field, and give what it was."""
    return function.let(f"atomicrmw add ptr {_field(function, name)}, i64 {amount} seq_cst")


def _system(function: FunctionText, name: str) -> str:
    return function.load("ptr", "@threads_system", 8 * SYSTEM_FUNCTIONS.index(name))


def _take() -> str:
    """Do pieces of the job until none is left."""
    function = FunctionText("internal void @take(i64 %worker)")
    piece, last = _get(function, "piece"), _get(function, "last")
    code, arguments = _get(function, "function", "ptr"), _get(function, "arguments", "ptr")
    pieces, parts = _get(function, "pieces"), _get(function, "parts")
    with function.each_below(parts) as other:
        part = function.let(f"urem i64 {function.let(f'add i64 %worker, {other}')}, {parts}")
        low, high = (_first_of(function, number, pieces, parts)
                     for number in (part, function.let(f"add i64 {part}, 1")))  # fmt: skip
        turn, work, done = function.label("turn"), function.label("work"), function.label("done")
        function.jump(turn)
        function.begin(turn)
        taken = function.let(f"atomicrmw add ptr {_taken(function, part)}, i64 1 seq_cst")
        number = function.let(f"add i64 {low}, {taken}")
        function.branch(function.compare("ult", number, high), work, done)
        function.begin(work)
        first = function.let(f"mul i64 {number}, {piece}")
        behind = function.let(f"add i64 {first}, {piece}")
        end = function.call("i64", "@llvm.umin.i64", f"i64 {behind}", f"i64 {last}")
        function.run(code, f"ptr {arguments}", f"i64 {first}", f"i64 {end}", "i64 %worker")
        function.jump(turn)
        function.begin(done)
    function.give("void")
    return function.text()


def _first_of(function: FunctionText, part: str, pieces: str, parts: str) -> str:
    """The first piece of a part."""
    return function.let(f"udiv i64 {function.let(f'mul i64 {part}, {pieces}')}, {parts}")


def _taken(function: FunctionText, part: str) -> str:
    """Where it is counted how many pieces of a part have been taken."""
    return function.let(f"getelementptr [{CACHE_LINE} x i8], ptr @taken, i64 {part}")


def _start() -> str:
    """Start as many workers as are missing, and give how many threads there are then. For the owner of the job."""
    function = FunctionText("internal i64 @start(i64 %limit)")
    test, create, created, failed, done = map(function.label, ("test", "create", "created", "failed", "done"))
    place = function.stack(1)
    function.jump(test)
    function.begin(test)
    started = _get(function, "started")
    following = function.let(f"add i64 {started}, 1")
    function.branch(function.compare("ult", following, "%limit"), create, done)
    function.begin(create)
    number = function.let(f"inttoptr i64 {following} to ptr")
    system = _system(function, "pthread_create")
    problem = function.call("i32", system, f"ptr {place}", "ptr null", "ptr @work", f"ptr {number}")
    function.branch(function.compare("eq", problem, "0", "i32"), created, failed)
    function.begin(created)
    thread = function.load("i64", place)
    function.call("i32", _system(function, "pthread_detach"), f"i64 {thread}")
    with function.when(function.compare("ult", started, str(MOST_NAMED))):
        function.store("i64", thread, function.let(f"getelementptr i64, ptr @names, i64 {started}"))
    _set(function, "started", following)
    function.jump(test)
    function.begin(failed)
    _set(function, "limit", following)
    function.jump(done)
    function.begin(done)
    function.give("i64", function.call("i64", "@llvm.umin.i64", f"i64 {following}", "i64 %limit"))
    return function.text()


def _share() -> str:
    """Run a function on all positions from 0 to ``last``, in pieces cut at multiples of ``step``, by ``most`` threads.

    A piece has at least ``least`` positions, since a thread is not worth waking for fewer.
    """
    parameters = ("ptr %function", "ptr %arguments", *(f"i64 %{name}" for name in ("last", "step", "least", "most")))
    function = FunctionText(f"void @share({', '.join(parameters)})")
    alone, together = function.label("alone"), function.label("together")
    allowed = function.call("i64", "@llvm.umin.i64", f"i64 {_get(function, 'limit')}", "i64 %most")
    function.require(function.compare("sgt", allowed, "1"), alone)
    worth = function.let(f"sdiv i64 %last, {function.let('call i64 @llvm.umax.i64(i64 %least, i64 1)')}")
    function.require(function.compare("sgt", worth, "1"), alone)
    before = function.let(f"atomicrmw xchg ptr {_field(function, 'busy')}, i64 1 seq_cst")
    function.branch(function.compare("eq", before, "0"), together, alone)
    function.begin(alone)
    function.run("%function", "ptr %arguments", "i64 0", "i64 %last", "i64 0")
    function.give("void")
    function.begin(together)
    limit = function.call("i64", "@start", f"i64 {allowed}")
    wanted = function.let(f"mul i64 {limit}, {PIECES}")
    most = function.call("i64", "@llvm.umin.i64", f"i64 {worth}", f"i64 {wanted}")
    piece = _round_up(function, _up(function, "%last", most), "%step")
    parts = function.call("i64", "@llvm.umin.i64", f"i64 {limit}", f"i64 {MOST_PARTS}")
    for name, value, kind in (
        ("most", "%most", "i64"),
        ("piece", piece, "i64"),
        ("pieces", _up(function, "%last", piece), "i64"),
        ("last", "%last", "i64"),
        ("function", "%function", "ptr"),
        ("arguments", "%arguments", "ptr"),
        ("parts", parts, "i64"),
    ):
        _set(function, name, value, kind)
    with function.each_below(parts) as part:
        function.do(f"store atomic i64 0, ptr {_taken(function, part)} seq_cst, align 8")
    _set(function, "open", "1")
    _add(function, "generation", 1)
    with function.when(function.compare("ne", _get(function, "sleepers"), "0")):
        function.call("i32", _system(function, "pthread_mutex_lock"), "ptr @mutex")
        function.call("i32", _system(function, "pthread_cond_broadcast"), "ptr @condition")
        function.call("i32", _system(function, "pthread_mutex_unlock"), "ptr @mutex")
    function.run("@take", "i64 0")
    _set(function, "open", "0")
    _wait_until_nobody_is_inside(function)
    _set(function, "busy", "0")
    function.give("void")
    return function.text()


def _up(function: FunctionText, number: str, divisor: str) -> str:
    """A quotient, rounded up."""
    above = function.let(f"sub i64 {function.let(f'add i64 {number}, {divisor}')}, 1")
    return function.let(f"udiv i64 {above}, {divisor}")


def _round_up(function: FunctionText, number: str, step: str) -> str:
    return function.let(f"mul i64 {_up(function, number, step)}, {step}")


def _wait_until_nobody_is_inside(function: FunctionText) -> None:
    test, wait, done = function.label("test"), function.label("wait"), function.label("done")
    before, following = function.block, f"%following_{wait.replace('.', '_')}"
    function.jump(test)
    function.begin(test)
    looks = function.phi("i64", ("0", before), (following, f"{wait}.end"))
    function.branch(function.compare("eq", _get(function, "inside"), "0"), done, wait)
    function.begin(wait)
    function.pause()
    with function.when(function.compare("ugt", looks, str(PATIENCE))):
        function.call("i32", _system(function, "sched_yield"))
    function.jump(f"{wait}.end")
    function.begin(f"{wait}.end")
    function.do(f"{following} = add i64 {looks}, 1")
    function.jump(test)
    function.begin(done)


def _work() -> str:
    """The life of a worker; ``number`` counts them from 1."""
    function = FunctionText("ptr @work(ptr %number)")
    names = ("idle", "look", "again", "sleep", "doze", "nap", "awake", "go", "enter", "leave", "ready")
    idle, look, again, sleep, doze, nap, awake, go, enter, leave, ready = map(function.label, names)
    number = function.let("ptrtoint ptr %number to i64")
    start = function.block
    function.jump(idle)
    function.begin(idle)
    seen = function.phi("i64", ("0", start), ("%generation", go), ("%generation", leave))
    function.jump(look)
    function.begin(look)
    looks = function.phi("i64", ("0", idle), ("%looks", "looked"))
    function.do(f"%spinning = load atomic i64, ptr {_field(function, 'generation')} seq_cst, align 8")
    function.branch(function.compare("ne", "%spinning", seen), ready, again)
    function.begin(again)
    function.pause()
    function.do(f"%looks = add i64 {looks}, 1")
    tired = function.let(f"urem i64 %looks, {GENEROUS}")
    with function.when(function.compare("eq", tired, "0")):
        function.call("i32", _system(function, "sched_yield"))
    function.jump("looked")
    function.begin("looked")
    function.branch(function.compare("ult", "%looks", str(SPINS)), look, sleep)
    function.begin(sleep)
    function.call("i32", _system(function, "pthread_mutex_lock"), "ptr @mutex")
    _add(function, "sleepers", 1)
    function.jump(doze)
    function.begin(doze)
    function.do(f"%waking = load atomic i64, ptr {_field(function, 'generation')} seq_cst, align 8")
    function.branch(function.compare("eq", "%waking", seen), nap, awake)
    function.begin(nap)
    function.call("i32", _system(function, "pthread_cond_wait"), "ptr @condition", "ptr @mutex")
    function.jump(doze)
    function.begin(awake)
    _add(function, "sleepers", -1)
    function.call("i32", _system(function, "pthread_mutex_unlock"), "ptr @mutex")
    function.jump(ready)
    function.begin(ready)
    function.do(f"%generation = phi i64 [%spinning, %{look}], [%waking, %{awake}]")
    function.jump(go)
    function.begin(go)
    function.branch(function.compare("slt", number, _get(function, "limit")), enter, idle)
    function.begin(enter)
    _add(function, "inside", 1)
    with function.when(function.compare("ne", _get(function, "open"), "0")):
        wanted = function.compare("slt", number, _get(function, "most"))
        with function.when(wanted):
            function.run("@take", f"i64 {number}")
    _add(function, "inside", -1)
    function.jump(leave)
    function.begin(leave)
    function.jump(idle)
    return function.text()
