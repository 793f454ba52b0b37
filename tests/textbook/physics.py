"""Physics: formulas that check what they are given."""

from __future__ import annotations

import math

import numpy as np

UNIVERSAL_GAS_CONSTANT = 8.3144598
GRAVITATIONAL_CONSTANT = 6.6743e-11
SPEED_OF_LIGHT = 299792458


def kinetic_energy(mass: float, velocity: float) -> float:
    """Half of mass times squared velocity.

    >>> kinetic_energy(10, 10)
    500.0
    >>> kinetic_energy(2, -2)
    4.0
    >>> kinetic_energy(-1, 2)
    Traceback (most recent call last):
        ...
    ValueError: The mass of a body cannot be negative
    """
    if mass < 0:
        raise ValueError("The mass of a body cannot be negative")
    return 0.5 * mass * abs(velocity) * abs(velocity)


def gas_pressure(moles: float, kelvin: float, volume: float) -> float:
    """The pressure of an ideal gas.

    >>> gas_pressure(2, 100, 5)
    332.578392
    >>> gas_pressure(0.5, 273, 0.004)
    283730.940675
    >>> gas_pressure(3, -0.46, 23.5)
    Traceback (most recent call last):
        ...
    ValueError: Invalid inputs. Enter positive value.
    """
    if moles < 0 or kelvin < 0 or volume < 0:
        raise ValueError("Invalid inputs. Enter positive value.")
    return moles * kelvin * UNIVERSAL_GAS_CONSTANT / volume


def ohms_law(voltage: float, current: float, resistance: float) -> dict[str, float]:
    """The one of three that is given as 0.

    >>> ohms_law(voltage=10, resistance=5, current=0)
    {'current': 2.0}
    >>> ohms_law(voltage=0, current=0, resistance=10)
    Traceback (most recent call last):
        ...
    ValueError: One and only one argument must be 0
    >>> ohms_law(voltage=0, current=-1.5, resistance=2)
    {'voltage': -3.0}
    """
    if (voltage, current, resistance).count(0) != 1:
        raise ValueError("One and only one argument must be 0")
    if resistance < 0:
        raise ValueError("Resistance cannot be negative")
    if voltage == 0:
        return {"voltage": float(current * resistance)}
    elif current == 0:
        return {"current": voltage / resistance}
    elif resistance == 0:
        return {"resistance": voltage / current}
    else:
        raise ValueError("Exactly one argument must be 0")


def gravitational_force(force: float, mass_1: float, mass_2: float, distance: float) -> dict[str, float]:
    """Newton's law: the one of four that is given as 0.

    >>> gravitational_force(force=0, mass_1=5, mass_2=10, distance=20)
    {'force': 8.342875e-12}
    >>> gravitational_force(force=7367.382, mass_1=0, mass_2=74, distance=3048)
    {'mass_1': 1.385816317292268e+19}
    """
    if (force, mass_1, mass_2, distance).count(0) != 1:
        raise ValueError("One and only one argument must be 0")
    product_of_mass = mass_1 * mass_2
    if force == 0:
        force = GRAVITATIONAL_CONSTANT * product_of_mass / (distance**2)
        return {"force": force}
    elif mass_1 == 0:
        mass_1 = (force) * (distance**2) / (GRAVITATIONAL_CONSTANT * mass_2)
        return {"mass_1": mass_1}
    elif mass_2 == 0:
        mass_2 = (force) * (distance**2) / (GRAVITATIONAL_CONSTANT * mass_1)
        return {"mass_2": mass_2}
    else:
        distance = (GRAVITATIONAL_CONSTANT * product_of_mass / (force)) ** 0.5
        return {"distance": distance}


def lorentz_factor(velocity: float) -> float:
    """How much slower a moving clock goes.

    >>> lorentz_factor(4)
    1.0000000000000002
    >>> lorentz_factor(1e8)
    1.0607520004442041
    >>> lorentz_factor(3e8)
    Traceback (most recent call last):
        ...
    ValueError: Speed must not exceed light speed 299,792,458 [m/s]!
    """
    if velocity > SPEED_OF_LIGHT:
        raise ValueError("Speed must not exceed light speed 299,792,458 [m/s]!")
    elif velocity < 1:
        raise ValueError("Speed must be greater than or equal to 1!")
    return 1 / math.sqrt(1 - (velocity / SPEED_OF_LIGHT) ** 2)


