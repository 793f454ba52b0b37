"""Variables that live on a GPU: what compiled code and the host do with them, in whatever order."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import GPUS, OnDevice
from tests.backends.cuda.stand_in import OUT_OF_MEMORY

pytestmark = needs_nvrtc


def moved(x: Any, w: Any) -> Any:
    w += x
    return (w * 2).sum()


@pytest.fixture
def code() -> Iterator[OnDevice]:
    made = OnDevice(moved, np.ones(3), jitflow.Variable(np.zeros(3)), device=None)
    with made.installed():
        yield made


def on_gpu(value: Any) -> jitflow.Variable:
    return jitflow.Variable(value, device="cuda:0")


def test_it_stays_there(code: OnDevice) -> None:
    w = on_gpu(np.arange(3.0))
    assert code.function(np.ones(3), w) == 12.0
    before = code.device.counts.copy()
    x = code.device.array(np.ones(3))
    code.function(x, w)
    assert not (code.device.counts - before)["cuMemcpyHtoDAsync_v2"]
    np.testing.assert_array_equal(w.numpy(), [2, 3, 4])


def test_the_host_reads_and_writes_it(code: OnDevice) -> None:
    w = on_gpu(np.arange(3.0))
    w[1] = 7
    w += 1
    w.assign_add(np.ones(3))
    np.add.at(w, [0, 0], 1)
    np.testing.assert_array_equal(w, [4, 9, 4])
    code.function(np.ones(3), w)
    assert (w[0], float(w.sum())) == (5, 20)
    for twin in (copy.copy(w), pickle.loads(pickle.dumps(w))):
        assert twin.device == "cuda:0"
        np.testing.assert_array_equal(twin, w)


def test_calls_on_several_streams_are_in_order(code: OnDevice) -> None:
    w = on_gpu(np.zeros(3))
    for stream in (5, 6, 5, 7):
        code.device.stream = stream
        code.function(code.device.array(np.ones(3)), w)
    np.testing.assert_array_equal(w.numpy(), [4, 4, 4])


def test_its_memory_is_given_back(code: OnDevice) -> None:
    before = len(code.device.blocks)
    w = on_gpu(np.zeros(3))
    code.function(np.ones(3), w)
    del w
    gc.collect()
    code.device.finish()
    assert len(code.device.blocks) == before
    assert not code.device.events


def test_out_of_memory_leaves_it_as_it_was(code: OnDevice) -> None:
    w = on_gpu(np.arange(3.0))
    code.function(np.ones(3), w)
    for number in range(3):
        for attempt in (0, 1):
            place = code.device.counts["cuMemAllocAsync"] + number + attempt
            code.device.failures["cuMemAllocAsync", place] = OUT_OF_MEMORY
        with pytest.raises(MemoryError):
            code.function(np.ones(3), w)
        code.device.failures.clear()
        np.testing.assert_array_equal(w.numpy(), [1, 2, 3])
        code.device.finish()
    for attempt in (0, 1):
        code.device.failures["cuMemAllocAsync", code.device.counts["cuMemAllocAsync"] + attempt] = OUT_OF_MEMORY
    with pytest.raises(MemoryError):
        on_gpu(np.zeros(5))


@pytest.mark.parametrize("gpu", GPUS)
def test_training_on_a_gpu(tmp_path: Any, gpu: Any) -> None:
    """The steps of an optimiser whose slots are where the variable is, and a checkpoint of all of it."""
    random = np.random.default_rng(0)
    x, y = random.standard_normal((8, 5)), random.standard_normal(8)

    def trained(device: str, place: Any) -> Any:
        w, adam = jitflow.Variable(np.zeros(5), "w", device=device), jitflow.optim.Adam(0.1)

        def step(x: Any, y: Any) -> Any:
            value, gradient = jitflow.value_and_grad(lambda: ((x @ w - y) ** 2).mean(), variables=[w])()
            adam.apply(gradient, [w])
            return value

        compiled = jitflow.function(step)
        losses = [compiled(x, y) for _ in range(2)]
        jitflow.save(place, {"w": w, "adam": adam})
        losses.append(compiled(x, y))
        jitflow.restore(place, {"w": w, "adam": adam})
        losses.append(compiled(x, y))
        assert {slot.device for slots in adam.slots.values() for slot in slots} == {device}
        return losses, w.numpy()

    expected, wanted = trained("cpu:0", tmp_path / "here")
    with OnDevice(moved, np.ones(3), jitflow.Variable(np.zeros(3)), device=None, gpu=gpu).installed():
        losses, weights = trained("cuda:0", tmp_path / "there")
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    np.testing.assert_allclose(weights, wanted, rtol=1e-12)
    assert losses[2] == losses[3]
