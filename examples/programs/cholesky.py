"""Cholesky's factorisation A = L L^T of a symmetric positive definite matrix, element by element, in place.

The lower triangle of A becomes L (Golub and Van Loan, Matrix Computations, section 4.2); the upper one stays as it is.
"""

import numpy as np

import jitflow


@jitflow.function
def cholesky(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])


def example(size="small", seed=0):
    n = 10 if size == "small" else 260
    B = np.random.default_rng(seed).normal(0.0, 1.0, (n, n))
    return (B @ B.T + n * np.eye(n),)


if __name__ == "__main__":
    (A,) = example("large")
    original = A.copy()
    cholesky(A)
    L = np.tril(A)
    print(f"largest error of L L^T: {np.abs(L @ L.T - original).max():.1e}")
