"""Many polynomials at many points by Horner's scheme, with their derivatives from the same loop.

Row k of the coefficients is a polynomial, the highest power first; results have a row for each polynomial.
"""

import numpy as np

import jitflow


@jitflow.function
def polynomial_bank(coefficients, x):
    count, terms = coefficients.shape
    value = np.zeros((count, len(x)))
    slope = np.zeros((count, len(x)))
    for k in range(terms):
        slope *= x
        slope += value
        value *= x
        value += coefficients[:, k, np.newaxis]
    return value, slope


def example(size="small", seed=0):
    count, terms, n = (3, 6, 11) if size == "small" else (16, 12, 20_000)
    random = np.random.default_rng(seed)
    return random.normal(0.0, 1.0, (count, terms)), np.linspace(-1.0, 1.0, n)


if __name__ == "__main__":
    value, slope = polynomial_bank(*example("large"))
    print(
        f"{len(value)} polynomials stay below {np.abs(value).max():.4f}, their slopes below {np.abs(slope).max():.4f}"
    )
