"""The program of a seed, and the arguments of its calls: of the same types, and for every path."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.truth.several_kinds.blocks import Blocks
from tests.truth.several_kinds.values import DTYPES

__all__ = ["Call", "Program", "arguments", "program_of"]

_NUMBERS = ("float", "float", "float", "int", "float32", "float16", "uint8", "int8", "int64", "no axes", "no axes f4")
"""What the argument ``s`` may be."""


@dataclass(frozen=True)
class Program:
    """A source that defines ``program(a, b, c, n, s)``: two arrays, a bool, an int and a number."""

    source: str
    dtypes: tuple[str, str]
    number: str


@dataclass(frozen=True)
class Call:
    """What the arguments of one call are made from."""

    size: int
    c: bool
    n: int
    seed: int
    special: bool


def program_of(seed: int) -> tuple[Program, Sequence[Call]]:
    """The program of a seed, and its calls."""
    choose = random.Random(seed).randrange
    writer = Writer(choose)
    return writer.program(), _calls(choose)


class Writer(Blocks):
    """Writes whole programs."""

    def program(self) -> Program:
        """Helpers, some names of each sort, statements, and all names as the result."""
        self.helpers = {}
        for _ in range(self.choose(3)):
            self._helper()
        self.lines += ["def either(c, x, y):", "    return x if c else y", ""]
        self.lines.append("def program(a, b, c, n, s):")
        self.names = {"a": "array", "b": "array", "c": "number", "n": "number", "s": "number"}
        self.kept, self.perhaps = {"a", "b", "c", "n"}, {}
        with self.indented():
            if self.chance(2):
                self._two_of_a_sort(self.pick(("list", "dict")))
            for _ in range(2 + self.choose(4)):
                self.statement()
            self._return()
        first = self.pick(DTYPES)
        return Program(
            "\n".join(self.lines) + "\n", (first, self.pick((first, self.pick(DTYPES)))), self.pick(_NUMBERS)
        )

    def _helper(self) -> None:
        """A function that gives one of two kinds, by a condition."""
        name, sort = self.fresh("helper"), self.pick(("number", "number", "maybe"))
        self.lines.append(f"def {name}(c, x):")
        with self.indented():
            self.names = {"c": "number", "x": "number"}
            values = [self._result(), self._result()]
            if sort == "maybe":
                values[self.choose(2)] = "None"
            test = self.pick(("c", "not c", "c > 1", "x > 1", "x"))
            self.line(self.pick((f"if {test}: return {values[0]}", f"if {test}: x = {values[0]}; return x")))
            self.line(f"return {values[1]}")
        self.lines.append("")
        self.helpers[name] = sort

    def _result(self) -> str:
        return self.pick((self.constant(), "x", "x * 2", "x / 2", "x + 0.5", "int(x)", "np.float32(x)", "x > 1",
                          "np.array(x)", "np.zeros(2)" if self.chance(5) else "x"))  # fmt: skip

    def _two_of_a_sort(self, sort: str) -> None:
        for name in ("p", "q") if sort == "list" else ("t", "r"):
            if sort == "list":
                self.line(f"{name} = {self.pick(('[1.0, 2.0]', '[s, 0.5]', '[0.25]', '[3.0]', '[]', '[1, 2]'))}")
            else:
                self.line(f"{name} = {self.pick(('', 'dict'))}({{'n': {self.constant()}, 'k': s}})")
            self.bind(name, sort)

    def _return(self) -> None:
        names = [name for name in self.names if name not in ("c", "n", "b")]
        if self.chance(5) and self.perhaps:
            names.append(self.pick(sorted(self.perhaps)))
        results = names if self.choose(4) else [self.pick(names)]
        self.line(f"return {', '.join(results)}")


# -- arguments -----------------------------------------------------------------------------------


def _calls(choose: Any) -> list[Call]:
    """Both values of the condition, sizes from 0 and ints from -1 on, in a random order."""
    sizes, found = [3 + choose(4), 4, 5, 1, 0, 2 + choose(3)], []
    for turn, size in enumerate(sizes):
        n = (choose(3), -1, 0, 1, 2, 7)[choose(6)]
        found.append(Call(size, bool((turn + choose(2)) % 2), n, choose(1000), choose(5) == 0))
    return found


def arguments(program: Program, call: Call) -> tuple[Any, ...]:
    """The arguments of a call, new ones each time."""
    random = np.random.default_rng(call.seed)
    a, b = (_array(dtype, call.size, random, call.special) for dtype in program.dtypes)
    return a, b, call.c, call.n, _number(program.number, float(random.integers(-6, 12)) / 4)


def _array(dtype: str, size: int, random: Any, special: bool) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return random.integers(0, 2, size).astype(bool)
    if kind.kind in "iu":
        values = random.integers(-4 if kind.kind == "i" else 0, 9, size).astype(kind)
        limits = np.iinfo(kind)
        choices = np.array([limits.max, limits.min, min(limits.max, 2**53 + 1)], kind)
    else:
        values = (random.integers(-12, 13, size) / 4).astype(kind)
        choices = np.array([np.inf, -np.inf, np.nan, 600.0], kind)
    return (
        np.where(random.random(size) < 0.25, random.choice(choices, size), values).astype(kind) if special else values
    )


def _number(kind: str, value: float) -> Any:
    if kind == "float":
        return value
    if kind == "int":
        return int(value)
    if kind.startswith("no axes"):
        return np.array(value, np.float32 if kind.endswith("f4") else np.float64)
    return np.dtype(kind).type(abs(value))
