"""Stars that attract each other: leapfrog steps (kick, drift, kick), with energies kept for every step.

Newton's law with a softened distance, all pairs at once; the mask of positive distances leaves a star's pull on
itself out, and the upper triangle counts each pair of the potential energy once.
"""

import numpy as np

import jitflow


def acceleration(position, mass, softening):
    delta = position[np.newaxis, :, :] - position[:, np.newaxis, :]
    squared = (delta**2).sum(axis=2) + softening**2
    inverse = np.zeros_like(squared)
    inverse[squared > 0] = squared[squared > 0] ** -1.5
    return (delta * (inverse * mass)[:, :, np.newaxis]).sum(axis=1)


def energy(position, velocity, mass, softening):
    kinetic = 0.5 * np.sum(mass * np.sum(velocity**2, axis=1))
    delta = position[np.newaxis, :, :] - position[:, np.newaxis, :]
    distance = np.sqrt((delta**2).sum(axis=2) + softening**2)
    inverse = np.where(distance > 0, 1.0 / np.where(distance > 0, distance, 1.0), 0.0)
    potential = -np.sum(np.triu(np.outer(mass, mass) * inverse, 1))
    return kinetic, potential


@jitflow.function
def nbody(mass, position, velocity, dt, steps, softening):
    velocity -= np.mean(mass[:, np.newaxis] * velocity, axis=0) / np.mean(mass)
    kinetic = np.zeros(steps + 1)
    potential = np.zeros(steps + 1)
    pull = acceleration(position, mass, softening)
    kinetic[0], potential[0] = energy(position, velocity, mass, softening)
    for i in range(steps):
        velocity += pull * dt / 2.0
        position += velocity * dt
        pull = acceleration(position, mass, softening)
        velocity += pull * dt / 2.0
        kinetic[i + 1], potential[i + 1] = energy(position, velocity, mass, softening)
    return kinetic, potential


def example(size="small", seed=0):
    n, steps = (7, 5) if size == "small" else (120, 20)
    random = np.random.default_rng(seed)
    mass = np.full(n, 20.0 / n)
    return mass, random.normal(0.0, 1.0, (n, 3)), random.normal(0.0, 1.0, (n, 3)), 0.01, steps, 0.1


if __name__ == "__main__":
    kinetic, potential = nbody(*example("large"))
    total = kinetic + potential
    print(f"energy changed by {abs(total[-1] / total[0] - 1):.1e} of itself in {len(total) - 1} steps")
