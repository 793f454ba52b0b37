"""Calls of programs on a GPU: what goes in and comes out, what fails, and who waits for whom."""

from __future__ import annotations

import traceback
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.backends.cuda.grid import takes_record
from jitflow.ir.core import walk
from jitflow.runtime.native import cuda
from jitflow.runtime.native.cuda import gpu
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import GPUS, OnDevice
from tests.backends.cuda.stand_in import OUT_OF_MEMORY, DeviceArray, StandIn

pytestmark = needs_nvrtc


def scaled(x: Any, factor: Any) -> Any:
    return x * factor


def shifted(x: Any) -> Any:
    x[1:] += x[0]
    return x[2:]


# -- what goes in and comes out


@pytest.mark.parametrize("x", [
    np.arange(7.0), np.arange(0.0), np.arange(70, dtype="i2").reshape(7, 10)[::2, ::-3], np.zeros((3, 0)),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)), np.broadcast_to(np.float32(3), (5, 2)), np.full((), 2.0),
    np.arange(6) * 1j, np.array([True, False]),
], ids=str)  # fmt: skip
def test_numpy_arrays_of_all_kinds(x: Any) -> None:
    code = OnDevice(scaled, x, 3)
    found, expected = code(x, 3), scaled(x, 3)
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    assert code.lost() == 0


def test_views_of_arguments_are_views() -> None:
    x = np.arange(20.0)[::2]
    code = OnDevice(shifted, x)
    found = code(x)
    np.testing.assert_array_equal(x, [0, 2, 4, 6, 8, 10, 12, 14, 16, 18])
    assert np.shares_memory(found, x)
    x[3] = 7
    assert found[1] == 7
    assert code.lost() == 0


