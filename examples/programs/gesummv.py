"""The sum of two products with one vector, alpha A x + beta B x: nothing but two reads of memory."""

import numpy as np

import jitflow


@jitflow.function
def gesummv(alpha, beta, A, B, x):
    return alpha * A @ x + beta * B @ x


def example(size="small", seed=0):
    n = 11 if size == "small" else 1200
    random = np.random.default_rng(seed)
    return 1.5, 1.2, random.random((n, n)), random.random((n, n)), random.random(n)


if __name__ == "__main__":
    print(f"largest element of the sum: {gesummv(*example('large')).max():.3f}")
