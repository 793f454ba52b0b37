"""Prices of European options (Black and Scholes, 1973), with the normal distribution by a polynomial.

The polynomial is 26.2.17 of Abramowitz and Stegun (1964), right to 7.5e-8; a helper is called twice.
"""

import numpy as np

import jitflow


def normal_distribution(x):
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    series = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi) * series
    return np.where(x > 0, 1.0 - tail, tail)


@jitflow.function
def black_scholes(spot, strike, years, rate, volatility):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    n1 = normal_distribution(d1)
    n2 = normal_distribution(d1 - spread)
    discounted = strike * np.exp(-rate * years)
    call = spot * n1 - discounted * n2
    put = discounted * (1.0 - n2) - spot * (1.0 - n1)
    return call, put


def example(size="small", seed=0):
    n = 40 if size == "small" else 100_000
    random = np.random.default_rng(seed)
    return random.uniform(50.0, 150.0, n), random.uniform(50.0, 150.0, n), random.uniform(0.1, 2.0, n), 0.02, 0.3


if __name__ == "__main__":
    call, put = black_scholes(*example("large"))
    print(f"calls are worth {call.mean():.4f} on average, puts {put.mean():.4f}")
