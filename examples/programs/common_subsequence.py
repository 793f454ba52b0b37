"""The longest sequence that two others hold in order, with a table that is a list of lists."""

import numpy as np

import jitflow


@jitflow.function
def common_subsequence(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1][j + 1] = table[i][j] + 1
            else:
                table[i + 1][j + 1] = max(table[i][j + 1], table[i + 1][j])
    common = []
    i, j = len(a), len(b)
    while i > 0 and j > 0:
        if a[i - 1] == b[j - 1]:
            common.append(a[i - 1])
            i -= 1
            j -= 1
        elif table[i - 1][j] >= table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    common.reverse()
    return common


def example(size="small", seed=0):
    n = 10 if size == "small" else 1_000
    return tuple(np.random.default_rng(seed).integers(0, 4, (2, n)))


if __name__ == "__main__":
    print(f"{len(common_subsequence(*example('large')))} letters in common")
