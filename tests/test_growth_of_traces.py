"""What a program has to do otherwise at many places is found by a few traces, and slots cost what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from benchmarks.compile_time import load
from jitflow.frontend.control import joining
from jitflow.frontend.recording.choices import Choices
from jitflow.frontend.recording.trace import Trace

X = np.arange(1.0, 9.0)

REPEATED = {
    "merged": ("    if x[0] > {i}:\n        y = x\n    else:\n        y = x + 1\n    y[{i}] = 2\n", "x, y", (X,)),
    "shown": ("    y{i} = x if x[0] > {i} else x + 1\n", "y0, y3", (X,)),
    "objects": ("    y = None if k > {i} else x\n    if y is not None:\n        x = x + y\n", "x", (X, 3)),
    "lists": ("    a{i} = []\n    if x[0] > {i}:\n        a{i}.append(x[1])\n", "a0, a5", (X,)),
    "loops": ("    a{i} = []\n    for j in range(k):\n        a{i}.append(j)\n", "a0, a5", (X, 3)),
    "kinds": ("    a{i} = [1]\n    for j in range(k):\n        a{i}.append(x[j])\n", "a0, a5", (X, 3)),
    "indexed": (
        "    a{i} = []\n    for j in range(k):\n        if x[j]:\n            a{i}.append(x[j])\n    x = x + a{i}[0]\n",
        "a0, a5",
        (X, 3),
    ),
    "counted": (
        "    d{i} = {{}}\n    for j in range(k):\n        d{i}[j % 2] = d{i}.get(j % 2, 0) + x[j]\n    x += d{i}[1]\n",
        "d0, d5",
        (X, 3),
    ),
    "held": (
        "    h{i} = [[]]\n    for j in range(k):\n        h{i}[0].append(j)\n    x = x + h{i}[0][2]\n",
        "h0, h5",
        (X, 3),
    ),
    "sorted": ("    x = x + sorted([k, x[{i}], 1.5])[1]\n", "x", (X, 3)),
    "comprehensions": ("    k += sum([v * {i} for v in x])\n", "k", (X, 0.0)),
    "dicts": ("    d{i} = {{}}\n    if x[0] > {i}:\n        d{i}['k'] = x\n", "d0, d5", (X,)),
    "aliases": (
        "    y{i}, z{i} = [x, 1], [x, 2]\n    w{i} = y{i} if k > {i} else z{i}\n    w{i}[1] = 7\n",
        "y0, w0, y5, w5",
        (X, 3),
    ),
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_few_traces_find_all_places(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    learn = Choices.learn

    def counted(choices: Choices, *args: Any, **keywords: Any) -> None:
        found.append(args[0])
        learn(choices, *args, **keywords)

    monkeypatch.setattr(Choices, "learn", counted)
    body, result, arguments = REPEATED[name]
    text = "def program(x, k=0):\n" + "".join(body.format(i=i) for i in range(8)) + f"    return {result}\n"
    program = load(text, tmp_path / name)
    wanted, got = (call(*(np.copy(one) if one is X else one for one in arguments))
                   for call in (program, jitflow.function(program)))  # fmt: skip
    assert repr(wanted) == repr(got)
    assert len(found) <= 4


@pytest.mark.parametrize("order", ["C", "F"])
def test_how_an_array_lies_is_asked_once_of_each_that_it_is_made_of(order: str, tmp_path: Path) -> None:
    lines = "    x = x * x + x * 0.5\n" * 40 + "    x = x + 1\n" * 400
    program = load(f"def program(x):\n{lines}    return x.ravel(), x.T.reshape(-1), x[x > 401]\n", tmp_path / order)
    x = np.array(np.arange(6.0).reshape(2, 3) / 10, order=order)
    assert repr(jitflow.function(program)(x)) == repr(program(x))


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many ops traces have recorded, counted in the last of these."""
    counts, add = [0], Trace.add

    def counted(trace: Trace, *args: Any, **keywords: Any) -> Any:
        counts[-1] += 1
        return add(trace, *args, **keywords)

    monkeypatch.setattr(Trace, "add", counted)
    return counts


class Thing:
    def __init__(self, number: int) -> None:
        self.number = number


@pytest.mark.parametrize(
    ("body", "behind"),
    [
        ("    if x[0] > {i}:\n        items.insert({i} // 2, thing)\n", ""),
        ("    if x[0] > {i}:\n        items.append(thing)\n    if x[1] > {i}:\n        del items[0]\n", ""),
        ("    if x[0] > {i}:\n        keys['k{i}'] = {i}\n", "    for key in keys:\n        x = x * 2 + keys[key]\n"),
    ],
)
def test_slots_cost_what_they_hold(body: str, behind: str, tmp_path: Path, recorded: list[int]) -> None:
    for size in (4, 8):
        text = "def program(x, thing, items):\n    keys = {}\n" + "".join(body.format(i=i) for i in range(size))
        program = load(f"{text}{behind}    return keys, x\n", tmp_path / str(size))
        recorded.append(0)
        shown = []
        for call in (program, jitflow.function(program)):
            items = [Thing(2), *map(Thing, range(3, 3 + size))]
            shown.append(repr((call(X - 5.0 + size, Thing(1), items), [one.number for one in items])))
        assert shown[0] == shown[1]
    assert recorded[2] <= 4.4 * recorded[1]


