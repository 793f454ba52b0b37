"""Fused and lowered programs, compiled, against the reference interpreter: all sizes, all layout classes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from jitflow.ir.core import Function
from jitflow.ir.dims import evaluate
from jitflow.ir.dtypes import F32
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.types import Tensor
from tests.execute import Compiled, layouts_of
from tests.passes.programs import PROGRAMS

SIZES = ((3, 5, 4), (7, 33, 9), (40, 70, 16), (2, 2500, 3), (1500, 3, 5), (0, 3, 2), (3, 0, 2))

OTHERS = ("F", "strided", "reversed")


def arguments_for(function: Function, sizes: tuple[int, int, int], layout: str) -> list[Any]:
    names = dict(zip("nmk", sizes, strict=True))
    random = np.random.default_rng(0)
    arguments: list[Any] = []
    for parameter in function.parameters:
        if not isinstance(parameter.type, Tensor):
            arguments.append(2.5)
            continue
        shape = tuple(evaluate(dim, names) for dim in parameter.type.dims)
        if parameter.type.dtype.is_integer:
            limit = min(sizes[:2])
            array = random.integers(-limit, limit, shape) if limit else np.zeros(0, np.int64)
        else:
            array = random.standard_normal(shape).astype(parameter.type.dtype.numpy)
        if layout == "F":
            array = np.asfortranarray(array)
        elif layout == "strided":
            array = np.repeat(array, 2, axis=-1)[..., ::2]
        elif layout == "reversed":
            array = array[::-1].copy()[::-1]
        arguments.append(array)
    return arguments


def in_turn(names: Iterable[str]) -> list[Any]:
    """Each program and layout: C and one of the others for each in turn, all together where there is time."""
    return [
        pytest.param(name, layout, marks=() if layout in ("C", OTHERS[place % len(OTHERS)]) else pytest.mark.stress)
        for place, name in enumerate(names)
        for layout in ("C", *OTHERS)
    ]


@pytest.mark.parametrize(("name", "layout"), in_turn(PROGRAMS))
def test_compiled_agrees_with_the_interpreter(name: str, layout: str) -> None:
    function = parse(PROGRAMS[name])
    compiled: dict[tuple[str, ...], Compiled] = {}
    for sizes in SIZES:
        arguments = arguments_for(function, sizes, layout)
        classes = layouts_of(arguments)
        if classes not in compiled:
            compiled[classes] = Compiled(function, classes)
        code = compiled[classes]
        try:
            expected = interpret(function, *arguments)
        except (ValueError, IndexError) as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                code(*arguments)
            continue
        for got, want in zip(code(*arguments), expected, strict=True):
            agree(got, want)


def agree(got: Any, want: Any) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if want.dtype.kind == "f":
        tolerance = 2e-5 if want.dtype == F32.numpy else 1e-12
        scale = max(1.0, float(np.max(np.abs(want), initial=0.0)))
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)
    else:
        np.testing.assert_array_equal(got, want)
