"""Programs in several parts on virtual devices: values, failures, interruptions, and nothing left behind."""

from __future__ import annotations

import faulthandler
import gc
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from jitflow.errors import CompilerBug
from jitflow.ir.core import Op
from jitflow.ir.routines import Routine
from jitflow.runtime.native.pool import memory_stats
from jitflow.runtime.parallel import devices
from tests.backends.programs import Allocator, Failed, run
from tests.devices import injuries
from tests.runtime.parts import Part, part, together
from tests.runtime.split_programs import NO_CHECK, SplitProgram

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no POSIX threads")

X = np.linspace(-1.0, 1.0, 1000)


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    """Whatever happens, all memory is given back. Where a test is stuck, the process ends."""
    gc.collect()
    before = memory_stats()["bytes_in_use"]
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    gc.collect()
    assert memory_stats()["bytes_in_use"] == before


# -- values ----------------------------------------------------------------------------------------


def test_fork_and_join() -> None:
    whole, parts = together(
        """func @f(%x: f64[n]) {
  %a: f64[n] = exp %x
  %b: f64[n] = sin %x
  %c: f64[n] = add %a, %b
  yield %c, %b
}""",
        part("cpu:0", """func @f(%x: f64[n]) {
  send %x {channel=0, to="cpu:1"}
  %a: f64[n] = exp %x
  %b: f64[n] = recv {channel=1, source="cpu:1"}
  %c: f64[n] = add %a, %b
  yield %c
}""", [0], [0]),
        part("cpu:1", """func @f() {
  %x: f64[m] = recv {channel=0, source="cpu:0"}
  %b: f64[m] = sin %x
  send %b {channel=1, to="cpu:0"}
  yield %b
}""", [], [1]),
    )  # fmt: skip
    for n in (0, 7, 1000):
        for got, expected in zip(parts(X[:n].copy()), whole(X[:n].copy()), strict=True):
            np.testing.assert_array_equal(got, expected)
    text = "\n".join(map(str, parts.hosts))
    assert text.index("launch") < text.index("recv")  # what is not waited for comes first


@pytest.mark.parametrize("kind", ["f64[n]", "int", "float", "c128", "f16", "pybool", "f64[]"])
def test_messages_keep_their_values(kind: str) -> None:
    _, parts = together(
        f"func @f(%x: {kind}) {{\n  yield %x\n}}",
        part("cpu:0", f"""func @f(%x: {kind}) {{
  %z: index = constant {{value=0, type=<index>}}
  %n: index = constant {{value=40, type=<index>}}
  %s: index = constant {{value=1, type=<index>}}
  %y: {kind} = for %z, %n, %s, %x (%i: index, %c: {kind}) {{
    send %c {{channel=0, to="cpu:1"}}
    send {{channel=2, to="cpu:1"}}
    %d: {kind} = recv {{channel=1, source="cpu:1"}}
    yield %d
  }}
  yield %y
}}""", [0], [0]),
        part("cpu:1", f"""func @f() {{
  %z: index = constant {{value=0, type=<index>}}
  %n: index = constant {{value=40, type=<index>}}
  %s: index = constant {{value=1, type=<index>}}
  for %z, %n, %s (%i: index) {{
    %c: {kind} = recv {{channel=0, source="cpu:0"}}
    recv {{channel=2, source="cpu:0"}}
    send %c {{channel=1, to="cpu:0"}}
    yield
  }}
  yield
}}"""),
    )  # fmt: skip
    value = {"f64[n]": X, "int": 1 << 60, "float": 0.1, "c128": np.complex128(0.5 - 2j), "f16": np.float16(0.1),
             "pybool": True, "f64[]": np.array(0.3)}[kind]  # fmt: skip
    (got,) = parts(value)
    np.testing.assert_array_equal(got, value)
    assert type(got) is type(value)


def _turns(count: int) -> str:
    """The bounds of a loop, as text."""
    return f"""  %z: index = constant {{value=0, type=<index>}}
  %n: index = constant {{value={count}, type=<index>}}
  %s: index = constant {{value=1, type=<index>}}
"""


