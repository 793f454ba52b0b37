"""The convex hull of points in a plane (Andrew, 1979): two chains over the points in order, as stacks."""

import numpy as np

import jitflow


@jitflow.function
def convex_hull(points):
    order = np.lexsort((points[:, 1], points[:, 0]))
    hull = []
    for turn in range(2):
        start = len(hull)
        for k in order if turn == 0 else order[::-1]:
            while len(hull) >= start + 2:
                a, b = points[hull[-2]], points[hull[-1]]
                if (b[0] - a[0]) * (points[k, 1] - a[1]) - (b[1] - a[1]) * (points[k, 0] - a[0]) > 0:
                    break
                hull.pop()
            hull.append(k)
        hull.pop()
    return np.array(hull)


def example(size="small", seed=0):
    return (np.random.default_rng(seed).normal(size=(30 if size == "small" else 200_000, 2)),)


if __name__ == "__main__":
    print(f"{len(convex_hull(*example('large')))} corners")
