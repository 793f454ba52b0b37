"""Kalman's filter (1960): where something is and how fast it moves, from noisy measurements of where it is.

Predict and correct, with the covariance alongside; the gain needs a linear solve at every step.
"""

import numpy as np

import jitflow


@jitflow.function
def kalman(measurements, F, H, Q, R, x, P):
    steps = len(measurements)
    track = np.empty((steps, len(x)))
    identity = np.eye(len(x))
    for t in range(steps):
        x = F @ x
        P = F @ P @ F.T + Q
        innovation = measurements[t] - H @ x
        S = H @ P @ H.T + R
        gain = np.linalg.solve(S, H @ P).T
        x = x + gain @ innovation
        P = (identity - gain @ H) @ P
        track[t] = x
    return track, P


def example(size="small", seed=0):
    steps = 8 if size == "small" else 3000
    random = np.random.default_rng(seed)
    F = np.eye(4) + np.diag([0.1, 0.1], 2)
    H = np.eye(2, 4)
    velocity = np.cumsum(random.normal(0.0, 0.1, (steps, 2)), axis=0)
    where = np.cumsum(0.1 * velocity, axis=0)
    return where + random.normal(0.0, 0.5, (steps, 2)), F, H, 0.01 * np.eye(4), 0.25 * np.eye(2), np.zeros(4), np.eye(4)


if __name__ == "__main__":
    track, P = kalman(*example("large"))
    print(f"after {len(track)} measurements of deviation 0.5 the place is known to {np.sqrt(P[0, 0]):.4f}")
