"""Plausible mistakes of this backend and of the host program, planted one at a time: each is found.

What finds them is what finds any: a comparison with Python, memory that is lost, and what PTX and the driver forbid.
That every op which moves, launches or waits matters is in `test_device_faults.py`.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jitflow.backends.cuda import emit_memory, grid, module, nvrtc
from tests.backends.cuda import native
from tests.backends.cuda.images import image_of
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import OnDevice
from tests.backends.cuda.ptx_machine import Array, Block, PtxError
from tests.backends.cuda.stand_in import DeviceArray, StandIn
from tests.compare import EXACT, REDUCTION, assert_same

pytestmark = needs_nvrtc

Patch = pytest.MonkeyPatch


class FarApart(Block):
    """Rows of memory that lie ``stride`` bytes from each other, with nothing between them."""

    def __init__(self, rows: Array, stride: int) -> None:
        super().__init__(np.broadcast_to(np.uint8(0), (len(rows) - 1) * stride + rows.shape[1]))
        self.rows, self.stride = rows, stride

    def load(self, cells: Array, workers: Array) -> Array:
        return np.ascontiguousarray(self.rows[self._found(cells)])

    def store(self, cells: Array, values: Array, workers: Array) -> None:
        self.rows[self._found(cells)] = values

    def _found(self, cells: Array) -> tuple[Array, Array]:
        row, byte = np.divmod(cells, self.stride)
        if (byte >= self.rows.shape[1]).any():
            raise PtxError("an address between the rows")
        return row, byte


# -- programs, and whether they do what they should


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def looked_up(x: Any, table: Any, index: Any) -> Any:
    found = table[index]
    x += found.sum()
    return x * 2


def product(a: Any, b: Any) -> Any:
    return (a @ b) * 2


def updated(x: Any) -> Any:
    x[1:] += x[0]
    return x.sum()


def counted(x: Any, index: Any, amounts: Any) -> Any:
    np.add.at(x, index, amounts)
    return x + 1


def largest(x: Any) -> Any:
    return np.maximum(x, x[::-1]), x * x[::-1] + x, x / 3


def halved(x: Any) -> Any:
    return x * np.float16(0.3)


def centred(x: Any) -> Any:
    x -= x.mean(axis=1, keepdims=True)
    return (x * x).sum(axis=1)


def doubled(x: Any) -> Any:
    x *= 2
    return x + 1


def shifted(x: Any) -> Any:
    return x.transpose(2, 0, 1) + 1, x.sum(axis=1), x[:, ::-1, ::2] * 2


def far_apart(device: StandIn) -> tuple[DeviceArray, FarApart]:
    """Four rows of five numbers, more than 4 GiB from each other."""
    stride = (1 << 32) + 24
    block = FarApart(np.arange(20.0).reshape(4, 5).view(np.uint8).copy(), stride)
    address = device.new(np.zeros(1))
    device.blocks[address >> 40] = block
    return DeviceArray(device, (4, 5), "f8", (address, None), (stride, 8)), block


def _random(*shape: int, dtype: str = "f8") -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


ARGUMENTS: dict[Callable[..., Any], Callable[[], tuple[Any, ...]]] = {
    softmax: lambda: (_random(5, 70, dtype="f4") - 200,),  # so low that the maximum matters
    looked_up: lambda: (_random(40, 3), np.arange(6.0), np.arange(80) % 6),
    product: lambda: (_random(4, 7), _random(7, 5)),
    updated: lambda: (_random(50),),
    counted: lambda: (_random(5), np.arange(40) % 4, _random(40)),
    largest: lambda: (np.where(np.arange(40) % 7, _random(40, dtype="f4"), np.float32(np.nan)),),
    halved: lambda: (_random(300, dtype="f2"),),
    centred: lambda: (_random(40, 70),),
    shifted: lambda: (_random(3, 5, 1100),),
}
"""Of the programs whose arguments are NumPy's."""

