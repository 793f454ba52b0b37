"""What the partitions of one call share, as LLVM text: the frame, and the channels between them.

A *frame* (`frames_text.py`) lives as long as its call. It holds a mutex and a condition, what `FRAME_FIELDS` says, a
record for each partition, called a *party* here, and a queue for each channel.

    send     puts a message at the end of a channel's queue, and never fails: so it may stand behind a meeting
    receive  takes the first message; it waits until there is one, or until the sender has ended, which is a failure
    meet     waits until every party has come; it fails for all if one of them has ended before
    finish   notes that a party has ended, and how

A message is a buffer, which belongs to the message while it is on its way, its size in bytes, and 64-bit words: the
dims of an array, or a number. The first message of a channel that nobody has received yet lies in the frame, the
others in memory of the call's allocator. Where there is none, the sender waits until there is room in the frame. Nobody
waits in a circle for that: whoever is at the earliest place of the program waits for nobody, since what he is to
receive was sent before (`jitflow.ir.channels`). What nobody receives is freed with the frame (`clear`).

Who waits looks for a while, then sleeps. The party of the caller's thread wakes up now and then and polls, so that
Ctrl-C ends it (`jitflow.runtime.native.polling`).

The user is told of the failure that his program would have come to first: behind the error slots of a party is its
record of how far it has come (`jitflow.ir.channels`), and of several failures that with the least record is the
``first``. So a party's failure stops nobody who is at something that comes before it: others go on until they wait for
a message that nobody sends any more, or meet, or find when they poll that they are behind the first failure.
"""

from __future__ import annotations

from collections.abc import Callable

from jitflow.ir.status import INTERRUPTED, STOPPED
from jitflow.runtime.native.llvm_text import FunctionText, pause_declarations
from jitflow.runtime.parallel.frames_text import (
    CONDITION,
    MUTEX,
    SYSTEM_FUNCTIONS,
    Frame,
    party_offset,
    system_function,
)

__all__ = ["CHANNEL_BYTES", "ERROR_WORDS", "channels_text", "wait_until"]


ERROR_WORDS = 16
_FIRST, _LAST, _BUSY, _OWN = 0, 8, 16, 24
"""A channel: its first and last message, whether the one in the frame is in use, and that one, which ends it."""
_NEXT, _BUFFER, _BYTES, _SIZE, _WORDS = 0, 8, 16, 24, 32
"""A message: the one behind it, its buffer, and what memory it takes itself."""
CHANNEL_BYTES = _OWN + _WORDS
"""Of a channel without the words of its message."""

_SLICE = 50_000_000
"""Nanoseconds after which who polls wakes up."""
_SECOND = 1_000_000_000
_REALTIME = 0
"""The id of the clock by which a condition waits."""


def channels_text() -> str:
    """The functions, and the table of the system's."""
    functions = (_doze, _poll, _send, _receive, _arrive, _meet, _is_before, _stops, _finish, _clear)
    return "\n".join(
        [
            f"@devices_system = global [{len(SYSTEM_FUNCTIONS)} x ptr] zeroinitializer",
            *pause_declarations(),
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            *(write() for write in functions),
        ]
    )


def wait_until(
    function: FunctionText, spins: str, test: Callable[[], str], lock: Callable[[], None], sleep: Callable[[], None]
) -> None:
    """Wait until a test holds: look for a while, then take a lock and sleep between looking. Ends with the lock held.

    ``test`` writes code that any thread may run at any time; ``sleep`` code that gives the lock away, and returns with
    it or goes elsewhere.
    """
    look, again, slow, check, rest, done = map(function.label, ("look", "again", "slow", "check", "rest", "done"))
    before, following = function.block, f"%following.{look}"
    function.jump(look)
    function.begin(look)
    looks = function.phi("i64", ("0", before), (following, f"{again}.end"))
    function.branch(test(), slow, again)
    function.begin(again)
    function.pause()
    function.jump(f"{again}.end")
    function.begin(f"{again}.end")
    function.do(f"{following} = add i64 {looks}, 1")
    function.branch(function.compare("ult", following, spins), look, slow)
    function.begin(slow)
    lock()
    function.jump(check)
    function.begin(check)
    function.branch(test(), done, rest)
    function.begin(rest)
    sleep()
    function.jump(check)
    function.begin(done)


# -- waiting ---------------------------------------------------------------------------------------


