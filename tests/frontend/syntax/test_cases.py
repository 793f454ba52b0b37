"""Rewritten functions do what the functions do as they were written."""

from __future__ import annotations

import copy
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from jitflow.frontend.syntax import rewritten, why_not
from tests.frontend.syntax import cases, reference, strict
from tests.frontend.syntax.cases import CASES, Base, Derived
from tests.frontend.syntax.rebuilt import outcome, rebuilt

NAMES = [function.__name__ for function, _ in CASES]


@pytest.mark.parametrize("hooks", [reference, strict], ids=["reference", "strict"])
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=NAMES)
def test_it_does_the_same(function: Any, arguments: tuple[tuple[Any, ...], ...], hooks: ModuleType) -> None:
    original = getattr(function, "__wrapped__", function)
    again = rebuilt(original, hooks)
    for given in arguments:
        expected = outcome(original, *copy.deepcopy(given), file=cases.__file__)
        found = outcome(again, *copy.deepcopy(given), file=cases.__file__)
        if hooks is strict:  # handlers that are attempted run behind the `try`: what they raise has no context
            found, expected = (replace(one, caused=()) for one in (found, expected))
        assert repr(found) == repr(expected), given


def test_every_case_is_rewritten() -> None:
    functions = [getattr(function, "__wrapped__", function) for function, _ in CASES]
    assert [function.__name__ for function in functions if rewritten(function) is None] == []


def test_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    def results() -> list[Any]:
        return [
            outcome(call, file=cases.__file__)
            for value in (1, 0, -2, 12)
            for call in (
                lambda: Derived(value).get(2),
                lambda: Derived(value).get(0),
                lambda: Derived(value).get(-1),
                lambda: Base(value).get(1),
                lambda: Base(value).secret(),
                lambda: Base(value).secret(False),
                lambda: Base(value).positive,
                lambda: vars(Derived.make(value)) if value else Derived.make(value),
                lambda: Base.check(value),
            )
        ]

    expected = results()
    for owner in (Base, Derived):
        for name, member in list(vars(owner).items()):
            match member:
                case property():
                    changed: Any = property(rebuilt(member.fget))
                case classmethod() | staticmethod():
                    changed = type(member)(rebuilt(member.__func__))
                case _ if callable(member) and rewritten(member) is not None:
                    changed = rebuilt(member)
                case _:
                    continue
            monkeypatch.setattr(owner, name, changed)
    assert repr(results()) == repr(expected)


def test_what_is_left_alone() -> None:
    def generates(n: int) -> Any:
        while n:
            n -= 1
            yield n

    async def waits(n: int) -> Any:
        return n and 1

    def looks_at_names(n: int) -> Any:
        return n and locals()

    def jumps_out_of_finally(n: int) -> Any:
        for i in range(n):
            try:
                pass
            finally:
                if i:
                    break  # noqa: B012

    def takes_a_name(then__1: int) -> Any:
        return then__1 and 1

    def straight(n: int) -> Any:
        return n + 1

    def nothing_to_rewrite(n: int) -> Any:
        return {0: n + 1, n: 2}

    reasons = {
        generates: "it is a generator or asynchronous",
        waits: "it is a generator or asynchronous",
        looks_at_names: "it calls locals()",
        jumps_out_of_finally: "it jumps out of a finally block",
        takes_a_name: "its name 'then__1' is taken",
        straight: "",
        nothing_to_rewrite: "",
    }
    for function, reason in reasons.items():
        assert rewritten(function) is None  # type: ignore[arg-type]
        assert why_not(function) == reason  # type: ignore[arg-type]


def test_the_results_are_kept() -> None:
    def decides(n: int) -> Any:
        return n or 1

    first = rewritten(decides)  # type: ignore[arg-type]
    assert first is not None
    assert rewritten(decides) is first  # type: ignore[arg-type]
