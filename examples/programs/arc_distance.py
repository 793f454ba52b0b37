"""The angle between pairs of places on a sphere, given by longitude and latitude: the haversine formula."""

import numpy as np

import jitflow


@jitflow.function
def arc_distance(theta1, phi1, theta2, phi2):
    squared_chord = (
        np.sin((theta2 - theta1) / 2) ** 2 + np.cos(theta1) * np.cos(theta2) * np.sin((phi2 - phi1) / 2) ** 2
    )
    return 2 * np.arctan2(np.sqrt(squared_chord), np.sqrt(1 - squared_chord))


def example(size="small", seed=0):
    n = 30 if size == "small" else 100_000
    random = np.random.default_rng(seed)
    latitudes = random.uniform(-np.pi / 2, np.pi / 2, (2, n))
    longitudes = random.uniform(-np.pi, np.pi, (2, n))
    return latitudes[0], longitudes[0], latitudes[1], longitudes[1]


if __name__ == "__main__":
    print(f"two places are {arc_distance(*example('large')).mean():.4f} apart on average")
