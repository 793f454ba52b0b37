"""A picture of a sphere above a plane by marching along rays (Hart, 1996): each step is as long as nothing is nearer.

The scene is a function of distance; its gradient by central differences is the normal that the light falls on.
"""

import numpy as np

import jitflow


def distance(p):
    sphere = np.sqrt((p**2).sum(axis=-1)) - 1.0
    plane = p[..., 1] + 1.2
    return np.minimum(sphere, plane)


def normal(p, h):
    n = np.empty_like(p)
    for axis in range(3):
        offset = np.zeros(3)
        offset[axis] = h
        n[..., axis] = distance(p + offset) - distance(p - offset)
    return n / np.sqrt((n**2).sum(axis=-1, keepdims=True))


@jitflow.function
def ray_marching(width, height, eye, light, steps, far):
    x = np.linspace(-1.0, 1.0, width) * width / height
    y = np.linspace(1.0, -1.0, height)
    ray = np.ones((height, width, 3))
    ray[..., 0] = x
    ray[..., 1] = y[:, None]
    ray[..., 2] = 1.5
    ray /= np.sqrt((ray**2).sum(axis=-1, keepdims=True))
    way = np.zeros((height, width))
    for _ in range(steps):
        step = distance(eye + way[..., None] * ray)
        way += step
        if np.all((np.abs(step) < 1e-3) | (way > far)):
            break
    shade = np.clip((normal(eye + way[..., None] * ray, 1e-4) * light).sum(axis=-1), 0.0, 1.0)
    return np.where(way < far, 0.1 + 0.9 * shade, 0.0)


def example(size="small", seed=0):
    width, height, steps = (12, 9, 15) if size == "small" else (200, 150, 40)
    light = np.random.default_rng(seed).normal([0.5, 1.5, -1.0], 0.1)
    return width, height, np.array([0.0, 0.2, -3.0]), light / np.sqrt(light @ light), steps, 20.0


if __name__ == "__main__":
    picture = ray_marching(*example("large"))
    for row in picture[::8, ::4]:
        print("".join(" .:-=+*#%@"[int(9.99 * value)] for value in row))
