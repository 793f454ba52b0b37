"""Molecules that react one by one (Gillespie, 1977): prey and predators, with waiting times by chance."""

import numpy as np

import jitflow


@jitflow.function
def gillespie(rng, prey, predators, steps):
    time = 0.0
    history = np.zeros((steps, 3))
    for k in range(steps):
        births, meals, deaths = 10.0 * prey, 0.01 * prey * predators, 10.0 * predators
        total = births + meals + deaths
        if total == 0.0:
            return history[:k]
        time += rng.exponential(1.0 / total)
        which = rng.random() * total
        if which < births:
            prey += 1
        elif which < births + meals:
            prey -= 1
            predators += 1
        else:
            predators -= 1
        history[k, 0], history[k, 1], history[k, 2] = time, prey, predators
    return history


def example(size="small", seed=0):
    return np.random.default_rng(seed), 1_000, 1_000, 30 if size == "small" else 200_000


if __name__ == "__main__":
    history = gillespie(*example("large"))
    print(f"after {history[-1, 0]:.2f}: {history[-1, 1]:.0f} prey, {history[-1, 2]:.0f} predators")
