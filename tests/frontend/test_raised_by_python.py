"""Exceptions of Python and NumPy come out of compiled code as they are, with the frames of all helpers and no others.

What they are, and the chain of frames, stands in ``messages/raised_by_python.txt``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.frontend import raised_by_python
from tests.frontend.catalogue import check, told_twice

GOLDEN = Path(__file__).parent / "messages" / "raised_by_python.txt"
FILE = raised_by_python.__file__


def test_they_are_python_s_own_with_all_frames(request: pytest.FixtureRequest) -> None:
    texts = [f"{program.__name__}\n{told_twice(program, args, FILE)}" for program, args in raised_by_python.CASES]
    check(GOLDEN, "\n".join(texts), request)


def test_what_is_no_exception_of_the_usual_kind() -> None:
    compiled = jitflow.function(raised_by_python.exits)
    for _ in range(2):
        with pytest.raises(SystemExit) as caught:
            compiled(5)
        assert caught.value.args == ("enough",)


def outcome(program: Any, *args: Any) -> Any:
    try:
        return program(*args)
    except Exception as error:
        lines = [entry.lineno for entry in _entries(error) if entry.filename == __file__]
        return type(error), error.args, repr(error.__cause__), lines[1:]


def _entries(error: BaseException) -> Any:
    import traceback

    return traceback.extract_tb(error.__traceback__)


class Own(Exception):
    def __init__(self, code, text=""):
        super().__init__(code, text)
        self.code = code


class Plain(Exception):
    pass


def asks_what_was_raised(n):
    try:
        if n == 1:
            raise Own(n, "one")
        if n == 2:
            raise Plain("two", n)
        if n == 3:
            raise ValueError(f"{n} is {n / 2:.2f}")
        if n == 4:
            raise ValueError("four")
        return 12 // n
    except (Own, Plain) as error:
        return error.args[0] if isinstance(error, Plain) else error.code
    except ValueError as error:
        print(error, f"{error!s:>9}", len(error.args))
        return -1
    except ZeroDivisionError as error:
        return str(error), type(error).__name__


def raises_again(n):
    try:
        if n > 2:
            raise KeyError("k")
        if n > 1:
            raise Own(n)
        return 10 // n
    except (KeyError, ZeroDivisionError):
        raise
    except Own as error:
        raise RuntimeError(f"of {error.code}") from error


def catches_inside(x, n):
    total = 0
    for k in range(n):
        try:
            try:
                total += 10 // x[k]
            except IndexError as error:
                raise ArithmeticError(str(error)) from None
            finally:
                total += 1
        except ArithmeticError as error:
            total += len(error.args)
            print(error)
    return total


def test_handlers_that_ask_for_the_exception(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = [(n,) for n in (0, 1, 2, 3, 4, 6)]
    calls = [(asks_what_was_raised, numbers), (raises_again, numbers),
             (catches_inside, [(np.array([2, 1, 3]), n) for n in (2, 5)])]  # fmt: skip
    for program, arguments in calls:
        compiled = jitflow.function(program)
        for args in arguments:
            expected, printed = outcome(program, *args), capsys.readouterr().out
            for _ in range(2):
                assert outcome(compiled, *args) == expected
                assert capsys.readouterr().out == printed


class Named:
    is_named = False


NAMED = Named()


def names_what_there_is_not(x: Any, n: Any) -> Any:
    if NAMED.is_named:
        return NAMED.name
    if n == 1:
        return x.names
    if n == 2:
        return undefined_name  # type: ignore[name-defined]  # noqa: F821
    if n == 3:
        return x.sum(axis=3)
    if n == 4:
        return None.name if n else x  # type: ignore[attr-defined]
    return n and x.names


def asks_none_for_methods(x: Any, n: Any) -> Any:
    found = None
    try:
        found = found.get(n) if n < 3 else x  # type: ignore[attr-defined]
    except AttributeError:
        found = x + n
    if n > 4:
        None.copy()  # type: ignore[attr-defined]
    return found


def takes_items_of_a_set(x: Any, n: Any) -> Any:
    keys = {1, 2}
    return keys[n] if n else x  # type: ignore[index]


@pytest.mark.parametrize("program", [names_what_there_is_not, asks_none_for_methods, takes_items_of_a_set])
def test_mistakes_on_a_path_are_raised_where_the_program_comes_to_them(program: Any) -> None:
    compiled, x = jitflow.function(program), np.arange(3.0)
    for n in (0, 1, 2, 3, 4, 5):
        assert repr(outcome(compiled, x, n)) == repr(outcome(program, x, n))


def comes_from_what_was_caught(n):
    try:
        return 12 // (n - n)
    except ZeroDivisionError as error:
        raise Own(n, "of") from error


def is_asked_what_it_comes_from(n):
    try:
        try:
            if n > 2:
                raise ValueError(f"{n} is too much", n) from KeyError(n)
            return 12 // n
        except ZeroDivisionError as error:
            raise ValueError("none") from error
        finally:
            n += 1
    except ValueError as error:
        return f"{error!r}", repr(error.__cause__), repr(error.__context__), error.__suppress_context__


def is_raised_again_with_it(n):
    try:
        try:
            raise Own(n) from IndexError("far")
        except Own:
            raise
    except Own as error:
        raise RuntimeError(error.code) from error.__cause__


def chain(error):
    return [] if error is None else [(type(error), error.args, error.__suppress_context__), chain(error.__cause__),
                                     chain(error.__context__)]  # fmt: skip


def test_what_exceptions_come_from() -> None:
    for program in (comes_from_what_was_caught, is_asked_what_it_comes_from, is_raised_again_with_it):
        compiled = jitflow.function(program)
        for n in (0, 1, 3):
            found = []
            for one in (program, compiled, compiled):
                try:
                    found.append(one(n))
                except Exception as error:
                    found.append(chain(error))
            assert found[1] == found[2] == found[0]
