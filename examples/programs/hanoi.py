"""The towers of Hanoi (Lucas, 1883): the moves that take n discs from one pole to another, in a table."""

import numpy as np

import jitflow


def move(moves, count, n, source, target, spare):
    if n == 0:
        return count
    count = move(moves, count, n - 1, source, spare, target)
    moves[count, 0] = source
    moves[count, 1] = target
    return move(moves, count + 1, n - 1, spare, target, source)


@jitflow.function
def hanoi(n):
    moves = np.zeros((2**n - 1, 2), dtype=np.int8)
    move(moves, 0, n, 0, 2, 1)
    return moves


def example(size="small", seed=0):
    return (3 + seed if size == "small" else 18,)


if __name__ == "__main__":
    (n,) = example("large")
    print(f"{len(hanoi(n))} moves for {n} discs")
