"""Numbers: divisors, primes, digits, sequences."""

from __future__ import annotations

import math


def factorial(n: int) -> int:
    """The product of the numbers from 1 to n.

    >>> factorial(0)
    1
    >>> factorial(10)
    3628800
    >>> [factorial(i) for i in range(6)]
    [1, 1, 2, 6, 24, 120]
    >>> factorial(-1)
    Traceback (most recent call last):
        ...
    ValueError: factorial() not defined for negative values
    """
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    value = 1
    for i in range(1, n + 1):
        value *= i
    return value


def factorial_recursive(n: int) -> int:
    """The same by recursion.

    >>> factorial_recursive(5)
    120
    >>> factorial_recursive(0)
    1
    >>> factorial_recursive(-3)
    Traceback (most recent call last):
        ...
    ValueError: n must not be negative
    """
    if n < 0:
        raise ValueError("n must not be negative")
    return 1 if n in {0, 1} else n * factorial_recursive(n - 1)


def greatest_common_divisor(a: int, b: int) -> int:
    """Euclid's algorithm.

    >>> greatest_common_divisor(24, 40)
    8
    >>> greatest_common_divisor(-3, 9)
    3
    >>> greatest_common_divisor(0, 0)
    0
    """
    while b:
        a, b = b, a % b
    return abs(a)


def greatest_common_divisor_recursive(a: int, b: int) -> int:
    """Euclid's algorithm, calling itself.

    >>> greatest_common_divisor_recursive(121, 11)
    11
    >>> greatest_common_divisor_recursive(16, -4)
    4
    """
    return abs(b) if a == 0 else greatest_common_divisor_recursive(b % a, a)


def extended_euclid(a: int, b: int) -> tuple[int, int, int]:
    """The greatest common divisor, and the numbers x and y for which it is a x + b y.

    >>> extended_euclid(10, 6)
    (2, -1, 2)
    >>> extended_euclid(7, 5)
    (1, -2, 3)
    """
    old_r, r = a, b
    old_s, s = 1, 0
    old_t, t = 0, 1
    while r != 0:
        quotient = old_r // r
        old_r, r = r, old_r - quotient * r
        old_s, s = s, old_s - quotient * s
        old_t, t = t, old_t - quotient * t
    return old_r, old_s, old_t


def least_common_multiple(first: int, second: int) -> int:
    """The smallest number that both divide.

    >>> least_common_multiple(5, 2)
    10
    >>> least_common_multiple(12, 76)
    228
    """
    larger = max(first, second)
    multiple = larger
    while multiple % first != 0 or multiple % second != 0:
        multiple += larger
    return multiple


def is_prime(number: int) -> bool:
    """Whether a number is prime.

    >>> is_prime(0)
    False
    >>> is_prime(2)
    True
    >>> is_prime(27)
    False
    >>> is_prime(2999)
    True
    >>> is_prime(-1)
    Traceback (most recent call last):
        ...
    ValueError: is_prime() only accepts positive integers
    """
    if number < 0:
        raise ValueError("is_prime() only accepts positive integers")
    if 1 < number < 4:
        return True
    if number < 2 or number % 2 == 0 or number % 3 == 0:
        return False
    for i in range(5, int(math.sqrt(number) + 1), 6):
        if number % i == 0 or number % (i + 2) == 0:
            return False
    return True


def prime_factors(n: int) -> list[int]:
    """The prime factors, in order.

    >>> prime_factors(100)
    [2, 2, 5, 5]
    >>> prime_factors(2560)
    [2, 2, 2, 2, 2, 2, 2, 2, 2, 5]
    >>> prime_factors(97)
    [97]
    >>> prime_factors(1)
    []
    """
    i = 2
    factors = []
    while i * i <= n:
        if n % i:
            i += 1
        else:
            n //= i
            factors.append(i)
    if n > 1:
        factors.append(n)
    return factors


