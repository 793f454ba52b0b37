"""Long functions of numbers that a host program computes in several places become functions that it calls."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from jitflow.ir.core import Function, walk
from jitflow.ir.parser import parse
from jitflow.passes.expand.expand import expand


def host(*lines: str) -> Function:
    body = "\n".join(f"  {line}" for line in lines)
    return parse(f"host @run() {{\n  %x: f64 = argument {{slot=0}}\n{body}\n  yield\n}}")


def called(program: Function) -> list[str]:
    return [op.attributes["function"] for op in walk(program.region) if op.name == "call"]


def test_one_function_for_two_places() -> None:
    program = expand(host("%a: f64 = sin %x", "%b: f64 = sin %a", "result %b {slot=0}"))
    assert called(program) == ["sin_f64", "sin_f64"]
    assert [function.name for function in program.functions] == ["sin_f64"]
    assert program.kernels == ()


def test_a_function_in_one_place_stays_there() -> None:
    program = expand(host("%a: f64 = sin %x", "%b: f64 = cos %a", "result %b {slot=0}"))
    assert called(program) == []
    assert program.functions == ()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_bits_are_those_of_kernels(dtype: type) -> None:
    @jitflow.function
    def numbers(x, y):  # type: ignore[no-untyped-def]
        return np.sin(x), np.sin(y), x**y, y**x

    @jitflow.function
    def arrays(x, y):  # type: ignore[no-untyped-def]
        return np.sin(x), np.sin(y), x**y, y**x

    x, y = dtype(1.75), dtype(1e10)
    for one, row in zip(numbers(x, y), arrays(np.full(3, x), np.full(3, y)), strict=True):
        assert one.tobytes() * 3 == row.tobytes()
