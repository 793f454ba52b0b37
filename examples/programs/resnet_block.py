"""A bottleneck block of a residual network (He and others, 2015): three convolutions, normalised, beside a shortcut.

The middle convolution pads its input by writing into the inside of a larger array of zeros.
"""

import numpy as np

import jitflow


def relu(x):
    return np.maximum(x, 0)


def normalise(x, epsilon=1e-5):
    mean = np.mean(x, axis=0, keepdims=True)
    deviation = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(deviation + epsilon)


def convolve(x, weights):
    k = weights.shape[0]
    batch, height, width, _ = x.shape
    out = np.zeros((batch, height - k + 1, width - k + 1, weights.shape[3]), dtype=x.dtype)
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            window = x[:, i : i + k, j : j + k, :].reshape(batch, -1)
            out[:, i, j, :] = window @ weights.reshape(-1, weights.shape[3])
    return out


@jitflow.function
def resnet_block(x, conv1, conv2, conv3):
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, conv1.shape[3]), dtype=x.dtype)
    padded[:, 1:-1, 1:-1, :] = convolve(x, conv1)
    y = relu(normalise(padded))
    y = relu(normalise(convolve(y, conv2)))
    y = normalise(convolve(y, conv3))
    return relu(y + x)


def example(size="small", seed=0):
    batch, side, wide, narrow = (3, 5, 6, 2) if size == "small" else (8, 14, 64, 16)
    random = np.random.default_rng(seed)
    x = random.random((batch, side, side, wide), dtype=np.float32)
    conv1 = random.random((1, 1, wide, narrow), dtype=np.float32)
    conv2 = random.random((3, 3, narrow, narrow), dtype=np.float32)
    return x, conv1, conv2, random.random((1, 1, narrow, wide), dtype=np.float32)


if __name__ == "__main__":
    x, *weights = example("large")
    print(f"mean {x.mean():.4f} before the block, {resnet_block(x, *weights).mean():.4f} after it")
