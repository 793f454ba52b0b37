"""The same picture as `svg` draws, as PNG; this is what matplotlib is for."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from jitflow.errors import UserImportError
from jitflow.graph.colours import SENT, colours_of, legend_of
from jitflow.graph.layout import Picture, lay_out
from jitflow.graph.model import Cluster, Graph, Node

__all__ = ["png_bytes"]

_INK, _PALE = "#1f2630", "#5b6573"
_LINES: dict[str, dict[str, Any]] = {
    "data": {"edgecolor": _PALE, "linewidth": 1.2},
    "sent": {"edgecolor": SENT, "linewidth": 2.2},
    "control": {"edgecolor": "#c2571a", "linewidth": 1.2, "linestyle": (0, (4, 3))},
}
_LEGEND = 34.0
_UNITS, _SHARPNESS, _MOST = 72, 144, 30_000
"""Units of the layout in an inch, as those of fonts; pixels in an inch; and the most pixels of a side."""


def png_bytes(graph: Graph) -> bytes:
    """The graph as a PNG picture. Raises ImportError's kin, saying what to install, where a library is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UserImportError(
            "PNG pictures need matplotlib, which is not installed", mend="pip install 'jitflow[plot]', or draw as svg"
        )
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = lay_out(graph)
    root = picture.boxes[graph.root]
    meanings = list(legend_of(graph).items())
    width = max(root.width, 50 + sum(36 + 6.2 * len(meaning) for meaning, _ in meanings))
    height = root.height + _LEGEND
    figure = Figure(figsize=(width / _UNITS, height / _UNITS), dpi=min(_SHARPNESS, _MOST * _UNITS / max(width, height)))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, width), ylim=(height, 0))
    for place, style in _boxes(graph, picture):
        axes.add_patch(_rounded(*place, **style))
    for kind, edges in (("data", set(graph.data) - set(graph.sent)), ("sent", graph.sent), ("control", graph.control)):
        for edge in edges:
            axes.add_patch(_arrow(edge, kind, picture))
    for cluster in _clusters(graph.root):
        box = picture.boxes[cluster]
        axes.text(box.x + 12, box.y + 18, cluster.title, color=_PALE, size=11, weight="bold", family="monospace")
    for node in graph.root.nodes():
        box = picture.boxes[node]
        lines = [line for line in (node.title, node.type) if line]
        for number, line in enumerate(lines):
            y = box.y + box.height / 2 + 15 * number - 7.5 * (len(lines) - 1)
            style = {"color": _PALE, "size": 10} if number else {"color": _INK, "size": 11}
            axes.text(box.x + box.width / 2, y, line, ha="center", va="center", family="monospace", **style)
    x, y = 14.0, root.height + 8
    for meaning, (fill, border) in meanings:
        axes.add_patch(_rounded(x, y, 12, 12, radius=3, facecolor=fill, edgecolor=border))
        axes.text(x + 17, y + 6, meaning, va="center", size=10, color=_PALE, family="monospace")
        x += 36 + 6.2 * len(meaning)
    file = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(file, format="png")
    return file.getvalue()


def _clusters(cluster: Cluster) -> Iterator[Cluster]:
    yield cluster
    for item in cluster.items:
        if isinstance(item, Cluster):
            yield from _clusters(item)


def _boxes(graph: Graph, picture: Picture) -> Iterator[tuple[tuple[float, ...], dict[str, Any]]]:
    """Rectangles from below to above: of clusters, then of nodes."""
    for cluster in _clusters(graph.root):
        if cluster is not graph.root:
            box = picture.boxes[cluster]
            style = {"radius": 10, "facecolor": "#10243e0a", "edgecolor": "#c9ced6"}
            yield (box.x, box.y, box.width, box.height), style
    for node in graph.root.nodes():
        box, (fill, border) = picture.boxes[node], colours_of(node, graph)
        yield (box.x, box.y, box.width, box.height), {"radius": 6, "facecolor": fill, "edgecolor": border, "zorder": 3}


def _rounded(x: float, y: float, width: float, height: float, *, radius: float, **style: Any) -> Any:
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch((x, y), width, height, boxstyle=f"round,pad=0,rounding_size={radius}", **style)


def _arrow(edge: tuple[Node, Node], kind: str, picture: Picture) -> Any:
    """A curve that leaves a box downwards and arrives at the other from above."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    source, target = (picture.boxes[node] for node in edge)
    points = [
        (source.x + source.width / 2, source.y + source.height),
        *picture.way(edge),
        (target.x + target.width / 2, target.y),
    ]
    places, codes = [points[0]], [Path.MOVETO]
    for (x, y), (next_x, next_y) in pairwise(points):
        middle = (y + next_y) / 2
        places += [(x, middle), (next_x, middle), (next_x, next_y)]
        codes += [Path.CURVE4] * 3
    style = _LINES[kind]
    return FancyArrowPatch(
        path=Path(places, codes), arrowstyle="-|>", mutation_scale=8, facecolor=style["edgecolor"], fill=True, **style
    )
