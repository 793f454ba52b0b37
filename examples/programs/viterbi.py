"""The most likely path through the hidden states of a Markov chain (Viterbi, 1967), in logarithms.

Forwards the best predecessor of every state, backwards the path.
"""

import numpy as np

import jitflow


@jitflow.function
def viterbi(observations, start, transition, emission):
    steps, states = len(observations), len(start)
    back = np.zeros((steps, states), dtype=np.int64)
    score = start + emission[:, observations[0]]
    for t in range(1, steps):
        candidates = score[:, np.newaxis] + transition
        back[t] = candidates.argmax(axis=0)
        score = candidates.max(axis=0) + emission[:, observations[t]]
    path = np.empty(steps, dtype=np.int64)
    path[-1] = np.argmax(score)
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score.max()


def example(size="small", seed=0):
    steps, states, symbols = (9, 3, 4) if size == "small" else (1000, 40, 20)
    random = np.random.default_rng(seed)
    start = np.log(random.dirichlet(np.ones(states)))
    transition = np.log(random.dirichlet(np.ones(states), states))
    emission = np.log(random.dirichlet(np.ones(symbols), states))
    return random.integers(0, symbols, steps), start, transition, emission


if __name__ == "__main__":
    path, score = viterbi(*example("large"))
    print(f"the likeliest path of {len(path)} steps has log-probability {score:.3f}")
