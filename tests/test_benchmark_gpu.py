"""The benchmarks on a GPU: they give NumPy's results, times are those of many calls, what is missing is told."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.special
from rich.console import Console
from typer.testing import CliRunner

from benchmarks import gpu, gpu_session, measure, training_session
from benchmarks.gpu_session import SUBJECTS, GpuSession
from benchmarks.launches import KERNELS, LAUNCHES
from benchmarks.measure import Measurement, disagreement
from benchmarks.training_cases import GPU_CASES
from benchmarks.workload import Workload
from benchmarks.workloads import WORKLOADS
from jitflow.cli import app
from jitflow.machines import measuring, measuring_gpu
from jitflow.machines.machine import KINDS, Machine
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import GPUS, OnDevice, RealGpu
from tests.backends.cuda.stand_in import StandIn


class Here:
    """What a worker is, in this process."""

    def __init__(self, peer: str) -> None:
        self.session = GpuSession(peer)
        self.trouble = self.session.warm_up()
        self.prepare, self.turn = self.session.prepare, self.session.turn
        self.copy_bandwidth = self.session.copy_bandwidth

    def ask(self, question: str, *arguments: Any) -> Any:
        return getattr(self.session, question)(*arguments)

    def close(self) -> None:
        pass


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is done more than once that is done for the sake of times."""
    for module, name, value in (
        (measure, "MINIMUM_ROUNDS", 1),
        (training_session, "WARM_UP_STEPS", 0),
        (gpu_session, "TURN", 0.0),
        (measuring_gpu, "_SECONDS", 0.0),
        (measuring_gpu, "_ROUNDS", 1),
        (measuring_gpu, "_WIDTH", 4),
        (measuring_gpu, "_IN_MEMORY", 64),
        (measuring_gpu, "_IN_CACHE", 32),
        (measuring_gpu, "_TURNS", 3),
    ):
        monkeypatch.setattr(module, name, value)


@needs_nvrtc
@pytest.mark.parametrize("on", GPUS)
@pytest.mark.usefixtures("hurried")
def test_a_run_gives_numpy_s_results_and_leaves_its_record(on: Any, tmp_path: Path) -> None:
    real, stored = on is RealGpu, tmp_path / "gpu.json"
    console = Console(record=True, width=120)
    with OnDevice(lambda x: x + 1, np.ones(3), gpu=on).installed():
        assert gpu.why_not() == ""
        names = [*SUBJECTS][::4]
        options = {"peers": ["jitflow"], "json": stored, "seconds": 0.0, "small": True, "console": console}
        right = gpu.run(names, **options, make_worker=None if real else Here)
    text, record = console.export_text(), json.loads(stored.read_text())
    assert right, text
    assert [row["name"] for row in record["workloads"]] == names
    assert all(row["peers"]["jitflow"]["seconds"] > 0 for row in record["workloads"])
    assert record["gpu"].keys() >= {"name", "memory", "driver", "cuda_driver", "cuda_runtime"}
    assert record["copy_bandwidth_bytes_per_second"] > 0
    assert record["launch_seconds"]["jitflow"] > 0
    for shown in (record["gpu"]["name"], "network_128", f"one of {KERNELS} kernels"):
        assert shown in text


@needs_nvrtc
def test_fifty_kernels_are_fifty() -> None:
    inputs = LAUNCHES.make_inputs(np.random.default_rng(0), True)
    code = OnDevice(LAUNCHES.function, *inputs)
    code.device.counts.clear()
    code(*inputs)
    done = code.device.counts
    copy_of_the_argument = 1  # which the loop takes on from
    assert done["cuLaunchKernel"] + done["cublasSgemm_v2_64"] == KERNELS + copy_of_the_argument


@pytest.fixture
def numpy_as_cupy() -> Any:
    """Stands for cupy where its forms are only to be right."""
    cupy: Any = ModuleType("cupy")
    vars(cupy).update({name: getattr(np, name) for name in np.__all__}, fuse=lambda function: function)
    special: Any = SimpleNamespace(erf=scipy.special.erf)
    cupyx = {name: SimpleNamespace() for name in ("cupyx", "cupyx.scipy")}
    with mock.patch.dict(sys.modules, {"cupy": cupy, **cupyx, "cupyx.scipy.special": special}):
        yield


@pytest.mark.usefixtures("numpy_as_cupy")
@pytest.mark.parametrize("name", [name for name, one in SUBJECTS.items() if isinstance(one, Workload)])
def test_cupy_s_forms_are_the_same_work(name: str) -> None:
    workload: Any = SUBJECTS[name]
    inputs = workload.make_inputs(np.random.default_rng(1), True)
    assert disagreement(workload, workload.cupy()(*inputs), workload.function(*inputs)) == ""


