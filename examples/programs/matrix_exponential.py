"""The exponential of a matrix by scaling, a series and squaring (Moler and Van Loan, 2003).

How often the matrix is halved depends on its norm, and so does how often the result is squared.
"""

import numpy as np

import jitflow


@jitflow.function
def matrix_exponential(A):
    norm = np.abs(A).sum(axis=0).max()
    halvings = 0
    while norm > 0.5:
        norm /= 2.0
        halvings += 1
    scaled = A / 2.0**halvings
    term = np.eye(len(A))
    result = np.eye(len(A))
    for k in range(1, 13):
        term = term @ scaled / k
        result += term
    for _ in range(halvings):
        result = result @ result
    return result


def example(size="small", seed=0):
    n = 6 if size == "small" else 120
    return (np.random.default_rng(seed).normal(0.0, 1.0, (n, n)),)


if __name__ == "__main__":
    (A,) = example("large")
    sign, logarithm = np.linalg.slogdet(matrix_exponential(A))
    print(f"determinant of exp A: exp({logarithm:.6f}); trace of A: {np.trace(A):.6f}")
