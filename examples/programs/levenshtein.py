"""The distance of Levenshtein (1965): how many letters to insert, delete or exchange to make one word of another.

Two rows of the table change places; an empty word returns early.
"""

import numpy as np

import jitflow


@jitflow.function
def levenshtein(a, b):
    if len(a) == 0:
        return len(b)
    if len(b) == 0:
        return len(a)
    previous = np.arange(len(b) + 1)
    current = np.zeros(len(b) + 1, dtype=previous.dtype)
    for i in range(len(a)):
        current[0] = i + 1
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            current[j + 1] = min(previous[j + 1] + 1, current[j] + 1, previous[j] + cost)
        previous, current = current, previous
    return int(previous[-1])


def example(size="small", seed=0):
    n, m = (9, 11) if size == "small" else (600, 700)
    random = np.random.default_rng(seed)
    return random.integers(97, 101, n, np.uint8), random.integers(97, 101, m, np.uint8)


if __name__ == "__main__":
    a, b = example("large")
    print(f"{levenshtein(a, b)} edits make {len(b)} letters of {len(a)}")
