"""Profiles: what the trace and the table hold of programs whose kernels and lines are known. Nothing is timed."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.ir.dims import evaluate
from jitflow.ir.parser import parse
from jitflow.passes.lower.notes import operations_of, traffic_of
from jitflow.profiling import Profile
from jitflow.traces import rates

X = np.linspace(0.0, 1.0, 600).reshape(20, 30)


def trace(path: Path) -> list[dict[str, Any]]:
    """The complete events of a trace, after a look at all that Perfetto needs."""
    content = json.loads(path.read_text())
    events: list[dict[str, Any]] = content["traceEvents"]
    names = {one["name"]: one for one in events if one["ph"] == "M"}
    assert {"process_name", "thread_name"} >= names.keys()
    complete = [one for one in events if one["ph"] == "X"]
    tracks = {one["tid"] for one in events if one["name"] == "thread_name"}
    for one in complete:
        assert type(one["name"]) is str
        assert type(one["cat"]) is str
        assert one["pid"] == 1
        assert one["tid"] in tracks
        assert one["ts"] >= 0
        assert one["dur"] >= 0
    return complete


def lines(events: list[dict[str, Any]], *kinds: str) -> Counter[tuple[str, str]]:
    """How many events there are of each kind with each line of source."""
    return Counter((one["cat"], one["args"]["source"]) for one in events if one["cat"] in kinds)


def several(x: Any, n: int) -> Any:
    y = np.exp(x).sum(axis=1)
    for _ in range(n):
        y = np.tanh(y) * x[:, 0]
        y = y[::-1] + y.max(axis=0)
    total = 0.0
    for i in range(n):
        total += y[i] * i
    return np.sort(x, axis=1), x @ x.T, y, total


def test_each_launch_is_an_event_with_its_line(tmp_path: Path) -> None:
    compiled = jitflow.function(several)
    with jitflow.profile(tmp_path / "trace.json"):
        compiled(X, 5)
        compiled(X, 5)
    events = trace(tmp_path / "trace.json")
    found = lines(events, "call", "kernel", "library", "routine")
    assert found["kernel", "y = np.exp(x).sum(axis=1)"] == 2
    assert found["kernel", "y = np.tanh(y) * x[:, 0]"] + found["kernel", "y = y[::-1] + y.max(axis=0)"] >= 10
    assert found["routine", "return np.sort(x, axis=1), x @ x.T, y, total"] == 2
    assert sum(count for (kind, _), count in found.items() if kind == "call") == 2
    assert any("x @ x.T" in source for kind, source in found if kind in ("kernel", "library"))
    assert {one["name"].partition(": ")[2] for one in events if one["cat"] == "compile"} >= {"trace", "fuse", "llvm"}
    inner = [one for one in events if one["cat"] in ("kernel", "library", "routine")]
    for call in (one for one in events if one["cat"] == "call"):
        inside = [one for one in inner if call["ts"] <= one["ts"] < call["ts"] + call["dur"]]
        assert sum(one["dur"] for one in inside) <= call["dur"]


def test_the_table_is_the_sum_of_the_events(tmp_path: Path) -> None:
    compiled = jitflow.function(several)
    with jitflow.profile(tmp_path / "trace.json") as profile:
        compiled(X, 7)
    events = [one for one in trace(tmp_path / "trace.json") if one["cat"] not in ("compile", "call")]
    assert profile.dropped == 0
    assert profile.events == len(events) + 1
    for line in profile.lines:
        of_line = [one for one in events if one["cat"] == line.kind and one["name"].startswith(f"{line.location} ")]
        assert line.calls == len(of_line)
        assert line.seconds == pytest.approx(sum(one["dur"] for one in of_line) / 1e6)
        assert line.bytes == sum(one["args"].get("bytes", 0) for one in of_line)
    assert profile.seconds == pytest.approx(profile.host_seconds + sum(line.seconds for line in profile.lines))
    assert [line.seconds for line in profile.lines] == sorted((line.seconds for line in profile.lines), reverse=True)


def test_what_has_no_room_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    @jitflow.function
    def turning(x: Any, n: int) -> Any:
        for _ in range(n):
            x = np.sin(x)[::-1]
        return x

    with jitflow.profile(tmp_path / "trace.json", limit=10) as profile:
        turning(np.ones(50), 100)
    assert len([one for one in trace(tmp_path / "trace.json") if one["cat"] != "compile"]) == 10
    assert profile.events == 10
    assert sum(line.calls for line in profile.lines) >= 100
    assert profile.dropped == sum(line.calls for line in profile.lines) + 1 - 10
    assert f"{profile.dropped} events had no room in the trace (limit=10)" in capsys.readouterr().err


def test_programs_that_are_not_profiled_stay_as_they_are(tmp_path: Path) -> None:
    compiled = jitflow.function(several)
    compiled(X, 2)
    text = compiled.ir(X, 2, stage="llvm")
    with jitflow.profile():
        compiled(X, 2)
        assert compiled.cache_info().misses == 2
    assert compiled.ir(X, 2, stage="llvm") == text
    assert "jitflow.note" not in text
    compiled(X, 2)
    with jitflow.profile() as profile:
        compiled(X, 2)
    assert profile.calls == 1
    info = compiled.cache_info()
    assert (info.misses, info.hits, info.currsize) == (2, 2, 1)
    compiled.cache_clear()
    compiled(X, 2)
    assert compiled.cache_info().misses == 1


def test_results_are_the_same() -> None:
    compiled = jitflow.function(several)
    wanted = compiled(X, 4)
    with jitflow.profile():
        for one, other in zip(compiled(X, 4), wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_profile_in_a_profile_has_its_part() -> None:
    compiled = jitflow.function(several)
    with jitflow.profile() as outer:
        compiled(X, 1)
        with jitflow.profile() as inner:
            compiled(X, 1)
        compiled(X, 1)
    assert (outer.calls, inner.calls) == (3, 1)
    assert outer.events == 3 * inner.events
    assert inner.compile_seconds == 0.0


def test_exceptions_leave_the_profile_whole(tmp_path: Path) -> None:
    @jitflow.function
    def failing(x: Any, i: int) -> Any:
        y = np.cumsum(x)
        return y[i]

    profile = jitflow.profile(tmp_path / "trace.json")
    with pytest.raises(IndexError), profile:
        assert [failing(np.ones(5), i) for i in (2, 9)]
    assert profile.calls == 2
    assert lines(trace(tmp_path / "trace.json"), "kernel")["kernel", "y = np.cumsum(x)"] in (1, 2)
    assert failing(np.ones(5), 1) == 2.0
    with jitflow.profile() as later:
        failing(np.ones(5), 2)
    assert later.calls == 1


def test_callbacks_and_the_functions_they_call() -> None:
    inner = jitflow.function(lambda x: np.exp(x) + 1)

    def shown(x: Any) -> Any:
        return inner(x)

    @jitflow.function
    def outer(x: Any) -> Any:
        return jitflow.callback(shown, jitflow.Spec("f64", (3,)))(x) * 2

    with jitflow.profile() as profile:
        outer(np.ones(3))
    assert "callback" in {line.kind for line in profile.lines}
    assert profile.calls == 2


def test_all_threads_are_profiled(tmp_path: Path) -> None:
    compiled = jitflow.function(several)
    with jitflow.profile(tmp_path / "trace.json") as profile:
        compiled(X, 1)
        threads = [threading.Thread(target=lambda: [compiled(X, 1) for _ in range(20)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert profile.calls == 61
    calls = Counter(one["tid"] for one in trace(tmp_path / "trace.json") if one["cat"] == "call")
    assert sorted(calls.values()) in ([1, 20, 20, 20], [1, 20, 40], [1, 60])  # a thread may get the number of another


def test_threads_that_share_a_kernel_have_tracks(tmp_path: Path) -> None:
    before = jitflow.num_threads()
    jitflow.set_num_threads(2)
    try:
        compiled = jitflow.function(lambda x: np.tanh(np.exp(x)).sum(axis=1))
        with jitflow.profile(tmp_path / "trace.json") as profile:
            for _ in range(5):
                compiled(np.ones((2000, 500)))
    finally:
        jitflow.set_num_threads(before)
    events = trace(tmp_path / "trace.json")
    assert len([one for one in events if one["cat"] == "kernel"]) == 5
    assert len([one for one in events if one["cat"] == "part"]) >= 5
    assert [line.calls for line in profile.lines] == [5]
    assert profile.events == len([one for one in events if one["cat"] != "compile"])


def test_variables_and_gradients_are_profiled() -> None:
    weights = jitflow.Variable(np.ones(30))

    def loss(w: Any) -> Any:
        return np.sum((X @ w - 1) ** 2)

    @jitflow.function
    def step() -> None:
        weights[:] -= 0.001 * jitflow.grad(loss)(weights[:])

    with jitflow.profile() as profile:
        for _ in range(3):
            step()
    assert profile.calls == 3
    assert profile.lines


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: jitflow.profile(3), TypeError, "expected a path"),  # type: ignore[arg-type]
        (lambda: jitflow.profile(limit=-1), ValueError, "expected a limit of at least 0"),
        (lambda: jitflow.profile("/no/such/folder/trace.json"), FileNotFoundError, "no such folder: /no/such/folder"),
    ],
)
def test_mistakes_are_found_at_the_beginning(make: Callable[[], Profile], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text), make():
        raise AssertionError("the profile has begun")


def test_a_profile_is_no_part_of_a_program() -> None:
    @jitflow.function
    def inside(x: Any) -> Any:
        with jitflow.profile():
            return x + 1

    with pytest.raises((RuntimeError, NotImplementedError)):
        inside(X)
    profile = jitflow.profile()
    with profile:
        pass
    with pytest.raises(RuntimeError, match="taken once"), profile:
        pass


def test_the_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    compiled = jitflow.function(several)
    with jitflow.profile():
        compiled(X, 2)
    printed = capsys.readouterr()
    assert printed.out == ""
    for word in ("1 calls", "test_profiling.py", "numpy.sort", "host work", "compilation"):
        assert word in printed.err


@pytest.mark.parametrize(
    ("body", "traffic", "operations"),
    [
        ("%1: f64[n] = exp %0\n yield %1", 2 * 8 * 100, 100),
        ("%1: f64[3] = slice %0 {starts=[0], sizes=[3], steps=[1]}\n%2: f64[3] = exp %1\nyield %2", 2 * 8 * 3, 3),
        ("%1: f64 = reduce_add %0 {axes=[0]}\n yield %1", 8 * 100, 100),
        ("%1: f64[2, n] = broadcast %0 {dims=[2, n], axes=[1]}\n%2: f64[2, n] = exp %1\nyield %2", 8 * 300, 200),
    ],
)
def test_what_a_kernel_moves_and_computes(body: str, traffic: int, operations: int) -> None:
    result = body.split("\n")[-2].partition(":")[2].partition("=")[0].strip() if "yield" in body else ""
    text = f"func @f(%x: f64[n]) {{\n %r: {result} = fusion %x (%0: f64[n]) {{\n {body}\n }}\n yield %r\n}}"
    op = parse(text).region.ops[0]
    assert evaluate(traffic_of(op), {"n": 100}) == traffic
    assert evaluate(operations_of(op), {"n": 100}) == operations


def test_what_the_machine_can_do_is_measured_once() -> None:
    assert rates() is rates()
    assert rates().parts(int(rates().bandwidth), 0, 10**9)[0] == pytest.approx(1.0)
