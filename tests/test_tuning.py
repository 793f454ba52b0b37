"""Looking for faster schedules: what is measured, what is kept, and what follows from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.compilation import tuning
from jitflow.compilation.compiler import lower
from jitflow.passes.schedule import tuned
from jitflow.passes.schedule.price import price
from jitflow.passes.schedule.target import Processor


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(tuned, "user_folder", lambda: tmp_path)
    monkeypatch.setattr(tuning, "SECONDS", 0.001)
    tuned.forget()
    yield tmp_path
    tuned.forget()


def numbers() -> Any:
    return np.random.default_rng(0).normal(size=(20, 70)).astype(np.float32)


def test_what_is_kept_is_followed_with_the_same_bits() -> None:
    function = jitflow.function(softmax)
    expected = function(numbers())
    before = function.ir(stage="scheduled")
    found = list(tuning.trials(function, [numbers()]))
    assert found[0].what == "as chosen"
    assert len({trial.text for trial in found}) == len(found) > 1
    assert all(0 < trial.predicted < 1 and 0 < trial.seconds < 1 for trial in found)
    tuned.keep({found[-1].key: found[-1].text})
    again = jitflow.function(softmax)
    np.testing.assert_array_equal(again(numbers()), expected)
    assert again.ir(stage="scheduled") != before


def test_the_fastest_of_each_kernel_is_kept() -> None:
    chosen = tuning.Trial("kernel_0", "as chosen", "key", "text", 1.0, 1.0)
    slower, faster = (tuning.Trial("kernel_0", "other", "key", name, 1.0, t) for name, t in [("a", 1.1), ("b", 0.9)])
    assert tuning.best_of([chosen, slower]) == {}
    assert tuning.best_of([chosen, slower, faster]) == {"key": "b"}


@pytest.mark.parametrize("content", ["", "[]", "no JSON", '{"key": 3}', json.dumps({"key": "for nothing"})])
def test_a_file_that_is_none_is_none(folder: Path, content: str) -> None:
    function = jitflow.function(softmax)
    (trial, *_) = tuning.trials(function, [numbers()])
    (folder / "schedules.json").write_text(content.replace("key", trial.key))
    tuned.forget()
    np.testing.assert_array_equal(jitflow.function(softmax)(numbers()), function(numbers()))


def test_larger_sizes_cost_more() -> None:
    function = jitflow.function(softmax)
    function(numbers())
    compilation = function._compilation()
    compilation.traced = function._last[1]
    lower(compilation)
    for scheduled in compilation.lowered.scheduled.values():
        small, large = (
            price(scheduled.schedule, scheduled.loops, Processor(), {"n": n, "m": 70}).total for n in (20, 200)
        )
        assert 5 * small < large < 15 * small


def test_a_schedule_says_what_it_is_predicted_to_take() -> None:
    function = jitflow.function(softmax)
    function(numbers())
    assert "; predicted for n=20, m=70: as chosen" in function.ir(stage="scheduled")
