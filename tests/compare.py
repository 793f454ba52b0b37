"""What "equal" means in each test, said once.

`assert_same` compares class, dtype, shape and values. Nan equals nan, whatever its bits; zeros have signs. How far
values may lie apart depends on what computed them:

===============  ==========================================================================================
`EXACT`          arithmetic, comparisons, conversions, anything that moves elements: bit for bit
`ELEMENTARY`     exp, sin, power...: two correct results are at most 2 ulp from the truth, so 4 from each other
`REDUCTION`      sums, products, matrix products: the order of folding is free
`ITERATED`       programs of many steps, each of which takes in the last one's roundings
===============  ==========================================================================================
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitflow.ir.core import Function, walk

__all__ = [
    "ELEMENTARY",
    "EXACT",
    "ITERATED",
    "REDUCTION",
    "Tolerance",
    "assert_all_same",
    "assert_same",
    "tolerance_of",
]


@dataclass(frozen=True)
class Tolerance:
    """How far floats may differ: in units of the last place, or relative to the largest value, in units of epsilon."""

    name: str
    ulp: int = 0
    epsilons: int = 0


EXACT = Tolerance("exact")
ELEMENTARY = Tolerance("elementary", ulp=4)
REDUCTION = Tolerance("reduction", ulp=4, epsilons=64)
ITERATED = Tolerance("iterated", ulp=4, epsilons=1 << 14)

_ELEMENTARY = frozenset(
    [
        "power",
        "cbrt",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log1p",
        "log2",
        "log10",
        "logaddexp",
        "logaddexp2",
        "sin",
        "cos",
        "tan",
        "arcsin",
        "arccos",
        "arctan",
        "arctan2",
        "hypot",
        "sinh",
        "cosh",
        "tanh",
        "arcsinh",
        "arccosh",
        "arctanh",
        "erf",
        "erfc",
    ]
)
_COMPLEX_ELEMENTARY = frozenset({"sqrt", "divide", "absolute", "sign", "multiply"})
_FOLDING = frozenset(
    ["reduce_add", "reduce_multiply", "reduce_m2", "accumulate_add", "accumulate_multiply", "matmul", "fold_lanes"]
)


def tolerance_of(function: Function) -> Tolerance:
    """The tolerance that a function's ops allow."""
    tolerance = EXACT
    for op in walk(function.region):
        dtypes = [getattr(result.type, "dtype", None) for result in op.results]
        if op.name in _FOLDING and any(dtype is not None and dtype.kind in "fc" for dtype in dtypes):
            return REDUCTION
        if op.name in _ELEMENTARY or (op.name in _COMPLEX_ELEMENTARY and any(d and d.is_complex for d in dtypes)):
            tolerance = ELEMENTARY
    return tolerance


def assert_all_same(actual: Iterable[Any], expected: Iterable[Any], tolerance: Tolerance = EXACT) -> None:
    """`assert_same` for each of several results."""
    for position, (got, wanted) in enumerate(zip(actual, expected, strict=True)):
        assert_same(got, wanted, tolerance, f"result {position}")


def assert_same(actual: Any, expected: Any, tolerance: Tolerance = EXACT, what: str = "the result") -> None:
    """Assert that two results are one to a user: class, dtype, shape and values."""
    assert type(actual) is type(expected), f"{what}: expected {type(expected)}, got {type(actual)}"
    parts = _parts(expected)
    if parts is not None:
        assert_all_same(_parts(actual) or (), parts, tolerance)
        return
    got, wanted = np.asarray(actual), np.asarray(expected)
    assert got.dtype == wanted.dtype, f"{what}: expected dtype {wanted.dtype}, got {got.dtype}"
    assert got.shape == wanted.shape, f"{what}: expected shape {wanted.shape}, got {got.shape}"
    if np.iscomplexobj(wanted):
        assert_same(got.real, wanted.real, tolerance, f"{what}, real part")
        assert_same(got.imag, wanted.imag, tolerance, f"{what}, imaginary part")
        return
    close = _close(got, wanted, tolerance)
    if not np.all(close):
        where = tuple(int(index) for index in np.argwhere(~close)[0])
        raise AssertionError(
            f"{what} ({tolerance.name}): expected {wanted[where]!r}, got {got[where]!r} at {list(where)}; "
            f"{np.count_nonzero(~close)} of {close.size} differ"
        )


def _parts(value: Any) -> Iterable[Any] | None:
    """What a container or an object of the user's holds, its keys and the order of them included."""
    if isinstance(value, list | tuple | deque):
        return value
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, set | frozenset):
        return sorted(value, key=lambda item: (type(item).__name__, item))
    if isinstance(value, np.random.Generator):
        return _parts(value.bit_generator.state)
    if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__dict__"):
        return None
    return _parts(vars(value))


def _close(got: Any, wanted: Any, tolerance: Tolerance) -> Any:
    if wanted.dtype.kind not in "fV":
        return got == wanted
    spacing = np.spacing(np.abs(wanted.astype(np.float32))) * 2**16 if wanted.dtype.kind == "V" else None
    if spacing is not None:  # bf16 is the upper half of f32
        got, wanted = got.astype(np.float32), wanted.astype(np.float32)
    both_nan = np.isnan(got) & np.isnan(wanted)
    same = (got == wanted) & (np.signbit(got) == np.signbit(wanted))
    close = both_nan | same
    if tolerance is EXACT:
        return close
    close |= (got == wanted) & (wanted == 0)
    with np.errstate(all="ignore"):
        distance = np.abs(got - wanted)
        close |= distance <= tolerance.ulp * (np.spacing(np.abs(wanted)) if spacing is None else spacing)
        finite = wanted[np.isfinite(wanted)]
        if tolerance.epsilons and finite.size:
            close |= distance <= tolerance.epsilons * np.finfo(wanted.dtype).eps * np.abs(finite).max()
    return close
