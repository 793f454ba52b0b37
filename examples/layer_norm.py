"""Layer normalisation: two reductions over a row and what follows them become one kernel that reads the row once.

python examples/layer_norm.py
jitflow ir examples/layer_norm.py:layer_norm --arg f32[n,m] --arg f32[m] --arg f32[m] --stage fused
"""

from __future__ import annotations

import numpy as np

import jitflow

EPSILON = 1e-5  # read at each call: it may change without a new compilation


@jitflow.function
def layer_norm(x, scale, shift):
    mean = x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON)
    return (x - mean) / deviation * scale + shift


def main() -> None:
    random = np.random.default_rng(0)
    scale, shift = np.ones(1024, np.float32), np.zeros(1024, np.float32)
    for rows in (1, 64, 4096):
        normal = layer_norm(random.normal(3.0, 2.0, (rows, 1024)).astype(np.float32), scale, shift)
        print(f"{rows:4} rows: mean {abs(normal.mean()):.4f}, standard deviation {normal.std():.4f}")
    print(layer_norm.cache_info())  # one row broadcasts as no other number does, so it has code of its own


if __name__ == "__main__":
    main()
