"""A layer of convolutions over a batch of pictures: every output pixel is a window times the weights, summed.

Pictures are (batch, height, width, channels), weights (size, size, channels in, channels out); no padding.
"""

import numpy as np

import jitflow


@jitflow.function
def convolution(pictures, weights, bias):
    size = weights.shape[0]
    batch, height, width, _ = pictures.shape
    rows, columns = height - size + 1, width - size + 1
    output = np.empty((batch, rows, columns, weights.shape[3]), dtype=np.float32)
    for i in range(rows):
        for j in range(columns):
            window = pictures[:, i : i + size, j : j + size, :, np.newaxis]
            output[:, i, j, :] = np.sum(window * weights[np.newaxis, :, :, :], axis=(1, 2, 3))
    return output + bias


def example(size="small", seed=0):
    batch, side, k, channels, features = (2, 7, 3, 2, 3) if size == "small" else (4, 24, 3, 8, 16)
    random = np.random.default_rng(seed)
    pictures = random.random((batch, side, side + 1, channels), dtype=np.float32)
    weights = random.random((k, k, channels, features), dtype=np.float32)
    return pictures, weights, random.random(features, dtype=np.float32)


if __name__ == "__main__":
    output = convolution(*example("large"))
    print(f"output of shape {output.shape} with mean {output.mean():.4f}")
