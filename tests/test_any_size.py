"""One compilation for all sizes: programs of the gallery at a hundred of them, 0 among them.

Only a dim of 1 is part of what a program is compiled for, because an axis of one element broadcasts, and what a program
decides on a size (``if len(x) == 0``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.gallery import load
from tests.test_programs import assert_runs_alike

RANDOM = np.random.default_rng(7)


def symbols(n: int) -> Any:
    return RANDOM.integers(0, 4, n, np.uint8)


FROM_ZERO: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "crc16": lambda n: (RANDOM.integers(0, 256, n, np.uint8), 0x8408),
    "floyd_warshall": lambda n: (RANDOM.integers(1, 100, (n, n)),),
    "heat_2d": lambda n: (RANDOM.random((n, 2 * n)), 0.1, n % 4),
    "insertion_sort": lambda n: (RANDOM.random(n),),
    "jacobi_1d": lambda n: (RANDOM.random(n), RANDOM.random(n), 3),
    "life": lambda n: (RANDOM.integers(0, 2, (n, n + 3), np.int32), 2),
    "lu": lambda n: (RANDOM.random((n, n)),),
    "sieve": lambda n: (n,),
    "smith_waterman": lambda n: (symbols(n), symbols(n // 3 + 2), 2, 1, 2),
    "syrk": lambda n: (1.5, 1.2, RANDOM.random((n, n)), RANDOM.random((n, n // 2 + 2))),
}
FROM_TWO: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "adi": lambda n: (RANDOM.random((n, n)), 1.0, 0.01, n % 3),
    "heat_1d": lambda n: (RANDOM.random(n), 0.2, n % 5),
    "levenshtein": lambda n: (symbols(n), symbols(n // 2 + 2)),
    "seidel_2d": lambda n: (RANDOM.random((n, n // 4 + 2)), 2),
    "wave_3d": lambda n: (RANDOM.random((n % 7 + 2, n % 5 + 2, n)), 0.3, 2),
}
"""Arguments of any size; for programs that have no result for nothing, or decide on sizes, of any from two."""


@pytest.mark.parametrize("name", [*FROM_ZERO, *FROM_TWO])
def test_a_hundred_sizes_are_one_compilation(name: str) -> None:
    function = getattr(load(name), name)
    arguments = FROM_ZERO.get(name) or FROM_TWO[name]
    sizes = [7, *range(2, 101), *([0] if name in FROM_ZERO else [101])]
    for size in sizes:
        assert_runs_alike(name, arguments(size), function)
    assert len(set(sizes)) == 100
    assert function.cache_info().misses == 1


@pytest.mark.parametrize("name", FROM_ZERO)
def test_size_one_is_another_compilation_at_most(name: str) -> None:
    function = getattr(load(name), name)
    for size in (5, 1, 0, 1, 4):
        assert_runs_alike(name, FROM_ZERO[name](size), function)
    assert function.cache_info().misses <= 2
