"""Sorting by insertion, in place: each element moves down until the one before it is not larger."""

import numpy as np

import jitflow


@jitflow.function
def insertion_sort(x):
    moves = 0
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
            moves += 1
        x[j + 1] = key
    return moves


def example(size="small", seed=0):
    n = 20 if size == "small" else 3000
    return (np.random.default_rng(seed).normal(0.0, 1.0, n),)


if __name__ == "__main__":
    (x,) = example("large")
    moves = insertion_sort(x)
    print(f"{moves} moves sorted {len(x)} numbers: {bool(np.all(x[:-1] <= x[1:]))}")
