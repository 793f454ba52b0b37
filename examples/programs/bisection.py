"""A root in an interval for each of many functions at once, by halving intervals: x^3 + a x = b for a > 0.

All intervals are halved together by `np.where`; a wrong start raises an error.
"""

import numpy as np

import jitflow


def cubic(x, a, b):
    return x**3 + a * x - b


@jitflow.function
def bisection(a, b, low, high, tolerance):
    left = np.full_like(b, low)
    right = np.full_like(b, high)
    if np.any(cubic(left, a, b) > 0) or np.any(cubic(right, a, b) < 0):
        raise ValueError("an interval has no root")
    while np.max(right - left) > tolerance:
        middle = 0.5 * (left + right)
        above = cubic(middle, a, b) > 0
        right = np.where(above, middle, right)
        left = np.where(above, left, middle)
    return 0.5 * (left + right)


def example(size="small", seed=0):
    n = 15 if size == "small" else 50_000
    random = np.random.default_rng(seed)
    return random.uniform(0.5, 2.0, n), random.uniform(-5.0, 5.0, n), -10.0, 10.0, 1e-10


if __name__ == "__main__":
    a, b, *others = example("large")
    x = bisection(a, b, *others)
    print(f"largest error of {len(x)} roots: {np.abs(cubic(x, a, b)).max():.1e}")
