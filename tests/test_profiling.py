"""Profiles: what the trace and the table hold of programs whose kernels and lines are known. Nothing is timed."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import jitflow
from jitflow.config import CONFIG
from jitflow.ir.dims import evaluate
from jitflow.ir.parser import parse
from jitflow.machines import hardware
from jitflow.machines.machine import KINDS, Link, Machine
from jitflow.passes.lower.notes import operations_of, traffic_of
from jitflow.timeline import profiling
from jitflow.timeline.profiling import Profile

X = np.linspace(0.0, 1.0, 600).reshape(20, 30)


def trace(path: Path) -> list[dict[str, Any]]:
    """The complete events of a trace, after a look at all that Perfetto needs."""
    content = json.loads(path.read_text())
    events: list[dict[str, Any]] = content["traceEvents"]
    names = {one["name"]: one for one in events if one["ph"] == "M"}
    assert {"process_name", "process_sort_index", "thread_name"} >= names.keys()
    complete = [one for one in events if one["ph"] == "X"]
    tracks = {(one["pid"], one["tid"]) for one in events if one["name"] == "thread_name"}
    assert {pid for pid, _ in tracks} == {one["pid"] for one in events if one["name"] == "process_name"}
    for one in complete:
        assert type(one["name"]) is str
        assert type(one["cat"]) is str
        assert (one["pid"], one["tid"]) in tracks
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
        (lambda: jitflow.profile("trace.pdf"), ValueError, "ends in .json, .svg or .png, got 'trace.pdf'"),
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
    for word in ("1 call,", "test_profiling.py", "numpy.sort", "host work", "compilation"):
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


@pytest.fixture
def two_devices(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, int], Any]:
    """A program whose loop is on one device and what comes behind it on another."""
    monkeypatch.setattr(hardware, "CONFIG", replace(CONFIG, cpu_devices=2))
    one = replace(KINDS["cpu"], bandwidth=1e9, single_products=2e9)
    machine = Machine((("cpu:0", one), ("cpu:1", replace(one, bandwidth=4e9))), (("cpu", "cpu", Link(1e-6, 5e8)),))
    monkeypatch.setattr(profiling, "this_machine", lambda: machine)

    @jitflow.function
    def split(x: Any, n: int) -> Any:
        with jitflow.device("cpu:1"):
            y = np.exp(x).sum(axis=0)
        with jitflow.device("cpu:0"):
            for _ in range(n):
                x = np.tanh(x)[::-1]
            return x - y

    return split


def test_each_device_is_a_process_and_messages_are_arrows(
    two_devices: Callable[[Any, int], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with jitflow.profile(tmp_path / "trace.json") as profile:
        two_devices(X[0], 9)
        two_devices(X[0], 9)
    events = trace(tmp_path / "trace.json")
    content = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    devices = {one["pid"]: one["args"]["name"] for one in content if one["name"] == "process_name"}
    assert list(devices.values()) == ["cpu:0", "cpu:1"]
    where = {one["args"]["source"]: devices[one["pid"]] for one in events if one["cat"] == "kernel"}
    assert where["y = np.exp(x).sum(axis=0)"] == "cpu:1"
    assert where["x = np.tanh(x)[::-1]"] == "cpu:0"
    assert Counter(one["cat"] for one in events if one["cat"] in ("call", "partition")) == {"call": 2, "partition": 2}
    starts, ends = ([one for one in content if one["ph"] == end] for end in "sf")
    assert len(starts) == len(ends) == sum(one["cat"] == "transfer" for one in events) >= 2
    for start, end in zip(starts, ends, strict=True):
        assert start["id"] == end["id"]
        assert start["pid"] != end["pid"]
        assert start["ts"] <= end["ts"]
        for arrow, kind in ((start, "transfer"), (end, "wait")):
            assert any(one["tid"] == arrow["tid"] and one["ts"] <= arrow["ts"] <= one["ts"] + one["dur"] + 0.001
                       for one in events if one["cat"] == kind)  # fmt: skip
    assert profile.calls == 2
    assert profile.seconds < profile.device_seconds
    assert {line.device for line in profile.lines} == {"cpu:0", "cpu:1"}
    assert "2 calls" in (printed := capsys.readouterr().err)
    assert " device " in printed


def test_fractions_are_of_what_the_record_of_the_machine_says(two_devices: Callable[[Any, int], Any]) -> None:
    with jitflow.profile() as profile:
        two_devices(X[0], 9)
    for line in profile.lines:
        rate = 5e8 if line.kind == "transfer" else {"cpu:0": 1e9, "cpu:1": 4e9}[line.device]
        expected = 0.0 if line.kind == "wait" else line.bytes / line.seconds / rate
        assert line.bandwidth == pytest.approx(expected)
        assert line.peak == pytest.approx(line.operations / line.seconds / 2e9 if line.kind == "kernel" else 0.0)
    (handed_over,) = (line for line in profile.lines if line.kind == "transfer" and line.device == "cpu:1")
    assert handed_over.bytes == 0  # the sum, which nobody needs there any more
    for event in profile.timeline:
        if event.kind == "kernel":
            speed = event.bytes / max(event.end - event.start, 1e-9)
            rate = {"cpu:0": 1e9, "cpu:1": 4e9}[event.device]
            assert event.facts["of bandwidth"] == pytest.approx(speed / rate, rel=1e-3, abs=1e-4)


def test_calls_at_once_have_tracks_and_no_arrows(two_devices: Callable[[Any, int], Any], tmp_path: Path) -> None:
    barrier = threading.Barrier(2)

    def work() -> None:
        barrier.wait()
        for _ in range(30):
            two_devices(X, 300)

    two_devices(X, 1)
    with jitflow.profile(tmp_path / "trace.json") as profile:
        two_devices(X, 1)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    last: dict[tuple[str, str], list[float]] = {}
    for event in sorted(profile.timeline, key=lambda one: (one.start, -one.end)):
        around = last.setdefault((event.device, event.track), [])
        while around and around[-1] <= event.start:
            around.pop()
        assert not around or event.end <= around[-1]  # inside of what is around it: two never cross on one track
        around.append(event.end)
    assert {track for device, track in last if device == "cpu:1"} <= {"", "call 2"}
    arrows = [one for one in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if one["ph"] == "s"]
    assert not arrows or len(arrows) == sum(event.kind == "transfer" for event in profile.timeline)


def test_a_profile_is_a_picture_too(two_devices: Callable[[Any, int], Any], tmp_path: Path) -> None:
    with jitflow.profile(tmp_path / "trace.svg") as profile:
        two_devices(X[0], 9)
    profile.save(tmp_path / "trace.json")
    assert trace(tmp_path / "trace.json")
    texts = [one.text for one in ElementTree.parse(tmp_path / "trace.svg").iter() if one.tag.endswith("}text")]
    assert {"cpu:0", "cpu:1", "computes", "host work"} <= set(texts)
