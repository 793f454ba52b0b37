"""QR factorisation by the modified process of Gram and Schmidt: orthonormal columns Q and a triangle R with A = Q R.

The columns of A that are still to come lose what they share with each new column of Q, so A is used up.
"""

import numpy as np

import jitflow


@jitflow.function
def gram_schmidt(A):
    n = A.shape[1]
    Q = np.zeros_like(A)
    R = np.zeros((n, n), dtype=A.dtype)
    for k in range(n):
        norm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(norm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


def example(size="small", seed=0):
    m, n = (12, 7) if size == "small" else (300, 100)
    return (np.random.default_rng(seed).normal(0.0, 1.0, (m, n)),)


if __name__ == "__main__":
    (A,) = example("large")
    Q, R = gram_schmidt(A.copy())
    print(
        f"largest error of Q R: {np.abs(Q @ R - A).max():.1e}, of Q^T Q: {np.abs(Q.T @ Q - np.eye(len(R))).max():.1e}"
    )
