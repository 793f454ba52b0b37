"""Ackermann's function (1928), which grows faster than any that is written with loops of known length."""

import jitflow


@jitflow.function
def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def example(size="small", seed=0):
    return (2, 3 + seed) if size == "small" else (3, 6)


if __name__ == "__main__":
    m, n = example("large")
    print(f"A({m}, {n}) = {ackermann(m, n)}")
