"""A graph as a picture: boxes, arrows from above to below, dashed ones for control, and what the colours mean."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from xml.sax.saxutils import escape

from jitflow.graph.colours import SENT, colours_of, legend_of
from jitflow.graph.layout import Box, Picture, lay_out
from jitflow.graph.model import Cluster, Graph, Node

__all__ = ["svg_text"]

_STYLE = f"""
  text {{ font: 11px ui-monospace, Menlo, Consolas, monospace; fill: #1f2630 }}
  .type {{ fill: #5b6573; font-size: 10px }}
  .title {{ fill: #5b6573; font-weight: bold; paint-order: stroke; stroke: #f6f6f6; stroke-width: 3px }}
  .data {{ fill: none; stroke: #5b6573; stroke-width: 1.2 }}
  .sent {{ fill: none; stroke: {SENT}; stroke-width: 2.2 }}
  .control {{ fill: none; stroke: #c2571a; stroke-width: 1.2; stroke-dasharray: 4 3 }}
"""
_ARROWS = "".join(
    f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    f'markerUnits="userSpaceOnUse" orient="auto">'
    f'<path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
    for name, colour in (("data", "#5b6573"), ("sent", SENT), ("control", "#c2571a"))
)
_LEGEND = 34.0


def svg_text(graph: Graph) -> str:
    """The graph as an SVG document, which any browser shows; boxes tell their place in the program when pointed at."""
    picture = lay_out(graph)
    box = picture.boxes[graph.root]
    legend, width = _legend(graph, box.height)
    width = max(box.width, width)
    height = box.height + _LEGEND
    sizes = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {sizes}>',
            f"<style>{_STYLE}</style><defs>{_ARROWS}</defs>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *_cluster(graph.root, picture),
            *(_edge(edge, "sent" if edge in graph.sent else "data", picture) for edge in graph.data),
            *(_edge(edge, "control", picture) for edge in graph.control),
            *_titles(graph.root, picture),
            *(_node(node, picture.boxes[node], colours_of(node, graph)) for node in graph.root.nodes()),
            *legend,
            "</svg>\n",
        ]
    )


def _cluster(cluster: Cluster, picture: Picture, depth: int = 0) -> Iterator[str]:
    box = picture.boxes[cluster]
    if depth:
        yield (
            f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="10" '
            f'fill="#10243e" fill-opacity="0.04" stroke="#c9ced6"/>'
        )
    for item in cluster.items:
        if isinstance(item, Cluster):
            yield from _cluster(item, picture, depth + 1)


def _titles(cluster: Cluster, picture: Picture) -> Iterator[str]:
    box = picture.boxes[cluster]
    yield f'<text class="title" x="{box.x + 12:.1f}" y="{box.y + 18:.1f}">{escape(cluster.title)}</text>'
    for item in cluster.items:
        if isinstance(item, Cluster):
            yield from _titles(item, picture)


def _node(node: Node, box: Box, colours: tuple[str, str]) -> str:
    fill, border = colours
    lines = [(line, "type" if position else "") for position, line in enumerate((node.title, node.type)) if line]
    middle, first = box.x + box.width / 2, box.y + box.height / 2 - 7.5 * (len(lines) - 1) + 4
    texts = "".join(
        f'<text class="{style}" x="{middle:.1f}" y="{first + 15 * number:.1f}" text-anchor="middle">'
        f"{escape(line)}</text>"
        for number, (line, style) in enumerate(lines)
    )
    told = " · ".join(part for part in (node.title, node.type, ", ".join(node.devices), node.place) if part)
    return (
        f'<g><title>{escape(told)}</title><rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="6" fill="{fill}" stroke="{border}"/>{texts}</g>'
    )


def _edge(edge: tuple[Node, Node], kind: str, picture: Picture) -> str:
    """A curve that leaves a box downwards and arrives at the other from above."""
    source, target = (picture.boxes[node] for node in edge)
    points = [
        (source.x + source.width / 2, source.y + source.height),
        *picture.way(edge),
        (target.x + target.width / 2, target.y),
    ]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x, y), (next_x, next_y) in pairwise(points):
        if abs(x - next_x) < 0.5:
            path += f"L{next_x:.1f} {next_y:.1f}"
        else:
            middle = (next_y - y) / 2
            path += f"C{x:.1f} {y + middle:.1f} {next_x:.1f} {next_y - middle:.1f} {next_x:.1f} {next_y:.1f}"
    return f'<path class="{kind}" d="{path}" marker-end="url(#{kind})"/>'


def _legend(graph: Graph, top: float) -> tuple[list[str], float]:
    """What colours and lines mean, and how wide that is."""
    x, y, parts = 14.0, top + 8, []
    for meaning, (fill, border) in legend_of(graph).items():
        parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="12" height="12" rx="3" fill="{fill}" stroke="{border}"/>')
        parts.append(f'<text class="type" x="{x + 17:.1f}" y="{y + 10:.1f}">{meaning}</text>')
        x += 36 + 6.2 * len(meaning)
    for kind, meaning in (("control", "must follow"), ("sent", "is sent"))[: 1 + bool(graph.devices)]:
        parts.append(f'<path class="{kind}" d="M{x:.1f} {y + 6:.1f}h26"/>')
        parts.append(f'<text class="type" x="{x + 32:.1f}" y="{y + 10:.1f}">{meaning}</text>')
        x += 51 + 6.2 * len(meaning)
    return parts, x
