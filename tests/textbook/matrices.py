"""Matrices as lists of lists, and as arrays."""

from __future__ import annotations

import numpy as np


def add(first: list[list[float]], second: list[list[float]]) -> list[list[float]]:
    """The sum of two matrices.

    >>> add([[1, 2], [3, 4]], [[2, 3], [4, 5]])
    [[3, 5], [7, 9]]
    >>> add([[1.2, 2.4], [3, 4]], [[2, 3], [4, 5]])
    [[3.2, 5.4], [7, 9]]
    """
    return [[a + b for a, b in zip(r, s)] for r, s in zip(first, second)]


def scalar_multiply(matrix: list[list[float]], factor: float) -> list[list[float]]:
    """A matrix times a number.

    >>> scalar_multiply([[1, 2], [3, 4]], 5)
    [[5, 10], [15, 20]]
    >>> scalar_multiply([[1.4, 2.3], [3, 4]], 5)
    [[7.0, 11.5], [15, 20]]
    """
    return [[x * factor for x in row] for row in matrix]


def multiply(first: list[list[int]], second: list[list[int]]) -> list[list[int]]:
    """The product of two matrices.

    >>> multiply([[1, 2], [3, 4]], [[5, 5], [7, 5]])
    [[19, 15], [43, 35]]
    >>> multiply([[1, 2, 3]], [[2], [3], [4]])
    [[20]]
    >>> multiply([[1, 2]], [[1, 2]])
    Traceback (most recent call last):
        ...
    ValueError: cannot multiply matrix of dimensions (1,2) and (1,2)
    """
    rows = (len(first), len(second))
    columns = (len(first[0]), len(second[0]))
    if columns[0] != rows[1]:
        raise ValueError(f"cannot multiply matrix of dimensions ({rows[0]},{columns[0]}) and ({rows[1]},{columns[1]})")
    return [[sum(m * n for m, n in zip(i, j)) for j in zip(*second)] for i in first]


