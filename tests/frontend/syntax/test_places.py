"""Rewritten functions bear the user's names and lines."""

from __future__ import annotations

import traceback
from types import CodeType
from typing import Any

import numpy as np
import pytest

from jitflow.frontend.syntax import CELL, is_block, rewritten
from tests.frontend.interpreted import interpreted
from tests.frontend.syntax.rebuilt import defined, rebuilt

SOURCE = '''
def outer(x, *args, key=1, **more):
    """What it does."""
    for i in range(x):
        if i == 3:
            while True:
                assert i != 3, (
                    "three"
                )
        def inner(y):
            return y and (lambda z: z or
                          y // 0)
        class Thing:
            def method(self): return i
        things = [inner, inner(1), Thing, Thing.method]
    return things

class Owner:
    def method(self):
        return self or [not x for x in ()]
'''


@pytest.fixture
def outer() -> Any:
    return defined(SOURCE, "<places>")["outer"]


def test_the_code_is_that_of_the_function(outer: Any) -> None:
    found = rewritten(outer)
    assert found is not None
    old, new = outer.__code__, found.code
    for name in (
        "co_name",
        "co_qualname",
        "co_filename",
        "co_firstlineno",
        "co_argcount",
        "co_kwonlyargcount",
        "co_flags",
    ):
        assert getattr(new, name) == getattr(old, name), name
    assert new.co_varnames[:4] == old.co_varnames[:4] == ("x", "key", "args", "more")
    assert new.co_freevars == (CELL,)
    assert new.co_consts[0] == "What it does."


def codes(code: CodeType) -> list[CodeType]:
    return [code, *(inner for part in code.co_consts if isinstance(part, CodeType) for inner in codes(part))]


def test_every_code_has_a_name_of_the_users(outer: Any) -> None:
    found = rewritten(outer)
    assert found is not None
    names = {code.co_name for code in codes(outer.__code__)}
    assert {code.co_name for code in codes(found.code)} == names
    mine = {code.co_qualname for code in codes(found.code) if not is_block(code)}
    assert mine == {code.co_qualname for code in codes(outer.__code__)}
    blocks = {code.co_qualname for code in codes(found.code) if is_block(code)}
    assert blocks == {"outer.<block>", "outer.<locals>.inner.<block>", "outer.<locals>.inner.<locals>.<lambda>.<block>"}
    assert {code.co_filename for code in codes(found.code)} == {"<places>"}


def test_names_of_what_it_makes(outer: Any) -> None:
    for made, expected in zip(rebuilt(outer)(1), outer(1), strict=True):
        assert made.__name__ == expected.__name__
        assert made.__qualname__ == expected.__qualname__


def test_a_method_keeps_its_name() -> None:
    method = defined(SOURCE, "<places>")["Owner"].method
    found = rewritten(method)
    assert found is not None
    assert found.code.co_qualname == "Owner.method"


def raised(call: Any, *args: Any) -> list[tuple[str, int]]:
    with pytest.raises(Exception) as caught:
        call(*args)
    frames = traceback.extract_tb(caught.value.__traceback__)
    return [(frame.name, frame.lineno or 0) for frame in frames if frame.filename == "<places>"]


def test_tracebacks_show_the_users_lines(outer: Any) -> None:
    assert raised(outer, 4) == [("outer", 7)]
    # Each block that the error passes shows the line on which it is entered.
    assert raised(rebuilt(outer), 4) == [("outer", 4), ("outer", 5), ("outer", 6), ("outer", 7)]
    inner = rebuilt(outer)(1)[0]
    assert raised(inner(1), 0) == [("<lambda>", 11), ("<lambda>", 12)]
    assert raised(outer(1)[0](1), 0) == [("<lambda>", 12)]


def helper(x: Any, n: Any) -> Any:
    for i in range(n):
        if i > 2:
            x = x.astype(object)
    return x


def calls_helper(x: Any, n: Any) -> Any:
    if n > 1:
        return helper(x, n) and 1
    return x


def test_errors_of_tracing_show_each_function_once() -> None:
    with pytest.raises(TypeError) as caught:
        interpreted(calls_helper)(np.ones((3, 3)), 5)
    places = [(entry.name, entry.lineno + 1) for entry in caught.traceback[-2:]]
    first, outer = helper.__code__.co_firstlineno, calls_helper.__code__.co_firstlineno
    assert places == [("calls_helper", outer + 2), ("helper", first + 3)]