TOLERANCES = {largest: EXACT, halved: EXACT}


def runs(program: Callable[..., Any]) -> None:
    """Raise unless a program does what Python does, and fails as Python does where it looks up what is not there."""
    if program is doubled:
        runs_far_apart()
        return
    ours, theirs = ARGUMENTS[program](), ARGUMENTS[program]()
    code = OnDevice(program, *ours)
    with np.errstate(all="ignore"):
        assert_same((code(*ours), ours), (program(*theirs), theirs), TOLERANCES.get(program, REDUCTION))
    assert code.lost() == 0, "memory was lost"
    if program is looked_up:
        bad = ARGUMENTS[program]()
        before = bad[0].copy()
        bad[2][3:70:11] = np.arange(10, 17)
        with pytest.raises(IndexError, match=r"index 1[0-6] is out of bounds for axis 0 with size 6"):
            code(*bad)
        assert_same(bad[0], before)
        assert code.lost() == 0, "memory was lost"


def runs_far_apart() -> None:
    code = OnDevice(doubled, far_apart(StandIn())[0])
    there, block = far_apart(code.device)
    found = code(there)
    assert_same(block.rows.view("f8"), np.arange(20.0).reshape(4, 5) * 2)
    assert_same(found.get(), np.arange(20.0).reshape(4, 5) * 2 + 1)


# -- faults

FAULTS: dict[str, tuple[Callable[..., Any], Callable[[Patch], None]]] = {}


def fault(program: Callable[..., Any]) -> Callable[[Callable[[Patch], None]], None]:
    def note(plant: Callable[[Patch], None]) -> None:
        FAULTS[plant.__name__] = program, plant

    return note


def text(patch: Patch, right: str, wrong: str) -> None:
    """Change the source of the kernels, wherever the expression fits."""

    def loaded(source: str, architecture: str) -> bytes:
        changed = re.sub(right, wrong, source)
        if changed == source:
            raise LookupError(f"{right} is not in\n{source}")
        return image_of(changed, architecture)

    patch.setattr(native, "image_of", loaded)


def in_text(name: str, program: Callable[..., Any], right: str, wrong: str) -> None:
    FAULTS[name] = program, lambda patch: text(patch, right, wrong)


in_text("workers_start_one_late", softmax, r"i = worker;", "i = worker + 1;")
in_text("workers_start_one_early", centred, r"i = worker;", "i = worker - 1;")
in_text("the_mask_of_a_tail_is_one_lane_long", softmax, "lane < ", "lane <= ")
in_text("the_mask_of_a_tail_is_one_lane_short", softmax, "lane < ", "lane + 1 < ")
in_text("a_fold_leaves_out_half_of_the_lanes", softmax, "half = 16;", "half = 8;")
in_text("a_fold_is_what_another_lane_has", softmax, r"__shfl_sync\(~0u, lanes, 0\)", "__shfl_sync(~0u, lanes, 1)")
in_text("lanes_lie_too_far_apart", softmax, r"4 \* lane", "8 * lane")
in_text("the_largest_of_nothing_is_zero", softmax, r"__int_as_float\(0xff800000\)", "__int_as_float(0)")
in_text("an_exponent_is_shifted_too_little", softmax, "<< 23", "<< 22")
in_text("a_sweep_takes_every_other_step", softmax, r"\+= 32", "+= 64")
in_text("a_shuffle_asks_for_half_of_the_lanes", softmax, r"__shfl_down_sync\(~0u", "__shfl_down_sync(0xffffu")
in_text("stores_have_no_mask", softmax, r"if \(\w+\) at\(", "at(")
in_text("elements_are_read_two_bytes_late", updated, r"\(const char \*\)buffer \+ offset", r"\g<0> + 2")
in_text("offsets_have_32_bits", doubled, r"\(const char \*\)buffer \+ offset", "(const char *)buffer + (i32)offset")
in_text("what_is_written_is_read_as_constant", updated, r"\? \(&first\)\[n\] :", "? __ldg(&first + n) :")
in_text("pieces_are_taken_for_aligned", updated, r"whole = \(u64\)&first % [^;]*;", "whole = true;")
in_text("pieces_are_taken_for_whole", doubled, r"whole = whole && there\[n\];", ";")
in_text("parts_of_a_piece_change_places", doubled, r"(piece\.part)\[n\](?= = there)", r"\1[N - 1 - n]")
in_text("the_record_is_taken_without_an_atomic", looked_up, r"atomicCAS\(error, 0ULL, 1ULL\)",
        "(*error ? *error : (*error = 1, 0))")  # fmt: skip
