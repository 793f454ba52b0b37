"""How likely a sequence is under a hidden Markov model, and the states behind it: forward and backward (Baum)."""

import numpy as np

import jitflow


@jitflow.function
def hidden_markov(start, change, emission, seen):
    n, k = len(seen), len(start)
    forward = np.empty((n, k))
    scale = np.empty(n)
    forward[0] = start * emission[:, seen[0]]
    for t in range(n):
        if t > 0:
            forward[t] = (forward[t - 1] @ change) * emission[:, seen[t]]
        scale[t] = forward[t].sum()
        forward[t] /= scale[t]
    backward = np.ones((n, k))
    for t in range(n - 2, -1, -1):
        backward[t] = change @ (emission[:, seen[t + 1]] * backward[t + 1]) / scale[t + 1]
    return np.log(scale).sum(), forward * backward


def example(size="small", seed=0):
    n, k, m = (10, 2, 3) if size == "small" else (20_000, 8, 20)
    random = np.random.default_rng(seed)
    return (
        random.dirichlet(np.ones(k)),
        random.dirichlet(np.ones(k), k),
        random.dirichlet(np.ones(m), k),
        (random.integers(0, m, n)),
    )


if __name__ == "__main__":
    likelihood, states = hidden_markov(*example("large"))
    print(f"log-likelihood {likelihood:.2f}; states sum up to {states.sum(axis=1).mean():.3f}")
