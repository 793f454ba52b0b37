"""The colours of nodes: what fills a box, and its border. They say of what kind it is, or on which device."""

from __future__ import annotations

from collections.abc import Mapping

from jitflow.graph.model import Graph, Node

__all__ = ["SENT", "colours_of", "legend_of"]

_COLOURS: Mapping[str, tuple[str, str]] = {
    "input": ("#ffffff", "#3b4350"),
    "result": ("#e4e7ec", "#3b4350"),
    "op": ("#dcebfb", "#5a92cf"),
    "reduction": ("#fde8cf", "#d99136"),
    "library": ("#eadff7", "#8f6bc4"),
    "storage": ("#daf1e0", "#4fa36a"),
    "view": ("#f1f4f7", "#a3acb8"),
    "check": ("#fbdfdf", "#cf5f5f"),
    "control": ("#fff6c9", "#c3a634"),
}

_MEANINGS: Mapping[str, str] = {
    "op": "elementwise and others",
    "reduction": "reduction",
    "library": "library",
    "storage": "storage",
    "view": "view",
    "check": "check",
    "control": "region",
}

SENT = "#d0342c"
"""Of an edge from one device to another."""

_DEVICES = (
    ("#dcebfb", "#5a92cf"),
    ("#fde8cf", "#d99136"),
    ("#daf1e0", "#4fa36a"),
    ("#eadff7", "#8f6bc4"),
    ("#fbdfe9", "#cf5f8c"),
    ("#d9f1f3", "#3f9aa3"),
)
_SEVERAL = ("#ffffff", "#a3acb8")


def colours_of(node: Node, graph: Graph) -> tuple[str, str]:
    """The colours of a node: of its device in a graph that shows them, else of its kind."""
    if not graph.devices:
        return _COLOURS[node.kind]
    if len(node.devices) != 1:
        return _SEVERAL
    return _DEVICES[graph.devices.index(node.devices[0]) % len(_DEVICES)]


def legend_of(graph: Graph) -> Mapping[str, tuple[str, str]]:
    """What the colours mean."""
    if not graph.devices:
        return {meaning: _COLOURS[kind] for kind, meaning in _MEANINGS.items()}
    own = {device: _DEVICES[number % len(_DEVICES)] for number, device in enumerate(graph.devices)}
    return {**own, "several": _SEVERAL}
