"""A graph for a terminal: one line a node in the program's order, with what it takes and what it must follow.

heat
├─ u        u                 var f64[n]
├─ 2        for i from 0 …                ← alpha
│  ├─ 3     slice [1:n - 1]   place f64   ← u
│  ╰─ 4     store                         ← 3      after 2
"""

from __future__ import annotations

from collections.abc import Iterator

from jitflow.graph.model import Cluster, Graph, Node

__all__ = ["plain_text"]

_WIDEST = (46, 34)


def plain_text(graph: Graph) -> str:
    """The graph as lines of columns."""
    takes: dict[Node, list[str]] = {}
    follows: dict[Node, list[str]] = {}
    for edges, found in ((graph.data, takes), (graph.control, follows)):
        for source, target in edges:
            sent = found is takes and (source, target) in graph.sent
            found.setdefault(target, []).append(f"{source.id} (sent)" if sent else source.id)
    rows = []
    for branch, item in _walk(graph.root, ""):
        if isinstance(item, str):
            rows.append((f"{branch}{item}", *[""] * 6))
            continue
        words = _cut("input" if item.kind == "input" else item.words, _WIDEST[0])
        edges_in = _listed("←", takes.get(item)), _listed("after", follows.get(item))
        rows.append(
            (f"{branch}{item.id}", words, _cut(item.type, _WIDEST[1]), *edges_in, ", ".join(item.devices), item.place)
        )
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(7)]
    shown = [column for column in range(7) if column != 5 or graph.devices]
    lines = ["  ".join(f"{row[column]:<{widths[column]}}" for column in shown).rstrip() for row in rows]
    counts = f"{len(list(graph.root.nodes()))} nodes, {len(graph.data)} data edges, {len(graph.control)} control edges"
    if graph.devices:
        counts += f", {len(graph.sent)} between devices"
    return "\n".join([f"{graph.name}: {counts}", *lines]) + "\n"


def _walk(cluster: Cluster, margin: str) -> Iterator[tuple[str, Node | str]]:
    """The branches of the tree in front of each node, or of the title of a cluster without a node of its own."""
    for position, item in enumerate(cluster.items):
        last = position == len(cluster.items) - 1
        branch, below = (f"{margin}╰─ ", f"{margin}   ") if last else (f"{margin}├─ ", f"{margin}│  ")
        if isinstance(item, Node):
            yield branch, item
            continue
        head, *rest = item.items
        if isinstance(head, Node) and head.kind == "control":
            yield branch, head
            yield from _walk(Cluster(item.title, rest), below)
        else:
            yield branch, item.title
            yield from _walk(item, below)


def _listed(sign: str, names: list[str] | None) -> str:
    return f"{sign} {', '.join(names)}" if names else ""


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
