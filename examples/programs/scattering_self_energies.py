"""Self-energies of electrons that scatter on vibrations: sums of small matrix products over momenta and energies.

For each momentum k and energy E, each momentum q and frequency w, each neighbour of each atom: the Green's function
at (k - q, E - w), with wrap-around in momentum, between two matrices of the Hamiltonian's change (real loops, small
products).
"""

import numpy as np

import jitflow


@jitflow.function
def scattering_self_energies(neighbour, dH, G, D, sigma):
    nk, nE = G.shape[:2]
    nq, nw = D.shape[:2]
    for k in range(nk):
        for E in range(nE):
            for q in range(nq):
                for w in range(nw):
                    if E - w < 0:
                        continue
                    for a in range(neighbour.shape[0]):
                        for b in range(neighbour.shape[1]):
                            other = neighbour[a, b]
                            product = G[k - q, E - w, other] @ dH[a, b]
                            sigma[k, E, a] += D[q, w, a, b] * (dH[a, b] @ product)


def example(size="small", seed=0):
    nk, nE, nq, nw, na, nb, n = (2, 3, 2, 2, 3, 2, 2) if size == "small" else (4, 6, 4, 3, 8, 4, 4)
    random = np.random.default_rng(seed)

    def complex_normal(*shape):
        return random.normal(0.0, 1.0, shape) + 1j * random.normal(0.0, 1.0, shape)

    neighbour = random.integers(0, na, (na, nb))
    G, dH, D = complex_normal(nk, nE, na, n, n), complex_normal(na, nb, n, n), complex_normal(nq, nw, na, nb)
    return neighbour, dH, G, D, np.zeros((nk, nE, na, n, n), dtype=np.complex128)


if __name__ == "__main__":
    *arguments, sigma = example("large")
    scattering_self_energies(*arguments, sigma)
    print(f"largest self-energy: {np.abs(sigma).max():.4f}")
