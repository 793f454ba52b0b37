"""A short tour through cities by simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983), random numbers given.

A move turns a part of the tour around; what it would gain is known from the two ends. The temperature falls, and the
best tour is remembered.
"""

import numpy as np

import jitflow


def distance(x, y, one, other):
    return np.sqrt((x[one] - x[other]) ** 2 + (y[one] - y[other]) ** 2)


def length_of(x, y, tour):
    return np.sum(np.sqrt((x[tour] - x[np.roll(tour, -1)]) ** 2 + (y[tour] - y[np.roll(tour, -1)]) ** 2))


@jitflow.function
def simulated_annealing(x, y, tour, ends, chance, temperature, cooling):
    n = len(tour)
    length = length_of(x, y, tour)
    best = length
    best_tour = tour.copy()
    for k in range(len(chance)):
        i, j = min(ends[k]), max(ends[k])
        if i == j or (i == 0 and j == n - 1):
            continue
        before, first, last, after = tour[i - 1], tour[i], tour[j], tour[(j + 1) % n]
        gain = distance(x, y, before, last) + distance(x, y, first, after)
        gain -= distance(x, y, before, first) + distance(x, y, last, after)
        if gain < 0 or chance[k] < np.exp(-gain / temperature):
            tour[i : j + 1] = tour[i : j + 1][::-1]
            length += gain
            if length < best:
                best = length
                best_tour[:] = tour
        temperature *= cooling
    return best, best_tour


def example(size="small", seed=0):
    n, moves = (8, 40) if size == "small" else (100, 20_000)
    random = np.random.default_rng(seed)
    x, y = random.random((2, n))
    cooling = 1e-3 ** (1.0 / moves)
    return x, y, np.arange(n), random.integers(0, n, (moves, 2)), random.random(moves), 0.5, cooling


if __name__ == "__main__":
    x, y, tour, *others = example("large")
    before = length_of(x, y, tour)
    best, _ = simulated_annealing(x, y, tour, *others)
    print(f"the tour through {len(x)} cities was {before:.3f} long and is {best:.3f}")
