"""An epidemic by chance: each day, some who may fall ill do, and some who are ill recover, by binomial draws."""

import numpy as np

import jitflow


@jitflow.function
def epidemic(rng, people, contacts, recovery, days):
    well, ill = people - 10, 10
    course = np.zeros((days, 2), dtype=np.int64)
    for day in range(days):
        risk = 1.0 - np.exp(-contacts * ill / people)
        fallen = rng.binomial(well, risk)
        healed = rng.binomial(ill, recovery)
        well -= fallen
        ill += fallen - healed
        course[day] = well, ill
    return course


def example(size="small", seed=0):
    return np.random.default_rng(seed), 10_000, 0.4, 0.1, 10 if size == "small" else 20_000


if __name__ == "__main__":
    course = epidemic(*example("large"))
    print(f"at most {course[:, 1].max()} are ill at a time, and {course[-1, 0]} never were")
