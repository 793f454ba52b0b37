"""A hundred functions as a textbook has them, decorated one by one: their doctests pass as they did, or are refused.

The functions are in `tests/textbook/`. A function is decorated where it stands, so one that calls itself calls what is
decorated, and its helpers stay as they are. What is refused is an error of jitflow's own; anything else that a doctest
does not expect is a wrong answer.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Iterator
from types import FunctionType

import pytest

import jitflow

ROOMS = ("integers", "analysis", "sorting", "searching", "graphs", "dynamic", "physics", "matrices", "text")

REFUSED = frozenset(
    """
    longest_increasing_subsequence taylor_sine
    """.split()
)
"""What cannot be compiled: text of lists, integers beyond 64 bits."""


def functions() -> Iterator[FunctionType]:
    """Every function of the textbook."""
    for room in ROOMS:
        module = importlib.import_module(f"tests.textbook.{room}")
        yield from (
            found
            for found in vars(module).values()
            if inspect.isfunction(found) and found.__module__ == module.__name__
        )


class _Examples(doctest.DocTestRunner):
    """Runs the examples of a doctest up to the first that is not as expected, and keeps what was wrong with it."""

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=doctest.FAIL_FAST)
        self.wrong: list[str] = []
        self.refused: list[str] = []

    def report_failure(self, out, test, example, got) -> None:
        self.wrong.append(f"{example.source.strip()}: expected {example.want.strip()}, got {got.strip()}")

    def report_unexpected_exception(self, out, test, example, exc_info) -> None:
        told = f"{example.source.strip()}: {exc_info[0].__name__}: {exc_info[1]}"
        is_refusal = isinstance(exc_info[1], jitflow.errors.JitflowError)
        (self.refused if is_refusal else self.wrong).append(told)


def examples_of(function: FunctionType) -> _Examples:
    """What becomes of the doctest of a function when it is decorated."""
    names = function.__globals__
    names[function.__name__] = jitflow.function(function)
    try:
        runner = _Examples()
        for test in doctest.DocTestFinder(recurse=False).find(function, globs=dict(names)):
            runner.run(test, out=lambda text: None)
    finally:
        names[function.__name__] = function
    return runner


@pytest.mark.parametrize("function", [pytest.param(each, id=each.__name__) for each in functions()])
def test_the_doctest_passes_as_undecorated(function: FunctionType) -> None:
    found = examples_of(function)
    assert not found.wrong
    assert bool(found.refused) == (function.__name__ in REFUSED), found.refused
