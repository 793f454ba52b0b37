"""A sudoku by trial and error: the first empty cell takes each digit that fits, and calls decide on the rest."""

import numpy as np

import jitflow


def fits(board, row, column, digit):
    for k in range(9):
        if board[row, k] == digit or board[k, column] == digit:
            return False
        if board[row // 3 * 3 + k // 3, column // 3 * 3 + k % 3] == digit:
            return False
    return True


def solve(board, cell):
    while cell < 81 and board[cell // 9, cell % 9] != 0:
        cell += 1
    if cell == 81:
        return True
    row, column = cell // 9, cell % 9
    for digit in range(1, 10):
        if fits(board, row, column, digit):
            board[row, column] = digit
            if solve(board, cell + 1):
                return True
            board[row, column] = 0
    return False


@jitflow.function
def sudoku(board):
    return solve(board, 0)


def example(size="small", seed=0):
    k = np.arange(9)
    board = (k[:, None] * 3 + k[:, None] // 3 + k) % 9 + 1
    board = np.random.default_rng(seed).permutation(9)[board - 1] + 1
    empty = np.random.default_rng(seed + 1).random((9, 9)) < (0.3 if size == "small" else 0.6)
    board[empty] = 0
    return (board,)


if __name__ == "__main__":
    (board,) = example("large")
    print(sudoku(board))
    print(board)
