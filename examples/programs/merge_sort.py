"""Sorting by merging (von Neumann, 1945): halves are sorted, then joined into an array of their own."""

import numpy as np

import jitflow


def merged(a, b):
    out = np.empty(len(a) + len(b))
    i = j = 0
    for k in range(len(out)):
        if j == len(b) or (i < len(a) and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
    return out


def sorted_copy(x):
    if len(x) < 2:
        return x.copy()
    middle = len(x) // 2
    return merged(sorted_copy(x[:middle]), sorted_copy(x[middle:]))


@jitflow.function
def merge_sort(x):
    return sorted_copy(x)


def example(size="small", seed=0):
    return (np.random.default_rng(seed).normal(size=20 if size == "small" else 100_000),)


if __name__ == "__main__":
    (x,) = example("large")
    print(f"{len(x)} numbers are in order: {np.array_equal(merge_sort(x), np.sort(x))}")
