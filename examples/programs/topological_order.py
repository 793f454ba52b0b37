"""An order of tasks in which each stands behind those that it needs (Kahn, 1962), over lists of neighbours."""

from collections import deque

import numpy as np

import jitflow


@jitflow.function
def topological_order(n, edges):
    following = [[] for _ in range(n)]
    waits_for = [0] * n
    for k in range(len(edges)):
        following[edges[k, 0]].append(edges[k, 1])
        waits_for[edges[k, 1]] += 1
    ready = deque()
    for task in range(n):
        if waits_for[task] == 0:
            ready.append(task)
    order = []
    while ready:
        task = ready.popleft()
        order.append(task)
        for other in following[task]:
            waits_for[other] -= 1
            if waits_for[other] == 0:
                ready.append(other)
    return order


def example(size="small", seed=0):
    n, m = (12, 20) if size == "small" else (50_000, 200_000)
    edges = np.sort(np.random.default_rng(seed).integers(0, n, (m, 2)), axis=1)
    return n, edges[edges[:, 0] < edges[:, 1]]


if __name__ == "__main__":
    print(f"{len(topological_order(*example('large')))} tasks in order")