def lorentz_boost(velocity: float) -> np.ndarray:
    """The matrix that changes to a moving frame.

    >>> lorentz_boost(1e8).round(6).tolist()
    [[1.060752, -0.353829, 0.0, 0.0], [-0.353829, 1.060752, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    """
    beta = velocity / SPEED_OF_LIGHT
    gamma = 1 / math.sqrt(1 - beta**2)
    return np.array([[gamma, -gamma * beta, 0, 0], [-gamma * beta, gamma, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def horizontal_distance(initial_velocity: float, angle: float) -> float:
    """How far a projectile goes.

    >>> horizontal_distance(30, 45)
    91.77
    >>> horizontal_distance(100, 78)
    414.76
    >>> horizontal_distance(-1, 20)
    Traceback (most recent call last):
        ...
    ValueError: Invalid velocity. Should be a positive number.
    """
    if not isinstance(initial_velocity, (int, float)):
        raise TypeError("Invalid velocity. Should be an integer or float.")
    if initial_velocity < 0:
        raise ValueError("Invalid velocity. Should be a positive number.")
    radians = math.radians(2 * angle)
    return round(initial_velocity**2 * math.sin(radians) / 9.80665, 2)


def centripetal(mass: float, velocity: float, radius: float) -> float:
    """The force that keeps a body on a circle.

    >>> round(centripetal(15.5, -30, 10), 2)
    1395.0
    >>> centripetal(10, 15, 0)
    Traceback (most recent call last):
        ...
    ValueError: The radius is always non-zero and positive
    """
    if mass < 0:
        raise ValueError("The mass of the body cannot be negative")
    if radius <= 0:
        raise ValueError("The radius is always non-zero and positive")
    return (mass * (velocity) ** 2) / radius


def resistor_parallel(resistors: list[float]) -> float:
    """The resistance of resistors in parallel.

    >>> resistor_parallel([3.21389, 2, 3])
    0.8737571620498019
    >>> resistor_parallel([3.21389, 2, -3])
    Traceback (most recent call last):
        ...
    ValueError: Resistor at index 2 has a negative or zero value!
    """
    first_sum = 0.00
    index = 0
    for resistor in resistors:
        if resistor <= 0:
            msg = f"Resistor at index {index} has a negative or zero value!"
            raise ValueError(msg)
        first_sum += 1 / float(resistor)
        index += 1
    return 1 / first_sum


def in_static_equilibrium(forces: np.ndarray, location: np.ndarray, eps: float = 10**-1) -> bool:
    """Whether forces at places turn nothing.

    >>> forces = np.array([[1, 1], [-1, 2]])
    >>> location = np.array([[1, 0], [10, 0]])
    >>> in_static_equilibrium(forces, location)
    False
    """
    moments = location[:, 0] * forces[:, 1] - location[:, 1] * forces[:, 0]
    sum_moments: float = sum(moments)
    return bool(abs(sum_moments) < eps)


def haversine(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """The distance of two places on the earth, in metres.

    >>> round(haversine(37.774856, -122.424227, 37.864742, -119.537521) / 1000)
    254
    >>> haversine(0.0, 0.0, 0.0, 0.0)
    0.0
    """
    phi_1, phi_2 = math.radians(lat1), math.radians(lat2)
    lambda_1, lambda_2 = math.radians(lon1), math.radians(lon2)
    sin_sq_phi = math.sin((phi_2 - phi_1) / 2) ** 2
    sin_sq_lambda = math.sin((lambda_2 - lambda_1) / 2) ** 2
    return 2 * 6378137 * math.asin(math.sqrt(sin_sq_phi + math.cos(phi_1) * math.cos(phi_2) * sin_sq_lambda))


def half_life(amount: float, half: float, days: int) -> list[float]:
    """What is left after each day.

    >>> half_life(100.0, 2.0, 4)
    [70.71067811865476, 50.0, 35.35533905932738, 25.0]
    """
    left = []
    for day in range(1, days + 1):
        left.append(amount * 0.5 ** (day / half))
    return left
