"""From a function to its graph in one of the formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jitflow.graph.dot import dot_text
from jitflow.graph.model import Graph, graph_of
from jitflow.graph.png import png_bytes
from jitflow.graph.svg import svg_text
from jitflow.graph.text import plain_text
from jitflow.ir.core import Function

__all__ = ["FORMATS", "draw"]

_WRITERS: Mapping[str, Callable[[Graph], str | bytes]] = {
    "text": plain_text, "dot": dot_text, "svg": svg_text, "png": png_bytes,
}  # fmt: skip
FORMATS = tuple(_WRITERS)


def draw(function: Function, format: str, *, is_placed: bool = False) -> str | bytes:
    """The graph of a function as text, or as bytes of a PNG picture; of one that is placed coloured by device.

    Raises ValueError for a format that there is not.
    """
    if format not in _WRITERS:
        raise ValueError(f"expected a format (one of {', '.join(FORMATS)}), got {format!r}")
    return _WRITERS[format](graph_of(function, is_placed=is_placed))
