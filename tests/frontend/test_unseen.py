"""Exceptions and enumerations are used as they are: what their methods read is guarded by its value."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest

import jitflow

X = np.arange(1.0, 4.0)
GAIN: Any = 2.0
COSTS = {"a": 2.0, "b": [3.0]}
TABLE = np.arange(3.0)


def scaled(number: Any) -> Any:
    return number * GAIN


class Kind(enum.Enum):
    A = "a"
    B = "b"

    def cost(self) -> Any:
        return COSTS[self.value]

    @property
    def gain(self) -> Any:
        return scaled(len(self.value))

    @staticmethod
    def largest() -> Any:
        return TABLE.max()


class Failure(Exception):
    code = 3

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.weight = scaled(len(place))


def of_members(x: Any) -> Any:
    return x * Kind.A.cost() + Kind.B.cost()[0], x * Kind.B.gain, x * Kind.largest()


def of_an_argument(x: Any, kind: Any = Kind.A) -> Any:
    return x * kind.cost(), x * kind.gain


def of_exceptions(x: Any) -> Any:
    try:
        if x[0] > 0:
            raise Failure("there")
        return x, x
    except Failure as failure:
        return x * failure.weight, x * failure.code


@pytest.mark.parametrize("program", [of_members, of_an_argument, of_exceptions])
def test_what_methods_read_that_run_unseen(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def agrees() -> None:
        for _ in range(2):
            for found, expected in zip(compiled(X), program(X), strict=True):
                np.testing.assert_array_equal(found, expected)

    compiled = jitflow.function(program)
    agrees()
    misses = compiled.cache_info().misses
    monkeypatch.setitem(globals(), "COSTS", {"a": 2.0, "b": [3.0]})
    agrees()
    assert compiled.cache_info().misses == misses
    monkeypatch.setitem(globals(), "GAIN", 5)
    agrees()
    monkeypatch.setitem(COSTS, "a", 7.0)
    COSTS["b"][0] = 8.0  # type: ignore[index]
    agrees()
    monkeypatch.setitem(globals(), "TABLE", np.full(3, 9.0))
    agrees()
    TABLE[1] = 11.0
    agrees()
    monkeypatch.setitem(globals(), "scaled", lambda number: number - GAIN)
    agrees()
    monkeypatch.setattr(Failure, "code", 4)
    agrees()
