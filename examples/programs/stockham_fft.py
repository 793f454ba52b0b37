"""The Fourier transform of R^K points by Stockham's algorithm, which sorts as it goes (Van Loan, 1992).

Each of the K stages turns the array by reshapes and a transpose, multiplies it with roots of unity and with the small
Fourier matrix. The shapes depend on the stage: R**i is a size.
"""

import numpy as np

import jitflow


@jitflow.function
def stockham_fft(R, K, x):
    N = R**K
    i, j = np.mgrid[0:R, 0:R]
    fourier = np.exp(-2.0j * np.pi * i * j / R)
    y = x.copy()
    for stage in range(K):
        below = R**stage
        above = R ** (K - stage - 1)
        turned = np.transpose(np.reshape(y, (below, R, above)), (1, 0, 2))
        p, q = np.mgrid[0:below, 0:R]
        twiddle = np.exp(-2.0j * np.pi * p * q / (R * below))
        turned = turned * np.reshape(np.transpose(twiddle), (R, below, 1))
        y = np.reshape(fourier @ np.reshape(turned, (R, below * above)), (N,))
    return y


def example(size="small", seed=0):
    R, K = (2, 4) if size == "small" else (4, 8)
    parts = np.random.default_rng(seed).normal(0.0, 1.0, (2, R**K))
    return R, K, parts[0] + 1j * parts[1]


if __name__ == "__main__":
    R, K, x = example("large")
    error = np.abs(stockham_fft(R, K, x) - np.fft.fft(x)).max()
    print(f"largest difference to np.fft.fft of {len(x)} points: {error:.1e}")