def test_parts_of_a_concatenation_are_received_one_after_the_other() -> None:
    def joined(x: Any, y: Any) -> Any:
        return x[None], np.concatenate((x, y.astype("f4")))

    x, y = np.arange(10, dtype="f4")[::2], np.ones(3, "?")
    for got, wanted in zip(OnDevice(joined, x, y)(x, y), joined(x, y), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_gaps_between_elements_are_left_alone() -> None:
    whole = np.arange(10.0)
    both = OnDevice(lambda x, y: (x.__iadd__(1), y.__imul__(2))[:0], whole[::2], whole[1::2])
    both(whole[::2], whole[1::2])
    np.testing.assert_array_equal(whole, [1, 2, 3, 6, 5, 10, 7, 14, 9, 18])


def test_arrays_of_the_device_stay_there() -> None:
    code = OnDevice(scaled, np.arange(5.0), 2.0)
    x = code.device.array(np.arange(5.0))
    before = code.device.counts.copy()
    found = code(x, 2.0)
    assert isinstance(found, DeviceArray)
    moved = code.device.counts - before
    assert not {"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"} & set(moved)
    np.testing.assert_array_equal(found.get(), [0, 2, 4, 6, 8])
    del found
    code.device.finish()
    assert code.lost() == 0


def test_numbers_are_arrays_without_dims_there() -> None:
    code = OnDevice(lambda x: (x.sum(), float(x[1]), x.shape), np.arange(5.0))
    total, second, shape = code(code.device.array(np.arange(5.0)))
    assert isinstance(total, DeviceArray)
    assert (total.get()[()], total.shape, second, shape) == (10.0, (), 1.0, (5,))
    assert code(np.arange(5.0))[0] == 10.0


def test_a_view_of_an_array_of_the_device_is_one() -> None:
    code = OnDevice(shifted, np.arange(5.0))
    x = code.device.array(np.arange(1.0, 6.0))
    found = code(x)
    assert found.owner is x
    np.testing.assert_array_equal(x.get(), [1, 3, 4, 5, 6])
    np.testing.assert_array_equal(found.get(), [4, 5, 6])


def test_strided_arrays_of_the_device() -> None:
    code = OnDevice(scaled, StandIn().array(np.arange(10.0))[::-2], 2.0)
    found = code(code.device.array(np.arange(10.0))[::-2], 2.0)
    np.testing.assert_array_equal(found.get(), [18, 14, 10, 6, 2])


def test_arrays_of_the_device_that_are_not_aligned_are_refused() -> None:
    def odd(device: StandIn, start: int, stride: int) -> DeviceArray:
        return DeviceArray(device, (7,), "f8", (device.new(np.zeros(81, np.uint8)) + start, None), (stride,))

    code = OnDevice(scaled, StandIn().array(np.zeros(7)), 2.0)
    for start, stride in ((1, 8), (0, 9)):
        with pytest.raises(ValueError, match="x is an array whose elements are not aligned in memory"):
            code(odd(code.device, start, stride), 2.0)


def test_a_call_does_not_wait() -> None:
    code = OnDevice(scaled, np.arange(5.0), 2.0)
    x = code.device.array(np.arange(5.0))
    code(x, 2.0)
    with code.installed():
        code.function(x, 2.0)
        assert len(code.device.streams[code.device.stream]) >= 2


def test_calls_run_on_the_current_stream() -> None:
    code = OnDevice(scaled, np.arange(5.0), 2.0)
    x = code.device.array(np.arange(5.0))
    code(x, 2.0)
    del code.device.streams[code.device.stream]
    with code.installed():
        for stream in (5, 6):
            code.device.stream = stream
            code.function(x, 2.0)
        assert list(code.device.streams) == [5, 6]


# -- what fails


def looked_up(x: Any, table: Any, index: Any) -> Any:
    x += 1
    found = table[index]
    x += found.sum()
    return x


def test_errors_are_the_user_s_at_his_line() -> None:
    x, table = np.zeros(3), np.arange(5.0)
    code = OnDevice(looked_up, x, table, np.array([1, 2]))
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5") as caught:
        code(x, table, np.array([1, 5]))
    assert traceback.extract_tb(caught.tb)[-1].line == "found = table[index]"
    np.testing.assert_array_equal(x, [1, 1, 1])  # what stands before it is done, and nothing behind it
    assert code.lost() == 0
    np.testing.assert_array_equal(code(x, table, np.array([0, 1])), [3, 3, 3])


def test_the_first_failure_is_told() -> None:
    def two(table: Any, index: Any, w: Any) -> Any:
        return table[index] @ w

    good = (np.ones((4, 3)), np.array([0, 1]), np.ones((3, 2)))
    code = OnDevice(two, *good)
    for index, w, error in ((np.array([9, 0]), np.ones((2, 2)), IndexError), (good[1], np.ones((2, 2)), ValueError)):
        with pytest.raises(error):
            code(good[0], index, w)


def test_variables_stay_as_they_were() -> None:
    w = jitflow.Variable(np.zeros(3))

    def step(index: Any) -> Any:
        w[...] = w + 1
        return w[index] * 1.0

    code = OnDevice(step, np.array([0, 1]))
    code(np.array([0, 2]))
    with pytest.raises(IndexError):
        code(np.array([0, 3]))
    np.testing.assert_array_equal(w.numpy(), [1, 1, 1])


def test_out_of_memory() -> None:
    """What cupy keeps is given back, and then there must be enough."""
    code = OnDevice(scaled, np.arange(5.0), 2.0)
    x = code.device.array(np.arange(5.0))
    code.device.failures["cuMemAllocAsync", code.device.counts["cuMemAllocAsync"]] = OUT_OF_MEMORY
    np.testing.assert_array_equal(code(x, 2.0).get(), [0, 2, 4, 6, 8])
    assert code.device.counts["free_all_blocks"] == 1
    for number in range(2):
        code.device.failures["cuMemAllocAsync", code.device.counts["cuMemAllocAsync"] + number] = OUT_OF_MEMORY
    with pytest.raises(MemoryError, match="Unable to allocate 40 bytes"):
        code(x, 2.0)
    assert code.lost() == 0


def test_a_function_of_the_driver_that_fails() -> None:
    code = OnDevice(lambda x: (x + 1) @ (x * 2), np.ones((3, 3)))
    for name in ("cuLaunchKernel", "cublasDgemm_v2_64"):
        x = code.device.array(np.ones((3, 3)))
        code.device.failures[name, code.device.counts[name]] = 700
        with pytest.raises(RuntimeError, match="error 700 of the GPU's driver: an illegal memory access"):
            code(x)
        assert code.lost() == 0


def test_numpy_arrays_that_overlap_are_written_to_at_home() -> None:
    def moved(x: Any, y: Any) -> Any:
        x += y
        return x

    whole, other = np.arange(10.0), np.arange(10.0)
    code = OnDevice(moved, np.zeros(3), np.zeros(3))
    code(whole[1:], whole[:-1])
    moved(other[1:], other[:-1])
    np.testing.assert_array_equal(whole, other)


def test_without_cupy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    cuda.gpu.cache_clear()
    with pytest.raises(ImportError, match=r"pip install 'jitflow\[cuda13\]'"):
        gpu("cuda:0")


def test_only_programs_that_may_fail_have_a_record() -> None:
    programs: list[Any] = []
    OnDevice(scaled, np.arange(5.0), 2.0, host=lambda host: programs.append(host) or host)  # type: ignore[func-returns-value]
    OnDevice(looked_up, np.zeros(3), np.ones(3), np.array([0]), host=lambda host: programs.append(host) or host)  # type: ignore[func-returns-value]
    assert [takes_record(program) for program in programs] == [False, True]


def test_memory_of_the_device_is_no_memory_of_the_process() -> None:
    """Whoever reads it on the host ends with a fault: bit 62 is set in no address that a process has."""
    assert StandIn().new(np.zeros(1)) >> 62 == 1


def test_what_a_program_raises_itself() -> None:
    def checked(x: Any, limit: Any) -> Any:
        total = x.sum()
        if total > limit:
            raise ValueError(f"{total} is more than {limit}")
        return x * total

    x = np.arange(4.0)
    code = OnDevice(checked, x, 10.0)
    np.testing.assert_array_equal(code(x, 10.0), x * 6)
    with pytest.raises(ValueError, match=r"6\.0 is more than 5\.0"):
        code(x, 5.0)
    assert code.lost() == 0


def test_a_callback_with_numbers_hears_of_nothing_behind_a_failure() -> None:
    heard = []
    tell = jitflow.callback(lambda number: heard.append(float(number)))

    def told(table: Any, index: Any) -> Any:
        found = table[index]
        tell(found.sum())
        return found

    code = OnDevice(told, np.arange(5.0), np.array([1, 2]))
    code(np.arange(5.0), np.array([1, 2]))
    with pytest.raises(IndexError):
        code(np.arange(5.0), np.array([1, 7]))
    assert heard == [3.0]


@pytest.mark.parametrize("gpu", GPUS)
def test_training_steps(gpu: Any) -> None:
    """Variables, a gradient and an optimiser's slots, as on the CPU."""
    random = np.random.default_rng(0)
    x, y = random.standard_normal((8, 5)).astype("f4"), np.arange(8) % 3
    start = random.standard_normal((5, 3)).astype("f4")

    def trained(run: Any) -> Any:
        w, adam = jitflow.Variable(start), jitflow.optim.Adam(0.1)

        def loss(x: Any, y: Any) -> Any:
            z = x @ w
            z = z - z.max(1, keepdims=True)
            return (np.log(np.exp(z).sum(1)) - z[np.arange(8), y]).mean()

        def step(x: Any, y: Any) -> Any:
            value, gradient = jitflow.value_and_grad(loss, variables=[w])(x, y)
            adam.apply(gradient, [w])
            return value

        compiled = run(step)
        return [compiled(x, y) for _ in range(3)], w.numpy()

    losses, weights = trained(lambda step: OnDevice(step, x, y, gpu=gpu))
    expected, wanted = trained(jitflow.function)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(weights, wanted, rtol=1e-4, atol=1e-6)
    assert losses[2] < losses[0]


def test_loops_of_launches_ask_whether_to_go_on() -> None:
    def halved(x: Any, steps: Any) -> Any:
        for _ in range(steps):
            x = x / 2 - x.sum()
        return x

    programs: list[Any] = []
    code = OnDevice(halved, np.arange(4.0), 100, host=lambda host: programs.append(host) or host)  # type: ignore[func-returns-value]
    (loop,) = (op for op in walk(programs[0].region) if op.name == "for")
    assert loop.attributes["polls"]
    np.testing.assert_allclose(code(np.arange(4.0), 20), halved(np.arange(4.0), 20))


@pytest.mark.parametrize("gpu", GPUS)
def test_random_numbers_have_the_same_bits(gpu: Any) -> None:
    def drawn() -> Any:
        generator = jitflow.random.Generator(7)
        return lambda n: (generator.uniform(size=n), generator.integers(0, 100, size=n), generator.permutation(n))

    here, there = jitflow.function(drawn()), OnDevice(drawn(), 33, gpu=gpu)
    for _ in range(2):
        for found, expected in zip(there(33), here(33), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_two_gpus() -> None:
    """Arrays live on one or the other; what both need is sent."""

    def both(x: Any, y: Any) -> Any:
        with jitflow.device("cuda:0"):
            x += 1
            left = np.exp(-x)
        with jitflow.device("cuda:1"):
            y *= 2
            return left * y

    code = OnDevice(both, np.arange(5.0), np.arange(5.0), device=None, gpu=partial(StandIn, 2))
    x, y = code.device.array(np.arange(5.0), 0), code.device.array(np.arange(5.0), 1)
    for _ in range(2):
        found = code(x, y)
    np.testing.assert_allclose(found.get(), np.exp(-(np.arange(5.0) + 2)) * 4 * np.arange(5.0), rtol=1e-14)
    np.testing.assert_array_equal(x.get(), np.arange(5.0) + 2)
    np.testing.assert_array_equal(y.get(), np.arange(5.0) * 4)
    assert code.device.owners[found.address >> 40] == 1


def test_a_plan_names_a_gpu_that_nobody_has_asked_for(tmp_path: Path) -> None:
    x, path = np.arange(5.0), tmp_path / "plan.json"
    jitflow.function(squares).placement(x).save(path)
    path.write_text(path.read_text().replace('"device": "cpu:0"', '"device": "cuda:0"'))
    code = OnDevice(jitflow.function(squares, placement=path), x, device=None)
    with code.installed():
        cuda.gpu_count.cache_clear()
        assert "launch" in code.function.ir(x, stage="kernels")
        assert 'device="cuda:0"' in code.function.ir(x, stage="kernels")
    np.testing.assert_array_equal(code(x), x * x)


def squares(x: Any) -> Any:
    return x * x
