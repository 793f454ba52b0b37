"""Numbers that break naive rules (limits, zeros of both signs, infinities, nan, subnormals), and arguments of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.ir.core import Function, Value
from jitflow.ir.dims import evaluate, symbols
from jitflow.ir.dtypes import DType
from jitflow.ir.types import Index, Scalar, Tensor, Variable, dims_of

__all__ = ["arguments_for", "numbers"]


def specials(dtype: DType) -> list[Any]:
    if dtype.kind == "b":
        return [True, False]
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        return [0, 1, 2, 3, limits.min, limits.max, limits.max - 1, limits.min + 1]
    if dtype.is_complex:
        parts = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan]
        return [complex(a, b) for a in parts for b in parts]
    if dtype.name == "bf16":
        return [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.0, 1e-30, 1e30]
    limits = np.finfo(dtype.numpy)
    return [
        0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 2.0, -3.0, limits.max, -limits.max, limits.tiny,
        limits.smallest_subnormal, -limits.smallest_subnormal, 1 + limits.eps,
    ]  # fmt: skip


def numbers(dtype: DType, count: int, random: np.random.Generator) -> Any:
    """``count`` numbers, specials and ordinary ones mixed."""
    picked = random.choice(len(specials(dtype)), count)
    special = np.array([specials(dtype)[index] for index in picked], dtype=dtype.numpy)
    with np.errstate(all="ignore"):
        ordinary = (random.standard_normal(count) * 10).astype(np.int64 if dtype.kind in "biu" else dtype.numpy)
        return np.where(random.random(count) < 0.5, special, ordinary.astype(dtype.numpy))


def arguments_for(
    function: Function, random: np.random.Generator, smallest: int = 2, equal: Sequence[str] = ()
) -> list[Any]:
    """Random arguments for a function whose facts hold for sizes of at least ``smallest``, those in ``equal`` alike."""
    names = sorted({name for value in function.parameters for dim in _dims(value) for name in symbols(dim)})
    sizes = {name: smallest + int(random.integers(0, 5)) for name in names}
    sizes.update({name: sizes[equal[0]] for name in equal if name in sizes})
    return [_argument(value, sizes, random) for value in function.parameters]


def _dims(value: Value) -> Sequence[Any]:
    if isinstance(value.type, Index):
        return () if value.type.dim is None else (value.type.dim,)
    return dims_of(value.type)


def _argument(value: Value, sizes: dict[str, int], random: np.random.Generator) -> Any:
    kind = value.type
    if isinstance(kind, Index):
        return evaluate(kind.dim, sizes) if kind.dim is not None else int(random.integers(0, 5))
    if isinstance(kind, Scalar):
        number = numbers(kind.dtype, 1, random)[0]
        return number.item() if kind.weak else number
    assert isinstance(kind, Tensor | Variable)
    shape = [evaluate(dim, sizes) for dim in kind.dims]
    return numbers(kind.dtype, int(np.prod(shape)), random).reshape(shape)
