"""The programs of `examples/programs/`, as tests use them: compiled, or as plain Python."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

from benchmarks.gallery import FOLDER, PROGRAMS, load

__all__ = ["FOLDER", "PROGRAMS", "compiled", "example", "plain", "plain_module"]


@cache
def compiled(name: str) -> Any:
    """The compiled function of a program, which is called as the program is."""
    return getattr(load(name), name)


@cache
def plain_module(name: str) -> ModuleType:
    """The whole program without the decorator."""
    return load(name, lambda fn: fn)


def plain(name: str) -> Any:
    """The function of a program as Python runs it."""
    return getattr(plain_module(name), name)


def example(name: str, size: str = "small", seed: int = 0) -> tuple[Any, ...]:
    """Fresh arguments of a program."""
    arguments: tuple[Any, ...] = plain_module(name).example(size, seed)
    return arguments
