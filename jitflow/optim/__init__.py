"""Optimisers, written with `jitflow.Variable` as a user may write them, learning-rate schedules, and clipping."""

from __future__ import annotations

from jitflow.optim.adaptive import Adadelta, Adagrad, Adam, AdamW, RMSProp
from jitflow.optim.clipping import clip_by_global_norm, clip_by_value, global_norm
from jitflow.optim.descent import SGD, Momentum
from jitflow.optim.lbfgs import LBFGS
from jitflow.optim.optimiser import Optimiser
from jitflow.optim.schedules import (
    CosineDecay,
    ExponentialDecay,
    PiecewiseConstant,
    PolynomialDecay,
    StepDecay,
    WarmUp,
)

__all__ = [
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "CosineDecay",
    "ExponentialDecay",
    "Momentum",
    "Optimiser",
    "PiecewiseConstant",
    "PolynomialDecay",
    "RMSProp",
    "StepDecay",
    "WarmUp",
    "clip_by_global_norm",
    "clip_by_value",
    "global_norm",
]