in_text("kernels_go_on_behind_a_failure", looked_up, r"if \(\*error != 0\) return;", "")
in_text("extremes_forget_nan", largest, r"a != a \? a : best", "best")
in_text("halves_are_cut_off", halved, r"cvt\.rn\.f16\.f32", "cvt.rz.f16.f32")


@fault(updated)
def what_overlaps_is_restricted(patch: Patch) -> None:
    patch.setattr(module, "restricted", lambda program: {one.name: {*one.parameters} for one in program.kernels})


def option(name: str, wrong: str) -> None:
    """Give the compiler another licence."""

    def plant(patch: Patch) -> None:
        assert wrong.replace("false", "true") in nvrtc.OPTIONS or wrong.replace("true", "false") in nvrtc.OPTIONS
        kept = tuple(one for one in nvrtc.OPTIONS if one.partition("=")[0] != wrong.partition("=")[0])
        patch.setattr(nvrtc, "OPTIONS", (*kept, wrong))

    FAULTS[name] = largest, plant


option("sums_of_products_are_contracted", "--fmad=true")
option("quotients_are_approximate", "--prec-div=false")
option("small_numbers_become_zero", "--ftz=true")


def small_grids(patch: Patch) -> None:
    """Workers have more than one step each along every axis."""
    patch.setattr(grid, "LIMITS", {"x": 2, "y": 3, "z": 1})


@fault(shifted)
def a_worker_takes_one_step_only(patch: Patch) -> None:
    small_grids(patch)
    text(patch, r"\+= workers \* 32\)", "+= 1 << 30)")


@fault(shifted)
def workers_share_their_steps(patch: Patch) -> None:
    small_grids(patch)
    text(patch, r"\+= \(i64\)gridDim\.y\)", "+= (i64)gridDim.y + 1)")


@fault(softmax)
def loads_have_no_mask(patch: Patch) -> None:
    original = emit_memory._load
    patch.setattr(emit_memory, "_load", lambda out, result, element, mask: original(out, result, element, []))


def driver(name: str, program: Callable[..., Any], function: str, change: Callable[..., Any]) -> None:
    """Put ``change(original, device, *arguments)`` in the place of a function of the driver."""

    def plant(patch: Patch) -> None:
        original = getattr(StandIn, "_" + function)
        patch.setattr(StandIn, "_" + function, lambda device, *given: change(original, device, *given))

    FAULTS[name] = program, plant


COPY_IN, COPY_OUT, LAUNCH = "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuLaunchKernel"
ELSEWHERE = 0x99


def again_at_the_end(original: Any, device: StandIn, target: int, source: int, size: int, stream: int) -> Any:
    """What was copied comes once more when everything else is done."""
    original(device, target, source, size, stream)
    (step,) = device.streams[stream][-1:]
    device.streams.setdefault(0, []).append(lambda: None)
    finish = device._cuStreamSynchronize

    def synchronize(waited: int | None) -> int:
        device.streams.setdefault(waited or 0, []).insert(-1, step)
        return finish(waited)

    device._cuStreamSynchronize = synchronize  # type: ignore[method-assign]


