"""The programs of `examples/programs/`, loaded with a decorator of one's choice in place of `@jitflow.function`.

They are found in a checkout only; a wheel has no examples.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from unittest.mock import patch

import jitflow

__all__ = ["FOLDER", "PROGRAMS", "helpers_of", "load"]

FOLDER = Path(__file__).parents[1] / "examples" / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))


def load(name: str, decorate: Callable[[Any], Any] | None = None) -> ModuleType:
    """A fresh module of a program; its function, of the same name, is decorated by `decorate` if given."""
    specification = importlib.util.spec_from_file_location(f"program_{name}", FOLDER / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    with patch.object(jitflow, "function", decorate or jitflow.function):
        specification.loader.exec_module(module)
    return module


def helpers_of(module: ModuleType) -> dict[str, FunctionType]:
    """The plain functions of a program that its main function may call."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__ and name != "example"
    }
