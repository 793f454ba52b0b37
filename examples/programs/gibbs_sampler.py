"""A sample of two normal numbers that depend on each other, one given the other in turn (Geman and Geman, 1984)."""

import numpy as np

import jitflow


@jitflow.function
def gibbs_sampler(rng, correlation, draws):
    spread = np.sqrt(1.0 - correlation**2)
    x = y = 0.0
    sample = np.empty((draws, 2))
    for k in range(draws):
        x = rng.normal(correlation * y, spread)
        y = rng.normal(correlation * x, spread)
        sample[k] = x, y
    return sample


def example(size="small", seed=0):
    return np.random.default_rng(seed), 0.8, 30 if size == "small" else 200_000


if __name__ == "__main__":
    sample = gibbs_sampler(*example("large"))
    print(f"the correlation is {np.corrcoef(sample.T)[0, 1]:.3f}")
