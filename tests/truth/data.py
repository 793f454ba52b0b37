"""Arrays and numbers of every kind, made by expressions short enough to stand in a printed program.

``array("f4", (3, 5), "reversed", 7)`` is the same array in every process. About one element in eight is special: an
infinity, nan, a zero of either sign, a limit of the dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["LAYOUTS", "array", "lay_out", "number", "view"]

LAYOUTS = (
    "C", "F", "strided", "reversed", "transposed", "broadcast", "gaps", "unaligned", "readonly", "offset",
)  # fmt: skip


def array(dtype: str, shape: tuple[int, ...], layout: str = "C", seed: int = 0) -> Any:
    """An array of ``shape`` whose elements lie in memory as ``layout`` says. Even seeds have special numbers."""
    values = np.asarray(_numbers(np.dtype(dtype), shape, seed))
    return lay_out(values, layout)


def number(kind: str, seed: int = 0) -> Any:
    """A Python number (``bool int float complex``) or a NumPy scalar of a dtype."""
    if kind == "bool":
        return bool(seed % 2)
    if kind == "int":
        return (2, -3, 1, 0, 7, 5, -1)[seed % 7]
    if kind == "float":
        return (0.5, -1.25, 2.0, 0.0, 3.7, -0.0, 1e-3, float("inf"), float("nan"))[seed % 9]
    if kind == "complex":
        return (1 + 2j, -0.5j, 0j, 2.0 + 0j, -1.5 - 0.25j)[seed % 5]
    return _numbers(np.dtype(kind), (4,), seed)[0]


def view(of: Any, way: str) -> Any:
    """Another view of an array that is an argument too."""
    if not isinstance(of, np.ndarray) or of.ndim == 0:
        return of
    return {"same": of, "reversed": of[::-1], "tail": of[1:], "transposed": of.T, "step": of[..., ::2]}[way]


def _numbers(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> Any:
    random = np.random.default_rng(seed)
    special = seed % 2 == 0
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        values = random.integers(-6 if dtype.kind == "i" else 0, 9, shape).astype(dtype)
        limits = np.iinfo(dtype)
        choices = np.array([limits.min, limits.max, limits.max // 2 + 1, 0], dtype)
    elif dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        values = np.empty(shape, dtype)
        values.real, values.imag = _numbers(part, shape, 2 * seed + 1), _numbers(part, shape, 2 * seed + 3)
        choices = np.array([0, complex(-0.0, 0.0), complex(0.0, -0.0), 1j, -1, complex(0.5, -0.0)], dtype)
    else:
        values = (random.normal(size=shape) * random.choice([1.0, 3.0, 30.0])).astype(dtype)
        limits = np.finfo(dtype)
        choices = np.array(
            [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -2.0, 0.5, limits.tiny, limits.max, limits.smallest_subnormal],
            dtype,
        )
    if special:
        chosen = random.random(shape) < 0.125
        values = np.where(chosen, random.choice(choices, shape), values).astype(dtype)
    return values


def lay_out(values: Any, layout: str) -> Any:
    """The values in an array that lies in memory as ``layout`` says."""
    shape = values.shape
    if layout == "C" or not shape:
        return values if layout != "readonly" else _readonly(values)
    if layout == "F":
        return np.asfortranarray(values)
    if layout == "strided":
        return np.repeat(values, 2, axis=-1)[..., ::2]
    if layout == "reversed":
        return np.ascontiguousarray(values[::-1])[::-1]
    if layout == "transposed":
        return np.ascontiguousarray(np.moveaxis(values, 0, -1)).transpose(-1, *range(values.ndim - 1))
    if layout == "broadcast":
        return np.broadcast_to(values[:1], shape) if shape[0] else values
    if layout == "gaps":
        wide = np.zeros((*shape[:-1], shape[-1] + 3), values.dtype)
        wide[..., : shape[-1]] = values
        return wide[..., : shape[-1]]
    if layout == "unaligned":
        memory = np.zeros(values.nbytes + 1, np.uint8)[1:]
        unaligned = memory.view(values.dtype).reshape(shape)
        unaligned[...] = values
        return unaligned
    if layout == "readonly":
        return _readonly(values)
    assert layout == "offset"
    memory = np.zeros(values.size + 1, values.dtype)[1:]
    memory[...] = values.ravel()
    return memory.reshape(shape)


def _readonly(values: Any) -> Any:
    values.flags.writeable = False
    return values
