"""The size of each connected area of a picture's bright pixels: each is filled by a call for every neighbour."""

import numpy as np

import jitflow


def fill(labels, picture, i, j, label):
    if i < 0 or j < 0 or i >= picture.shape[0] or j >= picture.shape[1]:
        return 0
    if not picture[i, j] or labels[i, j]:
        return 0
    labels[i, j] = label
    return (
        1
        + fill(labels, picture, i + 1, j, label)
        + fill(labels, picture, i - 1, j, label)
        + fill(labels, picture, i, j + 1, label)
        + fill(labels, picture, i, j - 1, label)
    )


@jitflow.function
def flood_fill(picture):
    labels = np.zeros(picture.shape, dtype=np.int64)
    sizes = []
    for i in range(picture.shape[0]):
        for j in range(picture.shape[1]):
            if picture[i, j] and not labels[i, j]:
                sizes.append(fill(labels, picture, i, j, len(sizes) + 1))
    return labels, sizes


def example(size="small", seed=0):
    n = 12 if size == "small" else 400
    return (np.random.default_rng(seed).random((n, n + 1)) < 0.5,)


if __name__ == "__main__":
    labels, sizes = flood_fill(*example("large"))
    print(f"{len(sizes)} areas, the largest of {max(sizes)} pixels")
