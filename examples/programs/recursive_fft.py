"""The Fourier transform of 2^k points by halves (Cooley and Tukey, 1965), each by a call of its own."""

import numpy as np

import jitflow


def transform(x):
    n = len(x)
    if n == 1:
        return x.copy()
    even, odd = transform(x[::2]), transform(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate((even + turned, even - turned))


@jitflow.function
def recursive_fft(x):
    return transform(x)


def example(size="small", seed=0):
    random = np.random.default_rng(seed)
    n = 16 if size == "small" else 2**14
    return (random.normal(size=n) + 1j * random.normal(size=n),)


if __name__ == "__main__":
    (x,) = example("large")
    print(f"{np.abs(recursive_fft(x) - np.fft.fft(x)).max():.1e} from NumPy's")
