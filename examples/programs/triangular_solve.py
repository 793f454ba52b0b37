"""A lower triangular system L x = b by forward substitution: each unknown needs a product with those before it.

The slices L[i, :i] and x[:i] grow with the row.
"""

import numpy as np

import jitflow


@jitflow.function
def triangular_solve(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def example(size="small", seed=0):
    n = 12 if size == "small" else 2000
    random = np.random.default_rng(seed)
    L = np.tril(random.normal(0.0, 1.0 / n, (n, n))) + np.eye(n)
    return L, np.zeros(n), random.normal(0.0, 1.0, n)


if __name__ == "__main__":
    L, x, b = example("large")
    triangular_solve(L, x, b)
    print(f"largest residual of L x = b: {np.abs(L @ x - b).max():.1e}")
