"""Threads that train, save and restore at once: every checkpoint is a state between two steps."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.runtime.snapshots import snapshot

SIZE = 5_000


def train_save_and_restore(folder: Path, seconds: float) -> dict[str, int]:
    """How often each kind of thread came round. After each step, ``a + b`` is 0 and ``c`` is twice ``a``."""
    model = {name: jitflow.Variable(np.zeros(SIZE)) for name in "abc"}
    other = {name: jitflow.Variable(np.zeros(SIZE)) for name in "abc"}
    a, b, c = model.values()
    counts, errors, over = dict.fromkeys(["train", "look", "save", "restore"], 0), list[BaseException](), [False]

    @jitflow.function
    def train(x: Any) -> None:
        a[...] += x
        b[...] -= x
        c[...] += 2 * x

    def is_between_steps(values: list[Any]) -> bool:
        first, second, third = values
        return bool((first + second == 0).all() and (third == 2 * first).all() and first.min() == first.max())

    def look() -> None:
        assert is_between_steps(snapshot([a, b, c]))

    def save() -> None:
        jitflow.save(folder / "x", model)
        jitflow.restore(folder / "x", other)
        assert is_between_steps(snapshot(list(other.values())))

    def restore() -> None:
        time.sleep(0.01)
        jitflow.restore(folder / "x", model)

    jitflow.save(folder / "x", model)
    work = {"train": lambda: train(1.0), "look": look, "save": save, "restore": restore}

    def loop(name: str) -> None:
        try:
            while not over[0]:
                work[name]()
                counts[name] += 1
        except BaseException as error:
            errors.append(error)

    names = ["train"] * 8 + ["look"] * 4 + ["save"] * 2 + ["restore"] * 2
    threads = [threading.Thread(target=loop, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    over[0] = True
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    if errors:
        raise errors[0]
    return counts


def test_every_checkpoint_is_between_two_steps(tmp_path: Path) -> None:
    assert min(train_save_and_restore(tmp_path, 2).values()) > 0


@pytest.mark.stress
def test_every_checkpoint_is_between_two_steps_for_two_minutes(tmp_path: Path) -> None:
    assert min(train_save_and_restore(tmp_path, 120).values()) > 0
