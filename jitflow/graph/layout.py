"""Where everything lies in a picture of a graph: layers from above to below, clusters inside of their own boxes.

Each cluster is laid out for itself, inner ones first, as items with a size (Sugiyama, Tagawa and Toda 1981):

1. *layers*: an item lies below everything that leads to it, and inputs right above their first use;
2. *order*: the items of a layer go where their neighbours are, swept up and down a few times; an edge across layers is
   an item without width in each of them, so that it has room, also on its way into a cluster or out of one;
3. *positions*: each item moves towards the middle of its neighbours as far as those beside it let it.

networkx gives the layers of step 1 and the neighbours.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

from jitflow.errors import UserImportError
from jitflow.graph.model import Cluster, Graph, Node
from jitflow.records import dataclass

__all__ = ["Box", "Picture", "lay_out"]

_GAP, _LAYER_GAP, _MARGIN, _TITLE = 18.0, 34.0, 14.0, 18.0
_CHARACTER, _LINE = 6.6, 15.0
_SWEEPS = 8


Edge = tuple[Node, Node]


@dataclass(slots=True)
class Box:
    """A rectangle, by its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(eq=False)
class Picture:
    """The boxes of nodes and clusters, and the points that edges pass inside of each cluster, from above to below."""

    boxes: dict[Node | Cluster, Box] = field(default_factory=dict)
    bends: dict[Cluster, dict[Edge, list[tuple[float, float]]]] = field(default_factory=dict)

    def way(self, edge: Edge) -> list[tuple[float, float]]:
        """The points that an edge passes between its two boxes."""
        points = [found[edge] for found in self.bends.values() if edge in found]
        return [point for part in sorted(points, key=lambda part: part[0][1]) for point in part]


def lay_out(graph: Graph) -> Picture:
    """The picture of a graph. Raises ImportError's kin, saying what to install, where networkx is missing."""
    picture = Picture()
    _place(graph.root, [*graph.data, *graph.control], picture)
    return picture


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise UserImportError(
            "pictures of graphs need networkx, which is not installed",
            mend="pip install 'jitflow[graph]', or ask for text or dot",
        ) from None
    return networkx


def _place(cluster: Cluster, edges: Sequence[Edge], picture: Picture) -> Box:
    """Lay a cluster out from (0, 0), and all that is in it."""
    for item in cluster.items:
        if isinstance(item, Node):
            picture.boxes[item] = Box(0, 0, *_size(item))
        else:
            _place(item, edges, picture)
    owner = {node: item for item in cluster.items for node in ([item] if isinstance(item, Node) else item.nodes())}
    levels = _Levels(cluster, edges, owner, picture)
    width, height = levels.arrange()
    title = _TITLE if cluster.title else 0.0
    for item, (x, y) in levels.corners().items():
        _move(item, x + _MARGIN, y + _MARGIN + title, picture)
    picture.bends[cluster] = {
        edge: [(x + _MARGIN, y + _MARGIN + title) for x, y in points] for edge, points in levels.passed().items()
    }
    box = Box(0, 0, max(width, _CHARACTER * len(cluster.title)) + 2 * _MARGIN, height + 2 * _MARGIN + title)
    picture.boxes[cluster] = box
    return box


def _size(node: Node) -> tuple[float, float]:
    lines = [line for line in (node.title, node.type) if line]
    return max(44.0, 20 + _CHARACTER * max(map(len, lines), default=0)), 12 + _LINE * len(lines)


def _move(item: Node | Cluster, x: float, y: float, picture: Picture) -> None:
    box = picture.boxes[item]
    box.x += x
    box.y += y
    if isinstance(item, Cluster):
        for inner in item.items:
            _move(inner, x, y, picture)
        bends = picture.bends[item]
        bends.update({edge: [(one + x, other + y) for one, other in points] for edge, points in bends.items()})


def _over_the_border(
    edges: Iterable[Edge], owner: Mapping[Node, Node | Cluster]
) -> Iterator[tuple[Edge, tuple[Hashable, Hashable]]]:
    """The edges that come into a cluster, and those that leave it, with an item of it and a node that is none."""
    for source, target in edges:
        if (source in owner) != (target in owner):
            yield (source, target), (owner.get(source, source), owner.get(target, target))