def exchanged(original: Any, device: StandIn, *given: Any) -> Any:
    """The kernel finds its first two parameters in each other's place."""
    places = (ctypes.c_uint64 * 2).from_address(given[-2])
    places[:] = places[::-1]
    try:
        return original(device, *given)
    finally:
        places[:] = places[::-1]


driver("a_transfer_to_the_device_is_lost", updated, COPY_IN, lambda original, device, *given: 0)
driver("a_transfer_to_the_host_is_lost", softmax, COPY_OUT, lambda original, device, *given: 0)
driver("a_transfer_is_an_element_short", updated, COPY_IN,
       lambda original, device, target, source, size, stream: original(
           device, target, source, size - 8, stream))  # fmt: skip
driver("a_transfer_comes_again", updated, COPY_IN, again_at_the_end)
driver("transfers_are_given_to_another_stream", softmax, COPY_IN,
       lambda original, device, *given: original(device, *given[:-1], ELSEWHERE))  # fmt: skip
driver("results_are_fetched_by_another_stream", softmax, COPY_OUT,
       lambda original, device, *given: original(device, *given[:-1], ELSEWHERE))  # fmt: skip
driver("memory_is_made_by_another_stream", softmax, "cuMemAllocAsync",
       lambda original, device, *given: original(device, *given[:-1], ELSEWHERE))  # fmt: skip
driver("kernels_run_on_another_stream", softmax, LAUNCH,
       lambda original, device, *given: original(device, *given[:8], ELSEWHERE, *given[9:]))  # fmt: skip
driver("kernels_do_not_wait_for_each_other", centred, LAUNCH,
       lambda original, device, *given: original(
           device, *given[:8], ELSEWHERE if device.counts[LAUNCH] % 2 else given[8], *given[9:]))  # fmt: skip
driver("nobody_waits", softmax, "cuStreamSynchronize", lambda original, device, stream: 0)
driver("memory_is_given_back_at_once", product, "cuMemFreeAsync",
       lambda original, device, address, stream: device._free(address))  # fmt: skip
driver("memory_is_given_back_twice", softmax, "cuMemFreeAsync",
       lambda original, device, *given: (original(device, *given), original(device, *given))[0])  # fmt: skip
driver("memory_is_not_given_back", softmax, "cuMemFreeAsync", lambda original, device, *given: 0)
driver("a_kernel_is_launched_twice", updated, LAUNCH,
       lambda original, device, *given: original(device, *given) or original(device, *given))  # fmt: skip
driver("a_kernel_is_not_launched", softmax, LAUNCH, lambda original, device, *given: 0)
driver("parameters_are_exchanged", product, LAUNCH, exchanged)
driver("a_loop_that_adds_in_turn_has_two_workers", counted, LAUNCH,
       lambda original, device, handle, *given: original(
           device, handle, *given[:3], given[3] if given[3] > 1 else 2, *given[4:]))  # fmt: skip


@fault(product)
def a_product_has_rows_that_are_one_short(patch: Patch) -> None:
    original = StandIn._matrix
    patch.setattr(StandIn, "_matrix", lambda device, dtype, address, leading, rows, columns: original(
        device, dtype, address, leading - 1, rows, columns))  # fmt: skip


# -- tests


@pytest.mark.parametrize("program", [*ARGUMENTS, doubled], ids=lambda program: program.__name__)
def test_programs_are_right(program: Callable[..., Any]) -> None:
    runs(program)


@pytest.mark.parametrize("program", [shifted, centred, looked_up], ids=lambda program: program.__name__)
def test_any_grid_gives_the_result(program: Callable[..., Any], monkeypatch: Patch) -> None:
    small_grids(monkeypatch)
    runs(program)


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_found(name: str, monkeypatch: Patch) -> None:
    program, plant = FAULTS[name]
    plant(monkeypatch)
    try:
        runs(program)
    except (PtxError, AssertionError, RuntimeError, pytest.fail.Exception):
        return
    pytest.fail(f"{name}: {program.__name__} ran as if nothing were wrong")
