"""A long short-term memory cell over a sequence (Hochreiter and Schmidhuber, 1997): gates from one matrix product.

The four gates are slices of one array; hidden states of all times are kept.
"""

import numpy as np

import jitflow


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@jitflow.function
def lstm(x, w, u, b):
    steps, batch, _ = x.shape
    size = u.shape[0]
    h = np.zeros((batch, size))
    c = np.zeros((batch, size))
    hidden = np.empty((steps, batch, size))
    for t in range(steps):
        gates = x[t] @ w + h @ u + b
        i = sigmoid(gates[:, :size])
        f = sigmoid(gates[:, size : 2 * size])
        g = np.tanh(gates[:, 2 * size : 3 * size])
        o = sigmoid(gates[:, 3 * size :])
        c = f * c + i * g
        h = o * np.tanh(c)
        hidden[t] = h
    return hidden, c


def example(size="small", seed=0):
    steps, batch, inputs, units = (4, 3, 5, 6) if size == "small" else (60, 16, 32, 64)
    random = np.random.default_rng(seed)
    w = random.normal(0.0, inputs**-0.5, (inputs, 4 * units))
    u = random.normal(0.0, units**-0.5, (units, 4 * units))
    return random.normal(0.0, 1.0, (steps, batch, inputs)), w, u, np.zeros(4 * units)


if __name__ == "__main__":
    hidden, c = lstm(*example("large"))
    print(f"after {len(hidden)} steps the cells hold {np.abs(c).mean():.4f} on average")
