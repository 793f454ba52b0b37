"""The size of what is compiled is at most linear in the text: the curves of the benchmark at a size and its double."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from benchmarks.compile_time import CURVES, load, measure
from jitflow.frontend.recording.trace import Trace

# For each curve the smaller size, the stage whose text is counted, and how often as long it may be.
GROWTH = {
    "straight": (30, "traced", 2.2),
    "range_2": (8, "traced", 2.2),
    "range_3": (6, "traced", 2.2),
    "range_n": (8, "traced", 2.2),
    "while": (8, "traced", 2.2),
    "sums": (8, "traced", 2.2),
    "sentinels": (3, "traced", 3.0),
    "small_nests": (3, "traced", 2.2),
    "helpers": (5, "traced", 2.2),
    "helpers_in_terms": (5, "traced", 2.2),
    "returns": (16, "traced", 2.2),
    "tries": (8, "traced", 2.2),
    "concatenate": (16, "kernels", 2.2),
    "broadcast_arrays": (32, "kernels", 2.2),
    "stack": (16, "kernels", 2.2),
    "sizes": (8, "traced", 2.2),
    "list_of_floats": (6, "traced", 4.4),
}


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Whose last number counts the ops that are recorded, those that are given up as well."""
    found: list[int] = []
    add = Trace.add

    def counted(trace: Trace, *args: Any, **keywords: Any) -> Any:
        found[-1] += 1
        return add(trace, *args, **keywords)

    monkeypatch.setattr(Trace, "add", counted)
    return found


@pytest.mark.parametrize("found", [False, True])
def test_sizes_that_are_used_several_times_stay_short(found: bool, tmp_path: Path) -> None:
    texts = []
    for number in (16, 32):
        text, (x,) = CURVES["sizes"].program(number)
        if found:  # of as many elements as the running program finds
            text = text.replace(":\n", ":\n    x = x[x > -1]\n", 1)
        program = load(text, tmp_path / str(number))
        compiled = jitflow.function(program)
        for argument in (x, x[:2], np.arange(30.0)):
            np.testing.assert_array_equal(compiled(argument), program(argument))
        texts.append(str(compiled.ir(x, stage="traced")))
    assert len(texts[1]) <= 2.4 * len(texts[0])


@pytest.mark.parametrize("name", CURVES)
def test_doubling_the_text_doubles_the_program(name: str, tmp_path: Path) -> None:
    curve = CURVES[name]
    size, stage, times = GROWTH[name]
    lengths = []
    for number in (size, 2 * size):
        text, arguments = curve.program(number)
        function = jitflow.function(load(text, tmp_path / str(number)))
        lengths.append(len(function.ir(*arguments, stage=stage).splitlines()))
    assert lengths[1] <= times * lengths[0]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("range_2", 7),
        ("range_n", 7),
        ("while", 7),
        ("sums", 7),
        ("small_nests", 4),
        ("helpers", 6),
        ("returns", 12),
        ("tries", 8),
    ],
)
def test_doubling_the_text_doubles_what_is_recorded_and_given_up(
    name: str, size: int, tmp_path: Path, recorded: list[int]
) -> None:
    for number in (size, 2 * size):
        recorded.append(0)
        text, arguments = CURVES[name].program(number)
        jitflow.function(load(text, tmp_path / str(number))).ir(*arguments, stage="traced")
    assert recorded[1] <= 2.6 * recorded[0]


@pytest.mark.parametrize(("name", "size"), [("range_2", 12), ("range_3", 8), ("helpers", 8), ("helpers_in_terms", 8)])
def test_deep_nests_compile_and_run(name: str, size: int) -> None:
    point = measure(CURVES[name], size, repeats=1)
    assert point.error == ""
    assert point.seconds is not None


def partition(numbers: list[int]) -> int:
    """A table of as many rows as there are numbers, in columns of as many as their sum is: a textbook's program."""
    n, total = len(numbers), sum(numbers)
    table = [[False for _ in range(total + 1)] for _ in range(n + 1)]
    for i in range(n + 1):
        table[i][0] = True
    for i in range(1, n + 1):
        for j in range(1, total + 1):
            table[i][j] = table[i - 1][j]
            if numbers[i - 1] <= j:
                table[i][j] = table[i][j] or table[i - 1][j - numbers[i - 1]]
    for j in range(total // 2, -1, -1):
        if table[n][j]:
            return total - 2 * j
    return -1


def cheapest_product(sizes: list[int]) -> float:
    n = len(sizes)
    costs = [[float("inf") for _ in range(n)] for _ in range(n)]
    for i in range(n - 1, 0, -1):
        for j in range(i, n):
            if i == j:
                costs[i][j] = 0
                continue
            for k in range(i, j):
                costs[i][j] = min(costs[i][j], costs[i][k] + costs[k + 1][j] + sizes[i - 1] * sizes[k] * sizes[j])
    return costs[1][n - 1]


@pytest.mark.parametrize("program", [partition, cheapest_product])
def test_what_is_recorded_does_not_grow_with_the_rows_of_a_table(program: Any, recorded: list[int]) -> None:
    for count in (6, 12):
        recorded.append(0)
        numbers = [number % 7 + 1 for number in range(count)]
        compiled = jitflow.function(program)
        assert repr(compiled(numbers)) == repr(program(numbers))
    assert recorded[1] <= 2.2 * recorded[0]
    assert recorded[1] <= 6000


def offsets(depth: int) -> str:
    """Loops over a tuple, a list of numbers, and their pairs, in each other; the innermost may end early."""
    heads = ("for d{0} in (-1, 0, 1):", "for d{0} in steps:", "for k{0}, d{0} in enumerate((2, 0.5)):",
             "for d{0}, e{0} in zip(steps, (1, 2)):")  # fmt: skip
    lines = [f"{'    ' * number}{heads[number % 4].format(number)}" for number in range(depth)]
    inside = "    " * depth
    lines += [f"{inside}total += x * ({' + '.join(f'd{number}' for number in range(depth))})",
              f"{inside}if total > 1e6:", f"{inside}    break"]  # fmt: skip
    body = "\n    ".join(["total, steps = 0.0, [-1, 2]", *lines, "return total"])
    return f"def program(x):\n    {body}\n"


def test_loops_over_lists_in_each_other_are_not_all_written_out(tmp_path: Path, recorded: list[int]) -> None:
    for depth in (6, 10):
        recorded.append(0)
        program = load(offsets(depth), tmp_path / str(depth))
        compiled = jitflow.function(program)
        for x in (1.5, 1e6):
            assert compiled(x) == program(x)
    assert recorded[1] <= 4 * recorded[0]


def descents(depth: int) -> str:
    """Functions that call themselves, and in each other the next one."""
    lines = ["def f0(n, x):", "    return x if n <= 0 else f0(n - 1, x) + 1"]
    for number in range(1, depth + 1):
        lines += [f"def f{number}(n, x):", f"    if n <= {number}:", f"        return x + {number}.5",
                  f"    return f{number - 1}(n - 1, x) * 2 + f{number}(n - 3, x)"]  # fmt: skip
    return "\n".join([*lines, "def program(n, x):", f"    return f{depth}(n, x)", ""])


def test_recursions_in_each_other_are_not_traced_level_by_level(tmp_path: Path, recorded: list[int]) -> None:
    for depth in (2, 4):
        recorded.append(0)
        program = load(descents(depth), tmp_path / str(depth))
        assert repr(jitflow.function(program)(9, 2)) == repr(program(9, 2))
    assert recorded[1] <= 4 * recorded[0]