def identity(n: int) -> list[list[int]]:
    """The matrix of one and nothing.

    >>> identity(3)
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    n = int(n)
    return [[int(row == column) for column in range(n)] for row in range(n)]


def transpose(matrix: list[list[int]]) -> list[list[int]]:
    """Rows become columns.

    >>> transpose([[1, 2], [3, 4]])
    [[1, 3], [2, 4]]
    >>> transpose([[1, 2, 3]])
    [[1], [2], [3]]
    """
    return [list(column) for column in zip(*matrix)]


def minor(matrix: list[list[int]], row: int, column: int) -> list[list[int]]:
    """A matrix without a row and a column.

    >>> minor([[1, 2], [3, 4]], 1, 1)
    [[1]]
    >>> minor([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 0, 1)
    [[4, 6], [7, 9]]
    """
    rest = matrix[:row] + matrix[row + 1 :]
    return [r[:column] + r[column + 1 :] for r in rest]


def determinant(matrix: list[list[int]]) -> int:
    """The determinant by minors.

    >>> determinant([[1, 2], [3, 4]])
    -2
    >>> determinant([[2, 0, 1], [1, 3, 2], [1, 1, 1]])
    0
    >>> determinant([[6]])
    6
    """
    if len(matrix) == 1:
        return matrix[0][0]
    result = 0
    for x in range(len(matrix)):
        rest = [row[:x] + row[x + 1 :] for row in matrix[1:]]
        result += matrix[0][x] * determinant(rest) * (-1) ** x
    return result


def spiral(matrix: list[list[int]]) -> list[int]:
    """The numbers of a matrix along a spiral.

    >>> spiral([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    [1, 2, 3, 6, 9, 8, 7, 4, 5]
    >>> spiral([[1, 2], [3, 4], [5, 6]])
    [1, 2, 4, 6, 5, 3]
    """
    order = []
    top, bottom = 0, len(matrix) - 1
    left, right = 0, len(matrix[0]) - 1
    while top <= bottom and left <= right:
        for j in range(left, right + 1):
            order.append(matrix[top][j])
        top += 1
        for i in range(top, bottom + 1):
            order.append(matrix[i][right])
        right -= 1
        if top <= bottom:
            for j in range(right, left - 1, -1):
                order.append(matrix[bottom][j])
            bottom -= 1
        if left <= right:
            for i in range(bottom, top - 1, -1):
                order.append(matrix[i][left])
            left += 1
    return order


def rotate(matrix: list[list[int]]) -> list[list[int]]:
    """A quarter turn to the right.

    >>> rotate([[1, 2], [3, 4]])
    [[3, 1], [4, 2]]
    """
    return [list(row) for row in zip(*matrix[::-1])]


def gaussian_elimination(coefficients: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The solution of linear equations.

    >>> gaussian_elimination(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 5.0])).tolist()
    [0.8, 1.4]
    >>> gaussian_elimination(np.zeros((2, 3)), np.zeros(2))
    Traceback (most recent call last):
        ...
    ValueError: expected a square matrix
    """
    rows, columns = np.shape(coefficients)
    if rows != columns:
        raise ValueError("expected a square matrix")
    a = np.concatenate((coefficients, vector.reshape(-1, 1)), axis=1).astype("float64")
    for row in range(rows - 1):
        pivot = a[row, row]
        for other in range(row + 1, rows):
            a[other, :] -= a[other, row] / pivot * a[row, :]
    x = np.zeros(rows)
    for row in reversed(range(rows)):
        total = np.dot(a[row, row + 1 : rows], x[row + 1 : rows])
        x[row] = (a[row, rows] - total) / a[row, row]
    return x


def jacobi_iteration(
    coefficients: np.ndarray, constants: np.ndarray, start: list[float], iterations: int
) -> list[float]:
    """Linear equations by Jacobi's iteration.

    >>> a = np.array([[4, 1, 1], [1, 5, 2], [1, 2, 4]])
    >>> jacobi_iteration(a, np.array([[2], [-6], [-4]]), [0.5, -0.5, -0.5], 3)
    [0.909375, -1.14375, -0.7484375]
    """
    rows = coefficients.shape[0]
    values = start
    for _ in range(iterations):
        fresh = []
        for row in range(rows):
            total = 0.0
            for column in range(rows):
                if column != row:
                    total += coefficients[row, column] * values[column]
            fresh.append(float((constants[row, 0] - total) / coefficients[row, row]))
        values = fresh
    return values


def power_method(matrix: np.ndarray, vector: np.ndarray, tolerance: float = 1e-12) -> float:
    """The largest eigenvalue.

    >>> matrix = np.array([[41.0, 4.0, 20.0], [4.0, 26.0, 30.0], [20.0, 30.0, 50.0]])
    >>> round(float(power_method(matrix, np.array([41.0, 4.0, 20.0]))), 8)
    79.66086379
    """
    assert np.shape(matrix)[0] == np.shape(matrix)[1]
    assert np.shape(matrix)[0] == np.shape(vector)[0]
    previous = 0.0
    for _ in range(100):
        w = np.dot(matrix, vector)
        vector = w / np.linalg.norm(w)
        value = np.dot(vector.T, np.dot(matrix, vector))
        if np.abs(value - previous) / value <= tolerance:
            break
        previous = value
    return value


def conway(cells: list[list[int]]) -> list[list[int]]:
    """The next generation of the game of life.

    >>> conway([[0, 1, 0], [0, 1, 0], [0, 1, 0]])
    [[0, 0, 0], [1, 1, 1], [0, 0, 0]]
    """
    following = []
    for i in range(len(cells)):
        row = []
        for j in range(len(cells[i])):
            neighbours = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if (di or dj) and 0 <= i + di < len(cells) and 0 <= j + dj < len(cells[i]):
                        neighbours += cells[i + di][j + dj]
            alive = cells[i][j] == 1
            row.append(1 if (alive and 2 <= neighbours <= 3) or (not alive and neighbours == 3) else 0)
        following.append(row)
    return following
