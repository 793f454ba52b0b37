"""Training a network of two layers by gradient descent, gradients by hand: it learns the sign of a product.

Each step multiplies, applies a ReLU and a logistic function, goes back, and updates the weights in place.
"""

import numpy as np

import jitflow


@jitflow.function
def mlp(x, y, w1, b1, w2, b2, rate, steps):
    loss = np.empty(steps)
    n = len(x)
    for step in range(steps):
        hidden = np.maximum(x @ w1 + b1, 0.0)
        chance = 1.0 / (1.0 + np.exp(-(hidden @ w2 + b2)))
        loss[step] = -np.mean(y * np.log(chance) + (1.0 - y) * np.log(1.0 - chance))
        d_out = (chance - y) / n
        d_hidden = np.outer(d_out, w2) * (hidden > 0)
        w2 -= rate * (hidden.T @ d_out)
        b2 -= rate * d_out.sum()
        w1 -= rate * (x.T @ d_hidden)
        b1 -= rate * d_hidden.sum(axis=0)
    return loss


def example(size="small", seed=0):
    n, hidden, steps = (20, 5, 6) if size == "small" else (1000, 64, 50)
    random = np.random.default_rng(seed)
    x = random.normal(0.0, 1.0, (n, 2))
    y = (x[:, 0] * x[:, 1] > 0).astype(np.float64)
    w1, w2 = random.normal(0.0, 1.0, (2, hidden)), random.normal(0.0, hidden**-0.5, hidden)
    return x, y, w1, np.zeros(hidden), w2, np.zeros(1), 0.3, steps


if __name__ == "__main__":
    loss = mlp(*example("large"))
    print(f"loss {loss[0]:.4f} at first, {loss[-1]:.4f} after {len(loss)} steps")