@pytest.mark.parametrize("made", ["[0.0] * {}", "{{i: 0.0 for i in range({})}}"])
def test_a_branch_merges_of_an_object_what_it_changes(
    made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, agreeing = [0], joining.agreeing

    def counted(things: Any) -> bool:
        counts[-1] += 1
        return agreeing(things)

    monkeypatch.setattr(joining, "agreeing", counted)
    for size in (8, 16):
        lines = "".join(f"    if x[{i % 8}] > 2:\n        a[{i}] = x[0]\n" for i in range(size))
        program = load(f"def program(x):\n    a = {made.format(size)}\n{lines}    return a\n", tmp_path / str(size))
        counts.append(0)
        assert repr(jitflow.function(program)(X)) == repr(program(X))
    assert counts[2] <= 2.5 * counts[1]


def test_slices_of_what_was_sliced_may_be_any_number(tmp_path: Path) -> None:
    lines = "    x = x[k // 9 :] * 1.01\n" * 200
    program = load(f"def program(x, k):\n{lines}    return x\n", tmp_path / "slices")
    x = np.linspace(1, 2, 300)
    np.testing.assert_array_equal(jitflow.function(program)(x, 9), program(x, 9))


def test_integers_that_are_computed_of_each_other_stay_short(tmp_path: Path) -> None:
    lines = "".join(f"    k = (k * 3 + {i}) % 1007\n" for i in range(200))
    program = load(f"def program(k):\n{lines}    return k\n", tmp_path / "integers")
    assert jitflow.function(program)(5) == program(5)


def test_sizes_that_reshape_finds_stay_short() -> None:
    def program(x: Any, k: int) -> Any:
        for i in range(16):
            x = np.roll(x, k + i).reshape(k + 1, -1).ravel()
        return x

    np.testing.assert_array_equal(jitflow.function(program)(X, 3), program(X, 3))


HELPERS = {
    "lists": "    y = []\n    for i in range(k):\n        if x[i] > {i}:\n            y.append(x[i])\n    return y",
    "recursion": "    return k if k < 2 else h{i}(x, k - 1) + {i}",
    "memory": "    y = x if k > {i} else x + 1\n    y[0] = {i}\n    return y.sum()",
    "refused": """    if type(x) is not list:
        return h{i}([1, 2, k])
    if len(x) <= 1:
        return [x]
    return [[x[n], *others] for n in range(len(x)) for others in h{i}(x[:n] + x[n + 1 :])]""",
    "caught": "    try:\n        return x[k]\n    except IndexError:\n        return x[{i}]",
}
"""Where a first guess does not do, in helpers that a program calls one after another."""


@pytest.mark.parametrize("name", HELPERS)
def test_helpers_find_out_by_themselves_what_they_need(name: str, tmp_path: Path, recorded: list[int]) -> None:
    for size in (4, 8):
        helpers = "".join(f"def h{i}(x, k=0):\n{HELPERS[name].format(i=i)}\n" for i in range(size))
        calls = "".join(f"    r{i} = h{i}(x + {i}, k)\n" for i in range(size))
        text = f"{helpers}def program(x, k):\n{calls}    return {', '.join(f'r{i}' for i in range(size))}\n"
        program = load(text, tmp_path / f"{name}{size}")
        recorded.append(0)
        assert repr(jitflow.function(program)(X, 4)) == repr(program(X, 4))
    assert recorded[2] <= 2.5 * recorded[1]


COMPREHENSIONS = ("sum([v * {i} for v in xs if v > {i}])", "len([v for v in xs if v % {i} == k])",
                  "len({{v: v + k for v in xs if v > {i}}})", "sum(v for v in xs if v > {i})")  # fmt: skip


@pytest.mark.parametrize("made", COMPREHENSIONS)
def test_comprehensions_find_out_by_themselves_what_they_need(made: str, tmp_path: Path, recorded: list[int]) -> None:
    for size in (4, 8):
        lines = "".join(f"    k += {made.format(i=i)}\n" for i in range(1, size + 1))
        program = load(f"def program(k, xs):\n{lines}    return k\n", tmp_path / str(size))
        recorded.append(0)
        assert jitflow.function(program)(3, [3, 1, 4, 1, 5, 9, 2, 6]) == program(3, [3, 1, 4, 1, 5, 9, 2, 6])
    assert recorded[2] <= 2.5 * recorded[1]


@pytest.mark.parametrize("operator", ["and", "or"])
def test_conditions_may_have_any_number_of_operands(operator: str, tmp_path: Path) -> None:
    whole = f" {operator} ".join(f"x[{i % 8}] > k + {i}" for i in range(200))
    program = load(f"def program(x, k):\n    if {whole}:\n        k += 1\n    return k\n", tmp_path / operator)
    compiled = jitflow.function(program)
    for k in (-300, -190, 0, 9):
        assert compiled(X, k) == program(X, k)


def test_what_a_call_changed_before_it_began_anew_is_taken_back() -> None:
    def fill(items: list[Any], x: Any, k: int) -> int:
        items.append(k)
        count = len(items)
        found = []
        for i in range(k):
            found.append(x[i])
            count += 1
        return count + len(found)

    def program(x: Any, k: int) -> Any:
        items: list[Any] = []
        return fill(items, x, k), fill(items, x, k + 1), items

    assert repr(jitflow.function(program)(X, 3)) == repr(program(X, 3))


def test_where_a_tree_is_made_python_soon_goes_through_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = []
    monkeypatch.setattr(Trace, "add", lambda *a, add=Trace.add, **k: (recorded.append(1), add(*a, **k))[1])

    def grow(x: Any, d: int, depth: int) -> dict[str, Any]:
        if d == depth or x[0] > 9:
            return {"value": x[1]}
        return {"low": grow(x + 1, d + 1, depth), "high": grow(x + 2, d + 1, depth)}

    def program(x: Any, depth: int) -> Any:
        return grow(x, 0, depth)

    assert repr(jitflow.function(program)(X, 2)) == repr(program(X, 2))
    assert len(recorded) < 1800
