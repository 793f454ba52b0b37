"""Moments of the resolvent of a matrix polynomial along a circle: (1 / 2 pi i) of z^k P(z)^-1 Y dz by points.

Each point on the circle adds a linear solve (Beyn, 2012); eigenvalues inside of the circle live in the moments.
"""

import numpy as np

import jitflow


@jitflow.function
def contour_integral(coefficients, probe, points, radius):
    n = coefficients.shape[1]
    moment0 = np.zeros((n, probe.shape[1]), dtype=np.complex128)
    moment1 = np.zeros((n, probe.shape[1]), dtype=np.complex128)
    for k in range(points):
        z = radius * np.exp(2j * np.pi * (k + 0.5) / points)
        P = np.zeros((n, n), dtype=np.complex128)
        for power in range(len(coefficients)):
            P += z**power * coefficients[power]
        X = np.linalg.solve(P, probe)
        moment0 += z * X / points
        moment1 += z * z * X / points
    return moment0, moment1


def example(size="small", seed=0):
    terms, n, points = (3, 5, 8) if size == "small" else (3, 60, 32)
    random = np.random.default_rng(seed)
    parts = random.normal(0.0, 1.0, (2, terms, n, n))
    return parts[0] + 1j * parts[1], random.normal(0.0, 1.0, (n, 2)) + 0j, points, 0.8


if __name__ == "__main__":
    moment0, moment1 = contour_integral(*example("large"))
    print(f"norms of the two moments: {np.linalg.norm(moment0):.4f} and {np.linalg.norm(moment1):.4f}")
