"""Deriche's recursive filter (1990), here smoothing a picture: four passes, each of which goes on from its own past.

Along the rows from the left and from the right, then along the columns from above and from below; the cost does not
depend on the width of the filter.
"""

import numpy as np

import jitflow


@jitflow.function
def deriche(alpha, picture):
    decay = np.exp(-alpha)
    k = (1.0 - decay) * (1.0 - decay) / (1.0 + 2.0 * alpha * decay - np.exp(-2.0 * alpha))
    a1 = k
    a2 = k * decay * (alpha - 1.0)
    a3 = k * decay * (alpha + 1.0)
    a4 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 * decay
    b2 = -np.exp(-2.0 * alpha)
    height, width = picture.shape
    ahead = np.empty_like(picture)
    ahead[:, 0] = a1 * picture[:, 0]
    ahead[:, 1] = a1 * picture[:, 1] + a2 * picture[:, 0] + b1 * ahead[:, 0]
    for j in range(2, width):
        ahead[:, j] = a1 * picture[:, j] + a2 * picture[:, j - 1] + b1 * ahead[:, j - 1] + b2 * ahead[:, j - 2]
    back = np.empty_like(picture)
    back[:, -1] = 0.0
    back[:, -2] = a3 * picture[:, -1]
    for j in range(width - 3, -1, -1):
        back[:, j] = a3 * picture[:, j + 1] + a4 * picture[:, j + 2] + b1 * back[:, j + 1] + b2 * back[:, j + 2]
    rows = ahead + back
    ahead[0, :] = a1 * rows[0, :]
    ahead[1, :] = a1 * rows[1, :] + a2 * rows[0, :] + b1 * ahead[0, :]
    for i in range(2, height):
        ahead[i, :] = a1 * rows[i, :] + a2 * rows[i - 1, :] + b1 * ahead[i - 1, :] + b2 * ahead[i - 2, :]
    back[-1, :] = 0.0
    back[-2, :] = a3 * rows[-1, :]
    for i in range(height - 3, -1, -1):
        back[i, :] = a3 * rows[i + 1, :] + a4 * rows[i + 2, :] + b1 * back[i + 1, :] + b2 * back[i + 2, :]
    return ahead + back


def example(size="small", seed=0):
    height, width = (9, 11) if size == "small" else (500, 600)
    return 0.25, np.random.default_rng(seed).random((height, width))


if __name__ == "__main__":
    alpha, picture = example("large")
    print(f"contrast: {picture.std():.4f} before, {deriche(alpha, picture)[50:-50, 50:-50].std():.4f} after smoothing")
