"""The covariance matrix of the columns of a table, one row of it for each column.

The data is centred in place; symmetric entries are written by one slice along the row and one along the column.
"""

import numpy as np

import jitflow


@jitflow.function
def covariance(data):
    n, m = data.shape
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        cov[i:m, i] = data[:, i] @ data[:, i:m] / (n - 1.0)
        cov[i, i:m] = cov[i:m, i]
    return cov


def example(size="small", seed=0):
    n, m = (14, 6) if size == "small" else (260, 240)
    return (np.random.default_rng(seed).normal(1.0, 2.0, (n, m)),)


if __name__ == "__main__":
    (data,) = example("large")
    print(f"mean variance of {data.shape[1]} columns: {np.trace(covariance(data)) / data.shape[1]:.4f}")
