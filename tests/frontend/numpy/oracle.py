"""Compares what a traced program computes in the reference interpreter with what plain NumPy computes.

`check(program, *arguments)` runs ``program`` on the arguments with NumPy, traces it with symbolic sizes (an axis of
size 1 is known to be 1, as in a specialisation), interprets the trace, and compares classes, dtypes, shapes and
values, or the class and message of the exception.
"""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError
from jitflow.frontend.trace import Trace, recording
from jitflow.ir.core import Function
from jitflow.ir.dtypes import BOOL, C128, F64, I64, dtype_of
from jitflow.ir.interpreter import interpret
from jitflow.ir.types import Scalar, Tensor, Type
from jitflow.ir.verifier import verify

PYTHON = {bool: BOOL, int: I64, float: F64, complex: C128}


def trace_program(program: Any, arguments: tuple[Any, ...]) -> tuple[Function, Any]:
    """The traced function and the structure of its result."""
    trace = Trace("program")
    with recording(trace):
        given = [_parameter(trace, argument, f"x{place}") for place, argument in enumerate(arguments)]
        result = program(*given)
        leaves: list[Any] = []
        structure = _flatten(result, leaves)
        yielded = [tracers.lift(leaf) for leaf in leaves]
    region = trace.builder.region(trace.parameters, yielded)
    return Function("program", region, trace.facts), structure


def _parameter(trace: Trace, argument: Any, name: str) -> Any:
    kind: Type
    if type(argument) in PYTHON:
        kind = Scalar(PYTHON[type(argument)], True)
    elif isinstance(argument, np.generic):
        kind = Scalar(dtype_of(argument.dtype))
    else:
        dims = tuple(
            1 if size == 1 else trace.size(f"{name}_{axis}", size, bound_by_call=True)
            for axis, size in enumerate(argument.shape)
        )
        kind = Tensor(dtype_of(argument.dtype), dims)
    return tracers.wrap(trace.parameter(kind, name), owned=False)


def _flatten(result: Any, leaves: list[Any]) -> Any:
    if isinstance(result, tracers.Tracer | np.ndarray | np.generic):
        leaves.append(result)
        return "leaf"
    if isinstance(result, tuple | list):
        return type(result)(_flatten(item, leaves) for item in result)
    return ("static", result)


def _unflatten(structure: Any, leaves: list[Any]) -> Any:
    if isinstance(structure, str):
        return leaves.pop(0)
    if isinstance(structure, tuple) and structure and structure[0] == "static":
        return structure[1]
    return type(structure)(_unflatten(item, leaves) for item in structure)


def run(program: Any, *arguments: Any) -> Any:
    """The program's result by way of its trace."""
    function, structure = trace_program(program, arguments)
    verify(function)
    return _unflatten(structure, list(interpret(function, *arguments)))


def check(program: Any, *arguments: Any, tolerance: float = 0.0) -> None:
    """Compare trace and NumPy. ``tolerance`` is in units of the result dtype's epsilon, relative to the largest value."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected: Any = program(*arguments)
            problem = None
        except Exception as error:
            expected, problem = None, error
        if problem is None:
            compare(run(program, *arguments), expected, tolerance)
            return
        try:
            found = run(program, *arguments)
        except UserError as error:
            raised: Exception = error
        except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError) as error:
            raised = error
        else:
            raise AssertionError(f"expected {problem!r}, got {found!r}")
        matched = next(kind for kind in type(problem).__mro__ if kind.__module__ in ("builtins", "numpy.exceptions"))
        assert isinstance(raised, matched), f"expected {problem!r}, got {raised!r}"
        assert str(raised) == str(problem), f"expected {problem!s}, got {raised!s}"


def compare(found: Any, expected: Any, tolerance: float) -> None:
    """Assert equal classes, dtypes, shapes and values."""
    if isinstance(expected, tuple | list):
        assert isinstance(found, tuple | list), f"expected {type(expected)}, got {type(found)}"
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compare(one, other, tolerance)
        return
    assert type(found) is type(expected), f"expected {expected!r}, got {found!r}"
    if not isinstance(expected, np.ndarray | np.generic):
        assert found == expected or (found != found and expected != expected)
        return
    assert found.dtype == expected.dtype, f"expected {expected.dtype}, got {found.dtype}"
    assert found.shape == expected.shape, f"expected {expected.shape}, got {found.shape}"
    if tolerance and expected.dtype.kind in "fcV" and expected.size:
        real = np.zeros(1, expected.dtype).real.dtype
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        precise = expected.astype(wide)
        finite = np.abs(precise[np.isfinite(precise)])
        scale = float(finite.max(initial=0.0)) or 1.0
        np.testing.assert_allclose(
            found.astype(wide), precise, rtol=0, atol=tolerance * float(ml_dtypes.finfo(real).eps) * scale
        )
        return
    np.testing.assert_array_equal(found, expected)
    if expected.dtype.kind == "f":
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


def sample(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    """Numbers of every kind that a dtype has: both signs, zero, and for floats a few that are special."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        low = -20 if dtype.kind == "i" else 0
        return random.integers(low, 20, shape).astype(dtype)
    numbers = random.normal(size=shape) * 3
    if dtype.kind == "c":
        return (numbers + 1j * random.normal(size=shape)).astype(dtype)
    return numbers.astype(dtype)
