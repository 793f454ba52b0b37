"""The lowest point of Rosenbrock's valley by a simplex that turns over (Nelder and Mead, 1965)."""

import numpy as np

import jitflow


def height(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


@jitflow.function
def nelder_mead(start, tolerance):
    n = len(start)
    simplex = np.empty((n + 1, n))
    simplex[:] = start
    for k in range(n):
        simplex[k + 1, k] += 0.5
    heights = np.array([height(point) for point in simplex])
    for rounds in range(5_000):
        order = np.argsort(heights)
        simplex, heights = simplex[order], heights[order]
        if heights[-1] - heights[0] < tolerance:
            break
        centre = simplex[:-1].mean(axis=0)
        turned = centre + (centre - simplex[-1])
        h = height(turned)
        if h < heights[0]:
            further = centre + 2.0 * (centre - simplex[-1])
            g = height(further)
            if g < h:
                simplex[-1], heights[-1] = further, g
            else:
                simplex[-1], heights[-1] = turned, h
        elif h < heights[-2]:
            simplex[-1], heights[-1] = turned, h
        else:
            nearer = centre + 0.5 * (simplex[-1] - centre)
            g = height(nearer)
            if g < heights[-1]:
                simplex[-1], heights[-1] = nearer, g
            else:
                for k in range(1, n + 1):
                    simplex[k] = simplex[0] + 0.5 * (simplex[k] - simplex[0])
                    heights[k] = height(simplex[k])
    return simplex[0], heights[0], rounds


def example(size="small", seed=0):
    return np.random.default_rng(seed).normal(size=2 if size == "small" else 6), 1e-3 if size == "small" else 1e-10


if __name__ == "__main__":
    point, low, rounds = nelder_mead(*example("large"))
    print(f"{low:.2e} after {rounds} rounds")
