"""The Game of Life on a board without bounds: the cells that live are a set of places."""

import numpy as np

import jitflow


@jitflow.function
def sparse_life(cells, generations):
    alive = {(int(i), int(j)) for i, j in cells}
    for _ in range(generations):
        neighbours = {}
        for i, j in alive:
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di or dj:
                        place = (i + di, j + dj)
                        neighbours[place] = neighbours.get(place, 0) + 1
        following = set()
        for place, count in neighbours.items():
            if count == 3 or (count == 2 and place in alive):
                following.add(place)
        alive = following
    return len(alive), sorted(alive)


def example(size="small", seed=0):
    r_pentomino = np.array([(0, 1), (0, 2), (1, 0), (1, 1), (2, 1)]) + seed
    return r_pentomino, 6 if size == "small" else 400


if __name__ == "__main__":
    print(f"{sparse_life(*example('large'))[0]} cells live")
