"""Relaxation on a line by Jacobi's method: each point becomes the mean of itself and its two neighbours.

Two arrays are written in turn, and both are the caller's.
"""

import numpy as np

import jitflow


@jitflow.function
def jacobi_1d(A, B, steps):
    for _ in range(1, steps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


def example(size="small", seed=0):
    n, steps = (30, 6) if size == "small" else (60_000, 60)
    A, B = np.random.default_rng(seed).random((2, n))
    return A, B, steps


if __name__ == "__main__":
    A, B, steps = example("large")
    before = A.std()
    jacobi_1d(A, B, steps)
    print(f"roughness of the line: {before:.4f} before, {A.std():.4f} after {2 * (steps - 1)} sweeps")
