"""The dataflow graph: its edges, its clusters, and the three ways to write it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import jitflow
from jitflow.config import CONFIG
from jitflow.graph.layout import lay_out
from jitflow.graph.model import Cluster, Graph, Node, graph_of
from jitflow.ir.core import Function
from jitflow.ir.parser import parse
from jitflow.machines import hardware

LOOP = """
func @f(%u: var f64[n], %x: f64[n]) {
  %zero: index[0] = size {dim=0}
  %end: index[n] = size {dim=n}
  %one: index[1] = size {dim=1}
  %two: f64 = constant {value=2.0, type=<f64>}
  %a: f64[n] = load %u
  store %u, %x
  %b: f64[n] = load %u
  %r: f64[n] = for %zero, %end, %one, %b (%i: index[i], %s: f64[n]) {
    %t: f64[n] = multiply %s, %two
    store %u, %t
    yield %t
  }
  %c: f64[n] = add %a, %r
  store %u, %c
  yield %c
}
"""


def edges(graph: Graph, kind: str) -> set[tuple[str, str]]:
    return {(source.title, target.title) for source, target in getattr(graph, kind)}


def test_data_edges_follow_values_into_and_out_of_regions() -> None:
    graph = graph_of(parse(LOOP))
    assert edges(graph, "data") == {
        ("u", "a = load"), ("u", "store"), ("x", "store"), ("u", "b = load"),
        ("b = load", "r = for i, s from 0 to n"), ("r = for i, s from 0 to n", "t = multiply 2.0"),
        ("t = multiply 2.0", "store"), ("t = multiply 2.0", "next"), ("a = load", "c = add"), ("next", "c = add"),
        ("c = add", "store"), ("c = add", "result"),
    }  # fmt: skip


def test_control_edges_are_the_conflicts_that_nothing_else_implies() -> None:
    graph = graph_of(parse(LOOP))
    assert edges(graph, "control") == {("a = load", "store"), ("store", "b = load")}
    # The last store follows the loop through what it stores: no edge from the load before, nor from the first store.
    assert len(graph.control) == 2


def test_ops_without_effects_have_no_control_edges() -> None:
    graph = graph_of(parse("func @f(%x: f64[n]) {\n %0: f64[n] = exp %x\n %1: f64[n] = log %x\n yield %0, %1\n}"))
    assert graph.control == []


def test_regions_are_clusters() -> None:
    (loop,) = (item for item in graph_of(parse(LOOP)).root.items if isinstance(item, Cluster))
    assert loop.title == "for"
    assert [node.title for node in loop.nodes()] == ["r = for i, s from 0 to n", "t = multiply 2.0", "store", "next"]


@jitflow.function
def relax(u, steps):
    for _ in range(steps):
        if u[0] > 0:
            u[1:] = jitflow.name(np.sin(u[:-1]), "waves")
        else:
            u[0] = 1.0
    return u.sum(), np.exp(u)


@pytest.mark.parametrize("stage", ["traced", "gradient", "optimized", "fused"])
@pytest.mark.parametrize("format", ["text", "dot", "svg"])
def test_every_stage_is_drawn_in_every_format(stage: str, format: str) -> None:
    text = relax.graph(np.ones(5), 3, stage=stage, format=format)
    assert "waves = sin" in text or "waves" in text
    assert text == relax.graph(np.ones(5), 3, stage=stage, format=format)


def test_text_has_a_line_for_each_node() -> None:
    text = relax.graph(np.ones(5), 3)
    first, *lines = text.splitlines()
    assert first.startswith("relax: ")
    assert all(line.lstrip("│ ").startswith(("├─ ", "╰─ ")) for line in lines)
    assert max(map(len, lines)) < 160
    assert any("after" in line for line in lines)


def test_dot_is_balanced_and_names_each_node_once() -> None:
    text = relax.graph(np.ones(5), 3, format="dot")
    assert text.count("{") == text.count("}")
    assert "subgraph cluster_" in text
    assert "style=dashed" in text
    ids = [line.split()[0] for line in text.splitlines() if "[label=" in line]
    assert len(ids) == len(set(ids))


def test_dot_quotes_what_it_must() -> None:
    function = parse('func @f(%x: f64) {\n print %x {message="a \\"quoted\\" one"}\n yield %x\n}')
    text = relax.graph(np.ones(5), 3, format="dot")
    assert "print" in "".join(node.words for node in graph_of(function).root.nodes())
    assert all(line.count('"') % 2 == 0 for line in text.splitlines())


def big(count: int) -> Function:
    rng = np.random.default_rng(count)
    lines = [f"%v{i}: f64[n] = add %v{max(0, i - 1 - rng.integers(8))}, %v{i - 1}" for i in range(1, count)]
    return parse("func @f(%v0: f64[n]) {\n" + "\n".join(lines) + f"\n yield %v{count - 1}\n}}")


@pytest.mark.parametrize("function", [parse(LOOP), big(20), big(200)], ids=["loop", "20", "200"])
def test_boxes_of_a_picture_do_not_overlap_and_edges_lead_down(function: Function) -> None:
    graph = graph_of(function)
    picture = lay_out(graph)
    nodes = list(graph.root.nodes())
    boxes = [picture.boxes[node] for node in nodes]
    for position, one in enumerate(boxes):
        for other in boxes[:position]:
            apart = (
                one.x + one.width <= other.x + 0.01 or other.x + other.width <= one.x + 0.01
                or one.y + one.height <= other.y + 0.01 or other.y + other.height <= one.y + 0.01
            )  # fmt: skip
            assert apart
    for source, target in graph.data:
        assert picture.boxes[source].y + picture.boxes[source].height <= picture.boxes[target].y + 0.01
    root = picture.boxes[graph.root]
    assert all(box.x >= 0 and box.x + box.width <= root.width + 0.01 for box in boxes)


def test_nodes_lie_inside_of_their_clusters() -> None:
    graph = graph_of(parse(LOOP))
    picture = lay_out(graph)
    (loop,) = (item for item in graph.root.items if isinstance(item, Cluster))
    around = picture.boxes[loop]
    for node in graph.root.nodes():
        box = picture.boxes[node]
        inside = around.x <= box.x and box.y + box.height <= around.y + around.height and box.y >= around.y
        assert inside == (node in set(loop.nodes())), node


def test_the_picture_is_xml_with_all_nodes_and_edges() -> None:
    graph = graph_of(parse(LOOP))
    text = jitflow.function(lambda x, y: (x < y) & (x > 0)).graph(np.ones(3), np.ones(3), format="svg")
    assert ElementTree.fromstring(text).tag.endswith("svg")
    from jitflow.graph.svg import svg_text

    root = ElementTree.fromstring(svg_text(graph))
    named = [element for element in root.iter() if element.tag.endswith("}g")]
    assert len(named) == len(list(graph.root.nodes()))
    paths = [
        element for element in root.iter() if element.get("class") in ("data", "control") and element.get("marker-end")
    ]
    assert len(paths) == len(graph.data) + len(graph.control)


def test_without_networkx_a_picture_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="need networkx") as caught:
        relax.graph(np.ones(5), 3, format="svg")
    assert "pip install 'jitflow[graph]'" in caught.value.__notes__[0]
    assert relax.graph(np.ones(5), 3, format="dot")


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """The graph of a program whose loop has a part on each of two devices."""
    monkeypatch.setattr(hardware, "CONFIG", replace(CONFIG, cpu_devices=2))

    @jitflow.function
    def two(x, n):
        with jitflow.device("cpu:0"):
            y = np.exp(x)
        for _ in range(n):
            with jitflow.device("cpu:0"):
                x = np.sin(x)
            with jitflow.device("cpu:1"):
                y = np.cos(y)
        return x[1:] + y[1:]

    return lambda format: two.graph(np.ones(5), 3, format=format, placement=True)


def test_a_placed_graph_shows_devices_and_what_is_sent(placed: Callable[[str], str]) -> None:
    head, *lines = placed("text").splitlines()
    assert head.endswith(" 2 between devices")
    for op, device in (("exp", "cpu:0"), ("sin", "cpu:0"), ("cos", "cpu:1")):
        (line,) = (line for line in lines if f" {op} " in line)
        assert f" {device}  " in line
    (loop,) = (line for line in lines if " for " in line)
    assert "cpu:0, cpu:1" in loop
    assert sum("(sent)" in line for line in lines) == 2


def test_a_placed_graph_is_coloured_by_device(placed: Callable[[str], str]) -> None:
    assert placed("dot").count("penwidth=2") == 2
    root = ElementTree.fromstring(placed("svg"))
    assert len([path for path in root.iter() if path.get("class") == "sent" and path.get("marker-end")]) == 2
    fills = {title.text.split(" ")[0]: group[1].get("fill") for group in root.iter()
             if group.tag.endswith("}g") and (title := group[0]).text}  # fmt: skip
    assert fills["exp"] == fills["sin"] != fills["cos"]
    assert "cpu:1" in {text.text for text in root.iter() if text.tag.endswith("}text")}


def test_unknown_stages_and_formats() -> None:
    with pytest.raises(ValueError, match="expected a stage"):
        relax.graph(np.ones(5), 3, stage="fused", placement=True)
    with pytest.raises(ValueError, match="expected a stage"):
        relax.graph(np.ones(5), 3, stage="llvm")
    with pytest.raises(ValueError, match="expected a format"):
        relax.graph(np.ones(5), 3, format="jpg")


def test_two_values_with_one_name_are_told_apart() -> None:
    graph = graph_of(parse("func @f(%x: f64[n]) {\n %y: f64[n] = exp %x\n yield %y\n}"))
    assert len({node.id for node in graph.root.nodes()}) == len(list(graph.root.nodes()))
    assert isinstance(graph.root.items[0], Node)
