"""The Game of Life (Conway, 1970) on a board with dead borders: births and survivals as boolean arrays.

Cells are 0 or 1 in a small integer type; the board is updated in place, generation by generation.
"""

import numpy as np

import jitflow


@jitflow.function
def life(board, generations):
    for _ in range(generations):
        neighbours = (
            board[:-2, :-2]
            + board[:-2, 1:-1]
            + board[:-2, 2:]
            + board[1:-1, :-2]
            + board[1:-1, 2:]
            + board[2:, :-2]
            + board[2:, 1:-1]
            + board[2:, 2:]
        )
        inside = board[1:-1, 1:-1]
        birth = (neighbours == 3) & (inside == 0)
        survive = ((neighbours == 2) | (neighbours == 3)) & (inside == 1)
        board[...] = 0
        board[1:-1, 1:-1][birth | survive] = 1
    return board.sum()


def example(size="small", seed=0):
    n, generations = (12, 6) if size == "small" else (400, 15)
    return np.random.default_rng(seed).integers(0, 2, (n, n + 3)).astype(np.int32), generations


if __name__ == "__main__":
    board, generations = example("large")
    before = board.sum()
    print(f"{before} cells were alive, and {life(board, generations)} are after {generations} generations")
