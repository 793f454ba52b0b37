"""A general Toeplitz system T x = b by Levinson's recursion (1947), in loops over elements.

T[i, j] depends on i - j alone: `t` holds the diagonals from the upper right, so that T[i, j] = t[n - 1 + i - j].
Forward and backward vectors of each order lead to those of the next.
"""

import numpy as np

import jitflow


@jitflow.function
def levinson(t, b):
    n = len(b)
    middle = n - 1
    forward = np.zeros(n)
    backward = np.zeros(n)
    x = np.zeros(n)
    forward[0] = backward[0] = 1.0 / t[middle]
    x[0] = b[0] / t[middle]
    for k in range(1, n):
        error_forward = 0.0
        error_backward = 0.0
        error_x = 0.0
        for i in range(k):
            error_forward += t[middle + k - i] * forward[i]
            error_backward += t[middle - 1 - i] * backward[i]
            error_x += t[middle + k - i] * x[i]
        scale = 1.0 / (1.0 - error_forward * error_backward)
        shifted = 0.0
        for i in range(k + 1):
            ahead = forward[i]
            forward[i] = scale * (ahead - error_forward * shifted)
            shifted, backward[i] = backward[i], scale * (shifted - error_backward * ahead)
        for i in range(k + 1):
            x[i] += (b[k] - error_x) * backward[i]
    return x


def example(size="small", seed=0):
    n = 9 if size == "small" else 1000
    random = np.random.default_rng(seed)
    t = random.normal(0.0, 0.3 / np.sqrt(n), 2 * n - 1)
    t[n - 1] = 1.0
    return t, random.normal(0.0, 1.0, n)


if __name__ == "__main__":
    t, b = example("large")
    x = levinson(t, b)
    print(f"first equation: {np.dot(t[len(b) - 1 :: -1], x):.10f} = {b[0]:.10f}")
