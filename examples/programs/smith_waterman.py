"""The best local alignment of two sequences (Smith and Waterman, 1981): score and place of the most similar parts.

One row of the table is enough for the score: `diagonal` remembers the entry that the row has just overwritten.
"""

import numpy as np

import jitflow


@jitflow.function
def smith_waterman(a, b, match, mismatch, gap):
    row = np.zeros(len(b) + 1, dtype=np.int64)
    best = 0
    end_a = end_b = 0
    for i in range(len(a)):
        diagonal = 0
        for j in range(len(b)):
            if a[i] == b[j]:
                score = diagonal + match
            else:
                score = diagonal - mismatch
            score = max(score, row[j + 1] - gap, row[j] - gap, 0)
            diagonal = row[j + 1]
            row[j + 1] = score
            if score > best:
                best = score
                end_a, end_b = i + 1, j + 1
    return int(best), end_a, end_b


def example(size="small", seed=0):
    n, m = (12, 15) if size == "small" else (900, 1000)
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 4, n, np.uint8), random.integers(0, 4, m, np.uint8)
    b[m // 3 : m // 3 + n // 2] = a[n // 4 : n // 4 + n // 2]  # something to be found
    return a, b, 2, 1, 2


if __name__ == "__main__":
    a, b, *scores = example("large")
    best, end_a, end_b = smith_waterman(a, b, *scores)
    print(f"the most similar parts score {best} and end at {end_a} and {end_b}")
