"""Compares what a traced program computes in the reference interpreter with what plain NumPy computes.

`check(program, *arguments)` runs ``program`` on the arguments with NumPy, traces it with symbolic sizes (an axis of
size 1 is known to be 1, as in a specialisation), interprets the trace, and compares the results, or the class and
message of the exception. What "equal" means is said in `tests.compare`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from jitflow.errors import UserError
from jitflow.frontend import tracers
from jitflow.frontend.recording.trace import Trace, recording
from jitflow.ir.core import Function
from jitflow.ir.dims import evaluate
from jitflow.ir.dtypes import BOOL, C128, F64, I64, dtype_of
from jitflow.ir.interpreter import interpret
from jitflow.ir.types import Scalar, Tensor, Type
from jitflow.ir.verifier import verify
from tests.compare import ELEMENTARY, Tolerance, assert_same, tolerance_of
from tests.frontend.interpreted import interpreted

Program = Callable[..., Any]

PYTHON = {bool: BOOL, int: I64, float: F64, complex: C128}
KINDS = ("?", "i1", "u1", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16")


def check(program: Program, *arguments: Any, tolerance: Tolerance | None = None, message: bool = True) -> None:
    """Compare trace and NumPy on these arguments. ``message=False`` compares only the class of an exception."""
    expected = outcome(lambda: program(*arguments))
    traces: list[Function] = []
    found = outcome(lambda: run(program, arguments, traces))
    if isinstance(expected, Exception):
        compare_errors(found, expected, message)
        return
    if isinstance(found, Exception):
        raise AssertionError(f"expected {expected!r}, got {found!r}") from found
    assert_same(found, expected, tolerance or tolerance_of(traces[0]))


def check_sizes(
    program: Program, make: Callable[[int], tuple[Any, ...]], sizes: tuple[int, ...] = (5, 0, 1, 2, 3, 8)
) -> None:
    """`check` for arguments of several sizes, and the first trace with all sizes that its facts allow."""
    for size in sizes:
        check(program, *make(size))
    first, restore = trace_program(program, make(sizes[0]))
    for size in sizes:
        arguments = make(size)
        if not _allowed(first, arguments):
            continue
        expected = outcome(lambda arguments=arguments: program(*arguments))
        found = outcome(lambda arguments=arguments: restore(list(interpret(first, *arguments))))
        if isinstance(expected, Exception):
            compare_errors(found, expected, True)
        else:
            assert not isinstance(found, Exception), f"size {size}: expected {expected!r}, got {found!r}"
            assert_same(found, expected, tolerance_of(first), f"size {size} of the trace for {sizes[0]}")


def check_function(function: Program, *arguments: Any) -> None:
    """`check` of a whole function, whose globals are read and replaced as the frontend does it."""
    expected, found = outcome(lambda: function(*arguments)), outcome(lambda: interpreted(function)(*arguments))
    if isinstance(expected, Exception):
        compare_errors(found, expected, True)
        return
    assert not isinstance(found, Exception), f"expected {expected!r}, got {found!r}"
    assert_same(found, expected, ELEMENTARY)


def run(program: Program, arguments: tuple[Any, ...], traces: list[Function] | None = None) -> Any:
    """The program's result by way of its trace."""
    function, restore = trace_program(program, arguments)
    if traces is not None:
        traces.append(function)
    verify(function)
    return restore(list(interpret(function, *arguments)))


def trace_program(program: Program, arguments: tuple[Any, ...]) -> tuple[Function, Callable[[list[Any]], Any]]:
    """The traced function, and what puts its results into the structure that the program returned."""
    trace = Trace("program")
    leaves: list[Any] = []
    with recording(trace):
        given = [_parameter(trace, argument, f"x{place}") for place, argument in enumerate(arguments)]
        structure = _flattened(program(*given), leaves)
        yielded = [tracers.lift(leaf) for leaf in leaves]
    region = trace.root.close(trace.parameters, yielded)
    return Function("program", region, trace.facts), lambda results: _restored(structure, results)


def sample(dtype: Any, *shape: int, seed: int = 0) -> Any:
    """Numbers of a dtype of both signs, zeros among integers."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return random.integers(-20 if dtype.kind == "i" else 0, 20, shape).astype(dtype)
    numbers = random.normal(size=shape) * 3
    return (numbers + 1j * random.normal(size=shape)).astype(dtype) if dtype.kind == "c" else numbers.astype(dtype)


def special(dtype: Any) -> Any:
    """Floats that are special: signed zeros, infinities, nan, subnormal and huge ones, halves."""
    limits = np.finfo(dtype)
    numbers = [0.0, np.inf, np.nan, limits.smallest_subnormal, limits.smallest_normal, limits.max, 0.5, 1.0, 1.5, 2.5]
    return np.array([*numbers, *(-number for number in numbers)], dtype)


def outcome(compute: Callable[[], Any]) -> Any:
    """The result, or the exception."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compute()
        except (UserError, TypeError, ValueError, IndexError, ArithmeticError, RuntimeError) as error:
            return error


def compare_errors(found: Any, expected: Exception, message: bool) -> None:
    assert isinstance(found, Exception), f"expected {expected!r}, got {found!r}"
    public = next(kind for kind in type(expected).__mro__ if kind.__module__ in ("builtins", "numpy.exceptions"))
    assert isinstance(found, public), f"expected {expected!r}, got {found!r}"
    if message:
        assert str(found) == str(expected), f"expected {expected!s}, got {found!s}"


def _allowed(function: Function, arguments: tuple[Any, ...]) -> bool:
    sizes: dict[str, int] = {}
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        for dim, size in zip(getattr(parameter.type, "dims", ()), np.shape(argument), strict=True):
            if (dim == 1) != (size == 1):
                return False
            if dim != 1:
                sizes[str(dim)] = size
    holds = {"==": int.__eq__, "!=": int.__ne__, ">=": int.__ge__, "<": int.__lt__}
    return all(holds[fact.relation](evaluate(fact.left, sizes), evaluate(fact.right, sizes)) for fact in function.facts)


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


def _flattened(result: Any, leaves: list[Any]) -> Any:
    if isinstance(result, tracers.Tracer | np.ndarray | np.generic):
        leaves.append(result)
        return None
    if isinstance(result, tuple | list):
        return _like(result, [_flattened(item, leaves) for item in result])
    return {"static": result}


def _restored(structure: Any, leaves: list[Any]) -> Any:
    if structure is None:
        return leaves.pop(0)
    if isinstance(structure, dict):
        return structure["static"]
    return _like(structure, [_restored(item, leaves) for item in structure])


def _like(container: Any, items: list[Any]) -> Any:
    kind = type(container)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)
