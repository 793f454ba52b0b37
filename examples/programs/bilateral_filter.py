"""Smoothing that keeps edges (Tomasi and Manduchi, 1998): neighbours count by their distance and by their likeness.

The window is two loops over shifts of the padded picture, all pixels at once.
"""

import numpy as np

import jitflow


@jitflow.function
def bilateral_filter(picture, radius, spread, likeness):
    height, width = picture.shape
    padded = np.pad(picture, radius, mode="reflect")
    total = np.zeros_like(picture)
    weights = np.zeros_like(picture)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            top, left = radius + dy, radius + dx
            shifted = padded[top : top + height, left : left + width]
            near = np.exp(-(dy * dy + dx * dx) / (2.0 * spread**2))
            weight = near * np.exp(-((shifted - picture) ** 2) / (2.0 * likeness**2))
            total += weight * shifted
            weights += weight
    return total / weights


def example(size="small", seed=0):
    n, radius = (9, 2) if size == "small" else (160, 4)
    random = np.random.default_rng(seed)
    steps = np.floor(np.arange(n) / n * 3.0)
    return steps + steps[:, None] + random.normal(0.0, 0.1, (n, n)), radius, 2.0, 0.3


if __name__ == "__main__":
    picture, *numbers = example("large")
    smooth = bilateral_filter(picture, *numbers)
    print(f"noise in one corner: {picture[:40, :40].std():.4f} before, {smooth[:40, :40].std():.4f} after")
