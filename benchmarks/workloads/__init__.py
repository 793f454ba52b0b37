"""The workloads, in the order of the table. Each module holds one; `WORKLOADS` maps their names."""

from __future__ import annotations

from ..workload import Workload
from . import (
    adam,
    black_scholes,
    cosine_similarity,
    cross_entropy,
    gated_silu,
    gelu,
    haversine,
    huber_loss,
    layer_norm,
    log_sum_exp,
    mandelbrot,
    mean_variance,
    normalise_image,
    pairwise_distances,
    polynomial,
    rms_norm,
    rotate_points,
    softmax,
    standardise,
    stencil,
)

__all__ = ["WORKLOADS"]

_MODULES = (
    black_scholes,
    gelu,
    softmax,
    layer_norm,
    log_sum_exp,
    pairwise_distances,
    adam,
    stencil,
    mean_variance,
    polynomial,
    mandelbrot,
    standardise,
    rms_norm,
    cosine_similarity,
    normalise_image,
    huber_loss,
    rotate_points,
    cross_entropy,
    haversine,
    gated_silu,
)

WORKLOADS: dict[str, Workload] = {module.WORKLOAD.name: module.WORKLOAD for module in _MODULES}
