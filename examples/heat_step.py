"""One step of the heat equation on a plate, read by slices: five shifted views become one kernel, with no copy.

python examples/heat_step.py
jitflow ir examples/heat_step.py:step --arg f64[n,m] --arg float --stage kernels
"""

from __future__ import annotations

import numpy as np

import jitflow


@jitflow.function
def step(u, alpha):
    inner = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return np.pad(inner + alpha * (around - 4 * inner), 1)


def main() -> None:
    u = np.zeros((201, 201))
    u[80:121, 80:121] = 100.0
    for time in range(501):
        if time % 250 == 0:
            print(f"step {time:3}: {u.max():7.3f} degrees in the middle, {u.sum() / u.size:.4f} on average")
        u = step(u, 0.2)
    print(f"compilations: {step.cache_info().misses}")


if __name__ == "__main__":
    main()
