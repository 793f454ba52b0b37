"""From events to a file: its name says what it becomes."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jitflow.errors import UserImportError, UserTypeError, UserValueError
from jitflow.timeline.drawing import draw
from jitflow.timeline.events import Event
from jitflow.timeline.svg import svg_text
from jitflow.timeline.trace import Arrow, trace_text

__all__ = ["check_path", "save"]

_FORMATS = (".json", ".svg", ".png")


def check_path(path: str | os.PathLike[str]) -> Path:
    """The path of a file that can be saved, which is found out before the work that it is for.

    Raises TypeError for what is no path, ValueError for a format that there is not, FileNotFoundError for a folder that
    there is not, and ImportError for a format whose library is missing.
    """
    if not isinstance(path, str | os.PathLike):
        raise UserTypeError(f"expected a path for the trace, got {path!r}")
    path = Path(path)
    if path.suffix not in _FORMATS:
        raise UserValueError(
            f"expected a file whose name ends in {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}, got {path.name!r}"
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(f"no such folder: {path.parent}")
    if path.suffix == ".png" and importlib.util.find_spec("matplotlib") is None:
        raise UserImportError(
            "PNG pictures need matplotlib, which is not installed", mend="pip install 'jitflow[plot]', or save as .svg"
        )
    return path


def save(
    path: str | os.PathLike[str], title: str, events: Sequence[Event], *, devices: Sequence[str] = (),
    arrows: Sequence[Arrow] = (), facts: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Write events as a trace (.json) or as a picture (.svg, .png). Raises what `check_path` raises.

    ``devices`` have a row even if they do nothing; ``arrows`` and ``facts`` are for the trace alone.
    """
    path = check_path(path)
    if path.suffix == ".json":
        path.write_text(trace_text(events, arrows, facts or {}))
    elif path.suffix == ".svg":
        path.write_text(svg_text(draw(title, events, devices)))
    else:
        from jitflow.timeline.png import write_png

        write_png(draw(title, events, devices), path)
