"""The lengths of Huffman's codes (1952): the two rarest symbols are joined until one is left."""

import heapq

import numpy as np

import jitflow


@jitflow.function
def huffman(frequencies):
    n = len(frequencies)
    parent = [0] * (2 * n - 1)
    heap = []
    for symbol in range(n):
        heapq.heappush(heap, (frequencies[symbol], symbol))
    following = n
    while len(heap) > 1:
        first, one = heapq.heappop(heap)
        second, other = heapq.heappop(heap)
        parent[one] = parent[other] = following
        heapq.heappush(heap, (first + second, following))
        following += 1
    lengths = np.zeros(n, dtype=np.int64)
    for symbol in range(n):
        node = symbol
        while node != 2 * n - 2:
            node = parent[node]
            lengths[symbol] += 1
    return lengths


def example(size="small", seed=0):
    return (np.random.default_rng(seed).integers(1, 10_000, 10 if size == "small" else 50_000),)


if __name__ == "__main__":
    lengths = huffman(*example("large"))
    print(f"codes of {lengths.min()} to {lengths.max()} bits")
