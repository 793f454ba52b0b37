"""The maximum of each window of 2 x 2 pixels, with the place where it was, and its way back (Zeiler and others, 2011).

The places are flat indices into the window; `unpool` puts each maximum back where it came from.
"""

import numpy as np

import jitflow


def pool(x):
    batch, height, width, channels = x.shape
    output = np.empty((batch, height // 2, width // 2, channels), dtype=x.dtype)
    place = np.empty(output.shape, dtype=np.int64)
    for i in range(output.shape[1]):
        for j in range(output.shape[2]):
            window = x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :].reshape(batch, 4, channels)
            output[:, i, j, :] = np.max(window, axis=1)
            place[:, i, j, :] = np.argmax(window, axis=1)
    return output, place


def unpool(output, place):
    batch, height, width, channels = output.shape
    x = np.zeros((batch, 2 * height, 2 * width, channels), dtype=output.dtype)
    for k in range(4):
        x[:, k // 2 :: 2, k % 2 :: 2, :] = np.where(place == k, output, 0)
    return x


@jitflow.function
def max_pooling(x):
    output, place = pool(x)
    return output, unpool(output, place)


def example(size="small", seed=0):
    shape = (2, 6, 8, 3) if size == "small" else (8, 64, 64, 16)
    return (np.random.default_rng(seed).random(shape, dtype=np.float32),)


if __name__ == "__main__":
    (x,) = example("large")
    output, back = max_pooling(x)
    print(f"mean {x.mean():.4f} before, {output.mean():.4f} after pooling, {np.mean(back > 0):.1%} of the places kept")
