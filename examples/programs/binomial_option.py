"""The price of an American put on a binomial tree (Cox, Ross and Rubinstein, 1979): backwards, one slice shorter each.

At each node it is worth waiting or exercising, whichever is more.
"""

import numpy as np

import jitflow


@jitflow.function
def binomial_option(spot, strike, rate, volatility, years, steps):
    dt = years / steps
    up = np.exp(volatility * np.sqrt(dt))
    down = 1.0 / up
    chance = (np.exp(rate * dt) - down) / (up - down)
    discount = np.exp(-rate * dt)
    price = spot * up ** (2.0 * np.arange(steps + 1) - steps)
    value = np.maximum(strike - price, 0.0)
    for k in range(steps, 0, -1):
        waiting = discount * (chance * value[1 : k + 1] + (1.0 - chance) * value[:k])
        price[:k] = price[1 : k + 1] * down
        value[:k] = np.maximum(waiting, strike - price[:k])
    return value[0]


def example(size="small", seed=0):
    strike = float(np.random.default_rng(seed).uniform(90.0, 110.0))
    return 100.0, strike, 0.05, 0.3, 1.0, 12 if size == "small" else 1500


if __name__ == "__main__":
    print(f"the put is worth {binomial_option(*example('large')):.6f}")
