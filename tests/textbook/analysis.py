"""Analysis: roots, integrals, series, statistics."""

from __future__ import annotations

import math
from collections.abc import Callable


def bisection(function: Callable[[float], float], a: float, b: float) -> float:
    """A root between a and b.

    >>> bisection(lambda x: x**3 - 1, -5, 5)
    1.0000000149011612
    >>> bisection(lambda x: x**2 - 4 * x + 3, 0, 2)
    1.0
    >>> bisection(lambda x: x**2 + 1, 2, 3)
    Traceback (most recent call last):
        ...
    ValueError: could not find root in given interval.
    """
    start: float = a
    end: float = b
    if function(a) == 0:
        return a
    elif function(b) == 0:
        return b
    elif function(a) * function(b) > 0:
        raise ValueError("could not find root in given interval.")
    else:
        mid: float = start + (end - start) / 2.0
        while abs(start - mid) > 10**-7:
            if function(mid) == 0:
                return mid
            elif function(mid) * function(start) < 0:
                end = mid
            else:
                start = mid
            mid = start + (end - start) / 2.0
        return mid


def newton_raphson(function: Callable[[float], float], slope: Callable[[float], float], start: float) -> float:
    """A root by Newton's method.

    >>> newton_raphson(lambda x: x**3 - 2 * x - 5, lambda x: 3 * x**2 - 2, 3)
    2.0945514815423474
    >>> newton_raphson(lambda x: x**2 - 5 * x + 2, lambda x: 2 * x - 5, 0.4)
    0.43844718719116954
    """
    previous = float(start)
    while True:
        following = previous - function(previous) / slope(previous)
        if abs(following - previous) < 10**-5:
            return following
        previous = following


def square_root(a: float, tolerance: float = 0.00000000000001) -> float:
    """A square root by Newton's method.

    >>> all(abs(square_root(i) - math.sqrt(i)) <= 0.00000000000001 for i in range(500))
    True
    >>> square_root(4)
    2.0
    >>> square_root(3.2)
    1.788854381999832
    >>> square_root(-1)
    Traceback (most recent call last):
        ...
    ValueError: math domain error
    """
    if a < 0:
        raise ValueError("math domain error")
    start = 2.0
    while start <= a:
        start = math.pow(start, 2)
    value = start
    for _ in range(9999):
        previous = value
        value = value - (value * value - a) / (2 * value)
        if abs(previous - value) < tolerance:
            return value
    return value


def trapezoidal_rule(a: float, b: float, steps: int) -> float:
    """The integral of x ** 2.

    >>> abs(trapezoidal_rule(0.0, 1.0, 1000) - 1 / 3) < 1e-6
    True
    >>> trapezoidal_rule(0.0, 1.0, 10)
    0.3350000000000001
    """
    h = (b - a) / steps
    total = (a**2 + b**2) / 2.0
    for i in range(1, steps):
        total += (a + i * h) ** 2
    return total * h


def simpson(function: Callable[[float], float], a: float, b: float, precision: int = 4) -> float:
    """An integral by Simpson's rule.

    >>> simpson(lambda x: x * x, 1, 2, 3)
    2.333
    >>> simpson(lambda x: x * x, 3.45, 3.2, 1)
    -2.8
    >>> simpson(lambda x: 3**3, 1, 2, -1)
    Traceback (most recent call last):
        ...
    ValueError: precision should be positive, got -1
    """
    if precision <= 0:
        raise ValueError(f"precision should be positive, got {precision}")
    n = 1000
    h = (b - a) / n
    result = function(a) + function(b)
    for i in range(1, n):
        x = a + h * i
        result += function(x) * (2 if i % 2 == 0 else 4)
    return round(result * h / 3, precision)


