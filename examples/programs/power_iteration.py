"""The largest eigenvalues of a symmetric matrix by the power method, one after the other, with deflation.

Each vector is iterated until its eigenvalue settles; then its part is taken out of the matrix, which is a copy.
"""

import numpy as np

import jitflow


def dominant(A, v, tolerance, limit):
    value = 0.0
    for _ in range(limit):
        w = A @ v
        new = v @ w
        v = w / np.sqrt(w @ w)
        if abs(new - value) <= tolerance * abs(new):
            return new, v
        value = new
    return value, v


@jitflow.function
def power_iteration(A, start, count, tolerance, limit):
    A = A.copy()
    values = np.empty(count)
    vectors = np.empty((count, len(A)))
    for i in range(count):
        value, vector = dominant(A, start / np.sqrt(start @ start), tolerance, limit)
        values[i] = value
        vectors[i] = vector
        A -= value * np.outer(vector, vector)
    return values, vectors


def example(size="small", seed=0):
    n, count = (8, 2) if size == "small" else (250, 4)
    random = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(random.normal(0.0, 1.0, (n, n)))
    A = (Q * 0.8 ** np.arange(n)) @ Q.T
    return (A + A.T) / 2, random.normal(0.0, 1.0, n), count, 1e-12, 300


if __name__ == "__main__":
    values, _ = power_iteration(*example("large"))
    print("largest eigenvalues:", ", ".join(f"{value:.6f}" for value in values))
