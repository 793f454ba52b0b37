"""The primes below n by the sieve of Eratosthenes: slices with a step strike out the multiples."""

import numpy as np

import jitflow


@jitflow.function
def sieve(n):
    prime = np.ones(n, dtype=np.bool_)
    prime[:2] = False
    prime[4::2] = False
    p = 3
    while p * p < n:
        if prime[p]:
            prime[p * p :: 2 * p] = False
        p += 2
    return np.nonzero(prime)[0]


def example(size="small", seed=0):
    return (int(np.random.default_rng(seed).integers(100, 200)) if size == "small" else 2_000_000,)


if __name__ == "__main__":
    (n,) = example("large")
    primes = sieve(n)
    print(f"{len(primes)} primes below {n}, the largest is {primes[-1]}")