class Clock:
    """A clock that only stands at what it is told."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def after(self, seconds: float) -> Callable[..., Any]:
        def work(*arguments: Any) -> np.ndarray:
            self.now += seconds
            return np.arange(1.0, 9.0) * 2

        return work


def test_a_turn_is_many_calls_and_one_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer takes 1 ms for a call and 5 ms to wait."""
    clock = Clock()
    inputs = (np.arange(1.0, 9.0),)
    double = Workload("double", "twice", lambda x: x * 2, lambda random, small: inputs, 128, 8, 0.0)
    peer = SimpleNamespace(prepare=lambda workload, inputs: clock.after(1e-3), finish=clock.after(5e-3))
    monkeypatch.setattr(gpu_session, "time", clock)
    monkeypatch.setitem(gpu_session.PEERS, "other", peer)
    monkeypatch.setitem(SUBJECTS, "double", double)
    session = GpuSession("other")
    measurement = session.prepare("double", True)
    assert measurement == Measurement(first_call=mock.ANY)
    before, calls = clock.now, int(gpu_session.TURN / 6e-3)
    assert session.turn() == pytest.approx(1e-3 + 5e-3 / calls)
    assert clock.now - before == pytest.approx(calls * 1e-3 + 5e-3)
    assert session.prepare("network_128", True) is None  # it has no form of training steps


def test_only_workloads_are_compared_with_copies() -> None:
    copier: Any = SimpleNamespace(copy_bandwidth=lambda footprint: 2.0 * footprint)
    measurements = {"jitflow": Measurement(samples=[1.0]), "torch": Measurement(samples=[3.0]),
                    "torch-graphs": Measurement(samples=[2.0])}  # fmt: skip
    rows = {name: gpu._row(name, measurements, copier) for name in SUBJECTS}
    assert {name for name, row in rows.items() if row.share_of_copy() == 0.5} == set(WORKLOADS)
    assert all(row.ratio() == 2.0 and row.seconds("JAX") is None for row in rows.values())
    assert gpu._launches(list(rows.values())) == {"jitflow": 1 / KERNELS, "torch": 2 / KERNELS}
    assert gpu._row("gelu", {"jitflow": Measurement(samples=[1.0])}, copier).ratio() is None


def test_peers_that_cannot_use_the_gpu_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        def __init__(self, peer: str) -> None:
            self.trouble = "RuntimeError: no backend 'cuda'" if peer == "numpy" else ""

        def ask(self, question: str) -> Any:
            return {"name": "none"}

        def prepare(self, name: str, small: bool) -> Measurement:
            return Measurement(0.1)

        turn = copy_bandwidth = lambda self, *arguments: 1.0

        def close(self) -> None:
            pass

    others = {name: SimpleNamespace(name=name, package=name, is_installed=name != "nowhere")
              for name in ("jitflow", "numpy", "nowhere")}  # fmt: skip
    monkeypatch.setattr(gpu, "PEERS", others)
    console = Console(record=True, width=120)
    assert gpu.run(["softmax"], seconds=0.0, console=console, make_worker=Fake)
    text = console.export_text()
    assert "left out: nowhere (not installed)" in text
    assert "left out: numpy (RuntimeError: no backend 'cuda')" in text


def test_without_a_gpu_the_command_says_what_is_missing() -> None:
    if gpu.why_not() == "":
        pytest.skip("there is a GPU")
    refused = CliRunner().invoke(app, ["bench", "--device", "cuda"])
    assert refused.exit_code == 2
    assert "needs a CUDA device" in " ".join(refused.output.split())
    listed = CliRunner().invoke(app, ["bench", "--device", "cuda", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in GPU_CASES)
    for options in (["--device", "tpu"], ["--device", "cuda", "--first-call"], ["--device", "cuda", "nothing"]):
        assert CliRunner().invoke(app, ["bench", *options]).exit_code == 2


@needs_nvrtc
@pytest.mark.usefixtures("hurried")
def test_a_gpu_is_measured_for_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_processor", lambda: KINDS["cpu"])
    monkeypatch.setattr(measuring, "_link", lambda: Machine(()).link("cpu:0", "cpu:1"))
    assert measuring.measure().names == ("cpu:0",)
    with OnDevice(lambda x: x + 1, np.ones(3), gpu=StandIn).installed():
        found = measuring.measure()
    assert found.names == ("cpu:0", "cuda:0")
    assert found.processors[1].memory == 1 << 30
    assert found.link("cpu:0", "cuda:0") != Machine(()).link("cpu:0", "cuda:0")
    assert Machine.from_json(found.to_json()) == found
