"""The equations of Yule and Walker, T y = -r with T the symmetric Toeplitz matrix of (1, r_1, ..., r_(n-1)).

Durbin's recursion (1960) solves them in n^2 steps: the solution of order k + 1 is that of order k plus a multiple of
itself backwards.
"""

import numpy as np

import jitflow


@jitflow.function
def durbin(r):
    y = np.zeros_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def example(size="small", seed=0):
    n = 10 if size == "small" else 1500
    signal = np.random.default_rng(seed).normal(0.0, 1.0, 4 * n)
    spectrum = np.abs(np.fft.rfft(signal, 8 * n)) ** 2
    correlation = np.fft.irfft(spectrum)[: n + 1]
    return (correlation[1:] / correlation[0],)


if __name__ == "__main__":
    (r,) = example("large")
    y = durbin(r)
    print(f"first of {len(y)} coefficients that predict the signal: {-y[0]:.5f}")
