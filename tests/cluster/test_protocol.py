"""What replicas and servers agree on, between threads: sums, rounds, backups, staleness, and what is refused."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.cluster.groups import Group, add_up
from jitflow.cluster.memory import Block, can_share, mapped
from jitflow.cluster.rounds import Aborted, Contribution, Late, Leader, Round, Settings
from jitflow.cluster.worker import load_state, model_of
from tests.cluster.local import run_locally
from tests.cluster.models import Classifier, batches, same, trained_alone


def clipped() -> Classifier:
    return Classifier(lambda: jitflow.optim.Adam(1e-2, clip_norm=0.1))


@pytest.mark.parametrize(
    ("mode", "make", "replicas", "share"),
    [("sync", clipped, 3, True), ("sync", Classifier, 2, False), ("allreduce", Classifier, 3, True),
     ("allreduce", clipped, 2, False)],
)  # fmt: skip
def test_replicas_give_the_bits_of_one_process(mode: str, make: Any, replicas: int, share: bool) -> None:
    alone, losses = trained_alone(5, replicas, make)
    workers, _, outcomes = run_locally(make, batches(), 5, workers=replicas, mode=mode, share=share)
    assert all(same(worker.model, alone) for worker in workers)
    assert [[float(one.results[step][1]) for one in outcomes] for step in range(5)] == losses
    assert [int(worker.model.optimiser.steps) for worker in workers] == [5] * replicas


@pytest.mark.parametrize("mode", ["sync", "async", "allreduce"])
def test_numbers_of_the_optimiser_that_a_step_changes_reach_whoever_steps(mode: str) -> None:
    def changing() -> Any:
        model = Classifier(lambda: jitflow.optim.Momentum(1e-2, 0.9, clip_value=1.0))
        step = model.step

        def changed(images: Any, labels: Any) -> Any:
            optimiser = model.optimiser
            optimiser.momentum, optimiser.clip_value = optimiser.momentum * 0.8, optimiser.clip_value * 0.5
            return step(images, labels)

        model.step = changed
        return model

    alone, data = changing(), iter(batches())
    for _ in range(5):
        alone.step(*next(data))
    (worker,), _, _ = run_locally(changing, batches(), 5, workers=1, mode=mode)
    assert same(worker.model, alone)


def test_slots_are_where_the_shards_are_and_a_checkpoint_has_them() -> None:
    alone, _ = trained_alone(4, 2)
    workers, parts, _ = run_locally(Classifier, batches(), 4, every=2)
    state = {name: array for part in parts for name, array in part["shard"].snapshot(-1).items()}
    fresh = Classifier()
    load_state(fresh, {**workers[0].state(), **state})
    assert same(fresh, alone)
    assert int(fresh.optimiser.steps) == 4
    for slot in ("mean", "square"):
        found = zip(fresh.optimiser.slots[slot], alone.optimiser.slots[slot], strict=True)
        assert all(np.array_equal(one.numpy(), two.numpy()) for one, two in found)
    assert [part["shard"].snapshots() for part in parts] == [[2], [2]]


def test_backups_leave_out_who_comes_last() -> None:
    compiled = [threading.Event(), threading.Event()]  # the others do so in their first step, which takes longer

    def late(step: int) -> None:
        assert all(one.wait(60) for one in compiled)
        time.sleep(0.05)

    delays = [*((lambda step, own=one: own.set() if step else None) for one in compiled), late]
    workers, parts, outcomes = run_locally(Classifier, batches(), 12, workers=2, backup=1, delays=delays)
    assert parts[0]["leader"].dropped[2] > 0
    assert len(outcomes[2].results) < 12
    assert [len(one.results) for one in outcomes[:2]] == [12, 12]
    assert same(workers[0].model, workers[1].model)


def test_asynchronous_steps_keep_to_their_staleness() -> None:
    _, parts, outcomes = run_locally(
        Classifier, batches(), 6, mode="async", delays=[None, lambda step: time.sleep(0.02)], servers=1
    )
    assert [len(one.results) for one in outcomes] == [6, 6]
    assert int(next(iter(parts[0]["shard"]._held.values())).optimiser.steps) == 12
    leader = Leader(2, 2, staleness=1)
    leader.begin(1, 0)
    leader.advance(1, 0, 1)
    with pytest.raises(TimeoutError):
        _with_timeout(lambda: leader.advance(1, 0, 2), leader)


def _with_timeout(call: Any, leader: Leader) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        try:
            pool.submit(call).result(0.1)
        finally:
            leader.advance(1, 1, 1)


def test_what_replicas_cannot_do_is_refused() -> None:
    def outside() -> Any:
        model, optimiser = Classifier(), jitflow.optim.SGD(0.1)
        model.step = jitflow.function(lambda x, y: optimiser.minimize(model.loss, model.weights, x, y))
        return model

    with pytest.raises(ValueError, match="the optimiser is not found in the model"):
        run_locally(outside, batches(), 1, workers=1)

    def idle() -> Any:
        model = Classifier()
        model.step = jitflow.function(lambda x, y: model.loss(x, y))
        return model

    with pytest.raises(ValueError, match="updates no variables by an optimiser"):
        run_locally(idle, batches(), 1, workers=1)
    with pytest.raises(NotImplementedError, match="LBFGS needs the loss at several places"):
        run_locally(lambda: Classifier(jitflow.optim.LBFGS), batches(), 1, workers=1)
    with pytest.raises(NotImplementedError, match="no sum whose norm could be clipped"):
        run_locally(clipped, batches(), 1, workers=1, mode="async")
    with pytest.raises(TypeError, match="without a method `step`"):
        model_of(lambda: {"w": jitflow.Variable(1.0)})


def stepping(step: Any) -> Any:
    """What makes classifiers whose step is ``step(model, images, labels)``."""

    def make() -> Any:
        model = Classifier(lambda: jitflow.optim.SGD(0.1))
        model.step = jitflow.function(lambda images, labels: step(model, images, labels))
        return model

    return make


def test_sums_are_clipped_by_value_and_then_by_norm() -> None:
    def both() -> Classifier:
        return Classifier(lambda: jitflow.optim.SGD(0.1, clip_value=0.02, clip_norm=0.1))

    alone, _ = trained_alone(4, 2, both)
    workers, _, _ = run_locally(both, batches(), 4, workers=2)
    assert same(workers[0].model, alone)


def test_what_servers_would_not_see_is_refused() -> None:
    def in_parts(model: Any, images: Any, labels: Any) -> Any:
        loss, found = jitflow.value_and_grad(model.loss, variables=model.weights)(images, labels)
        model.optimiser.apply(found[:2], model.weights[:2])
        model.optimiser.apply(found[2:], model.weights[2:])
        return loss

    def written(model: Any, images: Any, labels: Any) -> Any:
        loss = model.optimiser.minimize(model.loss, model.weights, images, labels)
        model.w1[...] = np.clip(model.w1, -0.05, 0.05)
        return loss

    for step, message in ((in_parts, "several sets of variables"), (written, "is written to besides the steps")):
        with pytest.raises(NotImplementedError, match=message):
            run_locally(stepping(step), batches(), 4, workers=1)
        with pytest.raises(NotImplementedError, match=message):
            run_locally(stepping(step), batches(), 4, workers=1, mode="async")
        alone = stepping(step)()
        data = iter(batches())
        for _ in range(4):
            alone.step(*next(data))
        workers, _, _ = run_locally(stepping(step), batches(), 4, workers=1, mode="allreduce")
        assert same(workers[0].model, alone)


def test_rounds_are_closed_by_those_who_come_first() -> None:
    leader = Leader(1, 2)
    leader.begin(7, 3)
    closed = leader.arrive(7, Round(3, 0), 0, Contribution(1, None), Settings(0.5, None, {}))
    assert [one.part for one in closed.chosen] == [1]
    late = leader.arrive(7, Round(3, 0), 0, Contribution(0, None), Settings(0.25, None, {}))
    assert late == closed
    leader.arrive(7, Round(4, 0), 0, Contribution(1, None), Settings(0.5, None, {}))
    leader.arrive(7, Round(5, 0), 0, Contribution(1, None), Settings(0.5, None, {}))
    with pytest.raises(Late):
        leader.arrive(7, Round(3, 0), 0, Contribution(0, None), Settings(0.5, None, {}))
    assert leader.dropped == [2, 0]
    with pytest.raises(Aborted):
        leader.arrive(6, Round(6, 0), 0, Contribution(0, None), Settings(0.5, None, {}))


def test_replicas_that_make_different_steps_are_told() -> None:
    leader = Leader(2, 2)
    leader.begin(1, 0)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(leader.arrive, 1, Round(0, 0), 0, Contribution(0, None), Settings(0.1, None, {}))
        while not leader._arrived:
            time.sleep(0.001)
        with pytest.raises(RuntimeError, match="while others wait for each other in step 0"):
            leader.arrive(1, Round(1, 0), 0, Contribution(1, None), Settings(0.1, None, {}))
        with pytest.raises(Aborted):
            waiting.result(5)


def test_groups_share_out_all_elements_once() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        count = int(rng.integers(1, 8))
        shapes = [tuple(int(size) for size in rng.integers(0, 9, int(rng.integers(0, 4)))) for _ in range(count)]
        dtypes = [np.dtype(rng.choice(["f4", "f8", "f2"])) for _ in range(count)]
        names = tuple(f"v{place}" for place in range(count))
        group = Group("optimiser", names, tuple(dtypes), tuple(shapes), tuple(range(count)))
        given = [[rng.standard_normal(shape).astype(dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
                 for _ in range(3)]  # fmt: skip
        parts = int(rng.integers(1, 6))
        assert sorted(place for places in group.shares(parts) for place in places) == list(range(count))
        sums = [np.full(shape, np.nan, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
        for pieces in group.pieces(parts):
            add_up(group.cut(sums, pieces), [group.cut(arrays, pieces) for arrays in given])
        for place in range(count):
            assert np.array_equal(sums[place], given[0][place] + given[1][place] + given[2][place])
        laid = group.arrays(np.zeros(group.size, np.uint8))
        assert [(one.dtype, one.shape) for one in laid] == list(zip(dtypes, shapes, strict=True))


@pytest.mark.skipif(not can_share(), reason="processes share no memory here")
def test_blocks_are_seen_by_other_processes_and_gone_with_them() -> None:
    text = (
        "from jitflow.cluster.memory import Block\n"
        "block = Block(4096); block.bytes[:] = 7; print(repr(block.address), flush=True); input()\n"
        "print(block.bytes[1])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        from jitflow.cluster.memory import Address  # noqa: F401  what the text below names

        address = eval(process.stdout.readline())
        memory = mapped(address)
        assert memory[0] == 7
        memory[1] = 9
        assert process.communicate("\n")[0] == "9\n"
    assert memory[1] == 9
    with pytest.raises(RuntimeError, match="cannot be reached"):
        mapped(address)
    Block(16).close()
