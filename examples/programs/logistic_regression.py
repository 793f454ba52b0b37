"""Logistic regression by Newton's method: each round solves a weighted system of normal equations."""

import numpy as np

import jitflow


@jitflow.function
def logistic_regression(X, y, tolerance):
    w = np.zeros(X.shape[1])
    for rounds in range(100):
        p = 1.0 / (1.0 + np.exp(-(X @ w)))
        gradient = X.T @ (p - y)
        hessian = (X * (p * (1.0 - p))[:, None]).T @ X + 1e-9 * np.eye(len(w))
        step = np.linalg.solve(hessian, gradient)
        w = w - step
        if np.abs(step).max() < tolerance:
            break
    return w, rounds


def example(size="small", seed=0):
    n, m = (60, 3) if size == "small" else (20_000, 20)
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, m))
    return X, (X @ np.linspace(-1.0, 1.0, m) + random.logistic(size=n) > 0).astype(float), 1e-8


if __name__ == "__main__":
    w, rounds = logistic_regression(*example("large"))
    print(f"{np.round(w[:3], 3)}... after {rounds} rounds")
