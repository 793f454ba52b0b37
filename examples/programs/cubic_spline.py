"""A natural cubic spline through points, and its values between them: a tridiagonal system, then pieces."""

import numpy as np

import jitflow


@jitflow.function
def cubic_spline(x, y, at):
    n = len(x)
    h = x[1:] - x[:-1]
    slope = (y[1:] - y[:-1]) / h
    curve = np.zeros(n)
    upper = np.zeros(n)
    for i in range(1, n - 1):
        pivot = 2.0 * (h[i - 1] + h[i]) - h[i - 1] * upper[i - 1]
        upper[i] = h[i] / pivot
        curve[i] = (6.0 * (slope[i] - slope[i - 1]) - h[i - 1] * curve[i - 1]) / pivot
    for i in range(n - 2, 0, -1):
        curve[i] -= upper[i] * curve[i + 1]
    k = np.clip(np.searchsorted(x, at) - 1, 0, n - 2)
    t = at - x[k]
    first = slope[k] - h[k] * (2.0 * curve[k] + curve[k + 1]) / 6.0
    return y[k] + t * (first + t * (curve[k] / 2.0 + t * (curve[k + 1] - curve[k]) / (6.0 * h[k])))


def example(size="small", seed=0):
    n, m = (8, 20) if size == "small" else (1_000, 200_000)
    random = np.random.default_rng(seed)
    x = np.sort(random.random(n))
    return x, np.sin(6.0 * x), random.uniform(x[0], x[-1], m)


if __name__ == "__main__":
    x, y, at = example("large")
    print(f"{np.abs(cubic_spline(x, y, at) - np.sin(6.0 * at)).max():.1e} from the sine")
