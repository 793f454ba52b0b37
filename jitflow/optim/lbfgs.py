"""L-BFGS: steps along the gradient, bent by what the last steps found out about curvature.

The method is an ordinary program with loops and branches, and is compiled as a user's is: `while` loop, evaluations of
the loss and of its gradient, line search and all are one native program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitflow.errors import UserNotImplementedError, UserValueError
from jitflow.optim.flat import FlatOptimiser, flat, move
from jitflow.optim.optimiser import next_rate, runs_outside
from jitflow.transforms.gradients import value_and_grad

__all__ = ["LBFGS"]

_LEAST_CURVATURE = 1e-10
"""Steps along which the gradient hardly grows say nothing."""


class LBFGS(FlatOptimiser):
    """A quasi-Newton method that keeps the last ``history`` steps, for losses without noise.

    `minimize` takes up to ``iterations`` steps and evaluates the loss up to ``evaluations`` times (1.25 times as often,
    if nothing is said). It ends before that where no element of the gradient is above ``gradient_tolerance``, or where
    neither the variables nor the loss change by more than ``change_tolerance``. A step has the length ``learning_rate``
    times that of Newton's method. Defaults are those of ``torch.optim``.

    Liu and Nocedal, On the limited memory BFGS method for large scale optimization, 1989.
    """

    slot_names = ("direction", "gradient", "length", "scale", "count", "changes", "moves", "curvatures")

    def __init__(
        self, learning_rate: Any = 1.0, iterations: int = 20, evaluations: int | None = None,
        gradient_tolerance: float = 1e-7, change_tolerance: float = 1e-9, history: int = 100,
    ) -> None:  # fmt: skip
        if iterations < 1 or history < 1:
            raise UserValueError(f"expected positive numbers, got {iterations=}, {history=}")
        super().__init__(learning_rate)
        self.iterations = iterations
        self.evaluations = iterations * 5 // 4 if evaluations is None else evaluations
        self.gradient_tolerance, self.change_tolerance = gradient_tolerance, change_tolerance
        self.history = history

    def slot_shapes(self, length: int) -> dict[str, tuple[int, ...]]:
        rows = self.history
        return {
            "direction": (length,), "gradient": (length,), "length": (), "scale": (), "count": (),
            "changes": (rows, length), "moves": (rows, length), "curvatures": (rows,),
        }  # fmt: skip

    def apply(self, gradients: Any, variables: Any) -> None:
        """Not to be had: each step needs the loss at places that only the method knows."""
        raise UserNotImplementedError("LBFGS evaluates the loss itself", mend="call minimize(loss_fn, variables)")

    def minimize(self, loss_fn: Callable[..., Any], variables: Any, *args: Any, has_aux: bool = False) -> Any:
        """Up to ``iterations`` steps; the value of ``loss_fn(*args)`` before them."""
        if has_aux:
            raise UserNotImplementedError("LBFGS has no use for further results of the loss", mend="leave out has_aux")
        if runs_outside():
            return self._compiled_method("minimize")(loss_fn, variables, args, has_aux)
        memory = self.memory_of(variables)
        evaluate = value_and_grad(loss_fn, variables=variables)
        rate = next_rate(self).astype(memory["direction"].dtype)
        loss, gradients = evaluate(*args)
        first, gradient = loss, flat(gradients, variables)
        evaluations = turns = 1
        while np.abs(gradient).max() > self.gradient_tolerance:
            length = _direct(self, memory, gradient, rate)
            if (gradient * memory["direction"]).sum() > -self.change_tolerance:
                break
            memory["gradient"][...] = gradient
            memory["length"][...] = length
            move(variables, length * memory["direction"])
            if turns >= self.iterations or evaluations >= self.evaluations:
                break
            before = loss
            loss, gradients = evaluate(*args)
            gradient = flat(gradients, variables)
            turns += 1
            evaluations += 1
            if np.abs(length * memory["direction"]).max() <= self.change_tolerance:
                break
            if np.abs(loss - before) < self.change_tolerance:
                break
        return first


def _direct(optimiser: Any, memory: dict[str, Any], gradient: Any, rate: Any) -> Any:
    """Choose the direction of the next step; the multiple of it to go."""
    optimiser.steps.assign_add(1)
    if optimiser.steps[()] == 1:
        memory["direction"][...] = -gradient
        memory["scale"][...] = 1
        return np.minimum(1, 1 / np.abs(gradient).sum()) * rate
    _remember(memory, gradient - memory["gradient"], memory["length"] * memory["direction"])
    memory["direction"][...] = _bent(memory, -gradient)
    return rate


def _remember(memory: dict[str, Any], change: Any, moved: Any) -> None:
    """Keep how the gradient changed along a step, in the place of the oldest."""
    curvature = (change * moved).sum()
    if curvature > _LEAST_CURVATURE:
        place = int(memory["count"][()]) % memory["curvatures"].shape[0]
        memory["changes"][place] = change
        memory["moves"][place] = moved
        memory["curvatures"][place] = 1 / curvature
        memory["scale"][...] = curvature / (change * change).sum()
        memory["count"][...] += 1


def _bent(memory: dict[str, Any], direction: Any) -> Any:
    """The direction times the inverse of the curvature that is remembered (Nocedal's two loops, 1980)."""
    changes, moves, curvatures = memory["changes"], memory["moves"], memory["curvatures"]
    history = curvatures.shape[0]
    count = int(memory["count"][()])
    kept = min(count, history)
    weights = np.zeros(history, direction.dtype)
    for back in range(kept):
        place = (count - 1 - back) % history
        weights[place] = curvatures[place] * (moves[place] * direction).sum()
        direction = direction - weights[place] * changes[place]
    direction = direction * memory["scale"]
    for forth in range(kept):
        place = (count - kept + forth) % history
        share = curvatures[place] * (changes[place] * direction).sum()
        direction = direction + (weights[place] - share) * moves[place]
    return direction
