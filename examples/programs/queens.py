"""In how many ways n queens stand on a board without meeting: a search in depth over bits (Richards, 1997)."""

import jitflow


def place(columns, left, right, full):
    if columns == full:
        return 1
    count = 0
    free = full & ~(columns | left | right)
    while free:
        here = free & -free
        free ^= here
        count += place(columns | here, (left | here) << 1, (right | here) >> 1, full)
    return count


@jitflow.function
def queens(n):
    return place(0, 0, 0, (1 << n) - 1)


def example(size="small", seed=0):
    return (5 + seed if size == "small" else 10,)


if __name__ == "__main__":
    (n,) = example("large")
    print(f"{n} queens stand in {queens(n)} ways")
