"""Choices and random orders.

A random order is the order of random keys of 64 bits: all orders are equally likely but for equal keys, whose
probability is below ``n**2 / 2**65``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitflow.errors import UserTypeError, UserValueError
from jitflow.random.continuous import exponential
from jitflow.random.machine import Machine, machine

__all__ = ["choice", "permutation", "permuted", "shuffle"]


def choice(generator: Any, a: Any, size: Any, replace: Any, p: Any, axis: int) -> Any:
    """Items of an array, or of a range."""
    m = machine()
    items = None if _is_count(a) else m.array(a)
    count = a if items is None else items.shape[axis]
    weights = None if p is None else m.number(m.array(p))
    if weights is not None:
        _require_probabilities(m, weights, count)
    if replace:
        chosen = _with_replacement(m, generator, count, size, weights)
    else:
        chosen = _without_replacement(m, generator, count, size, weights)
    if items is not None:
        return np.take(items, chosen, axis=axis)
    return m.scalar(chosen, int) if size is None else chosen


def _is_count(a: Any) -> bool:
    kind: type = a.__class__  # of a traced number, what it is to the program
    return issubclass(kind, int | np.integer) or (issubclass(kind, np.ndarray) and a.ndim == 0)


def _require_probabilities(m: Machine, weights: Any, count: Any) -> None:
    if weights.ndim != 1:
        raise UserValueError("p must be 1-dimensional")
    m.require(weights.shape[0] == count, "a and p must have same size")
    m.require(weights >= 0.0, "Probabilities are not non-negative")
    m.require(np.absolute(np.sum(weights) - 1.0) <= 1e-8, "Probabilities do not sum to 1")


def _with_replacement(m: Machine, generator: Any, count: Any, size: Any, weights: Any) -> Any:
    if weights is None:
        m.require(count > 0, "a must be a positive integer unless no samples are taken")
        return generator.integers(0, count, size)
    sums = np.cumsum(weights)
    return np.searchsorted(sums / sums[-1], generator.random(size), side="right")


def _without_replacement(m: Machine, generator: Any, count: Any, size: Any, weights: Any) -> Any:
    """The first of a random order. Weighted, it is the order of exponential numbers over the weights (Efraimidis and
    Spirakis, *Weighted random sampling with a reservoir*, 2006).
    """  # noqa: D205
    shape = m.shape(1 if size is None else size)
    wanted = int(np.prod(shape)) if all(type(length) is int for length in shape) else _product(shape)
    m.require(wanted <= count, "Cannot take a larger sample than population when replace is False")
    if weights is None:
        order = _order(generator, count)
    else:
        m.require(np.sum(weights > 0.0) >= wanted, "Fewer non-zero entries in p than size")
        with np.errstate(all="ignore"):
            order = np.argsort(exponential(m, generator, m.shape(count)) / weights)
    return order[0] if size is None else np.reshape(order[:wanted], size)


def _product(shape: tuple[Any, ...]) -> Any:
    total: Any = 1
    for length in shape:
        total = total * length
    return total


def _order(generator: Any, count: Any) -> Any:
    keys, _ = generator.words(machine().shape(count))
    return np.argsort(keys)


def permutation(generator: Any, x: Any, axis: int) -> Any:
    """A copy in random order along an axis."""
    if _is_count(x):
        return _order(generator, x)
    items = machine().array(x)
    return np.take(items, _order(generator, items.shape[axis]), axis=axis)


def shuffle(generator: Any, x: Any, axis: int) -> None:
    """Random order along an axis, in place."""
    if isinstance(x, np.ndarray):
        x[...] = permutation(generator, x, axis)
    elif type(machine()) is Machine and isinstance(x, list):
        x[:] = [x[position] for position in _order(generator, len(x))]
    else:
        raise UserTypeError(f"expected an array to shuffle, got {type(x).__name__}")


def permuted(generator: Any, x: Any, axis: int | None) -> Any:
    """A copy in which each slice along an axis has an order of its own."""
    m = machine()
    items = m.array(x)
    if axis is None:
        return np.reshape(permutation(generator, np.ravel(items), 0), items.shape)
    keys, _ = generator.words(m.shape(items.shape))
    return np.take_along_axis(items, np.argsort(keys, axis=axis), axis=axis)