def _doze() -> str:
    """Sleep, with the mutex given away, until somebody wakes all; who polls, ``%last`` not being null, not for long."""
    function = FunctionText("void @doze(ptr %frame, ptr %last)")
    frame, time = Frame(function, "%frame"), function.stack(2)
    timed, woken = function.label("timed"), function.label("woken")
    places = [f"ptr {function.at('%frame', place)}" for place in (CONDITION, MUTEX)]
    frame.add("sleepers", 1)
    function.require(function.is_null("%last"), timed)
    function.call("i32", system_function(function, "pthread_cond_wait"), *places)
    function.jump(woken)
    function.begin(timed)
    function.call("i32", system_function(function, "clock_gettime"), f"i32 {_REALTIME}", f"ptr {time}")
    nanoseconds = function.let(f"add i64 {function.load('i64', time, 8)}, {_SLICE}")
    function.add_to(time, 0, function.let(f"udiv i64 {nanoseconds}, {_SECOND}"))
    function.store("i64", function.let(f"urem i64 {nanoseconds}, {_SECOND}"), time, 8)
    function.call("i32", system_function(function, "pthread_cond_timedwait"), *places, f"ptr {time}")
    function.jump(woken)
    function.begin(woken)
    frame.add("sleepers", -1)
    function.give("void")
    return function.text()


def _poll() -> str:
    """Ask whether to go on, without the mutex, if this party polls: 0 to do so."""
    function = FunctionText("i32 @poll_between(ptr %frame, ptr %last)")
    frame, silent = Frame(function, "%frame"), function.label("silent")
    poll = frame.get("poll", "ptr")
    function.require_not(function.is_null("%last"), silent)
    function.require_not(function.is_null(poll), silent)
    frame.unlock()
    answer = function.call("i32", poll, "ptr %last")
    frame.lock()
    function.give("i32", answer)
    function.begin(silent)
    function.give("i32", "0")
    return function.text()


def _sleep(function: FunctionText, last: str, interrupted: str) -> None:
    """Sleep once; where a poll then says that it is over, go elsewhere, with the mutex held."""
    function.run("@doze", "ptr %frame", f"ptr {last}")
    answer = function.call("i32", "@poll_between", "ptr %frame", f"ptr {last}")
    function.require(function.compare("eq", answer, "0", "i32"), interrupted)


def _last(function: FunctionText) -> str:
    """The word for polls, where ``%polls`` says that there are some, else null."""
    word = function.stack(1)
    function.store("i64", "0", word)
    return function.let(f"select i1 %polls, ptr {word}, ptr null")


# -- messages --------------------------------------------------------------------------------------


def _send() -> str:
    """``void send(frame, channel, receiver, buffer, bytes, words, count)``."""
    parameters = "ptr %frame, i64 %channel, i64 %receiver, ptr %buffer, i64 %bytes, ptr %words, i64 %count"
    function = FunctionText(f"void @send({parameters})")
    frame = Frame(function, "%frame")
    look, own, busy, full, join = map(function.label, ("look", "own", "busy", "full", "join"))
    channel, receiver = frame.channel("%channel"), frame.party("%receiver")
    size = function.let(f"add i64 {function.let('mul i64 %count, 8')}, {_WORDS}")
    frame.lock()
    function.jump(look)
    function.begin(look)
    function.branch(function.compare("eq", function.load("i64", channel, _BUSY), "0"), own, busy)
    function.begin(own)
    function.store("i64", "1", channel, _BUSY)
    inside = function.at(channel, _OWN)
    function.jump(join)
    function.begin(busy)
    fresh, other = function.call("ptr", frame.get("allocate", "ptr"), f"i64 {size}"), function.block
    function.branch(function.is_null(fresh), full, join)
    function.begin(full)
    with function.when(function.compare("ne", function.load("i64", receiver, party_offset("ended")), "0")):
        frame.unlock()
        with function.when(function.compare("ne", "%buffer", "null", "ptr")):
            function.run(frame.get("free", "ptr"), "ptr %buffer", "i64 %bytes")
        function.give("void")
    frame.add("crowded", 1)
    function.run("@doze", "ptr %frame", "ptr null")
    frame.add("crowded", -1)
    function.jump(look)
    function.begin(join)
    message = function.phi("ptr", (inside, own), (fresh, other))
    function.store("ptr", "null", message, _NEXT)
    function.store("ptr", "%buffer", message, _BUFFER)
    function.store("i64", "%bytes", message, _BYTES)
    function.store("i64", size, message, _SIZE)
    words = function.let("mul i64 %count, 8")
    target = function.at(message, _WORDS)
    function.run("@llvm.memcpy.p0.p0.i64", f"ptr {target}", "ptr %words", f"i64 {words}", "i1 false")
    last = function.load("ptr", channel, _LAST)
    empty = function.is_null(last)
    place = function.let(f"select i1 {empty}, ptr {channel}, ptr {last}")  # the links come first in both
    function.do(f"store atomic ptr {message}, ptr {place} seq_cst, align 8")
    function.store("ptr", message, channel, _LAST)
    frame.wake_all()
    frame.unlock()
    function.give("void")
    return function.text()


