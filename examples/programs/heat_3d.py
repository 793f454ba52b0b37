"""Heat in a block: u_t = alpha (u_xx + u_yy + u_zz) on a grid, two arrays that are written in turn.

Every round makes two steps, from A to B and back, so that A holds the result.
"""

import numpy as np

import jitflow


def step(source, target, alpha):
    centre = source[1:-1, 1:-1, 1:-1]
    target[1:-1, 1:-1, 1:-1] = (
        centre
        + alpha * (source[2:, 1:-1, 1:-1] - 2.0 * centre + source[:-2, 1:-1, 1:-1])
        + alpha * (source[1:-1, 2:, 1:-1] - 2.0 * centre + source[1:-1, :-2, 1:-1])
        + alpha * (source[1:-1, 1:-1, 2:] - 2.0 * centre + source[1:-1, 1:-1, :-2])
    )


@jitflow.function
def heat_3d(A, B, alpha, rounds):
    for _ in range(rounds):
        step(A, B, alpha)
        step(B, A, alpha)


def example(size="small", seed=0):
    n, rounds = (8, 3) if size == "small" else (64, 4)
    A = np.random.default_rng(seed).uniform(0.0, 1.0, (n, n + 1, n + 2))
    return A, A.copy(), 0.125, rounds


if __name__ == "__main__":
    A, B, alpha, rounds = example("large")
    before = A.std()
    heat_3d(A, B, alpha, rounds)
    print(f"roughness of the block: {before:.4f} before, {A.std():.4f} after {2 * rounds} steps")
