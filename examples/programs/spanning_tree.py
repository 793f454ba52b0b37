"""The smallest spanning tree of a graph (Prim, 1957), with a heap of the edges that leave what is joined."""

import heapq

import numpy as np

import jitflow


@jitflow.function
def spanning_tree(weights):
    n = len(weights)
    joined = [False] * n
    heap = [(0.0, 0)]
    total = 0.0
    while heap:
        weight, node = heapq.heappop(heap)
        if joined[node]:
            continue
        joined[node] = True
        total += weight
        for other in range(n):
            if not joined[other]:
                heapq.heappush(heap, (weights[node, other], other))
    return total


def example(size="small", seed=0):
    points = np.random.default_rng(seed).random((10 if size == "small" else 400, 2))
    return (np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1)),)


if __name__ == "__main__":
    print(f"the tree has length {spanning_tree(*example('large')):.3f}")
