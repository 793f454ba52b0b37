"""A root of a function by Newton's method: `while` the step is larger than a tolerance, all numbers, no arrays.

Kepler's equation E - e sin E = M, for one mean anomaly M after the other; the next starts from the last solution.
"""

import numpy as np

import jitflow


def kepler(mean, eccentricity, start, tolerance):
    E = start
    change = 1.0
    while abs(change) > tolerance:
        change = (E - eccentricity * np.sin(E) - mean) / (1.0 - eccentricity * np.cos(E))
        E = E - change
    return E


@jitflow.function
def newton(means, eccentricity, tolerance):
    anomalies = np.empty_like(means)
    E = means[0]
    for i in range(len(means)):
        E = kepler(means[i], eccentricity, E, tolerance)
        anomalies[i] = E
    return anomalies


def example(size="small", seed=0):
    n = 12 if size == "small" else 50_000
    return np.sort(np.random.default_rng(seed).uniform(0.0, 6.0, n)), 0.6, 1e-12


if __name__ == "__main__":
    means, eccentricity, tolerance = example("large")
    E = newton(means, eccentricity, tolerance)
    print(f"largest error of {len(E)} solutions: {np.abs(E - eccentricity * np.sin(E) - means).max():.1e}")
