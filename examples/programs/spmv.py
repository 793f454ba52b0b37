"""A sparse matrix times a vector, in compressed rows: each row's columns and values are slices between two pointers."""

import numpy as np

import jitflow


@jitflow.function
def spmv(pointers, columns, values, x):
    y = np.empty(pointers.size - 1, dtype=values.dtype)
    for i in range(pointers.size - 1):
        row = columns[pointers[i] : pointers[i + 1]]
        entries = values[pointers[i] : pointers[i + 1]]
        y[i] = entries @ x[row]
    return y


def example(size="small", seed=0):
    n, m, longest = (10, 12, 5) if size == "small" else (20_000, 15_000, 30)
    random = np.random.default_rng(seed)
    lengths = random.integers(0, longest, n)
    pointers = np.concatenate(([0], np.cumsum(lengths)))
    columns = random.integers(0, m, pointers[-1]).astype(np.int32)
    return pointers.astype(np.uint32), columns, random.random(pointers[-1]), random.random(m)


if __name__ == "__main__":
    arguments = example("large")
    y = spmv(*arguments)
    print(f"{len(arguments[2])} entries in {len(y)} rows, the product's sum is {y.sum():.4f}")
