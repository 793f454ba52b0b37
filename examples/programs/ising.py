"""Magnets on a lattice (Ising, 1925) by Metropolis' method: spins flip if that lowers the energy, or by chance.

Random numbers come in as an array. Even and odd cells in turn, as on a chessboard, so that all cells of one colour
can be decided at once; the lattice is periodic.
"""

import numpy as np

import jitflow


@jitflow.function
def ising(spins, chance, beta):
    n, m = spins.shape
    colour = (np.arange(n)[:, None] + np.arange(m)) % 2
    magnetisation = np.empty(len(chance))
    for sweep in range(len(chance)):
        for parity in range(2):
            around = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            cost = 2.0 * spins * around
            flip = (colour == parity) & (chance[sweep, parity] < np.exp(-beta * cost))
            spins[flip] *= -1
        magnetisation[sweep] = spins.mean()
    return magnetisation


def example(size="small", seed=0):
    n, sweeps = (8, 4) if size == "small" else (128, 20)
    random = np.random.default_rng(seed)
    return random.choice([-1, 1], (n, n)), random.random((sweeps, 2, n, n)), 0.6


if __name__ == "__main__":
    spins, chance, beta = example("large")
    ising(spins, chance, beta)
    agree = (spins == np.roll(spins, 1, 0)).mean()
    print(f"after {len(chance)} sweeps {agree:.1%} of the neighbours agree")
