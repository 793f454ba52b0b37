"""What networks are made of, as thin functions in NumPy's terms: activations, losses, layers, first values.

Each is NumPy code, which runs on arrays as it is and is traced in a compiled function like the user's own: nothing in
the compiler knows these names, and what a user writes in their place is compiled as well. Floats keep their dtype.
"""

from __future__ import annotations

from jitflow.nn.activations import gelu, log_softmax, relu, sigmoid, silu, softmax
from jitflow.nn.convolutions import conv, conv_transpose
from jitflow.nn.initialisers import (
    glorot_normal,
    glorot_uniform,
    he_normal,
    he_uniform,
    normal,
    ones,
    orthogonal,
    uniform,
    zeros,
)
from jitflow.nn.layers import batch_norm, dropout, embedding, layer_norm, one_hot
from jitflow.nn.losses import cross_entropy
from jitflow.nn.mixed import MixedStep, mixed
from jitflow.nn.pooling import avg_pool, local_response_norm, max_pool
from jitflow.nn.sampling import sampled_softmax

__all__ = [
    "MixedStep",
    "avg_pool",
    "batch_norm",
    "conv",
    "conv_transpose",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "layer_norm",
    "local_response_norm",
    "log_softmax",
    "max_pool",
    "mixed",
    "normal",
    "one_hot",
    "ones",
    "orthogonal",
    "relu",
    "sampled_softmax",
    "sigmoid",
    "silu",
    "softmax",
    "uniform",
    "zeros",
]
