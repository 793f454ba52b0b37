"""A low-pass filter of finite length (windowed sinc) and what it leaves of a signal, decimated by a step.

The taps come from `np.sinc` and a Hamming window; each tap adds a shifted slice of the signal to the output.
"""

import numpy as np

import jitflow


@jitflow.function
def fir_filter(signal, taps, cutoff, step):
    k = np.arange(taps) - (taps - 1) / 2.0
    window = 0.54 - 0.46 * np.cos(2.0 * np.pi * np.arange(taps) / (taps - 1))
    kernel = 2.0 * cutoff * np.sinc(2.0 * cutoff * k) * window
    kernel /= kernel.sum()
    n = len(signal) - taps + 1
    out = np.zeros(n)
    for i in range(taps):
        out += kernel[i] * signal[i : i + n]
    return out[::step]


def example(size="small", seed=0):
    n, taps = (50, 9) if size == "small" else (100_000, 63)
    random = np.random.default_rng(seed)
    return np.sin(np.arange(n) * 0.05) + random.normal(0.0, 0.5, n), taps, 0.05, 4


if __name__ == "__main__":
    signal, *numbers = example("large")
    out = fir_filter(signal, *numbers)
    print(f"{len(signal)} samples of deviation {signal.std():.4f} became {len(out)} of {out.std():.4f}")