def _receive() -> str:
    """``i32 receive(frame, channel, sender, message, count, polls)``: fills buffer, bytes and words, or fails."""
    parameters = "ptr %frame, i64 %channel, i64 %sender, ptr %message, i64 %count, i1 %polls"
    function = FunctionText(f"i32 @receive({parameters})")
    frame = Frame(function, "%frame")
    stopped, interrupted = function.label("stopped"), function.label("interrupted")
    last, channel, sender = _last(function), frame.channel("%channel"), frame.party("%sender")

    def arrived() -> str:
        first = function.let(f"load atomic ptr, ptr {function.at(channel, _FIRST)} seq_cst, align 8")
        ended = function.let(
            f"load atomic i64, ptr {function.at(sender, party_offset('ended'))} seq_cst, align 8"
        )  # fmt: skip
        there, over = function.compare("ne", first, "null", "ptr"), function.compare("ne", ended, "0")
        return function.let(f"or i1 {there}, {over}")

    wait_until(function, frame.get("spins"), arrived, frame.lock, lambda: _sleep(function, last, interrupted))
    message = function.load("ptr", channel, _FIRST)
    function.require_not(function.is_null(message), stopped)
    following = function.load("ptr", message, _NEXT)
    function.do(f"store atomic ptr {following}, ptr {function.at(channel, _FIRST)} seq_cst, align 8")
    with function.when(function.is_null(following)):
        function.store("ptr", "null", channel, _LAST)
    function.store("ptr", function.load("ptr", message, _BUFFER), "%message")
    function.store("i64", function.load("i64", message, _BYTES), "%message", 8)
    target, words = function.at("%message", 16), function.let("mul i64 %count, 8")
    source = function.at(message, _WORDS)
    function.run("@llvm.memcpy.p0.p0.i64", f"ptr {target}", f"ptr {source}", f"i64 {words}", "i1 false")
    _drop(function, frame, channel, message)
    frame.unlock()
    function.give("i32", "0")
    for label, status in ((stopped, STOPPED), (interrupted, INTERRUPTED)):
        function.begin(label)
        frame.unlock()
        function.give("i32", str(status))
    return function.text()


def _drop(function: FunctionText, frame: Frame, channel: str, message: str) -> None:
    """A message has been taken out: give its memory back."""
    own, other, done = (function.label(hint) for hint in ("own", "other", "done"))
    function.branch(function.compare("eq", message, function.at(channel, _OWN), "ptr"), own, other)
    function.begin(own)
    function.store("i64", "0", channel, _BUSY)
    with function.when(function.compare("ne", frame.get("crowded"), "0")):
        frame.wake_all()
    function.jump(done)
    function.begin(other)
    function.run(frame.get("free", "ptr"), f"ptr {message}", f"i64 {function.load('i64', message, _SIZE)}")
    function.jump(done)
    function.begin(done)


def _clear() -> str:
    """Free what nobody has received; all parties have ended."""
    function = FunctionText("void @clear(ptr %frame)")
    frame = Frame(function, "%frame")
    with function.each_below(frame.get("channels")) as number:
        channel, next_, one, empty = frame.channel(number), *map(function.label, ("next", "one", "empty"))
        function.jump(next_)
        function.begin(next_)
        message = function.load("ptr", channel, _FIRST)
        function.branch(function.is_null(message), empty, one)
        function.begin(one)
        function.store("ptr", function.load("ptr", message, _NEXT), channel, _FIRST)
        buffer = function.load("ptr", message, _BUFFER)
        with function.when(function.compare("ne", buffer, "null", "ptr")):
            function.run(
                frame.get("free", "ptr"), f"ptr {buffer}", f"i64 {function.load('i64', message, _BYTES)}"
            )  # fmt: skip
        _drop(function, frame, channel, message)
        function.jump(next_)
        function.begin(empty)
    function.give("void")
    return function.text()


# -- meeting and ending ----------------------------------------------------------------------------


def _arrive() -> str:
    """Come to a meeting; who comes last ends it for all. The mutex is held."""
    function = FunctionText("void @arrive(ptr %frame)")
    frame = Frame(function, "%frame")
    arrived = frame.add("arrived", 1)
    with function.when(function.compare("eq", arrived, frame.get("parties"))):
        frame.set("arrived", "0")
        frame.add("turn", 1)
        frame.wake_all()
    function.give("void")
    return function.text()


