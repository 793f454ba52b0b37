"""The price of an Asian option by Monte Carlo: the mean over a path of a stock's prices decides what it pays.

Normal random numbers come in as an array (steps, paths); each is used with both signs, which lowers the variance.
"""

import numpy as np

import jitflow


@jitflow.function
def monte_carlo_option(normals, spot, strike, rate, volatility, years):
    steps, paths = normals.shape
    dt = years / steps
    drift = (rate - 0.5 * volatility**2) * dt
    price = np.full(paths, spot)
    mirrored = np.full(paths, spot)
    total = np.zeros(paths)
    total_mirrored = np.zeros(paths)
    for z in normals:
        move = volatility * np.sqrt(dt) * z
        price *= np.exp(drift + move)
        mirrored *= np.exp(drift - move)
        total += price
        total_mirrored += mirrored
    paid = 0.5 * (np.maximum(total / steps - strike, 0.0) + np.maximum(total_mirrored / steps - strike, 0.0))
    paid *= np.exp(-rate * years)
    return paid.mean(), paid.std() / np.sqrt(paths)


def example(size="small", seed=0):
    steps, paths = (6, 50) if size == "small" else (50, 10_000)
    return np.random.default_rng(seed).normal(0.0, 1.0, (steps, paths)), 100.0, 100.0, 0.05, 0.3, 1.0


if __name__ == "__main__":
    price, error = monte_carlo_option(*example("large"))
    print(f"the option is worth {price:.4f}, give or take {error:.4f}")
