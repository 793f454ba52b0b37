"""Programs that a test has written, as modules of their own, whose text jitflow can read."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

__all__ = ["module_of"]


def module_of(text: str, path: Path) -> Any:
    """The module of a text, which is written to a file."""
    path.write_text(text)
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