def sieve_of_eratosthenes(limit: int) -> list[int]:
    """All primes up to a limit.

    >>> sieve_of_eratosthenes(30)
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    >>> sieve_of_eratosthenes(2)
    [2]
    >>> sieve_of_eratosthenes(0)
    Traceback (most recent call last):
        ...
    ValueError: 0: Invalid input, please enter a positive integer.
    """
    if limit <= 0:
        raise ValueError(f"{limit}: Invalid input, please enter a positive integer.")
    sieve = [True] * (limit + 1)
    prime = []
    start = 2
    end = int(math.sqrt(limit))
    while start <= end:
        if sieve[start] is True:
            prime.append(start)
            for i in range(start * start, limit + 1, start):
                if sieve[i] is True:
                    sieve[i] = False
        start += 1
    for j in range(end + 1, limit + 1):
        if sieve[j] is True and j > 1:
            prime.append(j)
    return prime


def divisors(n: int) -> list[int]:
    """All numbers that divide n.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    >>> divisors(17)
    [1, 17]
    """
    return [d for d in range(1, n + 1) if n % d == 0]


def is_perfect(number: int) -> bool:
    """Whether a number is the sum of its proper divisors.

    >>> is_perfect(27)
    False
    >>> is_perfect(28)
    True
    >>> is_perfect(-1)
    False
    """
    if number <= 0:
        return False
    return sum(i for i in range(1, number // 2 + 1) if number % i == 0) == number


def euler_phi(n: int) -> int:
    """How many of the numbers from 1 to n have no common divisor with n.

    >>> euler_phi(100)
    40
    >>> euler_phi(1)
    1
    """
    s = n
    i = 2
    while i * i <= n:
        if n % i == 0:
            while n % i == 0:
                n //= i
            s -= s // i
        i += 1
    if n > 1:
        s -= s // n
    return s


def collatz_sequence(n: int) -> list[int]:
    """The numbers from n to 1 as Collatz has them.

    >>> collatz_sequence(11)
    [11, 34, 17, 52, 26, 13, 40, 20, 10, 5, 16, 8, 4, 2, 1]
    >>> collatz_sequence(1)
    [1]
    >>> collatz_sequence(0)
    Traceback (most recent call last):
        ...
    Exception: Sequence only defined for positive integers
    """
    if n < 1:
        raise Exception("Sequence only defined for positive integers")
    sequence = [n]
    while n != 1:
        n = 3 * n + 1 if n & 1 else n // 2
        sequence.append(n)
    return sequence


def digits_sum(n: int) -> int:
    """The sum of the digits.

    >>> digits_sum(12345)
    15
    >>> digits_sum(-123)
    6
    >>> digits_sum(0)
    0
    """
    n = abs(n)
    result = 0
    while n > 0:
        result += n % 10
        n //= 10
    return result


def digits_sum_compact(n: int) -> int:
    """The sum of the digits by way of text.

    >>> digits_sum_compact(12345)
    15
    >>> digits_sum_compact(0)
    0
    """
    return sum(int(c) for c in str(abs(n)))


def reverse_number(n: int) -> int:
    """The digits the other way round.

    >>> reverse_number(1234)
    4321
    >>> reverse_number(100)
    1
    """
    reverse = 0
    while n:
        n, digit = divmod(n, 10)
        reverse = reverse * 10 + digit
    return reverse


def is_armstrong(n: int) -> bool:
    """Whether a number is the sum of its digits, each to the power of how many there are.

    >>> is_armstrong(153)
    True
    >>> is_armstrong(154)
    False
    >>> is_armstrong(370)
    True
    """
    total = 0
    count = 0
    rest = n
    while rest > 0:
        count += 1
        rest //= 10
    rest = n
    while rest > 0:
        rest, digit = divmod(rest, 10)
        total += digit**count
    return total == n


def fibonacci_iterative(n: int) -> list[int]:
    """The first numbers of Fibonacci's.

    >>> fibonacci_iterative(0)
    [0]
    >>> fibonacci_iterative(10)
    [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
    >>> fibonacci_iterative(-1)
    Traceback (most recent call last):
        ...
    ValueError: n is negative
    """
    if n < 0:
        raise ValueError("n is negative")
    if n == 0:
        return [0]
    fib = [0, 1]
    for _ in range(n - 1):
        fib.append(fib[-1] + fib[-2])
    return fib


def fibonacci_memoised(n: int) -> int:
    """One of Fibonacci's numbers, with what is known in a dict.

    >>> fibonacci_memoised(10)
    55
    >>> fibonacci_memoised(50)
    12586269025
    """
    cache = {0: 0, 1: 1}

    def find(k: int) -> int:
        if k in cache:
            return cache[k]
        cache[k] = find(k - 1) + find(k - 2)
        return cache[k]

    return find(n)


def binary_exponentiation(base: int, power: int) -> int:
    """A power by squaring.

    >>> binary_exponentiation(3, 5)
    243
    >>> binary_exponentiation(2, 30)
    1073741824
    """
    if power == 0:
        return 1
    if power % 2 == 1:
        return binary_exponentiation(base, power - 1) * base
    half = binary_exponentiation(base, power // 2)
    return half * half


def modular_power(base: int, exponent: int, modulus: int) -> int:
    """A power, modulo a number.

    >>> modular_power(2, 10, 1000)
    24
    >>> modular_power(3, 200, 13)
    9
    >>> modular_power(2, 3, 0)
    Traceback (most recent call last):
        ...
    ZeroDivisionError: integer modulo by zero
    """
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return result


def ackermann(m: int, n: int) -> int:
    """Ackermann's function.

    >>> ackermann(2, 3)
    9
    >>> ackermann(1, 5)
    7
    """
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def decimal_to_binary(number: int) -> str:
    """A number in base 2.

    >>> decimal_to_binary(0)
    '0b0'
    >>> decimal_to_binary(40)
    '0b101000'
    >>> decimal_to_binary(-2)
    '-0b10'
    >>> decimal_to_binary(16.2)
    Traceback (most recent call last):
        ...
    TypeError: 'float' object cannot be interpreted as an integer
    """
    if isinstance(number, float):
        raise TypeError("'float' object cannot be interpreted as an integer")
    if number == 0:
        return "0b0"
    negative = False
    if number < 0:
        negative = True
        number = -number
    binary = []
    while number > 0:
        binary.insert(0, number % 2)
        number >>= 1
    if negative:
        return "-0b" + "".join(str(e) for e in binary)
    return "0b" + "".join(str(e) for e in binary)


def pascal_triangle(rows: int) -> list[list[int]]:
    """The first rows of Pascal's triangle.

    >>> pascal_triangle(5)
    [[1], [1, 1], [1, 2, 1], [1, 3, 3, 1], [1, 4, 6, 4, 1]]
    >>> pascal_triangle(0)
    []
    """
    triangle: list[list[int]] = []
    for n in range(rows):
        row = [1] * (n + 1)
        for k in range(1, n):
            row[k] = triangle[n - 1][k - 1] + triangle[n - 1][k]
        triangle.append(row)
    return triangle


def tower_of_hanoi(height: int, source: int, target: int, spare: int) -> list[tuple[int, int]]:
    """The moves that take a tower from one pole to another.

    >>> tower_of_hanoi(2, 0, 2, 1)
    [(0, 1), (0, 2), (1, 2)]
    >>> len(tower_of_hanoi(6, 0, 2, 1))
    63
    """
    moves: list[tuple[int, int]] = []

    def move(n: int, source: int, target: int, spare: int) -> None:
        if n >= 1:
            move(n - 1, source, spare, target)
            moves.append((source, target))
            move(n - 1, spare, target, source)

    move(height, source, target, spare)
    return moves
