"""The inverse of a matrix by the elimination of Gauss and Jordan, with exchange of rows.

The matrix and the identity stand beside each other in one array; rows are swapped through fancy indices.
"""

import numpy as np

import jitflow


@jitflow.function
def gauss_jordan(A):
    n = len(A)
    work = np.hstack((A, np.eye(n)))
    for k in range(n):
        pivot = k + np.argmax(np.abs(work[k:, k]))
        if pivot != k:
            work[[k, pivot]] = work[[pivot, k]]
        work[k] /= work[k, k]
        for i in range(n):
            if i != k:
                work[i] -= work[i, k] * work[k]
    return work[:, n:]


def example(size="small", seed=0):
    n = 7 if size == "small" else 120
    return (np.random.default_rng(seed).normal(0.0, 1.0, (n, n)),)


if __name__ == "__main__":
    (A,) = example("large")
    print(f"largest error of A A^-1: {np.abs(A @ gauss_jordan(A) - np.eye(len(A))).max():.1e}")
