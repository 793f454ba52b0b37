"""The best global alignment of two sequences (Needleman and Wunsch, 1970): a table of scores, then the way back.

Letters are small integers. A gap costs `gap`; two letters side by side score what `substitution` says. The alignment
is two rows of letters, -1 where a gap is.
"""

import numpy as np

import jitflow


@jitflow.function
def needleman_wunsch(a, b, substitution, gap):
    n, m = len(a), len(b)
    score = np.zeros((n + 1, m + 1), dtype=np.int64)
    score[:, 0] = -gap * np.arange(n + 1)
    score[0, :] = -gap * np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            match = score[i - 1, j - 1] + substitution[a[i - 1], b[j - 1]]
            score[i, j] = max(match, score[i - 1, j] - gap, score[i, j - 1] - gap)
    alignment = np.full((2, n + m), -1)
    i, j, k = n, m, n + m
    while i > 0 or j > 0:
        k -= 1
        if i > 0 and j > 0 and score[i, j] == score[i - 1, j - 1] + substitution[a[i - 1], b[j - 1]]:
            i -= 1
            j -= 1
            alignment[0, k] = a[i]
            alignment[1, k] = b[j]
        elif i > 0 and score[i, j] == score[i - 1, j] - gap:
            i -= 1
            alignment[0, k] = a[i]
        else:
            j -= 1
            alignment[1, k] = b[j]
    return score[n, m], alignment[:, k:]


def example(size="small", seed=0):
    n, m = (11, 13) if size == "small" else (700, 800)
    random = np.random.default_rng(seed)
    substitution = np.where(np.eye(4, dtype=bool), 5, -4)
    return random.integers(0, 4, n), random.integers(0, 4, m), substitution, 6


if __name__ == "__main__":
    a, b, substitution, gap = example("large")
    score, alignment = needleman_wunsch(a, b, substitution, gap)
    print(f"score {score}, {np.mean(alignment[0] == alignment[1]):.1%} of {alignment.shape[1]} columns agree")
