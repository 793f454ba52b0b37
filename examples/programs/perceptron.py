"""The perceptron (Rosenblatt, 1958): weights move by each example that is on the wrong side, until none is.

A `for ... else` ends the training when a whole round made no mistake.
"""

import numpy as np

import jitflow


@jitflow.function
def perceptron(x, y, limit):
    weights = np.zeros(x.shape[1])
    bias = 0.0
    for rounds in range(limit):
        mistakes = 0
        for i in range(len(x)):
            if y[i] * (np.dot(weights, x[i]) + bias) <= 0.0:
                weights += y[i] * x[i]
                bias += y[i]
                mistakes += 1
        if mistakes == 0:
            break
    else:
        rounds = limit
    return weights, bias, rounds


def example(size="small", seed=0):
    n, d = (15, 3) if size == "small" else (2000, 16)
    random = np.random.default_rng(seed)
    x, normal = random.normal(0.0, 1.0, (n, d)), random.normal(0.0, 1.0, d)
    side = x @ normal
    x, side = x[np.abs(side) > 0.2], side[np.abs(side) > 0.2]
    return x, np.sign(side), 30


if __name__ == "__main__":
    x, y, limit = example("large")
    weights, bias, rounds = perceptron(x, y, limit)
    print(f"after {rounds} rounds {np.mean(np.sign(x @ weights + bias) == y):.2%} of {len(x)} points are right")
