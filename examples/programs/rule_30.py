"""Wolfram's rule 30 (1983): a row of cells, each new one decided by the three above it, growing from one."""

import numpy as np

import jitflow


@jitflow.function
def rule_30(width, generations):
    rows = np.zeros((generations, width), dtype=np.uint8)
    rows[0, width // 2] = 1
    for k in range(1, generations):
        above = rows[k - 1]
        rows[k] = np.roll(above, 1) ^ (above | np.roll(above, -1))
    return rows


def example(size="small", seed=0):
    return (21 + seed, 10) if size == "small" else (2_001, 1_000)


if __name__ == "__main__":
    rows = rule_30(*example("large"))
    print(f"{rows.mean():.3f} of the cells live")
