"""Programs that are loaded twice, as two processes would: from one file, with objects of their own each time.

What a process keeps of code, it keeps by the identities of its objects. A module that is executed again has others, so
code that it finds can only have come from the disk.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jitflow.cache.store import Store, store
from jitflow.config import CONFIG

__all__ = ["disk", "load", "outcome", "switched"]


@contextmanager
def switched(folder: Path) -> Iterator[Store]:
    """A cache in a folder of its own, as a process has that begins now."""
    before = {name: getattr(CONFIG, name) for name in ("cache", "cache_dir", "verify", "dump")}
    _switch(cache=True, cache_dir=str(folder), verify=False, dump=0)
    store.cache_clear()
    try:
        yield store()
    finally:
        _switch(**before)
        store.cache_clear()


def _switch(**switches: Any) -> None:
    for name, value in switches.items():
        object.__setattr__(CONFIG, name, value)


def load(path: Path, text: str) -> ModuleType:
    """The module of a file with this text, executed anew."""
    path.write_text(text)
    linecache.cache.pop(str(path), None)
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def outcome(function: Any, *args: Any) -> Any:
    """What a call returns, or what it raises: the class, the message, and the lines of the program."""
    try:
        return function(*args)
    except Exception as error:
        lines = []
        traceback = error.__traceback__
        while traceback is not None:
            lines.append((Path(traceback.tb_frame.f_code.co_filename).name, traceback.tb_lineno))
            traceback = traceback.tb_next
        return (type(error).__name__, str(error), [line for line in lines if line[0].startswith("program_")])


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Store]:
    """A cache of the test's own."""
    with switched(tmp_path / "cache") as found:
        yield found
