"""How the time of a first call grows with the text: `python -m benchmarks.compile_time`.

Each curve is a kind of program at growing sizes: straight code, loops in loops, helpers called in the branches of
helpers, functions of many arrays. A program is written to a file and called once, in a process of its own that has
compiled something before and that is ended after a limit; its result is compared with plain Python's. The figures are
processor seconds, of all threads, the best of a few files with the same text. ``growth`` is the power of the text's
length, in nodes of its syntax tree beyond those of the empty program, that the time grew with from the middle of the
curve to its end: 1 is linear.
"""

from __future__ import annotations

import ast
import importlib.util
import json as json_format
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from .machine import COMPILED_NOW, describe_machine, versions

__all__ = ["CURVES", "Curve", "Point", "load", "measure"]

_ENOUGH_SECONDS = 2.0
"""Programs that took longer are compiled once."""

Program = tuple[str, tuple[Any, ...]]
"""The text of a module with a function ``program``, and arguments for it."""


@dataclass(frozen=True)
class Curve:
    """A kind of program, by its size."""

    name: str
    description: str
    sizes: Sequence[int]
    program: Callable[[int], Program]


@dataclass
class Point:
    """One program: its size, the nodes that its text adds, and its first call's seconds; None if it came to no end."""

    size: int
    nodes: int
    seconds: float | None
    error: str = field(default="")


# -- programs --------------------------------------------------------------------------------------


def _function(parameters: str, lines: Sequence[str], before: Sequence[str] = ()) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return "\n".join(["import numpy as np", *before, f"def program({parameters}):", body, ""])


def _straight(size: int) -> Program:
    forms = ("a = a * 0.5 + b * 0.{}", "b = np.sin(a) - b * 0.{}", "c = c * 0.5 + a * b * 0.{}")
    lines = [forms[number % 3].format(number) for number in range(size)]
    return _function("a, b, c", [*lines, "return a, b, c"]), tuple(np.linspace(0, k, 8) for k in (1, 2, 3))


def _nest(head: str, arguments: tuple[Any, ...]) -> Callable[[int], Program]:
    def program(size: int) -> Program:
        lines = [f"{'    ' * depth}for i{depth} in {head}:" for depth in range(size)]
        lines += [f"{'    ' * size}total = total + x[{size} % 4] * 0.5 + i{size - 1}"]
        return _function("x, n", ["total = 0.0", *lines, "return total"]), arguments

    return program


def _whiles(size: int) -> Program:
    lines = ["total = 0.0"]
    for depth in range(size):
        indent = "    " * depth
        lines += [f"{indent}k{depth} = 0", f"{indent}while k{depth} < n:", f"{indent}    k{depth} += 1"]
    lines += [f"{'    ' * size}total = total + x[0] * 0.5", "return total"]
    return _function("x, n", lines), (np.ones(4), 1)


def _sums(first: str, last: str, array: tuple[Any, ...]) -> Callable[[int], Program]:
    """Loops in each other, each of which carries a number of its own."""

    def program(size: int) -> Program:
        lines = []
        for depth in range(size):
            indent = "    " * depth
            lines += [f"{indent}s{depth} = {first}", f"{indent}for i{depth} in range(n):"]
        for depth in reversed(range(size)):
            lines += ["    " * (depth + 1) + last.format(f"s{depth}", f"i{depth}")]
        return _function("x, n", [*lines, "return s0" if size else "return x"]), array

    return program


def _small_nests(size: int) -> Program:
    lines = ["total = 0.0"]
    for number in range(size):
        lines += ["for i in range(3):", "    for j in range(3):", "        for k in range(3):"]
        lines += [f"            total = total + x[i] * j + {number}"]
    return _function("x", [*lines, "return total"]), (_VECTOR,)


def _helpers(then: str, otherwise: str) -> Callable[[int], Program]:
    def program(size: int) -> Program:
        helpers = ["def helper0(x):", "    return x * 0.5"]
        for level in range(1, size + 1):
            helpers += [f"def helper{level}(x):", f"    if x.sum() > {level}:"]
            helpers += [f"        return {then.format(f'helper{level - 1}')}", "    else:"]
            helpers += [f"        return {otherwise.format(f'helper{level - 1}')}"]
        return _function("x", [f"return helper{size}(x)"], helpers), (np.ones(4),)

    return program


