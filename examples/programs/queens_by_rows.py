"""The first way in which n queens stand on a board, row by row, going back where no place is left."""

import jitflow


@jitflow.function
def queens_by_rows(n):
    board = [0] * n
    row = 0
    steps = 0
    while 0 <= row < n:
        steps += 1
        safe = board[row] < n
        for other in range(row):
            if board[other] == board[row] or abs(board[other] - board[row]) == row - other:
                safe = False
                break
        if safe:
            row += 1
            if row < n:
                board[row] = 0
        else:
            board[row] += 1
            while row >= 0 and board[row] >= n:
                row -= 1
                if row >= 0:
                    board[row] += 1
    return board, steps


def example(size="small", seed=0):
    return (5 + seed if size == "small" else 20,)


if __name__ == "__main__":
    board, steps = queens_by_rows(*example("large"))
    print(f"{board} after {steps} steps")
