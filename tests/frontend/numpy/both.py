"""`check` of a program in the interpreter and compiled: for functions that native code asks Python for."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

import jitflow
from tests.compare import EXACT, Tolerance, assert_same
from tests.frontend.numpy.oracle import Program, check, compare_errors, outcome

__all__ = ["check_both", "check_compiled"]


def check_both(program: Program, *arguments: Any, tolerance: Tolerance = EXACT, message: bool = True) -> None:
    """Compare trace, compiled code and NumPy on these arguments."""
    check(_plain(program), *arguments, tolerance=tolerance, message=message)
    check_compiled(program, *arguments, tolerance=tolerance, message=message)


def check_compiled(
    program: Program, *arguments: Any, tolerance: Tolerance = EXACT, message: bool = True, calls: int = 2
) -> None:
    """Compare compiled code and NumPy; calls that fail, and results that are dropped, must leave no memory behind.

    A program that is a compiled function already keeps its code for the next arguments.
    """
    compiled = jitflow.function(program)
    expected = outcome(lambda: _plain(program)(*_copies(arguments)))
    in_use = -1
    for _ in range(calls):
        found = outcome(lambda: compiled(*_copies(arguments)))
        if isinstance(expected, Exception):
            compare_errors(found, expected, message)
        else:
            assert not isinstance(found, Exception), f"expected {expected!r}, got {found!r}"
            assert_same(found, expected, tolerance)
        del found
        gc.collect()
        now = jitflow.memory_stats()["bytes_in_use"]
        assert in_use in (-1, now), "memory was left behind"
        in_use = now


def _plain(program: Program) -> Program:
    return getattr(program, "__wrapped__", program)


def _copies(arguments: tuple[Any, ...]) -> list[Any]:
    return [argument if not isinstance(argument, np.ndarray) else argument[...] for argument in arguments]
