"""What the user is told of a program: the text of a refusal, or Python's own exception with the program's lines."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError

Program = Callable[..., Any]


def raised(run: Program, arguments: tuple[Any, ...]) -> Exception:
    """The exception that a call ends in."""
    with pytest.raises(Exception) as caught:
        run(*copies(arguments))
    return caught.value


def copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies of the arguments, which may be written to where they may."""
    if all(isinstance(argument, np.ndarray | int | float | dict) for argument in arguments):
        made = copy.deepcopy(arguments)
    else:
        made = arguments
    for new, old in zip(made, arguments, strict=True):
        if isinstance(new, np.ndarray):
            new.flags.writeable = old.flags.writeable
    return made


def told(error: BaseException, file: str) -> str:
    """What an exception says, and where: jitflow's own report, or the lines that the traceback has in a file."""
    if isinstance(error, UserError):
        kind = next(base for base in type(error).__mro__ if base.__module__ in ("builtins", "numpy.linalg"))
        head, rest = f"{type(error).__name__} ({kind.__name__})", error.render()
        return f"{head}\n{rest}\n".replace(f"{Path(file).parent}/", "")
    places = [f"  --> {Path(file).name}:{line}, in {name}\n      {text}\n" for name, line, text in lines(error, file)]
    return "".join(traceback.format_exception_only(error)) + "".join(places)


def lines(error: BaseException, file: str) -> list[tuple[str, int | None, str | None]]:
    """The function, line and text of each frame of a traceback that is in a file."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(frame.name, frame.lineno, frame.line) for frame in frames if frame.filename == file]


def told_twice(program: Program, arguments: tuple[Any, ...], file: str, **options: Any) -> str:
    """What compiled code raises at the first call and at the second, which is the same.

    What is no refusal is the very exception of plain Python, from the same lines.
    """
    compiled = jitflow.function(program, **options)
    texts = []
    for _ in range(2):
        error = raised(compiled, arguments)
        texts.append(told(error, file))
        if not isinstance(error, UserError):
            plain = raised(program, arguments)
            assert (type(error), error.args, str(error)) == (type(plain), plain.args, str(plain))
            assert lines(error, file) == lines(plain, file)
            assert not getattr(error, "__notes__", None)
            assert repr(error.__cause__) == repr(plain.__cause__)
            assert error.__context__ is None or repr(error.__context__) == repr(plain.__context__)
    assert texts[0] == texts[1]
    return texts[0]


def check(path: Path, text: str, request: pytest.FixtureRequest) -> None:
    """Compare with the stored text, or store it."""
    if request.config.getoption("--bless"):
        path.write_text(text)
    assert path.exists(), "no message yet: pytest -n0 --bless tests/frontend"
    assert text == path.read_text(), "if this is right: pytest -n0 --bless tests/frontend"
