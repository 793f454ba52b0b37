"""Whether a small program does the same compiled: results, arguments afterwards, the class and message of errors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import jitflow
from tests.compare import EXACT, Tolerance, assert_all_same, assert_same
from tests.truth.quiet import quiet

__all__ = ["assert_does_what_python_does"]


def assert_does_what_python_does(
    program: Callable[..., Any], calls: Sequence[tuple[Any, ...]], tolerance: Tolerance = EXACT
) -> None:
    """Call a program plain and compiled, with arguments that are the same in both."""
    compiled = jitflow.function(program)
    for arguments in calls:
        ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
        found, expected = _outcome(compiled, ours), _outcome(program, theirs)
        assert str(found[1]).splitlines()[:1] == str(expected[1]).splitlines()[:1]
        if expected[1] is not None:
            kind = type(expected[1])
            assert isinstance(found[1], NameError if kind is UnboundLocalError else kind)
        assert_same(found[0], expected[0], tolerance)
        assert_all_same(ours, theirs, tolerance)


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, BaseException | None]:
    with quiet():
        try:
            return function(*arguments), None
        except Exception as error:
            return None, error
