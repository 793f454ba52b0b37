"""How long people wait in a line with several counters: arrivals and services by chance, counters by a heap."""

import heapq

import numpy as np

import jitflow


@jitflow.function
def waiting_line(rng, customers, counters, rate):
    free_at = [0.0] * counters
    heapq.heapify(free_at)
    now = waited = 0.0
    for _ in range(customers):
        now += rng.exponential(1.0)
        begin = max(now, heapq.heappop(free_at))
        waited += begin - now
        heapq.heappush(free_at, begin + rng.exponential(1.0 / rate))
    return waited / customers


def example(size="small", seed=0):
    return np.random.default_rng(seed), 30 if size == "small" else 300_000, 4, 0.3


if __name__ == "__main__":
    print(f"people wait {waiting_line(*example('large')):.3f} on average")
