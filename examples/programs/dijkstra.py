"""Shortest ways from one node of a sparse graph (Dijkstra, 1959), with a heap of nodes to be looked at."""

import heapq

import numpy as np

import jitflow


@jitflow.function
def dijkstra(starts, targets, weights, source):
    n = len(starts) - 1
    distance = np.full(n, np.inf)
    distance[source] = 0.0
    heap = [(0.0, source)]
    while heap:
        far, node = heapq.heappop(heap)
        if far > distance[node]:
            continue
        for edge in range(starts[node], starts[node + 1]):
            other = far + weights[edge]
            if other < distance[targets[edge]]:
                distance[targets[edge]] = other
                heapq.heappush(heap, (other, targets[edge]))
    return distance


def example(size="small", seed=0):
    n = 12 if size == "small" else 20_000
    random = np.random.default_rng(seed)
    degrees = random.integers(1, 9, n)
    starts = np.concatenate(([0], np.cumsum(degrees)))
    return starts, random.integers(0, n, starts[-1]), random.random(starts[-1]), 0


if __name__ == "__main__":
    distance = dijkstra(*example("large"))
    print(f"the farthest of {np.isfinite(distance).sum()} nodes is {distance[np.isfinite(distance)].max():.3f} away")
