"""Attention over a sequence with several heads (Vaswani and others, 2017), each token looking at those before it.

Heads are a loop over slices of the channels; the mask is an upper triangle of minus infinity.
"""

import numpy as np

import jitflow


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@jitflow.function
def softmax_attention(x, wq, wk, wv, wo, heads):
    length, channels = x.shape
    width = channels // heads
    q, k, v = x @ wq, x @ wk, x @ wv
    mask = np.triu(np.full((length, length), -np.inf, dtype=x.dtype), 1)
    out = np.empty_like(x)
    for head in range(heads):
        part = slice(head * width, (head + 1) * width)
        scores = q[:, part] @ k[:, part].T / np.float32(np.sqrt(width))
        out[:, part] = softmax(scores + mask) @ v[:, part]
    return out @ wo


def example(size="small", seed=0):
    length, channels, heads = (6, 8, 2) if size == "small" else (256, 256, 8)
    random = np.random.default_rng(seed)
    weights = random.normal(0.0, channels**-0.5, (4, channels, channels)).astype(np.float32)
    return random.normal(0.0, 1.0, (length, channels)).astype(np.float32), *weights, heads


if __name__ == "__main__":
    x, *others = example("large")
    out = softmax_attention(x, *others)
    print(f"{len(x)} tokens of deviation {x.std():.4f} became {out.std():.4f}")
