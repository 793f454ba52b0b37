"""The scale of losses in mixed precision: gradients times a number, so that they do not vanish as halves.

Halves (f16) have no numbers below 6e-8, and what flows back through a network is often smaller. So the cotangent of a
loss begins with a scale instead of 1, and gradients are divided by it at their end. If something has become infinite or
nan on the way, the step is skipped and the scale halved; after many good steps it is doubled. Micikevicius and others,
Mixed Precision Training, 2018; the numbers are those of ``torch.amp.GradScaler``.

`jitflow.nn.mixed` puts a scale in force, `jitflow.transforms.gradients` and `jitflow.optim` ask which one is.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from jitflow.runtime.variable import Variable

__all__ = ["LossScale", "in_force", "scaled_by"]

_LEAST = 2.0**-24
"""Gradients that overflow at this scale are infinite at any."""


class LossScale:
    """A scale that adapts itself: ``value``, and how many ``good_steps`` there have been since it last changed."""

    def __init__(self, first: float, growth_interval: int) -> None:
        self.value = Variable(np.float32(first), "scale", trainable=False)
        self.good_steps = Variable(np.int64(0), "good_steps", trainable=False)
        self._growth_interval = growth_interval

    def scaled(self, cotangent: Any) -> Any:
        """The first cotangent of a loss."""
        return cotangent * _like(_inside(self.value)[()], cotangent)

    def unscaled(self, gradient: Any) -> Any:
        """A gradient of what was scaled: exactly, since scales are powers of two."""
        return gradient * _like(1 / _inside(self.value)[()], gradient)

    def guarded(self, gradients: list[Any], step: Callable[[], None]) -> None:
        """Make the step if all gradients are finite, and adapt the scale."""
        from jitflow.frontend.control.explicit import cond

        finite = functools.reduce(np.logical_and, [np.isfinite(gradient).all() for gradient in gradients])
        cond(finite, step, lambda: None)
        value, good_steps = _inside(self.value), _inside(self.good_steps)
        before, good = value[()], good_steps[()] + 1
        doubled = np.where(np.isfinite(before * 2), before * 2, before)
        grown = np.where(good >= self._growth_interval, doubled, before)
        value.assign(np.where(finite, grown, np.maximum(before / 2, np.float32(_LEAST))))
        good_steps.assign(np.where(finite & (good < self._growth_interval), good, 0))


class _State(threading.local):
    scale: LossScale | None = None


_STATE = _State()


def in_force() -> LossScale | None:
    """The scale of whatever runs or is traced on this thread."""
    return _STATE.scale


@contextmanager
def scaled_by(scale: LossScale | None) -> Iterator[None]:
    """Put a scale in force, or none."""
    outer, _STATE.scale = _STATE.scale, scale
    try:
        yield
    finally:
        _STATE.scale = outer


def _like(number: Any, thing: Any) -> Any:
    """A number in the dtype of something; Python's number beside Python's."""
    return number.astype(thing.dtype) if hasattr(thing, "dtype") else float(number)


def _inside(variable: Variable) -> Any:
    """What stands for a variable in whatever runs or is traced."""
    from jitflow.frontend.recording.trace import active_trace

    trace = active_trace()
    return variable if trace is None else trace.variable(variable)
