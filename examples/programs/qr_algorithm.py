"""All eigenvalues of a symmetric matrix by QR steps with shifts (Francis, 1961; Kublanovskaya, 1961)."""

import numpy as np

import jitflow


@jitflow.function
def qr_algorithm(A, tolerance):
    A = A.copy()
    n = len(A)
    steps = 0
    while n > 1:
        while np.abs(A[n - 1, : n - 1]).sum() > tolerance and steps < 10_000:
            shift = A[n - 1, n - 1]
            Q, R = np.linalg.qr(A[:n, :n] - shift * np.eye(n))
            A[:n, :n] = R @ Q + shift * np.eye(n)
            steps += 1
        n -= 1
    return np.sort(np.diag(A)), steps


def example(size="small", seed=0):
    n = 5 if size == "small" else 40
    B = np.random.default_rng(seed).normal(size=(n, n))
    return B + B.T, 1e-9


if __name__ == "__main__":
    A, tolerance = example("large")
    values, steps = qr_algorithm(A, tolerance)
    print(f"{steps} steps, {np.abs(values - np.linalg.eigvalsh(A)).max():.1e} from LAPACK's")
