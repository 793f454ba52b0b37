"""LU factorisation with partial pivoting, in place: P A = L U, rows exchanged so that the pivot is the largest.

Each step subtracts an outer product from what remains (Golub and Van Loan, algorithm 3.4.1). A matrix that is singular
raises an error.
"""

import numpy as np

import jitflow


@jitflow.function
def lu(A):
    n = A.shape[0]
    order = np.arange(n)
    for k in range(n):
        pivot = k + np.argmax(np.abs(A[k:, k]))
        if A[pivot, k] == 0.0:
            raise np.linalg.LinAlgError("the matrix is singular")
        if pivot != k:
            for j in range(n):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
            order[k], order[pivot] = order[pivot], order[k]
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return order


def example(size="small", seed=0):
    n = 9 if size == "small" else 200
    return (np.random.default_rng(seed).normal(0.0, 1.0, (n, n)),)


if __name__ == "__main__":
    (A,) = example("large")
    original = A.copy()
    order = lu(A)
    product = (np.tril(A, -1) + np.eye(len(A))) @ np.triu(A)
    print(f"largest error of L U: {np.abs(product - original[order]).max():.1e}")
