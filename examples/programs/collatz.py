"""How many steps the numbers below n take to reach one, halving the even and taking 3k + 1 of the odd (Collatz).

A number that has come below where it started is known already.
"""

import numpy as np

import jitflow


@jitflow.function
def collatz(n):
    steps = np.zeros(n, dtype=np.int32)
    for start in range(2, n):
        k = start
        count = 0
        while k >= start:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            count += 1
        steps[start] = count + steps[k]
    return steps.argmax(), steps


def example(size="small", seed=0):
    return (int(np.random.default_rng(seed).integers(30, 60)) if size == "small" else 300_000,)


if __name__ == "__main__":
    (n,) = example("large")
    longest, steps = collatz(n)
    print(f"below {n} the longest way starts at {longest}: {steps[longest]} steps")
