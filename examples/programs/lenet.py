"""Inference with a small convolutional network, after LeNet-5 (LeCun and others, 1998): two convolutions, three layers.

Convolutions and poolings are loops over windows, layers are matrix products.
"""

import numpy as np

import jitflow


def relu(x):
    return np.maximum(x, 0)


def convolve(x, weights, bias):
    k = weights.shape[0]
    rows, columns = x.shape[1] - k + 1, x.shape[2] - k + 1
    out = np.zeros((x.shape[0], rows, columns, weights.shape[3]), dtype=x.dtype)
    for i in range(k):
        for j in range(k):
            out += x[:, i : i + rows, j : j + columns, :] @ weights[i, j]
    return out + bias


def pool(x):
    out = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]), dtype=x.dtype)
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return out


@jitflow.function
def lenet(x, conv1, bias1, conv2, bias2, dense1, dense2, dense3):
    x = pool(relu(convolve(x, conv1, bias1)))
    x = pool(relu(convolve(x, conv2, bias2)))
    x = x.reshape(x.shape[0], -1)
    x = relu(x @ dense1)
    x = relu(x @ dense2)
    return x @ dense3


def example(size="small", seed=0):
    batch, side = (2, 16) if size == "small" else (8, 28)
    random = np.random.default_rng(seed)
    flat = 16 * ((side - 4) // 2 - 4) ** 2 // 4

    def weights(*shape):
        return random.normal(0.0, 0.2, shape).astype(np.float32)

    conv1, bias1, conv2, bias2 = weights(5, 5, 1, 6), weights(6), weights(5, 5, 6, 16), weights(16)
    dense = weights(flat, 120), weights(120, 84), weights(84, 10)
    return 5 * weights(batch, side, side, 1), conv1, bias1, conv2, bias2, *dense


if __name__ == "__main__":
    scores = lenet(*example("large"))
    print(f"the network sees the digits {scores.argmax(axis=1).tolist()}")
