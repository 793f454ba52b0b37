"""A graph in DOT, the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from jitflow.graph.colours import SENT, colours_of
from jitflow.graph.model import Cluster, Graph, Node

__all__ = ["dot_text"]


def dot_text(graph: Graph) -> str:
    """The graph as a ``digraph`` with a subgraph for each cluster; control edges are dashed, messages are thick."""
    sent = f' [color="{SENT}", penwidth=2]'
    lines = [
        f"digraph {_quoted(graph.name)} {{",
        '  graph [fontname="Helvetica", compound=true, style="rounded,filled", color="#c9ced6", fillcolor="#f6f7f9"]',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11]',
        '  edge [color="#5b6573", arrowsize=0.7]',
        *_cluster_lines(graph.root, graph, "  ", iter(range(1, 1 << 30))),
        *(f"  n{edge[0].number} -> n{edge[1].number}{sent if edge in graph.sent else ''}" for edge in graph.data),
        *(
            f'  n{source.number} -> n{target.number} [style=dashed, color="#c2571a", constraint=true]'
            for source, target in graph.control
        ),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _cluster_lines(cluster: Cluster, graph: Graph, margin: str, numbers: Iterator[int]) -> Iterator[str]:
    for item in cluster.items:
        if isinstance(item, Node):
            yield f"{margin}n{item.number} [label={_label(item)}, {_colours(item, graph)}]"
        else:
            yield f"{margin}subgraph cluster_{next(numbers)} {{"
            yield f"{margin}  label={_quoted(item.title)}"
            yield from _cluster_lines(item, graph, margin + "  ", numbers)
            yield f"{margin}}}"


def _label(node: Node) -> str:
    return _quoted("\n".join(line for line in (node.title, node.type, ", ".join(node.devices), node.place) if line))


def _colours(node: Node, graph: Graph) -> str:
    fill, border = colours_of(node, graph)
    return f'fillcolor="{fill}", color="{border}"'


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
