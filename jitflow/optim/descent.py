"""Gradient descent, plain and with momentum. Defaults are those of ``torch.optim``."""

from __future__ import annotations

from typing import Any

from jitflow.optim.optimiser import Optimiser

__all__ = ["SGD", "Momentum"]


class SGD(Optimiser):
    """``w -= rate * g``, where ``g`` is the gradient plus ``weight_decay * w``."""

    def __init__(self, learning_rate: Any = 1e-3, weight_decay: float = 0.0, **clipping: Any) -> None:
        super().__init__(learning_rate, **clipping)
        self.weight_decay = weight_decay

    def update(self, variable: Any, gradient: Any, rate: Any, *slots: Any) -> None:
        variable -= rate * decayed(self, variable, gradient)


class Momentum(Optimiser):
    """``v = momentum * v + g`` and ``w -= rate * v``; with ``nesterov``, ``w -= rate * (g + momentum * v)``.

    Polyak, 1964; Sutskever and others, On the importance of initialization and momentum in deep learning, 2013.
    """

    slot_names = ("velocity",)

    def __init__(
        self, learning_rate: Any = 1e-3, momentum: float = 0.9, nesterov: bool = False, weight_decay: float = 0.0,
        **clipping: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, **clipping)
        self.momentum: float | None = momentum
        self.nesterov: bool | None = nesterov
        self.weight_decay = weight_decay

    def update(self, variable: Any, gradient: Any, rate: Any, *slots: Any) -> None:
        (velocity,) = slots
        gradient = decayed(self, variable, gradient)
        momentum = 0.0 if self.momentum is None else self.momentum
        velocity[...] = momentum * velocity + gradient
        variable -= rate * (velocity if self.nesterov is None else gradient + momentum * velocity)


def decayed(optimiser: Any, variable: Any, gradient: Any) -> Any:
    """The gradient of the loss plus half of ``weight_decay`` times the square of the variable."""
    return gradient if optimiser.weight_decay is None else gradient + optimiser.weight_decay * variable
