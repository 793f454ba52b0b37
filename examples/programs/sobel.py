"""Edges of a picture by Sobel's filters (1968): two 3 x 3 windows, their length, scaled to bytes.

The picture is padded with its rim, and the windows are summed in loops over their weights.
"""

import numpy as np

import jitflow


def correlate(picture, window):
    height, width = picture.shape
    result = np.zeros((height - 2, width - 2), dtype=np.float32)
    for i in range(3):
        for j in range(3):
            result += window[i, j] * picture[i : height - 2 + i, j : width - 2 + j]
    return result


@jitflow.function
def sobel(picture):
    weights = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], dtype=np.float32)
    padded = np.pad(picture.astype(np.float32), 1, mode="edge")
    horizontal = correlate(padded, weights)
    vertical = correlate(padded, weights.T)
    strength = np.sqrt(horizontal**2 + vertical**2)
    strength *= np.float32(255.0) / strength.max()
    return strength.astype(np.uint8)


def example(size="small", seed=0):
    height, width = (9, 12) if size == "small" else (480, 640)
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    disc = 128 * ((y - height / 2) ** 2 + (x - width / 2) ** 2 < (height / 3) ** 2)
    return ((disc + random.integers(0, 40, (height, width))).astype(np.uint8),)


if __name__ == "__main__":
    (picture,) = example("large")
    print(f"{np.mean(sobel(picture) > 100):.2%} of the pixels lie on an edge")
