"""A radial profile of a picture by an element loop: each pixel adds to the bin of its distance from the centre.

Bins and counts are written where the data says; pixels beyond the last bin are passed over with `continue`.
"""

import numpy as np

import jitflow


@jitflow.function
def radial_histogram(picture, centre_y, centre_x, width, bins):
    total = np.zeros(bins)
    count = np.zeros(bins, dtype=np.int64)
    for y in range(picture.shape[0]):
        for x in range(picture.shape[1]):
            radius = np.sqrt((y - centre_y) ** 2 + (x - centre_x) ** 2)
            k = int(radius / width)
            if k >= bins:
                continue
            total[k] += picture[y, x]
            count[k] += 1
    return total / np.maximum(count, 1), count


def example(size="small", seed=0):
    n, bins = (12, 6) if size == "small" else (700, 300)
    random = np.random.default_rng(seed)
    centre = n / 2 + random.uniform(-1.0, 1.0, 2)
    return random.random((n, n + 3)), float(centre[0]), float(centre[1]), 1.0, bins


if __name__ == "__main__":
    profile, count = radial_histogram(*example("large"))
    print(f"{count.sum()} pixels in {len(count)} rings, the brightest has {profile.max():.4f}")
