"""The pictures of the gallery: ``python docs/gallery/pictures.py`` runs its programs and draws them (matplotlib)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from benchmarks.gallery import load  # noqa: E402  only now is the checkout on the path

PICTURES: dict[str, Callable[[Any, Any, Any], None]] = {}


def picture(draw: Callable[[Any, Any, Any], None]) -> Callable[[Any, Any, Any], None]:
    """Enter a function that runs the program of its name, which it gets with axes and a generator, and draws it."""
    PICTURES[draw.__name__] = draw
    return draw


@picture
def gray_scott(run, axes, random):
    u, v = np.ones((160, 213)), np.zeros((160, 213))
    for _ in range(12):
        i, j = random.integers(10, 150), random.integers(10, 200)
        u[i : i + 8, j : j + 8], v[i : i + 8, j : j + 8] = 0.5, 0.25
    _, v = run(u, v, 0.16, 0.08, 0.035, 0.065, 6000)
    show(axes, v, "viridis")


@picture
def cavity_flow(run, axes, random):
    n = 61
    u, v, p = np.zeros((3, n, n))
    run(u, v, p, 1.0, 0.02, 2 / (n - 1), 2 / (n - 1), 2e-3, 2500, 50)
    x = np.linspace(0.0, 2.0, n)
    axes.streamplot(x, x, u, v, color=np.hypot(u, v), cmap="viridis", density=0.9, linewidth=0.8, arrowsize=0.6)
    axes.set(xlim=(0, 2), ylim=(0, 2), xticks=[], yticks=[], aspect="equal")


@picture
def correlation(run, axes, random):
    steps = random.normal(size=(400, 60))
    show(axes, run(np.cumsum(steps, axis=1)), "RdBu_r", vmin=-1, vmax=1)


@picture
def kalman(run, axes, random):
    measurements, *model = load("kalman").example("large", 3)
    track, _ = run(measurements[:250], *model)
    axes.plot(*measurements[:250].T, ".", markersize=3, color="0.6", label="measured")
    axes.plot(*track[:, :2].T, linewidth=1.5, color="C3", label="filtered")
    axes.legend(frameon=False)


@picture
def sieve(run, axes, random):
    """The primes on a spiral (Ulam, 1963)."""
    n = 201
    prime = np.zeros(n * n + 1, dtype=bool)
    prime[run(n * n + 1)] = True
    field, place, step = np.zeros((n, n)), n // 2 + 1j * (n // 2), 1 + 0j
    number, length = 1, 1
    while number <= n * n:
        for _ in range(2):
            for _ in range(length):
                if number <= n * n:
                    field[int(place.imag), int(place.real)] = prime[number]
                number, place = number + 1, place + step
            step *= -1j
        length += 1
    show(axes, field, "binary")


@picture
def rk4(run, axes, random):
    _, path = run(np.array([[1.0], [1.0], [1.05]]), 0.01, 3000)
    axes.plot(path[:, 0], path[:, 2], linewidth=0.5)
    axes.set(xlabel="x", ylabel="z")


@picture
def ising(run, axes, random):
    spins = random.choice([-1, 1], (150, 200))
    run(spins, random.random((60, 2, 150, 200)), 0.6)
    show(axes, spins, "binary")


@picture
def adaptive_ode(run, axes, random):
    times, path = run(*load("adaptive_ode").example("large"))[:2]
    axes.plot(times, path[:, 0], linewidth=1.0)
    axes.set(xlabel="time")


@picture
def mandelbrot_shrinking(run, axes, random):
    count = run(-2.0, 0.6, -1.0, 1.0, 320, 240, 60, 2.0)
    show(axes, np.log1p(np.where(count == 0, 60, count)), "magma")


@picture
def newton_fractal(run, axes, random):
    x, y = np.linspace(-1.6, 1.6, 320) + 0.001, np.linspace(-1.2, 1.2, 240) + 0.001
    nearest, steps = run(x + 1j * y[:, None], 1e-6, 40)
    show(axes, nearest + np.minimum(steps / 20.0, 0.9), "viridis")


@picture
def ray_marching(run, axes, random):
    light = np.array([0.5, 1.5, -1.0])
    show(axes, run(320, 240, np.array([0.0, 0.2, -3.0]), light / np.sqrt(light @ light), 120, 20.0), "gray")


@picture
def kmeans(run, axes, random):
    true = random.normal(0.0, 5.0, (6, 2))
    points = true[random.integers(0, 6, 900)] + random.normal(0.0, 1.0, (900, 2))
    centres, labels, _ = run(points, points[:6].copy(), 50)
    axes.scatter(*points.T, c=labels, s=4, cmap="tab10")
    axes.scatter(*centres.T, marker="x", color="black")


def show(axes: Any, field: Any, colours: str, **limits: float) -> None:
    axes.imshow(field, cmap=colours, interpolation="nearest", **limits)
    axes.set_axis_off()


def main(names: list[str]) -> None:
    for name in names or PICTURES:
        figure = Figure(figsize=(4.0, 3.0), dpi=90, layout="tight")
        PICTURES[name](getattr(load(name), name), figure.add_subplot(), np.random.default_rng(0))
        figure.savefig(HERE / f"{name}.png")
        print(f"{name}.png {(HERE / f'{name}.png').stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
