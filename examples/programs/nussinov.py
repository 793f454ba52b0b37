"""How many pairs of bases a strand of RNA can form when it folds (Nussinov and Jacobson, 1980).

table[i, j] is the best for the bases from i to j: one end unpaired, both ends paired, or two parts beside each other.
Rows are filled from the last to the first.
"""

import numpy as np

import jitflow


def pairs(one, other):
    return 1 if one + other == 3 else 0  # A with U, C with G


@jitflow.function
def nussinov(sequence):
    n = sequence.shape[0]
    table = np.zeros((n, n), dtype=np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            if i + 1 < j:
                best = max(best, table[i + 1, j - 1] + pairs(sequence[i], sequence[j]))
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table


def example(size="small", seed=0):
    n = 16 if size == "small" else 220
    return (np.random.default_rng(seed).integers(0, 4, n, np.int32),)


if __name__ == "__main__":
    (sequence,) = example("large")
    print(f"{len(sequence)} bases form at most {nussinov(sequence)[0, -1]} pairs")
