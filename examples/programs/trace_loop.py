"""A matrix plus the sum of the hyperbolic tangents along its diagonal: a loop over elements, then a whole array."""

import numpy as np

import jitflow


@jitflow.function
def trace_loop(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def example(size="small", seed=0):
    n = 8 if size == "small" else 1200
    return (np.random.default_rng(seed).random((n, n)),)


if __name__ == "__main__":
    (a,) = example("large")
    print(f"the diagonal added {trace_loop(a)[0, 0] - a[0, 0]:.6f}")
