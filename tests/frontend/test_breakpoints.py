"""`breakpoint` in compiled code: where it stops, when, and what is to be seen there."""

from __future__ import annotations

import builtins
import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest

import jitflow

SCALE = 2.0


class Settings:
    steps = 3


SETTINGS = Settings()


def inner(x: Any, i: Any) -> Any:
    y = x * i
    breakpoint()
    return y


def program(x: Any, n: Any, name: str) -> Any:
    total, pair, settings = 0.0, [x[0], "text"], SETTINGS  # noqa: F841
    for i in range(n):
        if x[i] > 0:
            total += x[i]
            x[i] = -1.0
            jitflow.breakpoint("argument", key=i)
    print("between")
    inner(x, n * SCALE)
    return total


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []

    def hook(*args: Any, **keywords: Any) -> None:
        frame: FrameType = sys._getframe(1)
        seen = {name: thing.copy() if isinstance(thing, np.ndarray) else thing
                for name, thing in frame.f_locals.items()}  # fmt: skip
        found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, args, keywords, seen))
        print("stopped", file=sys.stdout)
        assert frame.f_globals["SCALE"] == SCALE

    monkeypatch.setattr(sys, "breakpointhook", hook)
    return found


def test_it_is_pythons():
    assert jitflow.breakpoint is builtins.breakpoint


def test_it_stops_where_plain_python_stops(stops: list[Any], capsys: pytest.CaptureFixture[str]):
    program(np.array([1.0, -1.0, 5.0, 0.0]), 3, "first")
    expected, stops[:] = list(stops), []
    printed = capsys.readouterr().out
    compiled = jitflow.function(program)
    for _ in range(2):
        stops.clear()
        compiled(np.array([1.0, -1.0, 5.0, 0.0]), 3, "first")
        assert capsys.readouterr().out == printed
        assert [stop[:5] for stop in stops] == [stop[:5] for stop in expected]
        for stop, plain in zip(stops, expected, strict=True):
            assert stop[5].keys() == plain[5].keys()
            for name, thing in stop[5].items():
                np.testing.assert_equal(thing, plain[5][name])
                assert type(thing) is type(plain[5][name])


def test_what_is_seen_is_from_that_moment(stops: list[Any]):
    @jitflow.function
    def changes(x):
        y = x + 1
        breakpoint()
        y[0] = 7.0
        return y

    assert changes(np.zeros(2))[0] == 7.0
    np.testing.assert_array_equal(stops[0][5]["y"], [1.0, 1.0])


def test_the_hook_may_raise(monkeypatch: pytest.MonkeyPatch):
    def leave() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "breakpointhook", leave)
    with pytest.raises(KeyboardInterrupt):
        jitflow.function(inner)(np.ones(3), 1.0)
