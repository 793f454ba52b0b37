"""The correlation matrix of the columns of a table (Pearson), column by column.

Columns that do not vary get a deviation of one, so that nothing is divided by zero: a boolean mask on an assignment.
"""

import numpy as np

import jitflow


@jitflow.function
def correlation(data):
    n, m = data.shape
    mean = data.mean(axis=0)
    deviation = data.std(axis=0)
    deviation[deviation <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(n) * deviation
    corr = np.eye(m, dtype=data.dtype)
    for i in range(m - 1):
        corr[i + 1 : m, i] = corr[i, i + 1 : m] = data[:, i] @ data[:, i + 1 : m]
    return corr


def example(size="small", seed=0):
    n, m = (13, 5) if size == "small" else (240, 220)
    data = np.random.default_rng(seed).normal(1.0, 2.0, (n, m))
    data[:, 1] += data[:, 0]
    data[:, 2] = 3.0
    return (data,)


if __name__ == "__main__":
    (data,) = example("large")
    print(f"correlation of the first two of {data.shape[1]} columns: {correlation(data)[0, 1]:.4f}")