def _returns(size: int) -> Program:
    lines = [line for k in range(size) for line in (f"if n == {k}:", f"    return x * {k}")]
    return _function("x, n", [*lines, "return x"]), (np.ones(4), 1)


def _tries(size: int) -> Program:
    lines = ["y = 0"]
    for k in range(size):
        lines += ["try:", f"    y += x[n + {k}]", "except IndexError:", f"    y -= {k}"]
    return _function("x, n", [*lines, "return y"]), (np.ones(4), 1)


def _of_arrays(function: str) -> Callable[[int], Program]:
    def program(size: int) -> Program:
        names = ", ".join(f"array{number}" for number in range(size))
        return _function(names, [f"return {function.format(names)}"]), tuple(np.ones(4) for _ in range(size))

    return program


def _list_of_floats(size: int) -> Program:
    rows = ", ".join(f"[{', '.join(f'a * {i}.5 + b * {j}' for j in range(size))}]" for i in range(size))
    return _function("x", ["a, b = x[0], x[1]", f"return np.asarray([{rows}])"]), (np.ones(4),)


_DEPTHS = (1, 2, 4, 8, 12, 16, 20)


def _sizes(count: int) -> Program:
    line = "x = np.concatenate((x[len(x) // 2 :], x[:3], x[: len(x) // 2]))[:9]"
    return _function("x", [*(line for _ in range(count)), "return x"]), (np.arange(7.0),)


_POWERS = (1, 2, 4, 8, 16, 32, 64)
_VECTOR = np.linspace(1, 2, 4)

CURVES = {
    curve.name: curve
    for curve in (
        Curve("straight", "statements of straight code", (1, 3, 10, 30, 100, 300, 1000), _straight),
        Curve("range_2", "loops of 2 turns in each other", _DEPTHS, _nest("range(2)", (_VECTOR, 1))),
        Curve("range_3", "loops of 3 turns in each other", (1, 2, 4, 8, 12), _nest("range(3)", (_VECTOR, 1))),
        Curve("range_n", "loops over a range of an argument", _DEPTHS, _nest("range(n)", (_VECTOR, 1))),
        Curve("while", "`while` loops in each other", _DEPTHS, _whiles),
        Curve("sums", "loops with a sum of their own in each other", _DEPTHS,
              _sums("0.0", "{0} = {0} + x[{1}] * 0.5", (_VECTOR, 1))),
        Curve("sentinels", "loops with a maximum of their own, which begins as another type", (1, 2, 4, 8, 12),
              _sums("-1", "{0} = x[{1}] if x[{1}] > {0} else {0}", (np.arange(4, dtype=np.uint8), 1))),
        Curve("small_nests", "nests of small loops behind each other", (1, 2, 4, 8, 16, 32), _small_nests),
        Curve("helpers", "helpers that call one another in both branches", (1, 2, 4, 8, 16),
              _helpers("{}(x + 1)", "{}(x - 1)")),
        Curve("helpers_in_terms", "the same with arithmetic on what they return", (1, 2, 4, 8, 16),
              _helpers("{}(x + 1) * 2", "{}(-x) - x")),
        Curve("returns", "branches that return an array, or the argument itself", _POWERS, _returns),
        Curve("tries", "`try` statements that catch what the running program raises", _POWERS, _tries),
        Curve("concatenate", "arguments of np.concatenate", (*_POWERS, 128), _of_arrays("np.concatenate([{}])")),
        Curve("broadcast_arrays", "arguments of np.broadcast_arrays", (*_POWERS, 128, 256),
              _of_arrays("np.broadcast_arrays({})")),
        Curve("stack", "arguments of np.stack", _POWERS, _of_arrays("np.stack([{}])")),
        Curve("sizes", "slices whose sizes are used several times in the next one", _POWERS, _sizes),
        Curve("list_of_floats", "rows of as many computed numbers in np.asarray", (2, 4, 8, 16, 32), _list_of_floats),
    )
}  # fmt: skip


# -- measuring -------------------------------------------------------------------------------------


def load(text: str, folder: Path) -> Callable[..., Any]:
    """The function of a program, from a file in a new folder."""
    folder.mkdir()
    file = folder / "program.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("program", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Any] = module.program
    return function


