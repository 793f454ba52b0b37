r"""Prices of European options: a long elementwise chain becomes one sweep over memory with two results.

    python examples/black_scholes.py
    jitflow explain examples/black_scholes.py:black_scholes \
        --arg f64[n] --arg f64[n] --arg f64[n] --arg float --arg float
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

import jitflow


class Prices(NamedTuple):
    call: np.ndarray
    put: np.ndarray


@jitflow.function
def black_scholes(spot, strike, years, rate, volatility):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    call = spot * ndtr(d1) - discounted * ndtr(d1 - spread)
    return Prices(call, call - spot + discounted)  # put-call parity


def main() -> None:
    spot = np.linspace(80.0, 120.0, 1_000_001)
    prices = black_scholes(spot, np.full_like(spot, 100.0), np.full_like(spot, 0.5), 0.02, 0.3)
    for price in (80, 100, 120):
        at = np.searchsorted(spot, price)
        print(f"spot {price}: call {prices.call[at]:7.4f}, put {prices.put[at]:7.4f}")


if __name__ == "__main__":
    main()