def test_a_sender_may_be_far_ahead() -> None:
    """A channel has room for all messages: nobody waits to send."""
    turns = _turns(1000)
    _, parts = together(
        "func @f(%x: f64[n]) {\n yield %x\n}",
        part("cpu:0", f"""func @f(%x: f64[n]) {{
{turns}  for %z, %n, %s (%i: index) {{
    %a: f64[n] = add %x, %x
    send %a {{channel=0, to="cpu:1"}}
    yield
  }}
  send {{channel=1, to="cpu:1"}}
  %y: f64[n] = recv {{channel=2, source="cpu:1"}}
  yield %y
}}""", [0], [0]),
        part("cpu:1", f"""func @f(%x: f64[n]) {{
  recv {{channel=1, source="cpu:0"}}
{turns}  %y: f64[n] = for %z, %n, %s, %x (%i: index, %c: f64[n]) {{
    %a: f64[n] = recv {{channel=0, source="cpu:0"}}
    %d: f64[n] = subtract %a, %c
    yield %d
  }}
  send %y {{channel=2, to="cpu:0"}}
  yield
}}""", [0]),
    )  # fmt: skip
    np.testing.assert_array_equal(parts(X)[0], X)


@pytest.mark.parametrize("fails_there", [False, True])
def test_a_sender_waits_for_room_where_there_is_no_memory(fails_there: bool) -> None:
    turns = _turns(100)
    _, parts = together(
        "func @f(%x: f64[n]) {\n yield %x\n}",
        part("cpu:0", f"""func @f(%x: f64[n]) {{
{turns}  for %z, %n, %s (%i: index) {{
    %a: f64[n] = add %x, %x
    send %a {{channel=0, to="cpu:1"}}
    yield
  }}
  %y: f64[n] = recv {{channel=1, source="cpu:1"}}
  yield %y
}}""", [0], [0]),
        part("cpu:1", f"""func @f(%x: f64[n]) {{
{fails("no", 1) if fails_there else ""}{turns}  %y: f64[n] = for %z, %n, %s, %x (%i: index, %c: f64[n]) {{
    {loop("wait", turns=1000).strip()}
    %a: f64[n] = recv {{channel=0, source="cpu:0"}}
    %d: f64[n] = subtract %a, %c
    yield %d
  }}
  send %y {{channel=1, to="cpu:0"}}
  yield
}}""", [0]),
    )  # fmt: skip
    injuries.wound(parts.specialisation)
    for first in (0, 50):
        with injuries.messages().refusing(first):
            if fails_there:
                with pytest.raises(ValueError, match="no"):
                    parts(X)
            else:
                np.testing.assert_array_equal(parts(X)[0], X)


# -- random programs -------------------------------------------------------------------------------


