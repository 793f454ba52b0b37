"""`pow` with a modulus is Python's, whose products are exact however large."""

import random

import pytest

import jitflow


@jitflow.function
def power(a, d, n):
    return pow(a, d, n)


@jitflow.function
def is_probably_prime(n):
    if n % 2 == 0:
        return n == 2
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd //= 2
        twos += 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        if n % base == 0:
            return n == base
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = pow(x, 2, n)
            if x == n - 1:
                break
        else:
            return False
    return True


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


NUMBERS = [0, 1, -1, 2, -3, 2**31, 2**32, 2**32 + 15, 2**53, 2**61 - 1, 2**62 + 3, 2**63 - 1, 1 - 2**63, -(2**63)]


def test_powers_are_exact():
    """Products of rests above 32 bits overflowed."""
    draw = random.Random(3)
    for _ in range(300):
        a, n = (draw.choice([*NUMBERS, draw.randrange(-(2**63), 2**63)]) for _ in range(2))
        exponent = draw.choice([0, 1, 2, 5, 65537, 2**62, 2**63 - 1, draw.randrange(2**63)])
        assert outcome(power, a, exponent, n) == outcome(pow, a, exponent, n), (a, exponent, n)


@pytest.mark.parametrize("n", [10**9 + 7, 2**61 - 1, 2**63 - 25, -(2**62) - 1, 2**63 - 1])
def test_inverses_are_those_of_python(n):
    for a in (1, 2, 3, -5, 2**62 + 1):
        for exponent in (-1, -2, -(2**63)):
            assert outcome(power, a, exponent, n) == outcome(pow, a, exponent, n), (a, exponent)


@pytest.mark.parametrize("n", [2**61 - 1, 2**63 - 25, 3215031751, 3825123056546413051, 2**31 - 1, 2, 9])
def test_primes_of_up_to_63_bits_are_found(n):
    assert is_probably_prime(n) == (n in (2**61 - 1, 2**63 - 25, 2**31 - 1, 2))
