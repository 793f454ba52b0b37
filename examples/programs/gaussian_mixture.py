"""A mixture of normal distributions fitted by expectation and maximisation (Dempster, Laird and Rubin, 1977)."""

import numpy as np

import jitflow


@jitflow.function
def gaussian_mixture(x, means, rounds):
    k = len(means)
    means = means.copy()
    variances = np.full(k, x.var())
    weights = np.full(k, 1.0 / k)
    likelihood = 0.0
    for _ in range(rounds):
        scaled = (x[:, None] - means) ** 2 / variances
        density = weights * np.exp(-0.5 * scaled) / np.sqrt(2.0 * np.pi * variances)
        total = density.sum(axis=1, keepdims=True)
        share = density / total
        likelihood = np.log(total).sum()
        counts = share.sum(axis=0)
        weights = counts / len(x)
        means = (share * x[:, None]).sum(axis=0) / counts
        variances = (share * (x[:, None] - means) ** 2).sum(axis=0) / counts
    return means, variances, weights, likelihood


def example(size="small", seed=0):
    random = np.random.default_rng(seed)
    n = 40 if size == "small" else 50_000
    x = np.where(random.random(n) < 0.4, random.normal(-2.0, 0.5, n), random.normal(1.0, 1.0, n))
    return x, np.array([-1.0, 0.5]), 5 if size == "small" else 50


if __name__ == "__main__":
    means, variances, weights, _ = gaussian_mixture(*example("large"))
    print(f"{np.round(weights, 3)} around {np.round(means, 3)}")
