"""The mean brightness of a detector's pixels by their distance from the beam, with weighted histograms.

Two histograms over the same bins, one of them weighted with the pixels; NumPy's `histogram` does the binning.
"""

import numpy as np

import jitflow


@jitflow.function
def azimuthal_integration(data, radius, bins):
    count = np.histogram(radius, bins)[0]
    total = np.histogram(radius, bins, weights=data)[0]
    return total / count


def example(size="small", seed=0):
    n, bins = (60, 5) if size == "small" else (400_000, 1000)
    random = np.random.default_rng(seed)
    return random.random(n), random.random(n) ** 0.5, bins


if __name__ == "__main__":
    data, radius, bins = example("large")
    print(f"brightest of {bins} rings: {azimuthal_integration(data, radius, bins).max():.4f}")