def taylor_sine(angle: float, accuracy: int = 18, rounded: int = 10) -> float:
    """The sine of an angle in degrees by its series.

    >>> taylor_sine(0.0)
    0.0
    >>> taylor_sine(90.0)
    1.0
    >>> taylor_sine(270.0)
    -1.0
    >>> taylor_sine(64.0)
    0.8987940463
    """
    angle = angle - ((angle // 360.0) * 360.0)
    radians = math.radians(angle)
    result = radians
    a = 3
    b = -1
    for _ in range(accuracy):
        result += (b * (radians**a)) / math.factorial(a)
        b = -b
        a += 2
    return round(result, rounded)


def pi_by_leibniz(digits: int) -> float:
    """Pi by a slow series.

    >>> round(pi_by_leibniz(10000), 3)
    3.142
    >>> pi_by_leibniz(3)
    2.9760461760461765
    """
    total = 0.0
    sign = 1.0
    for k in range(2 * digits):
        total += sign / (2 * k + 1)
        sign = -sign
    return 4 * total


def arithmetic_mean(numbers: list[float]) -> float:
    """The mean of numbers.

    >>> arithmetic_mean([3, 6, 9, 12, 15, 18, 21])
    12.0
    >>> arithmetic_mean([5, 10, 15, 20, 25, 30, 35])
    20.0
    >>> arithmetic_mean([])
    Traceback (most recent call last):
        ...
    ValueError: List is empty
    """
    if not numbers:
        raise ValueError("List is empty")
    return sum(numbers) / len(numbers)


def median(numbers: list[float]) -> float:
    """The number in the middle.

    >>> median([0])
    0
    >>> median([4, 1, 3, 2])
    2.5
    >>> median([2, 70, 6, 50, 20, 8, 4])
    8
    """
    ordered = sorted(numbers)
    length = len(ordered)
    middle = length >> 1
    return (ordered[middle] + ordered[middle - 1]) / 2 if length % 2 == 0 else ordered[middle]


def mode(values: list[int]) -> list[int]:
    """The values that come most often.

    >>> mode([2, 3, 4, 5, 3, 4, 2, 5, 2, 2, 4, 2, 2, 2])
    [2]
    >>> mode([3, 4, 5, 3, 4, 2, 5, 2, 2, 4, 4, 2, 2, 2])
    [2]
    >>> mode([3, 4, 5, 3, 4, 2, 5, 2, 2, 4, 4, 4, 2, 2, 4, 2])
    [2, 4]
    """
    if not values:
        return []
    counts: dict[int, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    most = max(counts.values())
    return sorted(value for value, count in counts.items() if count == most)


def mean_absolute_deviation(numbers: list[float]) -> float:
    """How far numbers are from their mean.

    >>> mean_absolute_deviation([4, 1, 3, 2])
    1.0
    >>> mean_absolute_deviation([2, 70, 6, 50, 20, 8, 4, 0])
    20.0
    >>> mean_absolute_deviation([])
    Traceback (most recent call last):
        ...
    ValueError: List is empty
    """
    if not numbers:
        raise ValueError("List is empty")
    average = sum(numbers) / len(numbers)
    return sum(abs(x - average) for x in numbers) / len(numbers)


def euclidean_distance(first: list[float], second: list[float]) -> float:
    """The distance of two points.

    >>> euclidean_distance((0, 0), (2, 2))
    2.8284271247461903
    >>> euclidean_distance([1, 2, 3, 4], [5, 6, 7, 8])
    8.0
    """
    return sum((a - b) ** 2 for a, b in zip(first, second)) ** (1 / 2)


def polynomial(coefficients: list[float], x: float) -> float:
    """A polynomial by Horner's method.

    >>> polynomial([0.0, 0.0, 5.0, 9.3, 7.0], 10.0)
    79800.0
    >>> polynomial([1, 2, 3], 2)
    17
    """
    result = 0
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def quadratic_roots(a: float, b: float, c: float) -> tuple[float, float]:
    """The roots of a quadratic equation.

    >>> quadratic_roots(a=1, b=3, c=-4)
    (1.0, -4.0)
    >>> quadratic_roots(5, 6, 1)
    (-0.2, -1.0)
    >>> quadratic_roots(0, 1, 2)
    Traceback (most recent call last):
        ...
    ValueError: Coefficient 'a' must not be zero.
    """
    if a == 0:
        raise ValueError("Coefficient 'a' must not be zero.")
    delta = b * b - 4 * a * c
    if delta < 0:
        raise ValueError("no real roots")
    return (-b + math.sqrt(delta)) / (2 * a), (-b - math.sqrt(delta)) / (2 * a)


def compound_interest(principal: float, rate: float, periods: int) -> float:
    """What interest brings.

    >>> compound_interest(10000.0, 0.05, 3)
    1576.2500000000014
    >>> compound_interest(10000.0, 0.05, 1)
    500.00000000000045
    >>> compound_interest(0.5, 0.05, 3)
    0.07881250000000006
    >>> compound_interest(10000.0, 0.06, -4)
    Traceback (most recent call last):
        ...
    ValueError: number_of_compounding_periods must be > 0
    """
    if periods <= 0:
        raise ValueError("number_of_compounding_periods must be > 0")
    if rate < 0:
        raise ValueError("nominal_annual_interest_rate_percentage must be >= 0")
    if principal <= 0:
        raise ValueError("principal must be > 0")
    return principal * ((1 + rate) ** periods - 1)


def sigmoid(values: list[float]) -> list[float]:
    """The logistic function of each value.

    >>> sigmoid([-1.0, 0.0, 1.0])
    [0.2689414213699951, 0.5, 0.7310585786300049]
    """
    return [1 / (1 + math.exp(-value)) for value in values]


def runge_kutta(f: Callable[[float, float], float], y0: float, x0: float, h: float, end: float) -> list[float]:
    """An ordinary differential equation by the classical method.

    >>> y = runge_kutta(lambda x, y: y, 1.0, 0.0, 0.25, 1.0)
    >>> [round(v, 6) for v in y]
    [1.0, 1.284017, 1.648699, 2.116958, 2.71821]
    """
    n = int((end - x0) / h)
    y = [0.0] * (n + 1)
    y[0] = y0
    x = x0
    for k in range(n):
        k1 = f(x, y[k])
        k2 = f(x + 0.5 * h, y[k] + 0.5 * h * k1)
        k3 = f(x + 0.5 * h, y[k] + 0.5 * h * k2)
        k4 = f(x + h, y[k] + h * k3)
        y[k + 1] = y[k] + (1 / 6) * h * (k1 + 2 * k2 + 2 * k3 + k4)
        x += h
    return y
