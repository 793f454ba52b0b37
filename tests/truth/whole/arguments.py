"""Arguments of a random program, for several sizes: made from a seed, so that they can be made twice.

``overlap`` says how ``v`` lies in memory beside ``u``: two views of one array, or apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.truth.whole.kinds import Array, Kind

__all__ = ["Call", "calls", "made"]

SIZES = ((5, 3), (1, 4), (0, 2), (8, 1), (17, 2), (6, 0), (2, 9), (33, 3))
OVERLAPS = ("apart", "apart", "apart", "same", "shifted", "reversed", "strided", "rows")


@dataclass(frozen=True)
class Call:
    """What the arguments of one call are made from."""

    sizes: tuple[int, int]
    overlap: str
    seed: int
    special: bool


def calls(choose: Callable[[int], int], count: int = 3) -> list[Call]:
    """Several calls; the first has sizes that are neither 0 nor 1."""
    overlap, special = OVERLAPS[choose(len(OVERLAPS))], choose(4) == 3
    found = [Call((5 + choose(4), 3 + choose(3)), overlap, choose(1000), special)]
    for _ in range(count - 1):
        found.append(Call(SIZES[choose(len(SIZES))], overlap, choose(1000), special))
    return found


def made(call: Call, parameters: Mapping[str, Kind]) -> dict[str, Any]:
    """The arguments by name, and the arrays that some of them are views of."""
    random = np.random.default_rng(call.seed)
    n, m = call.sizes
    lengths = {"n": n, "m": m}
    found: dict[str, Any] = {}
    for name, kind in parameters.items():
        if isinstance(kind, Array):
            found[name] = _array(kind.dtype, tuple(lengths[length] for length in kind.lengths), random, call.special)
        elif kind.kind == "int":
            found[name] = int(random.integers(-2, n + 2)) if random.integers(4) else int(random.integers(0, max(n, 1)))
        elif kind.kind == "bool":
            found[name] = bool(random.integers(2))
        else:
            number = float(random.integers(-8, 9)) / 4
            found[name] = number if kind.kind == "float" else np.float64(number)
    _overlap(found, call, random)
    return found


def _overlap(found: dict[str, Any], call: Call, random: Any) -> None:
    n = call.sizes[0]
    dtype = found["u"].dtype.str[1:]
    if call.overlap == "same":
        found["v"] = found["u"]
    elif call.overlap == "shifted":
        base = _array(dtype, (n + 1,), random, call.special)
        found["u"], found["v"] = base[1:], base[:-1]
    elif call.overlap == "reversed":
        found["v"] = found["u"][::-1]
    elif call.overlap == "strided":
        base = _array(dtype, (2 * n,), random, call.special)
        found["u"], found["v"] = base[::2], base[1::2]
    elif call.overlap == "rows" and "A" in found and 0 not in found["A"].shape and found["A"].dtype == dtype:
        if found["A"].shape[0] == n:
            found["u"] = found["A"][:, 0]
        if found["A"].shape[1] == n:
            found["v"] = found["A"][-1]


def _array(dtype: str, shape: tuple[int, ...], random: Any, special: bool) -> Any:
    if dtype == "?":
        return random.integers(0, 2, shape).astype(bool)
    if dtype[0] == "u":
        return random.choice([0, 1, 2, 3, 5, 8, 200, 255], shape).astype(dtype)
    if dtype[0] == "i":
        return random.integers(-6, 9, shape).astype(dtype)
    values = (random.integers(-16, 17, shape) / 4).astype(dtype)
    if special:
        choices = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30], dtype)
        values = np.where(random.random(shape) < 0.15, random.choice(choices, shape), values).astype(dtype)
    return values
