"""Checkpoints of variables of several shards: whole, of one moment, and onto any number of shards."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import Variable, optim
from jitflow.cluster import ShardedVariable, restore, save
from jitflow.errors import UserKeyError, UserValueError

START = np.random.default_rng(4).normal(size=(11, 2)).astype(np.float32)
IDS = np.array([3, 7, -1, 3, 10, 3, 0])


class Model:
    def __init__(self, shards: int) -> None:
        self.table = ShardedVariable(START, shards, servers="local") if shards else Variable(START)
        self.weights = Variable(np.ones(2, np.float32))
        self.optimiser = optim.Adam(0.1)
        self.generator = jitflow.random.Generator(1)

        @jitflow.function
        def step(ids: Any) -> Any:
            noise = self.generator.standard_normal((7, 2), dtype=np.float32)
            loss = lambda: ((self.table[ids] * self.weights - noise) ** 2).sum()  # noqa: E731
            return self.optimiser.minimize(loss, [self.table, self.weights])

        self.step = step


def test_another_number_of_shards_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    model, whole = Model(3), Model(0)
    for _ in range(2):
        assert model.step(IDS) == whole.step(IDS)
    save(tmp_path / "two", model, {"step": 2})
    names = [f"table-0-shard-{k}-of-3.safetensors" for k in range(3)]
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["manifest.json", *names, "variables.safetensors"]
    after = [whole.step(IDS) for _ in range(2)]
    save(tmp_path / "three", model)
    for shards in (4,):  # 3 is no divisor of it
        other = Model(shards)
        for _ in range(2):  # the second time when the slots are there already
            assert restore(tmp_path / "two", other) == {"step": 2}
            assert [other.step(IDS) for _ in range(2)] == after
            np.testing.assert_array_equal(other.table.numpy(), whole.table.numpy())
        again = Model(2)
        restore(tmp_path / "two", again)
        save(tmp_path / f"again-{shards}", again)  # slots that nobody has used yet are saved as well
        restore(tmp_path / f"again-{shards}", other)
        assert [other.step(IDS) for _ in range(2)] == after


def test_a_checkpoint_is_of_one_moment(tmp_path: Path) -> None:
    table = ShardedVariable(np.zeros((5, 1)), 2, servers="local")
    other, count = ShardedVariable(np.zeros((5, 1)), 3, servers="local"), Variable(np.zeros(()))
    optimiser = optim.SGD(1.0)

    @jitflow.function
    def step() -> Any:
        return optimiser.minimize(lambda: table[...].sum() + other[...].sum() + count, [table, other, count])

    step()
    stop = threading.Event()

    def train() -> None:
        while not stop.is_set():
            step()

    thread = threading.Thread(target=train)
    thread.start()
    try:
        objects = {"table": table, "other": other, "count": count}
        for number in range(5):
            save(tmp_path / str(number), objects)
    finally:
        stop.set()
        thread.join()
    copies = {name: ShardedVariable(np.zeros((5, 1)), 1, servers="local") for name in ("table", "other")}
    for number in range(5):
        restore(tmp_path / str(number), {**copies, "count": count})
        for one in copies.values():
            np.testing.assert_array_equal(one.numpy(), np.full((5, 1), count.numpy()))


def test_what_is_no_checkpoint_of_the_model_changes_nothing(tmp_path: Path) -> None:
    model = Model(2)
    save(tmp_path / "good", model)
    with pytest.raises(FileExistsError):
        save(tmp_path / "good", model)
    with pytest.raises(FileNotFoundError):
        restore(tmp_path / "nothing", model)
    with pytest.raises(UserValueError, match="lies on several servers"):
        jitflow.save(tmp_path / "whole.safetensors", model)
    with pytest.raises(UserKeyError, match="only the checkpoint"):
        restore(tmp_path / "good", Model(0))
    other = {"table": ShardedVariable(START[:-1], 2, servers="local")}
    with pytest.raises(UserValueError, match="another kind"):
        restore(tmp_path / "good", other)
    model.step(IDS)
    before = model.table.numpy()
    file = tmp_path / "good" / "table-0-shard-1-of-2.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(UserValueError, match="damaged"):
        restore(tmp_path / "good", model)
    np.testing.assert_array_equal(model.table.numpy(), before)
    manifest = tmp_path / "good" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": 9}))
    with pytest.raises(UserValueError, match="of format 9"):
        restore(tmp_path / "good", model)
    manifest.write_text("{")
    with pytest.raises(UserValueError, match="damaged"):
        restore(tmp_path / "good", model)
    assert not [*tmp_path.glob(".*")]
