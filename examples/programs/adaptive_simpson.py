"""An integral by Simpson's rule that halves intervals where it has to (Kuncir, 1962), calling itself."""

import math

import jitflow


def height(x):
    return math.sin(1.0 / x) * math.sqrt(x)


def integral(a, b, fa, fm, fb, whole, tolerance, depth):
    m = (a + b) / 2
    left, right = (a + m) / 2, (m + b) / 2
    fl, fr = height(left), height(right)
    first = (m - a) / 6 * (fa + 4 * fl + fm)
    second = (b - m) / 6 * (fm + 4 * fr + fb)
    error = first + second - whole
    if depth == 0 or abs(error) <= 15 * tolerance:
        return first + second + error / 15
    return integral(a, m, fa, fl, fm, first, tolerance / 2, depth - 1) + integral(
        m, b, fm, fr, fb, second, tolerance / 2, depth - 1
    )


@jitflow.function
def adaptive_simpson(a, b, tolerance):
    fa, fm, fb = height(a), height((a + b) / 2), height(b)
    return integral(a, b, fa, fm, fb, (b - a) / 6 * (fa + 4 * fm + fb), tolerance, 40)


def example(size="small", seed=0):
    return (0.1 + 0.01 * seed, 1.0, 1e-6) if size == "small" else (0.001, 1.0, 1e-12)


if __name__ == "__main__":
    print(f"the integral is {adaptive_simpson(*example('large')):.12f}")
