"""The two products of the method of biconjugate gradients, A p and A^T r, in loops over the elements of A."""

import numpy as np

import jitflow


@jitflow.function
def bicg(A, p, r):
    n, m = A.shape
    s = np.zeros(m)
    q = np.zeros(n)
    for i in range(n):
        for j in range(m):
            s[j] = s[j] + r[i] * A[i, j]
            q[i] = q[i] + A[i, j] * p[j]
    return s, q


def example(size="small", seed=0):
    n, m = (8, 11) if size == "small" else (700, 800)
    random = np.random.default_rng(seed)
    return random.random((n, m)), random.random(m), random.random(n)


if __name__ == "__main__":
    A, p, r = example("large")
    s, q = bicg(A, p, r)
    print(f"r A p, from either side: {s @ p:.6f} and {q @ r:.6f}")
