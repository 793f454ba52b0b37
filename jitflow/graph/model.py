"""The graph of a function: nodes for its ops, parameters and results, clusters for what has regions.

Numbers and sizes that are constants stand in the words of the ops that take them; everything else is a node. An op
with regions is a cluster whose first node is the op itself, which takes the operands and gives the parameters of the
regions; what a region yields is its last node, which gives the results. Of a kernel there is only the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from jitflow.graph.control import control_edges
from jitflow.graph.placement import Whereabouts
from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.effects import Effects
from jitflow.ir.types import dims_of
from jitflow.passes.analyses.order import bound_sizes
from jitflow.records import dataclass

__all__ = ["Cluster", "Graph", "Node", "graph_of", "kind_of"]

_REGION_NAMES: Mapping[str, tuple[str, ...]] = {"if": ("then", "else"), "while": ("test", "turn")}
_LIBRARY = ("matmul", "contract", "host_call", "accumulate")
_STORAGE = ("variable", "load", "store", "scatter", "tape", "push", "pop", "peek", "poke", "empty")


@dataclass(frozen=True, eq=False)
class Node:
    """One box: what it does, in a few words, the type of what it gives, and where in the program it comes from."""

    number: int
    words: str
    type: str = ""
    name: str = ""
    place: str = ""
    kind: str = "op"
    """``input result control storage library reduction check view op``"""
    devices: tuple[str, ...] = ()
    """Where it is computed, if that is known."""

    @property
    def id(self) -> str:
        """How text refers to it."""
        return self.name or str(self.number)

    @property
    def title(self) -> str:
        """What stands in its box."""
        return f"{self.name} = {self.words}" if self.name and self.kind != "input" else self.words


@dataclass(eq=False)
class Cluster:
    """Nodes and clusters, in the order of the program."""

    title: str = ""
    items: list[Node | Cluster] = field(default_factory=list)

    def nodes(self) -> Iterator[Node]:
        """All nodes, those of inner clusters included."""
        for item in self.items:
            if isinstance(item, Node):
                yield item
            else:
                yield from item.nodes()


@dataclass(eq=False)
class Graph:
    """The graph of a function; edges lead from a node to one that comes later in the program."""

    name: str
    root: Cluster
    data: list[tuple[Node, Node]] = field(default_factory=list)
    control: list[tuple[Node, Node]] = field(default_factory=list)
    devices: tuple[str, ...] = ()
    """Those of its nodes, if it shows where they are computed."""
    sent: frozenset[tuple[Node, Node]] = frozenset()
    """The data edges that lead from one device to another."""


def graph_of(function: Function, *, is_placed: bool = False) -> Graph:
    """The dataflow graph of a function, and of one that is placed also where its ops are computed."""
    drawing = _Drawing(function, Whereabouts(function) if is_placed else None)
    root = Cluster(function.name)
    for parameter in function.parameters:
        devices = drawing.whereabouts.of_parameter(parameter) if drawing.whereabouts else ()
        node = drawing.node(
            parameter.name or "input", str(parameter.type), kind="input", name=parameter.name, devices=devices
        )
        root.items.append(node)
        drawing.givers[parameter] = (node,)
    drawing.region(function.region, root, "result")
    return drawing.graph(root)


class _Drawing:
    def __init__(self, function: Function, whereabouts: Whereabouts | None) -> None:
        self.function = function
        self.whereabouts = whereabouts
        self.effects = Effects(function)
        self.givers: dict[Value, tuple[Node, ...]] = {}
        self.constants: dict[Value, str] = {}
        self.ends: dict[Op, tuple[Node, Node]] = {}
        """The nodes at which control enters an op, and leaves it."""
        self.data: dict[tuple[Node, Node], None] = {}
        self.control: dict[tuple[Node, Node], None] = {}
        self.sent: set[tuple[Node, Node]] = set()
        self.binders: dict[str, Node] = {}
        """The nodes of the ops that bind sizes."""
        self.names: set[str] = set()
        self.count = 0

    def graph(self, root: Cluster) -> Graph:
        devices = self.whereabouts.devices if self.whereabouts else ()
        control = [edge for edge in self.control if edge not in self.data]
        return Graph(self.function.name, root, list(self.data), control, devices, frozenset(self.sent))

    def node(self, words: str, type: str = "", name: str = "", **more: Any) -> Node:
        self.count += 1
        name = "" if name in self.names else name  # two values may have one hint
        self.names.add(name)
        return Node(self.count, words, type, name, **more)

    def region(self, region: Region, cluster: Cluster, closing: str, owner: Op | None = None) -> tuple[Node, ...]:
        """Draw a region of its owner into a cluster; the node of what it yields, if it yields anything."""
        drawn = []
        for op in region.body:
            if op.name in ("constant", "size") and not dims_of(op.result.type):
                self.constants[op.result] = _constant_text(op)
                named = [self.binders[name] for name in op.sizes if name in self.binders]
                self.givers[op.result] = tuple(dict.fromkeys(named))
                continue
            drawn.append(op)
            self.op(op, cluster)
        for op, before in control_edges(drawn, self.effects).items():
            for other in before:
                self.control[self.ends[other][1], self.ends[op][0]] = None
        if not region.yielded:
            return ()
        last = region.ops[-1]
        words = closing + "".join(f" {text}" for value in last.operands if (text := self.constants.get(value)))
        wanted = self.whereabouts.of_yielded(owner, region) if self.whereabouts else [()] * len(last.operands)
        devices = tuple(dict.fromkeys(device for devices in wanted for device in devices))
        node = self.node(words, _types(last.operands), kind="result", place=_place(last), devices=devices)
        cluster.items.append(node)
        for value, where in zip(last.operands, wanted, strict=True):
            self.take(value, node, where)
        return (node,)

    def take(self, value: Value, node: Node, devices: tuple[str, ...]) -> None:
        """A node takes a value, on these devices."""
        edges = dict.fromkeys((giver, node) for giver in self.givers.get(value, ()))
        self.data |= edges
        if self.whereabouts and self.whereabouts.is_sent(value, devices):
            self.sent.update(edges)

    def kernel(self, op: Op, cluster: Cluster) -> None:
        """Draw a group of ops: its parameters are what it takes, its results what its ops give."""
        inner = Cluster(_title(op))
        cluster.items.append(inner)
        (region,) = op.regions
        for parameter, operand in zip(region.parameters, op.operands, strict=True):
            self.givers[parameter] = self.givers.get(operand, ())
            if operand in self.constants:
                self.constants[parameter] = self.constants[operand]
        self.region(Region(region.parameters, (*region.body, replace(region.ops[-1], operands=()))), inner, "")
        for result, value in zip(op.results, region.yielded, strict=True):
            self.givers[result] = self.givers.get(value, ())
        nodes = list(inner.nodes())
        self.ends[op] = nodes[0], nodes[-1]

    def op(self, op: Op, cluster: Cluster) -> None:
        if op.name == "fusion":
            self.kernel(op, cluster)
            return
        name = op.results[0].name if len(op.results) == 1 else ""
        devices = self.whereabouts.of_op(op) if self.whereabouts else ()
        facts: dict[str, Any] = {"place": _place(op), "kind": kind_of(op), "devices": devices}
        node = self.node(self.words(op), _types(op.results), name=name, **facts)
        for operand in op.operands:
            self.take(operand, node, devices)
        for bound in bound_sizes(op) if not op.regions else ():
            self.binders.setdefault(bound, node)
        if not op.regions:
            cluster.items.append(node)
            self.givers.update(dict.fromkeys(op.results, (node,)))
            self.ends[op] = node, node
            return
        inner = Cluster(_title(op), [node])
        cluster.items.append(inner)
        givers: tuple[Node, ...] = ()
        names = _REGION_NAMES.get(op.name, ("",) * len(op.regions))
        for region, title in zip(op.regions, names, strict=True):
            part = Cluster(title) if title else inner
            self.givers.update(dict.fromkeys(region.parameters, (node,)))
            yielded = self.region(region, part, "next" if op.name in ("for", "while") else "gives", op)
            if part.items and part is not inner:
                inner.items.append(part)
            givers = (*givers, *yielded) if op.name == "if" else yielded or givers
        self.givers.update(dict.fromkeys(op.results, givers or (node,)))
        self.ends[op] = node, list(inner.nodes())[-1]

    def words(self, op: Op) -> str:
        """The op with the constants that it takes, and what else says what it does."""
        constants = [self.constants[value] for value in op.operands if value in self.constants]
        if op.name == "for":
            bounds = [self.constants.get(value, "?") for value in op.operands[:3]]
            carried = ", ".join(value.name or "_" for value in op.regions[0].parameters)
            step = "" if bounds[2] == "1" else f" by {bounds[2]}"
            return f"for {carried} from {bounds[0]} to {bounds[1]}{step}"
        if op.name == "slice":
            return f"slice [{', '.join(map(_range_text, *_slice_of(op)))}]"
        if op.name == "host_call":
            return str(op.attributes["routine"])
        details = [_short(op.attributes[key]) for key in ("axes", "axis", "dtype", "error") if key in op.attributes]
        return " ".join([op.name, *constants, *details])


def kind_of(op: Op) -> str:
    """What sort of op it is, which decides its colour."""
    traits = op.definition.traits
    if op.regions:
        return "control"
    if op.name in _STORAGE:
        return "storage"
    if op.name.startswith(_LIBRARY):
        return "library"
    if op.name in ("check", "print"):
        return "check"
    return "reduction" if "reduction" in traits else "view" if "view" in traits else "op"


def _title(op: Op) -> str:
    return str(op.attributes.get("kernel", op.name))


def _place(op: Op) -> str:
    return str(op.loc) if op.loc.line else ""


def _types(values: Sequence[Value]) -> str:
    return ", ".join(str(value.type) for value in values)


def _constant_text(op: Op) -> str:
    return str(op.attributes["dim"]) if op.name == "size" else _short(op.attributes["value"])


def _short(thing: Any) -> str:
    text = f"[{', '.join(map(_short, thing))}]" if isinstance(thing, tuple | list) else f"{thing}"
    return text if len(text) <= 24 else f"{text[:23]}…"


def _slice_of(op: Op) -> tuple[Any, Any, Any]:
    return op.attributes["starts"], op.attributes["sizes"], op.attributes["steps"]


def _range_text(start: Any, size: Any, step: Any) -> str:
    if size == 1:
        return str(start)
    text = f"{start if start != 0 else ''}:{start + size * step if step == 1 else ''}"
    return text if step == 1 else f"{text}:{step}"
