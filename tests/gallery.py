"""The programs of `examples/programs/`, as tests use them: compiled, or as plain Python."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import jitflow

__all__ = ["FOLDER", "PROGRAMS", "compiled", "example", "plain", "plain_module"]

FOLDER = Path(__file__).parents[1] / "examples" / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))


def compiled(name: str) -> Any:
    """The compiled function of a program, which is called as the program is."""
    return getattr(_load(name), name)


def plain(name: str) -> Any:
    """The same function as Python runs it."""
    return getattr(plain_module(name), name)


@cache
def plain_module(name: str) -> ModuleType:
    """The whole program without the decorator."""
    with patch.object(jitflow, "function", lambda fn: fn):
        return _load.__wrapped__(name)


def example(name: str, size: str = "small", seed: int = 0) -> tuple[Any, ...]:
    """Fresh arguments of a program."""
    arguments: tuple[Any, ...] = plain_module(name).example(size, seed)
    return arguments


@cache
def _load(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(f"program_{name}", FOLDER / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
