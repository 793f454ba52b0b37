"""`CheckpointManager`: what it keeps, when it saves, and what it resumes from."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserKeyError, UserValueError

MANAGER = jitflow.CheckpointManager


def steps(manager: Any) -> list[int]:
    return [checkpoint.step for checkpoint in manager.checkpoints()]


@pytest.fixture
def w() -> Any:
    return jitflow.Variable(np.zeros(3))


def test_the_last_ones_stay(tmp_path: Path, w: Any) -> None:
    with MANAGER(tmp_path / "a" / "b", {"w": w}, keep_last=2) as manager:
        for step in (1, 2, 3, 20):
            saved = manager.save(step, metadata={"epoch": step // 2})
            assert saved.path.exists()
        assert steps(manager) == [3, 20]
        assert sorted(os.listdir(manager.folder)) == ["step-0000000003.safetensors", "step-0000000020.safetensors"]
    assert [one.metadata for one in MANAGER(tmp_path / "a" / "b", {"w": w}).checkpoints()] == [
        {"epoch": 1}, {"epoch": 10}
    ]  # fmt: skip


@pytest.mark.parametrize(("mode", "kept", "best"), [("min", [2, 4, 6], 2), ("max", [3, 5, 6], 5)])
def test_the_best_ones_stay(mode: str, kept: list[int], best: int, tmp_path: Path, w: Any) -> None:
    metrics = [0.5, 0.1, 0.8, 0.2, 0.9, np.nan]
    with MANAGER(tmp_path, w, keep_last=1, keep_best=2, mode=mode) as manager:
        assert manager.best() is None
        for step, metric in enumerate(metrics, 1):
            manager.save(step, np.float32(metric))
        assert steps(manager) == kept
        again = MANAGER(tmp_path, w, mode=mode).best()
        assert again is not None
        assert again.step == best


def test_saving_every_few_steps(tmp_path: Path, w: Any) -> None:
    with MANAGER(tmp_path, w, keep_last=10, every_steps=3) as manager:
        for step in range(1, 11):
            manager.step(step)
            manager.wait()
        assert steps(manager) == [3, 6, 9]


def test_saving_every_few_seconds(tmp_path: Path, w: Any) -> None:
    with MANAGER(tmp_path, w, keep_last=100, every_seconds=0.1) as manager:
        saved = 0
        for step in range(25):
            saved += manager.step(step)
            time.sleep(0.02)
    assert 2 <= saved <= 5
    assert len(steps(manager)) == saved


def test_a_checkpoint_is_what_was_when_the_step_ended(tmp_path: Path, w: Any) -> None:
    with MANAGER(tmp_path, w, every_steps=1) as manager:
        w.assign(5.0)
        assert manager.step(1)
        w.assign(6.0)
    found = jitflow.Variable(np.zeros(3))
    checkpoint = MANAGER(tmp_path, {"variable": found}).restore_latest()
    assert checkpoint is not None
    np.testing.assert_array_equal(found.numpy(), 5)


def test_errors_in_the_background_come_with_the_next_call(
    tmp_path: Path, w: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = MANAGER(tmp_path, w, every_steps=1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError("the disk is gone")))
        assert manager.step(1)
        while manager._pending is not None and not manager._pending.done():
            time.sleep(0.001)
        with pytest.raises(OSError, match="the disk is gone"):
            manager.step(2)
    assert os.listdir(tmp_path) == []
    assert manager.step(3)
    manager.close()
    assert steps(manager) == [3]


# -- resuming ---------------------------------------------------------------------------------------------


def test_nothing_to_resume_from(tmp_path: Path, w: Any) -> None:
    assert MANAGER(tmp_path, w).restore_latest() is None


@pytest.mark.parametrize("keep", [10, -3, 200])
def test_damaged_files_are_skipped(keep: int, tmp_path: Path, w: Any) -> None:
    with MANAGER(tmp_path, w, keep_last=2) as manager:
        for step in (1, 2):
            w.assign(float(step))
            saved = manager.save(step, metric=step, metadata={"epoch": 0})
    saved.path.write_bytes(saved.path.read_bytes()[:keep])
    manager = MANAGER(tmp_path, w, keep_last=1)
    with pytest.warns(UserWarning, match=r"skipped: the checkpoint .*2\.safetensors is damaged"):
        found = manager.restore_latest()
    assert found is not None
    assert (found.step, found.metric, found.metadata) == (1, 1.0, {"epoch": 0})
    np.testing.assert_array_equal(w.numpy(), 1)
    manager.save(2)
    again = manager.restore_latest()
    assert again is not None
    assert again.step == 2
    assert len(list(tmp_path.glob("*.damaged"))) == 1
    manager.close()


def test_whole_files_that_do_not_fit_are_errors(tmp_path: Path, w: Any) -> None:
    with MANAGER(tmp_path, w) as manager:
        manager.save(1)
        with pytest.raises(UserKeyError, match="holds other names"):
            manager.restore_latest({"v": w})
    assert steps(manager) == [1]


def test_steps_count_on_from_what_was_restored(tmp_path: Path, w: Any) -> None:
    with MANAGER(tmp_path, w) as manager:
        manager.save(10)
    with MANAGER(tmp_path, w, every_steps=5) as manager:
        manager.restore_latest()
        assert [manager.step(step) for step in range(11, 16)] == [False] * 4 + [True]


def test_what_a_dead_process_left_is_removed(tmp_path: Path, w: Any) -> None:
    dead, written = (tmp_path / f".step-0000000001.safetensors.{os.getpid()}-{number}.partial" for number in "01")
    (tmp_path / "notes.txt").touch()
    with written.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with MANAGER(tmp_path, w) as manager:
            dead.touch()
            manager.save(3)
            assert sorted(os.listdir(tmp_path)) == [written.name, "notes.txt", "step-0000000003.safetensors"]
    MANAGER(tmp_path, w)
    assert sorted(os.listdir(tmp_path)) == ["notes.txt", "step-0000000003.safetensors"]


def test_a_folder_among_the_checkpoints_is_none(tmp_path: Path, w: Any) -> None:
    (tmp_path / "step-0000000009.safetensors").mkdir()
    with MANAGER(tmp_path, w, keep_last=1) as manager:
        manager.save(3)
        assert steps(manager) == [3]
        found = manager.restore_latest()
        assert found is not None
        assert found.step == 3


def test_many_threads_step_and_save(tmp_path: Path, w: Any) -> None:
    errors: list[BaseException] = []

    def work(manager: Any, number: int) -> None:
        try:
            for step in range(20):
                w.assign(step)
                manager.step(100 * number + step, metric=step)
                if step % 7 == 0:
                    manager.save(1000 * number + step)
                    manager.best()
        except BaseException as error:
            errors.append(error)

    with MANAGER(tmp_path, w, keep_best=2, every_steps=1) as manager:
        threads = [threading.Thread(target=work, args=(manager, number)) for number in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        manager.wait()
        assert errors == []
        assert 3 <= len(steps(manager)) <= 5
        assert manager.restore_latest() is not None


@pytest.mark.parametrize(
    "options", [{"keep_last": 0}, {"keep_best": -1}, {"mode": "best"}, {"every_steps": 0}, {"every_seconds": -1.0}]
)
def test_options_out_of_range(options: dict[str, Any], tmp_path: Path, w: Any) -> None:
    with pytest.raises(UserValueError, match="expected"):
        MANAGER(tmp_path, w, **options)
    with pytest.raises(UserValueError, match="expected a step from 0"):
        MANAGER(tmp_path, w).save(-1)


def test_what_is_no_step_and_what_comes_after_the_end(tmp_path: Path) -> None:
    manager = jitflow.CheckpointManager(tmp_path, {"w": jitflow.Variable(1.0)})
    with pytest.raises(TypeError):
        manager.save(2.5)  # type: ignore[arg-type]
    assert manager.save(np.int64(3)).step == 3
    manager.close()
    with pytest.raises(RuntimeError, match="closed"):
        manager.save(4)
