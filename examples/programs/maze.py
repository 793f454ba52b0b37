"""The shortest way through a maze by a search in breadth, with a queue and a set of places that were seen."""

from collections import deque

import numpy as np

import jitflow


@jitflow.function
def maze(walls):
    rows, columns = walls.shape
    queue = deque([(0, 0, 0)])
    seen = {(0, 0)}
    while queue:
        i, j, steps = queue.popleft()
        if i == rows - 1 and j == columns - 1:
            return steps, len(seen)
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if 0 <= a < rows and 0 <= b < columns and not walls[a, b] and (a, b) not in seen:
                seen.add((a, b))
                queue.append((a, b, steps + 1))
    return -1, len(seen)


def example(size="small", seed=0):
    n = 8 if size == "small" else 300
    walls = np.random.default_rng(seed).random((n, n)) < 0.25
    walls[0, 0] = walls[-1, -1] = False
    return (walls,)


if __name__ == "__main__":
    steps, seen = maze(*example("large"))
    print(f"{steps} steps, {seen} places seen")
