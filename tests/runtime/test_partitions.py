"""Random programs, placed anywhere, cut into partitions and run by native threads, mean what the whole means."""

from __future__ import annotations

import faulthandler
import gc
import sys
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

import numpy as np
import pytest

from jitflow.ir.core import Function
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.passes.partition import partition
from jitflow.passes.pipeline import LASTING_PIPELINE, STORAGE_PIPELINE, run_passes
from jitflow.runtime.native.pool import memory_stats
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.stand_in import StandIn
from tests.passes.placing import placed, with_checks
from tests.passes.stateful_programs import stateful_program
from tests.passes.tape_programs import tape_program
from tests.passes.test_lasting_variables import assert_all_or_nothing, lasting_program
from tests.passes.test_stateful_programs import assert_same
from tests.runtime.parts import CompiledParts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no POSIX threads")

MAKERS: dict[str, Callable[[int], Function]] = {
    "storage": stateful_program,
    "tapes": tape_program,
    "lasting": lasting_program,
}


def _check(seed: int, kind: str, failing: tuple[int, ...], gpus: Sequence[str] = ()) -> None:
    function = with_checks(MAKERS[kind](seed), seed, failing)
    whole = placed(run_passes(function, LASTING_PIPELINE if kind == "lasting" else STORAGE_PIPELINE), seed,
                   3 if gpus else 2 + seed % 3, gpus)  # fmt: skip
    parts = CompiledParts(whole, partition(whole).partitions)
    gc.collect()
    used = memory_stats()["bytes_in_use"]
    if kind == "lasting":
        assert_all_or_nothing(function, parts, seed)
    else:
        assert_same(partial(interpret, function), parts, function, seed)
    gc.collect()
    assert memory_stats()["bytes_in_use"] == used


def _check_all(seed: int, kind: str, gpus: Sequence[str] = ()) -> None:
    """With checks that hold, and with one or two that fail."""
    random = Random(seed)
    faulthandler.dump_traceback_later(240, exit=True)  # where it is stuck
    try:
        for failing in ((), (random.randrange(8),), (random.randrange(20), random.randrange(8))):
            _check(seed, kind, failing, gpus)
    except Exception as error:
        error.add_note(f"seed {seed}")
        raise
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize("kind", MAKERS)
def test_native_partitions_mean_what_the_whole_means(kind: str) -> None:
    for seed in range(2):
        _check_all(seed, kind)


def test_a_failure_ends_a_loop_elsewhere_that_comes_behind_it() -> None:
    function = parse("""func @f(%x: f64[n], %limit: f64) with {devices=["cpu:1", ""]} {
      %one: f64 = constant {value=1.0, type=<f64>}
      %half: f64 = constant {value=0.5, type=<f64>}
      %fine: bool = less %limit, %one {device="cpu:0"}
      check %fine {error="ValueError", message="too large", device="cpu:0"}
      %end: f64[n] = while %x (%v: f64[n]) {
        %most: f64 = reduce_maximum %v {axes=[0], device="cpu:1"}
        %more: bool = less %most, %limit {device="cpu:1"}
        yield %more
      } (%w: f64[n]) {
        %h: f64[n] = multiply %w, %half {device="cpu:1"}
        %g: f64[n] = add %h, %half {device="cpu:1"}
        yield %g
      }
      yield %end
    }""")
    parts = CompiledParts(function, partition(function).partitions)
    assert len(parts.hosts) == 2
    np.testing.assert_array_equal(parts(np.array([0.25, 0.0]), np.float64(0.75))[0], [0.8125, 0.75])
    with pytest.raises(ValueError, match="too large"):  # the loop would never end
        parts(np.array([0.25, 0.0]), np.float64(2.0))


def _check_with_gpu(seed: int, kind: str) -> None:
    stand_in = StandIn()
    with stand_in.installed():
        _check_all(seed, kind, ["cuda:0"])
        gc.collect()
        stand_in.finish()
    assert not stand_in.blocks


@needs_nvrtc
@pytest.mark.parametrize("kind", ["storage", "lasting"])
def test_partitions_on_three_devices_and_a_gpu_mean_what_the_whole_means(kind: str) -> None:
    _check_with_gpu(0, kind)


@needs_nvrtc
@pytest.mark.stress
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("kind", ["storage", "lasting"])
def test_many_partitions_on_three_devices_and_a_gpu_mean_what_the_whole_means(kind: str, block: int) -> None:
    for seed in range(1000 + 10 * block, 1010 + 10 * block):
        _check_with_gpu(seed, kind)


@pytest.mark.stress
@pytest.mark.parametrize("block", range(20))
@pytest.mark.parametrize("kind", MAKERS)
def test_many_native_partitions_mean_what_the_whole_means(kind: str, block: int) -> None:
    for seed in range(1000 + 10 * block, 1010 + 10 * block):
        _check_all(seed, kind)
