"""The largest and smallest of complex numbers: by the real parts, then by the imaginary ones; the first with a nan."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.operands import as_value
from jitflow.frontend.recording import values
from jitflow.ir.core import Value

__all__ = ["clip_complex", "first_choices", "first_unknown"]


def first_choices(name: str, z: Any, axis: tuple[int, ...]) -> Any:
    """Marks of complex numbers for `argmax`: of what is nan, if anything is, else of the most by both parts."""
    most, last = (np.max, -np.inf) if name == "reduce_argmax" else (np.min, np.inf)
    leads = z.real == most(z.real, axis=axis, keepdims=True, initial=last)
    second = most(np.where(leads, z.imag, last), axis=axis, keepdims=True, initial=last)
    unknown = np.isnan(z)
    marks = np.where(np.any(unknown, axis=axis, keepdims=True), unknown, leads & (z.imag == second))
    return marks if name == "reduce_argmax" else ~marks


def first_unknown(folded: Value, value: Value, axes: tuple[int, ...]) -> Value:
    """The first number with a nan along axes, where there is one: which one the sum of a tree meets is not told."""
    if not axes:
        return folded
    kept = tuple(axis for axis in range(values.rank(value)) if axis not in axes)
    moved = tracers.wrap(values.as_array(values.transpose(value, (*kept, *axes))))
    sizes = moved.shape
    flat = moved.reshape((*sizes[: len(kept)], prod(sizes[len(kept) :])))  # -1 would divide by the others
    place = np.isnan(flat).argmax(-1)
    found = np.take_along_axis(flat, place[..., np.newaxis], -1)[..., 0]
    chosen = as_value(np.where(np.isnan(found), found, tracers.wrap(folded)))
    return chosen if kept else values.as_scalar(chosen)


def clip_complex(x: Value, low: Value, high: Value) -> Value:
    """NumPy looks for a nan in the number alone: the bounds are compared part by part."""
    raised = values.select(_or(values.emit("isnan", x), _comes_before(low, x)), x, low)
    return values.select(_or(values.emit("isnan", raised), _comes_before(raised, high)), raised, high)


def _or(one: Value, other: Value) -> Value:
    return values.emit("logical_or", one, other)


def _comes_before(one: Value, other: Value) -> Value:
    (real, imaginary), (other_real, other_imaginary) = (
        (values.emit("real", z), values.emit("imag", z)) for z in (one, other)
    )
    are_equal = values.emit("equal", real, other_real)
    by_imaginary = values.emit("less", imaginary, other_imaginary)
    return values.select(are_equal, by_imaginary, values.emit("less", real, other_real))
