"""Random programs do the same when they are rewritten: results, exceptions, what they log and in which order."""

from __future__ import annotations

import linecache
import random
import warnings
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitflow.frontend.syntax import nests, rewritten, why_not
from tests.frontend.syntax import reference, strict
from tests.frontend.syntax.programs import program
from tests.frontend.syntax.rebuilt import defined, outcome, rebuilt

MOST_EVENTS = 60


class Log:
    """What a program calls to be noticed. It raises in the end, so that every loop ends."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def __call__(self, *args: Any, manager: bool | None = None) -> Any:
        if len(self.events) > MOST_EVENTS:
            raise TimeoutError
        if manager is not None:
            return Manager(self.events, manager)
        noted = any(isinstance(item, BaseException) for item in args)
        self.events.append("an exception" if noted else repr(args))
        return args[-1] if args else len(self.events)


class Manager:
    def __init__(self, events: list[Any], swallows: bool) -> None:
        self.events, self.swallows = events, swallows

    def __enter__(self) -> int:
        self.events.append("enter")
        return 3

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> bool:
        name = NameError if kind is UnboundLocalError else kind  # Python 3.11 tells them apart in comprehensions only
        self.events.append(("exit", name))
        return self.swallows and kind is not TimeoutError


def check(source: str) -> None:
    """Compare the program as it is with the program rewritten, with plain and with strict hooks."""
    file = "<random program>"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            function = defined(source, file)["f"]
        except SyntaxError:  # such as a name that is used before it is declared nonlocal
            return
        if rewritten(function) is None:
            assert why_not(function) == ""
            return
        again = {hooks: rebuilt(function, hooks) for hooks in (reference, strict)}
    for hooks, other in again.items():
        compare(function, other, file, hooks)
    linecache.cache.pop(file)


def compare(function: Any, again: Any, file: str, hooks: ModuleType) -> None:
    for arguments in ((0, 1), (2, 3)):
        logs = Log(), Log()
        expected = outcome(function, logs[0], *arguments, file=file)
        found = outcome(again, logs[1], *arguments, file=file)
        if expected.error is not None and "free variable" in expected.error[1]:
            continue  # Python 3.11's name for a local in a comprehension
        if hooks is strict:  # handlers that are attempted run behind the `try`: what they raise has no context
            found, expected = (replace(one, caused=()) for one in (found, expected))
        assert repr(found) == repr(expected), (arguments, hooks.__name__)
        assert logs[1].events == logs[0].events, (arguments, hooks.__name__)


@pytest.mark.parametrize("seed", range(24))
def test_programs(seed: int) -> None:
    check(program(random.Random(seed).randrange, shows_locals=bool(seed % 2)))


@pytest.mark.stress
@pytest.mark.parametrize("part", range(60))
def test_more_programs(part: int) -> None:
    for seed in range(24 + 100 * part, 124 + 100 * part):
        check(program(random.Random(seed).randrange, shows_locals=bool(seed % 2)))


@settings(max_examples=60)
@given(st.lists(st.integers(0, 2**16), max_size=400), st.booleans())
def test_drawn_programs(choices: list[int], shows_locals: bool) -> None:
    drawn = iter(choices)
    check(program(lambda limit: next(drawn, 0) % limit, shows_locals=shows_locals))


@pytest.mark.parametrize("seed", range(24))
def test_branches_in_pieces(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nests, "_DEEPEST", 1)
    monkeypatch.setattr(nests, "_PIECE", 1)
    check(program(random.Random(seed).randrange, shows_locals=bool(seed % 2)))
