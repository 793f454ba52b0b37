"""Random programs that index lists and arrays: loops, conditions around indices, lists of changing length, aliases."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["make_program"]

_PREAMBLE = """\
def program(n, x):
    a = [0] * n
    b = [k * k for k in range(n + 1)]
    c = a
    i = j = s = t = 0
"""


def make_program(seed: int) -> tuple[Callable[..., Any], str]:
    """A function of an int and an array of integers, and its source."""
    lines = _PREAMBLE + "".join(f"{line}\n" for line in _Writer(random.Random(seed)).block(1, 5))
    source = lines + "    return s, i, j, len(a), a, b\n"
    name, names = f"<random indices {seed}>", {}
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), names)
    return names["program"], source


class _Writer:
    def __init__(self, choose: random.Random) -> None:
        self.choose = choose

    def block(self, depth: int, most: int, looping: bool = False) -> Iterator[str]:
        """A few statements."""
        for _ in range(self.choose.randint(1, most)):
            yield from self.statement(depth, looping)

    def statement(self, depth: int, looping: bool) -> Iterator[str]:
        margin, pick = "    " * depth, self.choose.choice
        kinds = ["number", "sum", "store", "store", "length"] + ["if", "for", "while"] * 2 * (depth < 4)
        kind = pick(kinds)
        if kind == "number":
            yield f"{margin}{pick('ij')} = {self.number()}"
        elif kind == "sum":
            yield f"{margin}s = (s * 3 + {self.element()}) % 1000"
        elif kind == "store":
            yield f"{margin}{self.element()} = {self.number()} % 9"
        elif kind == "length":
            yield margin + pick(
                ["a.append(i)", "a.append(s)", "b.append(j)", "b.pop()", "a.pop()", "c = b", "c = a", "c.append(1)",
                 "b = [i] * n", "a = list(range(n + 2))", "c.insert(0, j)", "b.clear()", "c = [s for _ in range(3)]"]
            )  # fmt: skip
        elif kind == "if":
            yield f"{margin}if {self.condition()}:"
            yield from self.block(depth + 1, 3, looping)
            if pick([True, False]):
                yield f"{margin}else:"
                yield from self.block(depth + 1, 2, looping)
            elif looping and pick([True, False]):
                yield f"{margin}    {pick(['break', 'continue'])}"
        elif kind == "for":
            ends = ["n", "n + 1", "len(a)", "len(c)", "i", "len(x)", "3"]
            spans = [f"range({pick(ends)})", f"range(1, {pick(ends)})", f"range({pick(ends)} - 1, -1, -1)",
                     f"range(0, {pick(ends)}, 2)", f"range({self.number()}, {pick(ends)})"]  # fmt: skip
            yield f"{margin}for {pick('ij')} in {pick(spans)}:"
            yield from self.turn(depth)
        else:
            yield f"{margin}while {self.condition()} and {self.condition()}:"
            yield from self.turn(depth)

    def turn(self, depth: int) -> Iterator[str]:
        """The body of a loop, which ends some day."""
        margin = "    " * (depth + 1)
        yield f"{margin}t += 1"
        yield f"{margin}if t > 60:"
        yield f"{margin}    break"
        yield from self.block(depth + 1, 3, True)

    def index(self) -> str:
        return self.choose.choice(["i", "j", "i", "j", "i + 1", "j - 1", "i - 1", "n - 1", "0", "-1", "s % 4", "i - j"])

    def element(self) -> str:
        return f"{self.choose.choice('aabbccx')}[{self.index()}]"

    def number(self) -> str:
        return self.choose.choice(
            [self.index(), "0", "n", "i + 1", "i - 1", "j + 2", "len(a) - 1", "len(c)", "max(i, 0)", "min(j, n)",
             "s % 5", "int(x[0])", "n // 2", "(i + j) // 2"]
        )  # fmt: skip

    def condition(self) -> str:
        left, right = (
            self.choose.choice("ij"),
            self.choose.choice(["n", "len(a)", "len(c)", "0", "n - 1", "i", "j", "4"]),
        )
        plain = f"{left} {self.choose.choice(['<', '<=', '>', '>=', '==', '!='])} {right}"
        return self.choose.choice(
            [plain, plain, plain, f"0 <= {left} < {right}", f"{left} >= 0 and {self.element()} < {right}",
             f"({left} < {right} or {self.element()} > 2)", f"not ({plain})", f"{self.element()} != {right}"]
        )  # fmt: skip
