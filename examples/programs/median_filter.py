"""A picture without specks: each pixel becomes the median of the 3 x 3 pixels around it (Tukey, 1977)."""

import numpy as np

import jitflow


@jitflow.function
def median_filter(picture):
    out = picture.copy()
    for i in range(1, picture.shape[0] - 1):
        for j in range(1, picture.shape[1] - 1):
            out[i, j] = np.median(picture[i - 1 : i + 2, j - 1 : j + 2])
    return out


def example(size="small", seed=0):
    n = 12 if size == "small" else 256
    return (np.random.default_rng(seed).random((n, n + 3)),)


if __name__ == "__main__":
    (picture,) = example("large")
    print(f"deviation {picture.std():.3f} before, {median_filter(picture).std():.3f} behind")
