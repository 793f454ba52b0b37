"""Numerical differentiation in extended precision, which derivative rules are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jitflow
from tests.frontend.interpreted import interpreted

__all__ = ["check_rules", "close", "gradient", "interpreted_gradient", "weighted", "weights"]


def gradient(function: Callable[..., Any], arguments: tuple[Any, ...], position: int = 0, wide: bool = True) -> Any:
    """The gradient of a real function by one argument: central differences in 80 bits, good to some 12 digits.

    That by a complex number is ``df/dx + i df/dy``. What has no 80 bits takes 64, good to 8 digits or so: not ``wide``.
    """
    given = [_wide(argument) if wide else np.array(argument, dtype=_double(argument)) for argument in arguments]
    step = 1e-6 if wide else 1e-5
    point = given[position]
    result = np.zeros_like(point)
    directions = (1, 1j) if np.iscomplexobj(point) else (1,)
    for place in np.ndindex(point.shape):
        for direction in directions:
            ends = []
            for sign in (1, -1):
                moved = point.copy()
                moved[place] += sign * direction * step * max(1, abs(moved[place]))
                with np.errstate(all="ignore"):
                    ends.append(function(*(moved if number == position else item for number, item in enumerate(given))))
            length = 2 * step * max(1, abs(point[place]))
            result[place] += direction * (ends[0] - ends[1]) / np.longdouble(length)
    return result


def _double(argument: Any) -> Any:
    kind = np.asarray(argument).dtype.kind
    return {"f": "f8", "c": "c16"}.get(kind, np.asarray(argument).dtype)


def _wide(argument: Any) -> Any:
    array = np.asarray(argument)
    if array.dtype.kind not in "fc":
        return argument
    return array.astype(np.clongdouble if array.dtype.kind == "c" else np.longdouble)


def weights(result: Any) -> Any:
    """Numbers of all sizes and signs to weigh results with, so that none of them cancels another."""
    random = np.random.default_rng(7)
    drawn = random.normal(size=np.shape(result))
    return drawn + 1j * random.normal(size=np.shape(result)) if np.iscomplexobj(result) else drawn


def weighted(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The real number that ``function`` becomes when its result is weighed: what gradients are taken of."""
    with np.errstate(all="ignore"):
        found = weights(function(*arguments)).conj()
    if np.iscomplexobj(found):
        return lambda *arguments: np.sum(np.real(function(*arguments) * found))
    return lambda *arguments: np.sum(function(*arguments) * found)


def close(found: Any, expected: Any, digits: int = 9) -> bool:
    """Whether all numbers agree to so many digits of the largest one around, and are nan where the others are."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return False
    size = np.max(np.abs(expected), initial=1, where=np.isfinite(expected))
    return bool(np.allclose(found, expected.astype(found.dtype), rtol=10.0**-digits, atol=size * 10.0**-digits,
                            equal_nan=True))  # fmt: skip


def interpreted_gradient(loss: Callable[..., Any], *arguments: Any, argnums: Any = 0) -> Any:
    """What the rules say, without machine code, which takes most of the time and has tests of its own."""
    return interpreted(lambda *given: jitflow.grad(loss, argnums=argnums)(*given))(*arguments)


def check_rules(function: Callable[..., Any], *arguments: Any, digits: int = 9, wide: bool = True) -> None:
    """Compare the gradient of a weighted result with numerical differentiation, and the tangent with the gradient.

    The dot product test: ``<weights, J t>`` of forward mode is ``<J' weights, t>`` of reverse mode. The gradient is
    interpreted, the tangent compiled.
    """
    loss = weighted(function, *arguments)
    found = interpreted_gradient(loss, *arguments, argnums=tuple(range(len(arguments))))
    for position, (mine, argument) in enumerate(zip(found, arguments, strict=True)):
        assert np.asarray(mine).dtype == np.asarray(argument).dtype
        expected = gradient(loss, arguments, position, wide)
        assert close(mine, expected, digits), (position, mine, expected)
    random = np.random.default_rng(5)
    tangents = tuple(_direction(random, np.asarray(argument)) for argument in arguments)
    value, change = jitflow.jvp(function, arguments, tangents)
    weight = weights(value)
    one = np.sum(np.real(np.conj(weight) * change))
    other = sum(np.sum(np.real(np.conj(slope) * tangent)) for slope, tangent in zip(found, tangents, strict=True))
    size = sum(np.sum(np.abs(slope * tangent)) for slope, tangent in zip(found, tangents, strict=True))
    assert abs(one - other) <= 10.0**-digits * max(1.0, size), (one, other)


def _direction(random: np.random.Generator, argument: Any) -> Any:
    drawn = random.normal(size=argument.shape)
    if argument.dtype.kind == "c":
        drawn = drawn + 1j * random.normal(size=argument.shape)
    return drawn.astype(argument.dtype)
