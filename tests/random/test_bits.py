"""The bits of a reduction do not depend on what it is fused with.

Random programs reduce what they compute, along one axis or all. Each is compared with the reduction alone, of the same
elements in memory, on 1, 2 and 3 threads, and with itself after a first call with other sizes. Operands lie like the
value that is reduced, repeat along an axis, or lie in another order or apart.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.runtime.parallel.threads import num_threads

REDUCTIONS = ("np.sum(y{})", "np.mean(y{})", "np.var(y{})", "np.prod(y{})", "np.sqrt(np.sum(y * y{}))", "np.max(y{})")
VALUES = ("x + b", "x * b", "np.abs(x) - b")
SHAPES = ((0, 3), (7,), (1000,), (3, 50), (4, 1), (65, 33), (3, 4, 50), (5, 7, 3), (100, 400), (300, 1100))
DTYPES = ("f2", "f4", "f8")


def operand(kind: str, shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    """A second operand that broadcasts to ``shape``, lying in memory as ``kind`` says."""
    if kind == "strided":
        return rng.standard_normal((*shape[:-1], 2 * shape[-1])).astype(dtype)[..., ::2]
    smaller = {"row": shape[-1:], "column": (*shape[:-1], 1), "one": (1,) * len(shape)}.get(kind, shape)
    made = rng.standard_normal(smaller).astype(dtype)
    return np.asfortranarray(made) if kind == "fortran" else made


def compiled(value: str, reduction: str, name: str) -> list[Callable[..., Any]]:
    """The program in one piece, what it reduces, and the reduction alone."""
    source = (
        f"def fused(x, b):\n    y = {value}\n    return {reduction}\n"
        f"def made(x, b):\n    return {value}\n"
        f"def alone(y):\n    return {reduction}\n"
    )
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), namespace)
    return [jitflow.function(namespace[part]) for part in ("fused", "made", "alone")]


def differences(seed: int, kind: str, whole: bool) -> str:
    """What differs in one random program, which reduces all axes or one; nothing if its bits are those of its parts."""
    rng = np.random.default_rng(seed)
    shape, dtype = SHAPES[rng.integers(len(SHAPES))], DTYPES[rng.integers(len(DTYPES))]
    axis = None if whole else int(rng.integers(len(shape)))
    written = REDUCTIONS[rng.integers(len(REDUCTIONS) - (0 in shape))]
    reduction = written.format("" if axis is None else f", axis={axis}")
    value = VALUES[rng.integers(len(VALUES))]
    fused, made, alone = compiled(value, reduction, f"<bits {kind} {seed}>")
    x, b = rng.standard_normal(shape).astype(dtype), operand(kind, shape, dtype, rng)
    described = f"{reduction} of {value}, {dtype}{shape}, {kind}"
    expected = np.asarray(alone(made(x, b))).tobytes()
    threads = num_threads()
    try:
        for count in (1, 2, 3):
            jitflow.set_num_threads(count)
            if np.asarray(fused(x, b)).tobytes() != expected:
                return f"{described}: other bits than alone, {count} threads"
    finally:
        jitflow.set_num_threads(threads)
    again = compiled(value, reduction, f"<bits {kind} {seed} again>")[0]
    larger = tuple(size + 2 * (size > 1) for size in shape)
    again(rng.standard_normal(larger).astype(dtype), operand(kind, larger, dtype, rng))
    if np.asarray(again(x, b)).tobytes() != expected:
        return f"{described}: other bits after a first call with {larger}"
    return ""


KINDS = ["same", "one", "row", "column", "fortran", "strided"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_fusion(kind: str, whole: bool) -> None:
    assert [found for seed in range(2) if (found := differences(seed, kind, whole))] == []


@pytest.mark.stress
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_fusion_at_length(kind: str, whole: bool) -> None:
    assert [found for seed in range(1000, 1080) if (found := differences(seed, kind, whole))] == []


@pytest.mark.filterwarnings("ignore")
def test_rows_of_other_lengths_and_ranks() -> None:
    """Parts of a long row: none, of one element, longer than a block, in three parts of which none goes on evenly."""
    fused, made, alone = compiled("x * b", "np.sum(y)", "<rows>")
    rng = np.random.default_rng(0)
    for shape in ((0, 3), (3, 0), (1, 5), (5, 1), (2, 3000), (3000, 2), (4, 1023), (4, 1025)):
        x = rng.standard_normal(shape)
        for b in (rng.standard_normal(shape[1]), rng.standard_normal((shape[0], 1))):
            assert np.asarray(fused(x, b)).tobytes() == np.asarray(alone(made(x, b))).tobytes(), shape
    for shape in ((3, 4, 50), (1, 7, 3), (7, 1, 30), (20, 30, 1), (9, 11, 13)):
        x, b = rng.standard_normal(shape), rng.standard_normal(shape[::-1]).T
        assert np.asarray(fused(x, b)).tobytes() == np.asarray(alone(made(x, b))).tobytes(), shape
        b = rng.standard_normal((1, shape[1], 1))
        assert np.asarray(fused(x, b)).tobytes() == np.asarray(alone(made(x, b))).tobytes(), shape
