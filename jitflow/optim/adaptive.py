"""Steps whose size adapts to each element, by the squares of its gradients so far. Defaults are ``torch.optim``'s.

``g`` is the gradient plus ``weight_decay * w``, ``rate`` the learning rate; all is elementwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitflow.optim.descent import decayed
from jitflow.optim.optimiser import Optimiser

__all__ = ["Adadelta", "Adagrad", "Adam", "AdamW", "RMSProp"]


class Adagrad(Optimiser):
    """``sum += g * g``, ``w -= rate * g / (sqrt(sum) + epsilon)``, where ``rate`` shrinks with ``decay``.

    Each sum starts at ``first_sum``: 0.1, as in TensorFlow (PyTorch starts at 0). Duchi, Hazan and Singer, 2011.
    """

    slot_names = ("sum",)

    def __init__(
        self, learning_rate: Any = 1e-2, decay: float = 0.0, first_sum: float = 0.1, epsilon: float = 1e-10,
        weight_decay: float = 0.0, **clipping: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, **clipping)
        self.decay, self.first_sum, self.epsilon, self.weight_decay = decay, first_sum, epsilon, weight_decay

    def first_value(self, slot: str) -> float:
        return self.first_sum

    def update(self, variable: Any, gradient: Any, rate: Any, *slots: Any) -> None:
        total, slowness = slots
        gradient = decayed(self, variable, gradient)
        total[...] = total + gradient * gradient
        variable -= rate / slowness * gradient / (np.sqrt(total) + self.epsilon)

    def shared(self) -> tuple[Any, ...]:
        return (1 + (self.steps - 1) * self.decay,)


class Adadelta(Optimiser):
    """Steps of the size of the last ones: ``w -= rate * d``.

    ``d = sqrt(moved + epsilon) / sqrt(square + epsilon) * g``.
    ``square`` and ``moved`` are running means of ``g * g`` and of ``d * d``, which keep ``rho`` of themselves.
    Zeiler, ADADELTA, 2012.
    """

    slot_names = ("square", "moved")

    def __init__(
        self, learning_rate: Any = 1.0, rho: float = 0.9, epsilon: float = 1e-6, weight_decay: float = 0.0,
        **clipping: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, **clipping)
        self.rho, self.epsilon, self.weight_decay = rho, epsilon, weight_decay

    def update(self, variable: Any, gradient: Any, rate: Any, *slots: Any) -> None:
        square, moved = slots
        gradient = decayed(self, variable, gradient)
        square[...] = self.rho * square + (1 - self.rho) * gradient * gradient
        change = np.sqrt(moved + self.epsilon) / np.sqrt(square + self.epsilon) * gradient
        moved[...] = self.rho * moved + (1 - self.rho) * change * change
        variable -= rate * change


class RMSProp(Optimiser):
    """``w -= rate * g / (sqrt(square) + epsilon)``, where ``square`` is a running mean of ``g * g`` that keeps ``rho``.

    With ``momentum``, that step goes into a velocity. With ``centred``, the variance takes the place of the square.
    Tieleman and Hinton, 2012; Graves, 2013.
    """

    options = (*Optimiser.options, "centred")

    def __init__(
        self, learning_rate: Any = 1e-2, rho: float = 0.99, epsilon: float = 1e-8, weight_decay: float = 0.0,
        momentum: float = 0.0, centred: bool = False, **clipping: Any,
    ) -> None:  # fmt: skip
        self.slot_names = ("square", *["mean"] * bool(centred), *["velocity"] * bool(momentum))
        super().__init__(learning_rate, **clipping)
        self.rho, self.epsilon, self.weight_decay = rho, epsilon, weight_decay
        self.momentum: float | None = momentum
        self.centred: bool | None = centred

    def update(self, variable: Any, gradient: Any, rate: Any, *slots: Any) -> None:
        square, *others = slots
        gradient = decayed(self, variable, gradient)
        square[...] = self.rho * square + (1 - self.rho) * gradient * gradient
        spread = square
        if self.centred is not None:
            mean = others[0]
            mean[...] = self.rho * mean + (1 - self.rho) * gradient
            spread = square - mean * mean
        change = gradient / (np.sqrt(spread) + self.epsilon)
        if self.momentum is not None:
            velocity = others[-1]
            velocity[...] = self.momentum * velocity + change
            change = velocity
        variable -= rate * change


class Adam(Optimiser):
    """``w -= rate * mean / (sqrt(square) + epsilon)``, with running means of ``g`` and ``g * g``.

    They keep ``beta1`` and ``beta2`` of themselves, and are divided by what they would be of ones, because they start
    at 0. Kingma and Ba, Adam, 2014.
    """

    slot_names = ("mean", "square")

    def __init__(
        self, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
        weight_decay: float = 0.0, **clipping: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, **clipping)
        self.beta1, self.beta2, self.epsilon, self.weight_decay = beta1, beta2, epsilon, weight_decay

    def update(self, variable: Any, gradient: Any, rate: Any, *slots: Any) -> None:
        _adapt(variable, decayed(self, variable, gradient), rate, *slots)

    def shared(self) -> tuple[Any, ...]:
        steps, kept, kept_squares = self.steps[()], self.beta1, self.beta2
        return (kept, 1 - kept, kept_squares, 1 - kept_squares, self.epsilon,
                1 - kept**steps, np.sqrt(1 - kept_squares**steps))  # fmt: skip


class AdamW(Adam):
    """`Adam`, and before it ``w -= rate * weight_decay * w``: the decay does not adapt.

    Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2017.
    """

    def __init__(
        self, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
        weight_decay: float = 1e-2, **clipping: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta1, beta2, epsilon, weight_decay, **clipping)

    def update(self, variable: Any, gradient: Any, rate: Any, *slots: Any) -> None:
        if self.weight_decay is not None:
            variable -= rate * self.weight_decay * variable
        _adapt(variable, gradient, rate, *slots)


def _adapt(variable: Any, gradient: Any, rate: Any, mean: Any, square: Any, *shared: Any) -> None:
    """The step, for a gradient that is final; ``weight`` and ``root`` undo that the means started at 0."""
    kept, taken, kept_square, taken_square, epsilon, weight, root = shared
    mean[...] = new_mean = kept * mean + taken * gradient
    square[...] = new_square = kept_square * square + taken_square * gradient * gradient
    variable -= rate / weight * new_mean / (np.sqrt(new_square) / root + epsilon)
