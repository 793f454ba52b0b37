"""The expansions, compiled on their own: accuracy, special values, and the shape of the code."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import numpy as np
import pytest

from benchmarks.accuracy import (
    DOUBLE,
    SINGLE,
    SUBJECTS,
    Subject,
    find_expansion,
    find_special_differences,
    measure_subject,
)
from jitflow.passes.expand import EXPANSIONS
from tests.expand.vector_machine import NUMPY_DTYPES, Compiled, compile_expansion, emit_loop

DTYPES = {"f32": SINGLE, "f64": DOUBLE}
BOUND = 1.5
"""The contract is 2 ulp; what is measured stays well below, and should go on to."""

formats = pytest.mark.parametrize("dtype", DTYPES)
subjects = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def compiled(name: str, dtype: str, arity: int = 1) -> Compiled:
    return compile_expansion(find_expansion(name), arity, dtype)


def test_every_expansion_is_measured() -> None:
    assert {subject.name for subject in SUBJECTS} == {*EXPANSIONS, "hypot"}


@formats
@subjects
def test_error_is_bounded(subject: Subject, dtype: str) -> None:
    count = 1 << 12 if not subject.widens else 1 << 15
    worst, where, _ = measure_subject(subject, compiled(subject.name, dtype, subject.arity), DTYPES[dtype], count)
    assert worst <= BOUND, f"{subject.name}({where}) is off by {worst:.3f} ulp"


@formats
@subjects
def test_special_values_are_those_of_numpy(subject: Subject, dtype: str) -> None:
    compute = compiled(subject.name, dtype, subject.arity)
    assert find_special_differences(subject, compute, DTYPES[dtype]) == []


@formats
def test_power_has_the_signs_of_c99(dtype: str) -> None:
    bases = [0.0, -0.0, -1.0, -2.0, -0.5, -np.inf, np.inf, np.nan, 1.0, -3.0, 5e-324, -1e30]
    exponents = [*bases, 3.0, -3.0, 2.5, -2.5, 2.0**24 + 1, 2.0**53 - 1, 2.0**53 + 2, -1e300, 1e300]
    grid = np.meshgrid(bases, exponents)
    base, exponent = (each.ravel().astype(NUMPY_DTYPES[dtype]) for each in grid)
    found, wanted = compiled("power", dtype, 2)(base, exponent), np.power(base, exponent)
    np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(found.dtype).eps)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@formats
def test_powers_of_two_are_exact(dtype: str) -> None:
    information = np.finfo(NUMPY_DTYPES[dtype])
    whole = np.arange(information.minexp - information.nmant, information.maxexp, dtype=information.dtype)
    powers = np.ldexp(information.dtype.type(1), whole.astype(np.int32))
    np.testing.assert_array_equal(compiled("exp2", dtype)(whole), powers)
    np.testing.assert_array_equal(compiled("log2", dtype)(powers), whole)


@formats
@pytest.mark.parametrize("name", ["sin", "tan", "sinh", "tanh", "erf", "expm1", "log1p"])
def test_tiny_arguments_come_back(name: str, dtype: str) -> None:
    information = np.finfo(NUMPY_DTYPES[dtype])
    denormals = np.arange(1, 2000, dtype=information.dtype) * information.smallest_subnormal
    tiny = np.concatenate([denormals, -denormals, [0.0, -0.0, information.tiny]]).astype(information.dtype)
    found = compiled(name, dtype)(tiny)
    if name == "erf":
        np.testing.assert_allclose(found, tiny * (2 / np.sqrt(np.pi)), atol=information.smallest_subnormal)
    else:
        np.testing.assert_array_equal(found, tiny)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(tiny))


@formats
@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "erf"])
def test_results_stay_within_one(name: str, dtype: str) -> None:
    generator = np.random.default_rng(7)
    near = np.concatenate([generator.uniform(-10, 10, 20000), np.arange(-40, 40) * (np.pi / 2)])
    assert np.max(np.abs(compiled(name, dtype)(near))) <= 1


@pytest.mark.parametrize(
    ("dtype", "argument"),
    [
        # The doubles and singles that come closest to a multiple of pi/2 (Muller, table 11.1), and the largest.
        ("f64", 6381956970095103 * 2.0**797),
        ("f32", 16367173 * 2.0**72),
        ("f64", np.finfo(np.float64).max),
        ("f32", float(np.finfo(np.float32).max)),
        ("f64", 2.0**40 + 0.5),
        ("f32", 131073.0),
    ],
)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_arguments_are_reduced_exactly(name: str, dtype: str, argument: float) -> None:
    with mpmath.workprec(1300):
        wanted = float(getattr(mpmath, name)(mpmath.mpf(argument)))
    small = np.linspace(-3, 3, 31)
    found = compiled(name, dtype)(np.concatenate([[argument, -argument], small]))
    epsilon = np.finfo(found.dtype).eps
    sign = 1 if name == "cos" else -1
    np.testing.assert_allclose(found[:2], [wanted, sign * wanted], rtol=1.5 * epsilon)
    np.testing.assert_allclose(found[2:], getattr(np, name)(small.astype(found.dtype)), rtol=4 * epsilon, atol=epsilon)


@formats
def test_results_do_not_depend_on_the_vector_width(dtype: str) -> None:
    x = np.random.default_rng(3).standard_normal(64) * 5
    for name in ("exp", "sin", "tanh"):
        narrow = compile_expansion(EXPANSIONS[name], 1, dtype, width=4)
        np.testing.assert_array_equal(narrow(x), compiled(name, dtype)(x))


BRANCHING = {"sin", "cos", "tan", "power", "log", "log2", "log10", "log1p", "arcsinh", "arctanh", "cbrt"}


@formats
@subjects
def test_only_rare_arguments_branch(subject: Subject, dtype: str) -> None:
    code = emit_loop(find_expansion(subject.name), subject.arity, dtype, 8)
    branches = subject.name in BRANCHING or (subject.name == "hypot" and dtype == "f64")
    assert ("vector.reduce.or" in code) == branches