def outcome(program: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return program(*arguments)
    except Exception as error:
        return error


def check_calls(seed: int, calls: int) -> None:
    """A random program gives what it gives as a whole: results, what is written, and the first error."""
    program, random = SplitProgram(seed), Random(seed)
    whole, parts = together(program.whole, *program.parts)
    codes = [*program.codes, *[NO_CHECK] * (1 + len(program.codes))]
    for _ in range(calls):
        p, q, x = random.choice(codes), random.choice(codes), X[: random.choice([0, 7, 1000])].copy()
        outs = np.zeros_like(x), np.zeros_like(x)
        expected, got = outcome(whole, x, outs[0], p, q), outcome(parts, x, outs[1], p, q)
        assert type(got) is type(expected), f"seed {seed}, {p}, {q}: expected {expected!r}, got {got!r}"
        np.testing.assert_array_equal(*outs, err_msg=f"seed {seed}, {p}, {q}")
        if isinstance(expected, Exception):
            assert str(got) == str(expected), f"seed {seed}, {p}, {q}"
        else:
            for one, other in zip(got, expected, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}")


def starve(seed: int, steps: int) -> None:
    """Wherever there is no memory, the program ends with that, and gives all back that it has."""
    program = SplitProgram(seed)
    _, parts = together(program.whole, *program.parts)
    x, out = X[:50].copy(), np.zeros(50)
    symbols = list(parts.specialisation.context)[2:]

    def call(allocator: Allocator) -> None:
        run(parts.executable, [x, 50, 8, out, 50, 8, NO_CHECK, NO_CHECK], parts.lowered.result_slots, allocator,
            [symbol or 0 for symbol in symbols])  # fmt: skip

    plenty = Allocator()
    call(plenty)
    results = len(plenty.live)
    random = Random(seed)
    for fail_at in sorted(random.sample(range(plenty.count), min(steps, plenty.count))):
        allocator = Allocator(fail_at)
        try:
            call(allocator)
        except Failed as failure:
            assert failure.status == 2
            assert not allocator.live
        else:  # what is sent waits until there is room for it
            assert len(allocator.live) == results
    call(plenty)
    assert len(plenty.live) == 2 * results


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    check_calls(seed, 6)


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_without_memory(seed: int) -> None:
    starve(seed, 6)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_random_programs(seed: int) -> None:
    check_calls(seed, 7)
    starve(seed, 3)


# -- failures --------------------------------------------------------------------------------------

_LOOP = """  %{name}_start: f64 = constant {{value=0.0, type=<f64>}}
  %{name}_half: f64 = constant {{value=0.5, type=<f64>}}
  %{name}_limit: f64 = constant {{value={limit}, type=<f64>}}
  %{name}_one: f64 = constant {{value=1.0, type=<f64>}}
  %{name}: f64, %{name}_turns: f64 = while %{name}_start, %{name}_start (%v: f64, %t: f64) {{
    %more: bool = less %t, %{name}_limit
    yield %more
  }} (%w: f64, %u: f64) {{
    %h: f64 = multiply %w, %{name}_half
    %g: f64 = add %h, %{name}_half
    %k: f64 = add %u, %{name}_one
    yield %g, %k
  }}
"""


def loop(name: str, *, turns: float = 1e18) -> str:
    """A loop that takes hours, or so many turns of some nanoseconds."""
    return _LOOP.format(name=name, limit=turns)


def fails(message: str, order: int) -> str:
    return f"""  progress {{level=0, order={order}}}
  %no{order}: bool = constant {{value=false, type=<bool>}}
  check %no{order} {{error="ValueError", message="{message}"}}
"""


def raw(device: str, body: str, parameters: str = "", positions: tuple[int, ...] = ()) -> Part:
    return part(device, f"func @f({parameters}) {{\n{body}  yield\n}}", positions)


EMPTY = "func @f(%out: var f64[n]) {\n yield\n}"


def test_a_failure_ends_a_loop_that_comes_behind_it() -> None:
    ahead = "  progress {level=0, order=2}\n" + loop("a")
    for bodies in ((fails("first", 1), ahead), (ahead, fails("first", 1))):
        _, parts = together(EMPTY, *(raw(f"cpu:{number}", body) for number, body in enumerate(bodies)))
        with pytest.raises(ValueError, match="first"):
            parts(X.copy())


def test_a_failure_ends_nothing_that_comes_before_it() -> None:
    """What a caller can see is written as far as the program comes, and an error that comes before is told."""
    writes = "  progress {level=0, order=1}\n" + loop("a", turns=3e7)
    writes += """  %b: f64[n] = broadcast %a {dims=[n], axes=[]}
  store %out, %b
"""  # fmt: skip
    late = fails("late", 3)

    def silent(text: str) -> str:
        return re.sub(r"  progress .*\n", "", text)

    for home, body, message in (
        (late, writes, "late"), (late, writes + fails("early", 2), "early"), (silent(late), silent(writes), "late"),
    ):  # fmt: skip
        busy = part("cpu:1", f"func @f(%out: var f64[n]) {{\n{body}  yield\n}}", [0])
        _, parts = together(EMPTY, raw("cpu:0", home), busy)
        out = np.zeros(5)
        with pytest.raises(ValueError, match=message):
            parts(out)
        assert (out == 1).all()


@pytest.mark.parametrize("turns", [(4, 7), (7, 4), (5, 5)])
def test_the_first_of_two_failures_in_a_loop_is_told(turns: tuple[int, int]) -> None:
    def failing(number: int) -> str:
        return f"""  %z: index = constant {{value=0, type=<index>}}
  %n: index = constant {{value=10, type=<index>}}
  %s: index = constant {{value=1, type=<index>}}
  %a: int = constant {{value=0, type=<int>}}
  %one: int = constant {{value=1, type=<int>}}
  %bad: int = constant {{value={turns[number]}, type=<int>}}
  progress {{level=0, order=1}}
  %e: int = for %z, %n, %s, %a (%i: index, %t: int) {{
    progress {{level=1}}
    progress {{level=2, order={2 + number}}}
    %fine: pybool = not_equal %t, %bad
    check %fine {{error="ValueError", message="part {number}"}}
    %u: int = add %t, %one
    yield %u
  }}
"""

    _, parts = together(EMPTY, raw("cpu:0", failing(0)), raw("cpu:1", failing(1)))
    with pytest.raises(ValueError, match=f"part {int(turns[1] < turns[0])}"):
        parts(X.copy())


def test_who_meets_fails_with_all_and_a_variable_stays() -> None:
    writes = part("cpu:1", """func @f(%out: var f64[n]) {
  %x: f64[n] = load %out
  %y: f64[n] = exp %x
  meet
  store %out, %y
  yield
}""", [0])  # fmt: skip
    for body, message in ((fails("no", 1) + "  meet\n", "no"), ("  meet\n", "")):
        _, parts = together(EMPTY, raw("cpu:0", body), writes)
        out = np.zeros(5)
        if message:
            with pytest.raises(ValueError, match=message):
                parts(out)
        else:
            parts(out)
        assert (out == (0 if message else 1)).all()


def test_nothing_fails_behind_a_meeting() -> None:
    """Memory for results is taken in front of it, and nobody is interrupted behind it."""
    _, parts = together(
        "func @f(%x: f64[n]) {\n yield %x, %x\n}",
        part("cpu:0", "func @f(%x: f64[n]) {\n  meet\n  meet\n  yield %x\n}", [0], [0]),
        part("cpu:1", """func @f(%x: f64[n]) {
  meet
  %y: f64[n] = exp %x
  meet
  yield %y
}""", [0], [1]),
    )  # fmt: skip
    for host in parts.hosts:
        names = [op.name for op in host.region.ops]
        assert names.count("meet") == 2
        behind = host.region.ops[names.index("meet") + 1 :]
        assert not any(op.name == "alloc" or "polls" in op.attributes for op in behind)


def test_who_never_comes_to_a_meeting_is_not_waited_for() -> None:
    _, parts = together(EMPTY, raw("cpu:0", "  meet\n"), raw("cpu:1", "  meet\n  meet\n"))
    with pytest.raises(CompilerBug, match="code 6"):
        parts(X.copy())


def test_messages_that_nobody_takes_are_freed() -> None:
    sends = """  %z: index = constant {value=0, type=<index>}
  %n: index = constant {value=5, type=<index>}
  %s: index = constant {value=1, type=<index>}
  for %z, %n, %s (%i: index) {
    %a: f64[n] = load %out
    %b: f64[n] = exp %a
    send %b {channel=0, to="cpu:1"}
    yield
  }
"""
    _, parts = together(
        EMPTY, raw("cpu:0", sends, "%out: var f64[n]", (0,)),
        raw("cpu:1", fails("no", 1) + '  %x: f64[n] = recv {channel=0, source="cpu:0"}\n'),
    )  # fmt: skip
    for _ in range(20):
        with pytest.raises(ValueError, match="no"):
            parts(X.copy())


def test_a_program_needs_its_threads() -> None:
    _, parts = together(EMPTY, raw("cpu:0", ""), raw("cpu:1", ""))
    parts(X.copy())
    with injuries.no_more_threads(), pytest.raises(RuntimeError, match="can't start new thread"):
        parts(X.copy())
    parts(X.copy())


# -- interruptions ---------------------------------------------------------------------------------


class _TimeIsUpError(Exception):
    pass


RECV = '  %b: f64 = recv {channel=0, source="cpu:1"}\n'
SEND = '  send %a {channel=0, to="cpu:0"}\n'


def dialogue(out: int, back: int, other: str) -> str:
    """Messages there and back, of arrays and of nothing, for hours."""
    return f"""  %z: index = constant {{value=0, type=<index>}}
  %n: index = constant {{value=1000000000000, type=<index>}}
  %s: index = constant {{value=1, type=<index>}}
  %a: f64[50] = constant {{value={[0.5] * 50}, type=<f64[50]>}}
  %c: f64[50] = for %z, %n, %s, %a (%i: index, %v: f64[50]) {{
    send %v {{channel={out}, to="{other}"}}
    send {{channel={out + 2}, to="{other}"}}
    %w: f64[50] = recv {{channel={back}, source="{other}"}}
    recv {{channel={back + 2}, source="{other}"}}
    %x: f64[50] = sin %w
    yield %x
  }}
"""


@pytest.mark.parametrize(
    ("home", "other"),
    [
        ("", loop("a")),
        (RECV, loop("a") + SEND),
        ("  meet\n", loop("a") + "  meet\n"),
        (loop("a"), '  %b: f64 = recv {channel=0, source="cpu:0"}\n'),
        (loop("a"), loop("a")),
        (fails("late", 9), loop("a")),
        (dialogue(1, 0, "cpu:1"), dialogue(0, 1, "cpu:0")),
    ],
    ids=["at the end", "in recv", "in meet", "at home", "both", "after a failure", "in a dialogue"],
)
def test_an_interruption_ends_all(home: str, other: str) -> None:
    _, parts = together(EMPTY, raw("cpu:0", home), raw("cpu:1", other))

    def interrupt(number: int, frame: object) -> None:
        raise _TimeIsUpError

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            start = time.monotonic()
            with pytest.raises(_TimeIsUpError):
                parts(X.copy())
            assert time.monotonic() - start < 10
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


# -- callbacks, threads, processes -----------------------------------------------------------------


def calling(text: str, function: Callable[..., Any]) -> Part:
    """The part of the caller's thread, in which the routine of no name is a function of Python's."""
    made = part("cpu:0", text, [0])
    routine = Routine.of(function, "callback")

    def replaced(op: Op) -> Op:
        if op.name != "host_call":
            return op
        return replace(op, attributes=MappingProxyType({**op.attributes, "routine": routine}))

    return replace(made, function=made.function.with_ops(map(replaced, made.function.region.ops)))


CALLBACK = """func @f(%out: var f64[n]) {
  host_call {routine="numpy.sort", keywords=[], options=[], effect="external"}
  %a: f64 = constant {value=2.0, type=<f64>}
  send %a {channel=0, to="cpu:1"}
  yield
}"""
WAITS = '  %b: f64 = recv {channel=0, source="cpu:0"}\n'


def test_what_a_callback_raises_ends_all() -> None:
    def callback() -> None:
        raise LookupError("mine")

    _, parts = together(EMPTY, calling(CALLBACK, callback), raw("cpu:1", WAITS))
    for _ in range(20):
        with pytest.raises(LookupError, match="mine"):
            parts(X.copy())


def test_ctrl_c_inside_of_a_callback_ends_what_comes_before_it() -> None:
    """As if it had come a moment earlier; what the callback itself raises has its place in the program."""

    def callback() -> None:
        raise KeyboardInterrupt

    body = CALLBACK.replace("{\n", "{\n  progress {level=0, order=2}\n", 1)
    ahead = "  progress {level=0, order=1}\n" + loop("a")
    _, parts = together(EMPTY, calling(body, callback), raw("cpu:1", ahead + WAITS))
    with pytest.raises(KeyboardInterrupt):
        parts(X.copy())


def test_what_a_routine_raises_in_another_thread() -> None:
    """One that the user gets, and one that he does not, since another failure comes first."""
    solves = """func @f(%x: f64[n, n], %y: f64[n]) {
  progress {level=0, order=2}
  %s: f64[n] = host_call %x, %y {routine="numpy.linalg.solve", keywords=["", ""], options=[], effect="check"}
  yield %s
}"""
    for home, error in (("", "Singular"), (fails("no", 1), "no")):
        body = f"func @f() {{\n{home}  yield\n}}"
        whole = "func @f(%x: f64[n, n], %y: f64[n]) {\n  yield %y\n}"
        _, parts = together(whole, part("cpu:0", body), part("cpu:1", solves, [0, 1], [0]))
        if not home:
            np.testing.assert_allclose(parts(np.eye(3) * 2, np.ones(3))[0], 0.5)
        for _ in range(20):
            with pytest.raises(np.linalg.LinAlgError if error != "no" else ValueError, match=error):
                parts(np.zeros((3, 3)), np.ones(3))


def test_the_caller_does_not_hold_what_routines_elsewhere_need(function_type: Any) -> None:
    solves = """func @f(%x: f64[n, n], %y: f64[n]) {
  %s: f64[n] = host_call %x, %y {routine="numpy.linalg.solve", keywords=["", ""], options=[], effect="check"}
  send %s {channel=0, to="cpu:0"}
  yield
}"""
    waits = """func @f() {
  %s: f64[n] = recv {channel=0, source="cpu:1"}
  yield %s
}"""
    whole = "func @f(%x: f64[n, n], %y: f64[n]) {\n  yield %y\n}"
    _, parts = together(whole, part("cpu:0", waits, [], [0]), part("cpu:1", solves, [0, 1]))

    def program(a0: Any, a1: Any) -> None: ...

    function = function_type(program)
    function._link(parts.specialisation)
    for _ in range(20):
        np.testing.assert_allclose(function(np.eye(3) * 2, np.ones(3))[0], 0.5)
    with pytest.raises(np.linalg.LinAlgError):
        function(np.zeros((3, 3)), np.ones(3))


def test_callbacks_call_programs_with_parts() -> None:
    """In their own thread, and in one for which they wait."""
    calls: list[int] = []
    _, inner = together(EMPTY, raw("cpu:0", ""), raw("cpu:1", ""))

    def callback() -> None:
        inner(X.copy())
        with ThreadPoolExecutor(1) as threads:
            threads.submit(inner, X.copy()).result()
        calls.append(1)

    _, outer = together(EMPTY, calling(CALLBACK, callback), raw("cpu:1", WAITS))
    for _ in range(10):
        outer(X.copy())
    assert len(calls) == 10


def test_several_threads_call_at_once() -> None:
    program = SplitProgram(1)
    whole, parts = together(program.whole, *program.parts)
    expected = whole(X.copy(), np.zeros_like(X), NO_CHECK, NO_CHECK)
    before = devices.workers_started()

    def work(number: int) -> None:
        for turn in range(30):
            code = program.codes[0] if program.codes and (number + turn) % 3 == 0 else NO_CHECK
            got = outcome(parts, X.copy(), np.zeros_like(X), code, NO_CHECK)
            assert isinstance(got, Exception) == (code != NO_CHECK)
            if code == NO_CHECK:
                for one, other in zip(got, expected, strict=True):
                    np.testing.assert_array_equal(one, other)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert devices.workers_started() - before <= 4 * (len(program.parts) - 1)


def test_calls_of_one_thread_share_a_worker() -> None:
    _, parts = together(EMPTY, raw("cpu:0", ""), raw("cpu:1", ""))
    parts(X.copy())
    before = devices.workers_started()
    for _ in range(1000):
        parts(X.copy())
    assert devices.workers_started() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_starts_its_own_threads() -> None:
    _, parts = together(EMPTY, raw("cpu:0", ""), raw("cpu:1", ""))
    parts(X.copy())
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            parts(X.copy())

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                parts(X.copy())
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()