def _meet() -> str:
    """``i32 meet(frame, polls)``. Who polls has not come while he does: what he finds may still keep him away."""
    function = FunctionText("i32 @meet(ptr %frame, i1 %polls)")
    frame = Frame(function, "%frame")
    last, stopped, interrupted = _last(function), *map(function.label, ("stopped", "interrupted"))
    frame.lock()
    turn = frame.get("turn")
    function.run("@arrive", "ptr %frame")
    frame.unlock()

    def decided() -> str:
        met, over = function.compare("ne", frame.get("turn"), turn), function.compare("ne", frame.get("ended"), "0")
        return function.let(f"or i1 {met}, {over}")

    def sleep() -> None:
        function.run("@doze", "ptr %frame", f"ptr {last}")
        asks = function.compare("ne", last, "null", "ptr")
        with function.when(function.let(f"and i1 {asks}, {function.compare('eq', frame.get('turn'), turn)}")):
            frame.add("arrived", -1)
            answer = function.call("i32", "@poll_between", "ptr %frame", f"ptr {last}")
            function.require(function.compare("eq", answer, "0", "i32"), interrupted)
            function.run("@arrive", "ptr %frame")

    wait_until(function, frame.get("spins"), decided, frame.lock, sleep)
    function.require(function.compare("ne", frame.get("turn"), turn), stopped)
    frame.unlock()
    function.give("i32", "0")
    function.begin(stopped)
    frame.add("arrived", -1)
    frame.unlock()
    function.give("i32", str(STOPPED))
    function.begin(interrupted)
    frame.unlock()
    function.give("i32", str(INTERRUPTED))
    return function.text()


def _is_before() -> str:
    """Whether a party's failure comes before what another one is at, or has failed at, in the user's program.

    An interruption comes before everything.
    """
    function = FunctionText("i1 @is_before(ptr %party, ptr %other, i64 %levels)")
    status = function.load("i64", "%party", party_offset("status"))
    with function.when(function.compare("eq", status, str(INTERRUPTED))):
        function.give("i1", "true")
    place = party_offset("error") + 8 * ERROR_WORDS
    mine, others = function.at("%party", place), function.at("%other", place)
    with function.each_below("%levels") as level:
        own, other = (function.load("i64", function.element(record, level)) for record in (mine, others))
        with function.when(function.compare("ne", own, other)):
            function.give("i1", function.compare("slt", own, other))
    function.give("i1", "false")
    return function.text()


def _stops() -> str:
    """``i32 stops(frame, error)``: 0 unless the first failure comes before what the party of these slots is at."""
    function = FunctionText("i32 @stops(ptr %frame, ptr %error)")
    frame, party = Frame(function, "%frame"), function.at("%error", -party_offset("error"))
    frame.lock()
    first = frame.get("first", "ptr")
    before = function.call("i1", "@is_before", f"ptr {first}", f"ptr {party}", f"i64 {frame.get('levels')}")
    frame.unlock()
    function.give("i32", function.let(f"zext i1 {before} to i32"))
    return function.text()


def _finish() -> str:
    """``void finish(frame, party, status)``: the last that a party does with the frame."""
    function = FunctionText("void @finish(ptr %frame, ptr %party, i32 %status)")
    frame, ended = Frame(function, "%frame"), function.at("%party", party_offset("ended"))
    status = function.let("sext i32 %status to i64")
    frame.lock()
    function.store("i64", status, "%party", party_offset("status"))
    failed, told = function.compare("ne", status, "0"), function.compare("ne", status, str(STOPPED))
    with function.when(function.let(f"and i1 {failed}, {told}")):
        first, none, later = frame.get("first", "ptr"), function.label("none"), function.label("later")
        function.require_not(function.is_null(first), none)
        levels = frame.get("levels")
        before = function.call("i1", "@is_before", "ptr %party", f"ptr {first}", f"i64 {levels}")
        behind = function.call("i1", "@is_before", f"ptr {first}", "ptr %party", f"i64 {levels}")
        nearer = function.compare("ult", "%party", first, "ptr")  # the party that stands first, at the same place
        equal = function.let(f"select i1 {behind}, i1 false, i1 {nearer}")
        function.branch(function.let(f"or i1 {before}, {equal}"), none, later)
        function.begin(none)
        frame.set("first", "%party", "ptr")
        function.jump(later)
        function.begin(later)
    function.do(f"store atomic i64 1, ptr {ended} seq_cst, align 8")
    frame.add("ended", 1)
    frame.wake_all()
    frame.unlock()
    function.give("void")
    return function.text()