def measure(curve: Curve, size: int, repeats: int = 3) -> Point:
    """Compile one program a few times, in this process. Raises AssertionError for a wrong result."""
    import jitflow

    text, arguments = curve.program(size)
    best = math.inf
    with tempfile.TemporaryDirectory() as folder:
        for number in range(repeats):
            function = load(text, Path(folder) / str(number))
            compiled = jitflow.function(function)
            start = time.process_time()
            try:
                found = compiled(*arguments)
            except NotImplementedError as error:
                return Point(size, _nodes(curve, size), None, str(error).splitlines()[0])
            best = min(best, time.process_time() - start)
            if number == 0:
                _require_equal(found, function(*arguments))
            if best > _ENOUGH_SECONDS:
                break
    return Point(size, _nodes(curve, size), best)


def _nodes(curve: Curve, size: int) -> int:
    """How many nodes more the syntax tree of a program has than that of the empty one."""
    count, empty = (sum(1 for _ in ast.walk(ast.parse(curve.program(number)[0]))) for number in (size, 0))
    return count - empty


def _require_equal(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple | list):
        for one, other in zip(found, expected, strict=True):
            _require_equal(one, other)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def _session(curve: Curve) -> None:
    """Measure all points of a curve, and print each as a line of JSON."""
    import jitflow

    jitflow.function(lambda x: x + 1)(np.ones(3))  # so that no first call pays for the compiler's own start
    for size in curve.sizes:
        print(json_format.dumps(vars(measure(curve, size))), flush=True)


def _points(curve: Curve, limit: float) -> list[Point]:
    """The points of a curve, measured in a process that is ended after the ``limit`` (seconds)."""
    command = [sys.executable, "-m", "benchmarks.compile_time", "--session", curve.name]
    try:
        environment = {**os.environ, **COMPILED_NOW}
        output = subprocess.run(command, stdout=subprocess.PIPE, timeout=limit, check=False, env=environment).stdout
    except subprocess.TimeoutExpired as expired:
        output = expired.stdout or b""
    points = [Point(**json_format.loads(line)) for line in output.splitlines()]
    missing = curve.sizes[len(points) :]
    return points + [Point(size, _nodes(curve, size), None, "came to no end") for size in missing]


def _growth(points: Sequence[Point]) -> float | None:
    """The power of the text's length that the time grows with, from the middle of the curve to its end."""
    first, last = points[(len(points) - 1) // 2], points[-1]
    if first.seconds is None or last.seconds is None:
        return None
    return math.log(last.seconds / first.seconds) / math.log(last.nodes / first.nodes)


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Curves; all if none.")] = None,
    json: Annotated[Path | None, typer.Option(help="Store the result in this file.", metavar="FILE.json")] = None,
    limit: Annotated[float, typer.Option(help="Seconds for each curve.", min=1.0)] = 120.0,
    session: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure how compile time grows with the text."""
    for name in names or []:
        if name not in CURVES:
            raise typer.BadParameter(f"unknown curve {name!r}, expected one of {', '.join(CURVES)}")
    if session:
        _session(CURVES[session])
        return
    found = {name: _points(CURVES[name], limit) for name in names or CURVES}
    table = Table(title="first call by size (ms of all threads)", title_justify="left", box=box.SIMPLE_HEAD)
    for column in ("curve", "size: ms", "growth"):
        table.add_column(column, justify="right" if column == "growth" else "left")
    for name, points in found.items():
        texts = [f"{p.size}: {p.error or '-' if p.seconds is None else format(p.seconds * 1e3, '.0f')}" for p in points]
        growth = _growth(points)
        table.add_row(name, "  ".join(texts), "-" if growth is None else f"{growth:.2f}")
    Console().print(table)
    if json is not None:
        record = {
            "kind": "compile_time", "date": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": describe_machine(),
            "versions": versions(), "limit": limit,
            "curves": [{"name": name, "description": CURVES[name].description, "growth": _growth(points),
                        "points": [vars(point) for point in points]} for name, points in found.items()],
        }  # fmt: skip
        json.write_text(json_format.dumps(record, indent=2, allow_nan=False) + "\n")


if __name__ == "__main__":
    typer.run(main)
