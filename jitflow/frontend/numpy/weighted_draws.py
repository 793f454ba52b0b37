"""Draws by probabilities: choices, and how often each of several things is drawn.

NumPy makes them of other draws, and so does the program. Where a comparison shows that the installed NumPy makes them
in another way, there are none here (`None`), and the generator's own method is called.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserValueError
from jitflow.frontend.arrays.operands import array_operand, as_value
from jitflow.frontend.control.explicit import fori_loop, while_loop
from jitflow.frontend.numpy.draw_calls import Dims, drawn, give, native_draw, require, size_argument
from jitflow.frontend.recording import values
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.dims import product
from jitflow.ir.draws import bits_of, draw
from jitflow.ir.dtypes import F64, I64
from jitflow.runtime.generators.draws import are_native

__all__ = ["weighted_counts", "weighted_positions"]


def weighted_positions(generator: Any, count: Any, p: Any, size: Any) -> Any:
    """Positions below ``count``, each as likely as ``p`` says."""
    uniform = native_draw(generator, "standard_uniform")
    weights = _vector(p)
    if not uniform or values.dtype_of_value(as_value(weights)) != F64 or not _positions_are_searched(generator.name):
        return None

    def says(wrong: Any) -> str:
        return _says(generator.name, "choice", 2, p=wrong)

    if weights.ndim != 1:
        raise UserValueError(says(((0.5, 0.5),)))
    total = np.sum(weights)
    require(tracers.lift(weights.shape[0] == count), says((1.0,)))
    require(tracers.lift(np.isfinite(total)), says((0.5, np.nan)))
    require(tracers.lift(np.all(weights >= 0)), says((1.5, -0.5)))
    require(tracers.lift(abs(total - 1.0) <= np.sqrt(np.finfo(np.float64).eps)), says((0.5, 0.4)))
    rising = np.cumsum(weights)
    fractions = give(drawn(generator, uniform, [], size_argument(size)))
    rising = rising / rising[-1]
    if size is None:
        return _first_above(rising, fractions)
    found = np.searchsorted(rising, np.reshape(fractions, -1), side="right")
    return np.reshape(found, fractions.shape)


def _first_above(rising: Any, number: Any) -> Any:
    """The position of the first element above a number, as ``searchsorted`` finds it, in code for numbers."""

    def halve(carry: Any) -> Any:
        low, high = carry
        middle = (low + high) // 2
        is_behind, low, high, behind, middle = map(
            tracers.lift, (rising[middle] <= number, low, high, middle + 1, middle)
        )
        return (tracers.wrap(values.emit("select", is_behind, behind, low)),
                tracers.wrap(values.emit("select", is_behind, high, middle)))  # fmt: skip

    count = tracers.wrap(values.cast(values.as_strong(tracers.lift(rising.shape[0])), I64))
    low, _ = while_loop(lambda carry: carry[0] < carry[1], halve, (count - count, count))
    return give(tracers.lift(low))


def weighted_counts(generator: Any, count: Any, p: Any, dims: Dims | None) -> Any:
    """How often each of several things is drawn ``count`` times, for each place of an array."""
    weights, number = _vector(p), as_value(count)
    if (
        not are_native()
        or values.rank(number)
        or not values.dtype_of_value(number).is_integer
        or weights.ndim != 1
        or values.dtype_of_value(as_value(weights)) != F64
        or not _counts_are_binomial(generator.name)
    ):
        return None

    def says(number: int, wrong: Any) -> str:
        return _says(generator.name, "multinomial", number, wrong)

    categories = weights.shape[0]
    if says(5, ()):
        require(tracers.lift(categories > 0), says(5, ()))
    require(tracers.lift(np.all((weights >= 0) & (weights <= 1))), says(5, (1.5, 0.2)))
    require(tracers.lift(np.sum(weights[:-1]) <= 1.0 + 1e-12), says(5, (0.5, 0.6, 0.2)))
    total = tracers.wrap(values.cast(number, I64))
    require(tracers.lift(total >= 0), says(-1, (0.5, 0.5)))
    rows = tracers.size_of(product(dims or ()))
    made = surface.apply_function(np.zeros, ((rows, categories),), {"dtype": np.int64})

    def row(place: Any, carry: Any) -> Any:
        def category(position: Any, carry: Any) -> Any:
            left, rest = carry
            chance = weights[position]
            parameters = [tracers.lift(chance / rest), tracers.lift(left)]
            found = tracers.wrap(drawn(generator, "binomial", parameters, None))
            made[place, position] = found
            return left - found, rest - chance

        left, _ = fori_loop(0, categories - 1, category, (total, np.float64(1.0)))
        made[place, categories - 1 :] = left
        return carry

    fori_loop(0, rows, row, 0)
    return np.reshape(made, (*map(tracers.size_of, dims or ()), categories))


def _vector(p: Any) -> Any:
    found = p if isinstance(p, tracers.ArrayTracer) else tracers.wrap(array_operand(p), owned=True)
    return found.astype(np.float64) if values.dtype_of_value(as_value(found)).is_integer else found


@cache
def _says(kind: str, method: str, *args: Any, **kwargs: Any) -> str:
    """What NumPy says to arguments that are wrong."""
    try:
        getattr(getattr(np.random, kind)(np.random.MT19937(0)), method)(*args, **kwargs)
    except ValueError as error:
        return str(error)
    return ""


@cache
def _positions_are_searched(kind: str) -> bool:
    """Whether a choice is a search for uniform numbers in the sums of the probabilities."""
    ours, theirs = (getattr(np.random, kind)(np.random.PCG64(5)) for _ in range(2))
    weights = np.array([0.1, 0.0, 0.4, 0.3, 0.2])
    rising = weights.cumsum()
    rising /= rising[-1]
    found = rising.searchsorted(draw("standard_uniform", id(ours), (), (50,)), side="right")
    return bool((found == theirs.choice(5, 50, p=weights)).all())


@cache
def _counts_are_binomial(kind: str) -> bool:
    """Whether counts are binomial numbers, each of what those before it leave."""
    ours, theirs = (getattr(np.random, kind)(np.random.PCG64(5)) for _ in range(2))
    for number, weights in ((5, (0.1, 0.2, 0.3, 0.4)), (0, (0.5, 0.5)), (90, (0.6, 0.0, 0.3, 0.1)), (9, (1.0, 0.0))):
        left, rest, found = number, 1.0, []
        for chance in weights[:-1]:
            found.append(int(draw("binomial", id(ours), (np.float64(chance / rest), np.int64(left)), (1,))[0]))
            left, rest = left - found[-1], rest - chance
        if [*found, left] != theirs.multinomial(number, weights).tolist():
            return False
    return repr(bits_of(ours).state) == repr(bits_of(theirs).state)
