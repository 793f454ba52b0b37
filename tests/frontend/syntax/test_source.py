"""The source of a function is used if it is the source of the code that runs, and only then."""

from __future__ import annotations

import doctest
import importlib.util
import linecache
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from jitflow.frontend.syntax import rewritten, why_not
from tests.frontend.syntax.rebuilt import defined, rebuilt

PROGRAM = """
import functools


def decides(x):
    return x or 1


def other(x):
    return x or 2
"""


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def edited(path: Path, text: str) -> None:
    """Write the file, with another time stamp than before."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_a_file(file: Path) -> None:
    module = loaded(file)
    assert rebuilt(module.decides)(0) == 1
    assert rebuilt(module.other)(0) == 2


def test_an_edited_function_is_not_rewritten(file: Path) -> None:
    module = loaded(file)
    edited(file, PROGRAM.replace("x or 1", "x or 3"))
    assert rewritten(module.decides) is None
    assert "is not what was compiled: it was edited" in why_not(module.decides)
    assert rebuilt(module.other)(0) == 2


def test_what_was_rewritten_before_an_edit_stays(file: Path) -> None:
    module = loaded(file)
    first = rewritten(module.decides)
    assert first is not None
    edited(file, PROGRAM.replace("x or 1", "x or 3"))
    assert rewritten(module.decides) is first
    assert rebuilt(loaded(file).decides)(0) == 3


def test_a_function_that_moved_is_not_rewritten(file: Path) -> None:
    module = loaded(file)
    edited(file, "\n" + PROGRAM)
    assert rewritten(module.decides) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x or 1", "x or 1.0"),
        ("x or 1", "x or True"),
        ("x or 0.0", "x or -0.0"),
        ("x or (1, 2)", "x or (1, 2.0)"),
        ("x or float", "x or int"),
        ("x and x.a", "x and x.b"),
        ("x or (lambda y: 1)", "x or (lambda y: 2)"),
        ("x in {1, 2}", "x in {1, 3}"),
        ("x or b'a'", "x or 'a'"),
    ],
)
def test_small_edits_are_seen(file: Path, before: str, after: str) -> None:
    edited(file, PROGRAM.replace("x or 1", before))
    module = loaded(file)
    edited(file, PROGRAM.replace("x or 1", after))
    assert rewritten(module.decides) is None


def test_a_file_that_is_gone_or_broken(file: Path) -> None:
    module = loaded(file)
    edited(file, "def decides(x:")
    assert "cannot be parsed" in why_not(module.decides)
    file.unlink()
    linecache.checkcache(str(file))
    assert "cannot be read" in why_not(module.decides)


def test_code_without_a_file() -> None:
    namespace: dict[str, Any] = {}
    exec("def decides(x):\n    return x or 1\n", namespace)
    assert rewritten(namespace["decides"]) is None
    assert why_not(namespace["decides"]) == "the source of <string> cannot be read"


def test_code_whose_text_is_in_the_cache_of_lines() -> None:
    namespace = defined("def decides(x):\n    return x or 1\n", "<cell 1>")
    assert rebuilt(namespace["decides"])(0) == 1


def test_doctests() -> None:
    found: list[Any] = []
    text = """
    >>> def decides(x):
    ...     return x or 1
    >>> found.append((rebuilt(decides)(0), rebuilt(lambda x: not x)(0)))
    """
    test = doctest.DocTestParser().get_doctest(text, {"found": found, "rebuilt": rebuilt}, "example", None, None)
    doctest.DocTestRunner(verbose=False).run(test)
    assert found == [(1, True)]


def test_lambdas_on_one_line() -> None:
    first, second, third = lambda x: x or 1, lambda x: x or 2, lambda x, y=(lambda z: z or 4): y(x)  # fmt: skip
    inner: Callable[[int], int] = third.__defaults__[0]  # type: ignore[index]
    assert [rebuilt(function)(0) for function in (first, second, inner)] == [1, 2, 4]
    same = [lambda x: x or 1, lambda x: x or 1]
    assert [rebuilt(function)(0) for function in same] == [1, 1]
    assert why_not(third) == ""  # type: ignore[arg-type]


def test_functions_of_one_name() -> None:
    made = defined(
        """
def make(flag):
    if flag:
        def f(x): return x or 1
    else:
        def f(x): return x or 2
    return f

def f(x): return x or 3
class A:
    def f(self, x): return x or self.__a
    _A__a = 4
class B(A):
    _B__a = 5
    def f(self, x): return x or self.__a or super().f(x)
""",
        "<several>",
    )
    assert [rebuilt(function)(0) for function in (made["make"](1), made["make"](0), made["f"])] == [1, 2, 3]
    assert [rebuilt(made[name].f)(made["B"](), 0) for name in "AB"] == [4, 5]


def test_closures_keep_their_cells() -> None:
    def make(n: int) -> tuple[Any, Any]:
        def get(x: int) -> int:
            return n if x else -n

        def raise_by(x: int) -> None:
            nonlocal n
            if x > 0:
                n += x

        return get, raise_by

    get, raise_by = make(1)
    rebuilt(raise_by)(4)
    assert (get(1), rebuilt(get)(1), rebuilt(get)(0)) == (5, 5, -5)


def test_decorators_of_several_lines() -> None:
    made = defined(
        """
def keep(*names):
    return lambda function: function

@keep(
    "a",
    "b",
)
@keep()
# a comment

def decides(x, y: "a type" = 3, *, z=len("abc")):
    return x or y or z
""",
        "<decorated>",
    )
    again = rebuilt(made["decides"])
    assert (again(0), again(0, 0), again(0, 0, z=1)) == (3, 3, 1)
    assert again.__code__.co_firstlineno == made["decides"].__code__.co_firstlineno == 5


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is of Python 3.12")
def test_type_parameters() -> None:
    made = defined("def decides[T](x: T, y: T) -> T:\n    type U = T\n    return x or y or U\n", "<generic>")
    assert rebuilt(made["decides"])(0, 2) == 2


def test_future_statements_count() -> None:
    source = "from __future__ import annotations\ndef decides(x):\n    y: no_such_name = x or 1\n    return y\n"
    made = defined(source, "<future>")
    assert rebuilt(made["decides"])(0) == 1


def test_straight_functions_read_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise AssertionError("read")

    monkeypatch.setattr(linecache, "getlines", refuse)
    monkeypatch.setattr(linecache, "checkcache", refuse)
    function: Any = lambda x: (x + 1) * x[2] < 3  # noqa: E731
    assert isinstance(function, FunctionType)
    assert rewritten(function) is None
    assert why_not(function) == ""


def test_methods_of_imported_modules_are_compiled_in_their_way() -> None:
    imports = "import math as m\ntry:\n    import os\nexcept ImportError:\n    pass\n\n"
    made = defined(
        imports + "def decides(x):\n    return m.floor(x) or os.getpid() and math and m.sqrt(4)\n", "<imports>"
    )
    made["math"] = 1
    assert rebuilt(made["decides"])(0) == 2.0
