"""The largest of each window of a signal: a queue holds the places that may still become the largest."""

from collections import deque

import numpy as np

import jitflow


@jitflow.function
def sliding_maximum(x, width):
    candidates = deque()
    out = np.empty(len(x) - width + 1)
    for i in range(len(x)):
        if candidates and candidates[0] == i - width:
            candidates.popleft()
        while candidates and x[candidates[-1]] <= x[i]:
            candidates.pop()
        candidates.append(i)
        if i >= width - 1:
            out[i - width + 1] = x[candidates[0]]
    return out


def example(size="small", seed=0):
    return np.random.default_rng(seed).normal(size=20 if size == "small" else 500_000), 4 if size == "small" else 100


if __name__ == "__main__":
    print(f"the smallest of the largest is {sliding_maximum(*example('large')).min():.3f}")
