"""Losses: one number that says how far predictions lie from what was wanted, as a mean over the batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitflow.errors import UserTypeError, UserValueError
from jitflow.nn.activations import below_zero, log_softmax
from jitflow.random.machine import machine

__all__ = ["cross_entropy"]


def cross_entropy(logits: Any, labels: Any) -> Any:
    """The mean of ``-log(softmax(logits))`` of the right class, in nats.

    ``logits`` has the shape ``(..., classes)``. ``labels`` are integers from 0 to ``classes - 1`` of the shape
    ``(...)``, or rows of probabilities of the shape ``(..., classes)``, which weight the classes; a class of
    probability 0 adds nothing, even if its logit is minus infinity. Labels out of range raise ValueError.

    Integer labels are compared with every class rather than used as indices: so the loss and its gradient are each one
    sweep over the logits.
    """
    m = machine()
    wanted = logits.shape if labels.dtype.kind == "f" else logits.shape[:-1]
    if labels.dtype.kind not in "iuf":
        message = f"expected labels that are integers or floats, got {labels.dtype}"
        raise UserTypeError(message, mend="convert them: labels.astype(int)")
    if len(labels.shape) != len(wanted):
        raise UserValueError(
            "the labels of a cross entropy do not fit its logits",
            found=f"labels of {labels.ndim} axes for logits of {logits.ndim}",
            expected="one integer for each row of logits, or one probability for each logit",
        )
    for given, size in zip(labels.shape, wanted, strict=True):  # a lone label would broadcast
        m.require(given == size, "the labels of a cross entropy do not fit its logits")
    if labels.dtype.kind == "f":
        return -(labels * np.where(labels == 0, 0, log_softmax(logits))).sum(axis=-1).mean()
    # Written so that it also holds of no labels at all, which have no smallest one.
    m.require(np.all((labels >= 0) & (labels < logits.shape[-1])), "a label is none of the classes")
    shifted = below_zero(logits, -1)
    right = np.where(labels[..., None] == m.positions(logits.shape, -1), shifted, 0).sum(axis=-1)
    return (np.log(np.exp(shifted).sum(axis=-1)) - right).mean()
