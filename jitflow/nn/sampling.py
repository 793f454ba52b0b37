"""A loss for very many classes, of which each step looks at a few."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitflow.errors import UserTypeError, UserValueError
from jitflow.nn.activations import below_zero
from jitflow.random.functions import exp, log
from jitflow.random.machine import machine

__all__ = ["sampled_softmax"]


def sampled_softmax(
    inputs: Any, weights: Any, bias: Any, labels: Any, samples: int, generator: Any, replace: bool = False,
    remove_hits: bool = True,
) -> Any:  # fmt: skip
    """An estimate of ``cross_entropy(inputs @ weights.T + bias, labels)`` for training: a mean over the batch, in nats.

    ``inputs`` has the shape ``(..., features)``, ``weights`` ``(classes, features)`` and ``bias`` ``(classes,)``, all
    floats; ``labels`` are integers from 0 to ``classes - 1`` of the shape ``(...)``. Of the other classes only
    ``samples`` are looked at, which the whole batch shares: they are drawn from ``generator``, a
    `jitflow.random.Generator`, class ``c`` with the probability ``(log(c + 2) - log(c + 1)) / log(classes + 1)``. So
    classes are to be in the order of their frequencies, the most frequent first, as words are by Zipf's law. Without
    ``replace`` each is drawn at most once, by drawing until there are enough. From each logit the logarithm of the
    number of times that its class is expected among the samples is subtracted, so that the least loss is where the full
    one has it. With ``remove_hits`` samples that are an example's label do not count for it.

    The gradients by ``weights`` and ``bias`` are sparse, in the rows of labels and samples: an update by an optimiser
    that leaves other rows alone costs the same for any number of classes. To evaluate, take the full `cross_entropy`.

    Raises ValueError for labels out of range, for shapes that do not fit and, without ``replace``, for more samples
    than classes. Jean, Cho, Memisevic and Bengio, On Using Very Large Target Vocabulary for Neural Machine Translation,
    2015; the details are those of TensorFlow's ``sampled_softmax_loss``.
    """
    m = machine()
    if labels.dtype.kind not in "iu":
        message = f"expected labels that are integers, got {labels.dtype}"
        raise UserTypeError(message, mend="convert them: labels.astype(int)")
    axes = (inputs.ndim, weights.ndim, bias.ndim, labels.ndim)
    if axes[1:] != (2, 1, axes[0] - 1):
        raise UserValueError(
            "the parts of a sampled softmax do not fit",
            found=f"inputs, weights, bias and labels of {', '.join(map(str, axes))} axes",
            expected="inputs (..., features), weights (classes, features), bias (classes,), labels (...)",
        )
    classes, features = weights.shape
    m.require(bias.shape[0] == classes, "the bias of a sampled softmax has not one number for each class")
    m.require(np.all((labels >= 0) & (labels < classes)), "a label is none of the classes")
    rows, right = inputs.reshape(-1, features), labels.reshape(-1)
    m.require(rows.shape[0] == right.shape[0], "the labels of a sampled softmax do not fit its inputs")
    sampled, tries = _drawn(classes, samples, generator, replace)
    # One gather for both, so that a table that lives elsewhere is asked once.
    ids = np.concatenate((right, sampled))
    used, shift = weights[ids], bias[ids] - _log_expected(ids, classes, samples, tries, replace).astype(bias.dtype)
    count = right.shape[0]
    true = (rows * used[:count]).sum(axis=-1) + shift[:count]
    others = rows @ used[count:].T + shift[count:]
    if remove_hits:
        others = np.where(right[:, None] == sampled, -np.inf, others)
    logits = below_zero(np.concatenate((true[:, None], others), axis=1), -1)
    return (np.log(np.exp(logits).sum(axis=-1)) - logits[:, 0]).mean()


def _drawn(classes: Any, samples: Any, generator: Any, replace: bool) -> tuple[Any, Any]:
    """Classes, and how many draws they took."""
    if replace:
        return _classes(generator.random(samples), classes), samples
    m = machine()
    m.require(samples <= classes, "without replacement there are no more samples than classes")
    found, seen = m.zeros((samples,), np.int64), m.zeros((classes,), np.bool_)

    def draw(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        count, tries = carry
        drawn = _classes(generator.random(), classes)
        found[count] = drawn  # the next one replaces it, unless it is new
        new = np.where(seen[drawn], 0, 1)
        seen[drawn] = True
        return count + m.scalar(new, int), tries + 1

    return found, m.repeat_while(lambda carry: carry[0] < samples, draw, (0, 0))[1]


def _classes(uniform: Any, classes: Any) -> Any:
    """Classes by their probabilities, by inversion: the logarithm of a class plus 1 is uniform."""
    m = machine()
    found = exp(m.number(uniform) * log(m.number(classes) + 1.0))
    return np.minimum(m.cast(found, np.int64) - 1, classes - 1)


def _log_expected(ids: Any, classes: Any, samples: Any, tries: Any, replace: bool) -> Any:
    """The logarithm of how often each class is expected among the samples."""
    chance = np.log1p(1 / (ids + 1.0)) / np.log(classes + 1.0)
    return np.log(chance * samples if replace else -np.expm1(tries * np.log1p(-chance)))
