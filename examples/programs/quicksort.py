"""Sorting by exchange and recursion, in place (Hoare, 1961): what is smaller than a pivot goes to the left of it."""

import numpy as np

import jitflow


def sort_between(x, left, right):
    while left < right:
        pivot = x[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i += 1
                j -= 1
        sort_between(x, left, j)
        left = i


@jitflow.function
def quicksort(x):
    sort_between(x, 0, len(x) - 1)


def example(size="small", seed=0):
    return (np.random.default_rng(seed).normal(size=30 if size == "small" else 200_000),)


if __name__ == "__main__":
    (x,) = example("large")
    quicksort(x)
    print(f"{len(x)} numbers from {x[0]:.3f} to {x[-1]:.3f}, in order: {np.all(np.diff(x) >= 0)}")
