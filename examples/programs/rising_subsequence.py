"""The length of the longest subsequence that rises, by bisection in a list (Schensted, 1961)."""

import bisect

import numpy as np

import jitflow


@jitflow.function
def rising_subsequence(x):
    tails = []
    for value in x:
        place = bisect.bisect_left(tails, value)
        if place == len(tails):
            tails.append(value)
        else:
            tails[place] = value
    return len(tails)


def example(size="small", seed=0):
    return (np.random.default_rng(seed).random(20 if size == "small" else 300_000),)


if __name__ == "__main__":
    (x,) = example("large")
    print(f"{rising_subsequence(x)} of {len(x)}, where 2 sqrt(n) = {2 * len(x) ** 0.5:.0f}")
