"""Integer arithmetic on whole arrays with a clip: the values of one array are held between two bounds, then mixed."""

import numpy as np

import jitflow


@jitflow.function
def integer_clip(one, other, a, b, c):
    return np.clip(one, 2, 10) * a + other * b + c


def example(size="small", seed=0):
    shape = (7, 9) if size == "small" else (1000, 1200)
    random = np.random.default_rng(seed)
    return (*random.integers(0, 1000, (2, *shape)), 4, 3, 9)


if __name__ == "__main__":
    print(f"largest of the mixed integers: {integer_clip(*example('large')).max()}")