class _Levels:
    """The layers of one cluster."""

    def __init__(
        self, cluster: Cluster, edges: Sequence[Edge], owner: Mapping[Node, Node | Cluster],
        picture: Picture,
    ) -> None:  # fmt: skip
        self.boxes = picture.boxes
        self.chains: dict[Edge, list[Hashable]] = {}
        links = {
            (source, target): (owner[source], owner[target])
            for source, target in edges
            if source in owner and target in owner and owner[source] is not owner[target]
        }
        self.graph = _networkx().DiGraph()
        self.graph.add_nodes_from(cluster.items)
        self.graph.add_edges_from(links.values())
        self.layer = self._layers()
        self.rows: list[list[Hashable]] = [[] for _ in range(1 + max(self.layer.values(), default=0))]
        for item in cluster.items:
            self.rows[self.layer[item]].append(item)
        self._split([*links.items(), *_over_the_border(edges, owner)])
        self.x: dict[Hashable, float] = {}
        self.y: list[float] = []

    def _layers(self) -> dict[Hashable, int]:
        generations = list(_networkx().topological_generations(self.graph))
        layer = {item: number for number, generation in enumerate(generations) for item in generation}
        for generation in reversed(generations):
            for item in generation:
                below = [layer[other] for other in self.graph.successors(item)]
                if below and not self.graph.in_degree(item):
                    layer[item] = min(below) - 1
        return layer

    def _split(self, links: Iterable[tuple[Edge, tuple[Hashable, Hashable]]]) -> None:
        """Split edges across layers into some between neighbours each; those of the same two items are one."""
        chains: dict[tuple[Hashable, Hashable], list[Hashable]] = {}
        for edge, (start, end) in links:
            if (start, end) not in chains:
                chains[start, end] = self._through(start, end)
            if chains[start, end]:
                self.chains[edge] = chains[start, end]

    def _through(self, start: Hashable, end: Hashable) -> list[Hashable]:
        """What stands for an edge in the layers that it crosses; what is no item lies above or below them all."""
        first, last = self.layer.get(start, -1), self.layer.get(end, len(self.rows))
        passed: list[Hashable] = [(start, end, number) for number in range(first + 1, last)]
        if not passed:
            return []
        if self.graph.has_edge(start, end):
            self.graph.remove_edge(start, end)
        for number, bend in zip(range(first + 1, last), passed, strict=True):
            self.layer[bend] = number
            self.rows[number].append(bend)
        line = [item for item in (start, *passed, end) if item in self.layer]
        self.graph.add_edges_from(pairwise(line))
        return passed

    def width(self, item: Hashable) -> float:
        return self.boxes[item].width if isinstance(item, Node | Cluster) else 6.0

    def height(self, item: Hashable) -> float:
        return self.boxes[item].height if isinstance(item, Node | Cluster) else 0.0

    def arrange(self) -> tuple[float, float]:
        """Choose order and positions; the width and height of it all."""
        for row in self.rows:
            self._pack(row)
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            for row in self.rows if down else reversed(self.rows):
                wanted = {item: self._middle(item, down) for item in row}
                row.sort(key=lambda item: wanted[item])
                self._settle(row, wanted)
        left = min((self.x[item] - self.width(item) / 2 for row in self.rows for item in row), default=0.0)
        for item in self.x:
            self.x[item] -= left
        height = 0.0
        for row in self.rows:
            self.y.append(height)
            height += max(map(self.height, row), default=0.0) + _LAYER_GAP
        right = max((self.x[item] + self.width(item) / 2 for row in self.rows for item in row), default=0.0)
        return right, max(height - _LAYER_GAP, 0.0)

    def _pack(self, row: Sequence[Hashable]) -> None:
        x = 0.0
        for item in row:
            self.x[item] = x + self.width(item) / 2
            x += self.width(item) + _GAP
        for item in row:
            self.x[item] -= x / 2

    def _middle(self, item: Hashable, down: bool) -> float:
        others = list(self.graph.predecessors(item) if down else self.graph.successors(item))
        return sum(self.x[other] for other in others) / len(others) if others else self.x[item]

    def _settle(self, row: Sequence[Hashable], wanted: Mapping[Hashable, float]) -> None:
        """Put the items of a row where they want to be, in their order: blocks that push each other share a middle."""
        blocks: list[tuple[list[Hashable], float, float]] = []
        for item in row:
            members, offsets, target = [item], self.width(item), wanted[item]
            while blocks and blocks[-1][2] + blocks[-1][1] / 2 + _GAP > target - offsets / 2:
                before, wide, middle = blocks.pop()
                total = wide + _GAP + offsets
                # each side's wish for the middle of the joined block, weighed by how many items have it
                mine = target + offsets / 2 - total / 2
                theirs = middle - wide / 2 + total / 2
                target = (mine * len(members) + theirs * len(before)) / (len(members) + len(before))
                members, offsets = before + members, total
            blocks.append((members, offsets, target))
        for members, wide, middle in blocks:
            x = middle - wide / 2
            for item in members:
                self.x[item] = x + self.width(item) / 2
                x += self.width(item) + _GAP

    def corners(self) -> dict[Node | Cluster, tuple[float, float]]:
        """The upper left corners."""
        found = {}
        for row, y in zip(self.rows, self.y, strict=True):
            tallest = max(map(self.height, row), default=0.0)
            for item in row:
                if isinstance(item, Node | Cluster):
                    found[item] = self.x[item] - self.width(item) / 2, y + (tallest - self.height(item)) / 2
        return found

    def passed(self) -> dict[Edge, list[tuple[float, float]]]:
        """For each edge the points at which it crosses layers."""
        found = {}
        for edge, chain in self.chains.items():
            points = []
            for bend in chain:
                number = self.layer[bend]
                tallest = max(map(self.height, self.rows[number]), default=0.0)
                points += [(self.x[bend], self.y[number]), (self.x[bend], self.y[number] + tallest)]
            found[edge] = points
        return found
