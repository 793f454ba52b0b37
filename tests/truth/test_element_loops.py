"""Random loops over elements: reads and writes beside each other, rows that change places, branches, views.

Python runs each and so does the compiled code, at several sizes and layouts: results, arguments afterwards, and
exceptions are the same. ``pytest -m stress`` runs thousands.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import jitflow
from tests.truth.run import define

PARTS, EACH = 4, 3
LAYOUTS = ("C", "C", "C", "F", "strided", "folded", "joined")
"""How arguments lie: ``folded`` ones, to which no program may write, have elements that lie on each other, of
``joined`` ones some do with others."""


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.integers = of_integers(seed)
        self.lines: list[str] = []
        self.depth = 1
        self.positions: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def any(self, *options: str) -> str:
        return self.random.choice(options)

    def text(self) -> str:
        for _ in range(self.random.randint(1, 2)):
            self.loop()
        lines = "\n".join(self.lines)
        head = "def program(A, x, y, k, c):\n    n = len(x)\n    m = A.shape[1]\n    p, q = x, y\n    best = k\n"
        head += f"    s = {1 if self.integers else 0.5}\n"
        return f"{head}{lines}\n    return s, p[n // 2]\n"

    def loop(self) -> None:
        """A loop with what it does, and maybe one inside."""
        name = "ij"[len(self.positions)]
        size = "m" if name == "j" else "n"
        low, high = self.any("0", "1", "2", "k", *self.positions), self.any(size, f"{size} - 1", f"{size} - 2")
        span = self.any(f"{low}, {high}", f"{low}, {high}", f"{low}, {high}, 2", f"{high} - 1, 0, -1")
        self.line(f"for {name} in range({span}):")
        self.depth += 1
        self.positions.append(name)
        if self.random.random() < 0.3:
            self.line(f"r = {self.any('A[i]', 'x[1:]', 'y[::-1]', 'A[:, k]', 'p')}")
        else:
            self.line("r = x")
        statements = self.random.randint(1, 3)
        inner = self.random.randint(0, statements) if len(self.positions) < 2 else -1
        for number in range(statements):
            if number == inner:
                self.loop()
            self.statement()
        if self.random.random() < 0.3:
            self.line("p, q = q, p")
        self.positions.pop()
        self.depth -= 1

    def index(self) -> str:
        base = self.any(*self.positions, *self.positions, *self.positions, "k", "0")
        return base + self.any("", "", " - 1", " + 1", " - 2")

    def element(self) -> str:
        array = self.any("x", "p", "q", "A", "A", "y", "r")
        return f"A[{self.index()}, {self.index()}]" if array == "A" else f"{array}[{self.index()}]"

    def value(self) -> str:
        first, second = self.element(), self.any(self.element(), self.element(), "s", "c")
        form = self.any("{} + {}", "{} * 0.5 - {}", "max({}, {})", "min({}, {}) + 1.0")
        if self.integers:
            form = self.any("{} + {}", "{} * 2 - {}", "max({}, {}, {} + 1)", "min({}, {} + 1, {})", "min({}, {}) + 1")
        return form.format(first, second, self.element())

    def search(self) -> None:
        """A loop that ends at a bound or before."""
        self.line(f"w = {self.index()}")
        array = self.any("x", "p", "q")
        if self.random.random() < 0.5:
            self.line(f"while w >= {self.any('0', '1', 'k')} and {array}[w] > {self.any('c', 'r[k]')}:")
            self.line(f"    {self.any('x', 'p')}[w - 1] = {self.value()}")
            self.line("    w -= 1")
        else:
            self.line(f"while w < {self.any('n', 'n - 1', 'm')} and {array}[w] <= {self.any('c', 'r[k]')}:")
            self.line(f"    w += {self.any('1', '2')}")
            self.line(f"    {self.any('x', 'q')}[w - 1] = {self.value()}")
        self.line("s = s + w")

    def statement(self) -> None:
        kind = self.random.random()
        if self.random.random() < 0.15:
            self.search()
            return
        if self.random.random() < 0.1:
            array = self.any("x", "p", "y")
            self.line(f"if {array}[{self.positions[-1]}] {self.any('>', '<=')} {array}[best]:")
            self.line(f"    best = {self.any(*self.positions)}{self.any('', '', ' + 1', ' - 1')}")
            self.line("s = s + best")
            return
        if kind < 0.5:
            self.line(f"{self.element()} = {self.value()}")
        elif kind < 0.7:
            self.line(f"{self.element()} {self.any('+=', '-=')} {self.value()}")
        elif kind < 0.8:
            self.line(f"s = {self.value()}")
        elif kind < 0.9:
            first, second = self.element(), self.element()
            self.line(f"{first}, {second} = {second}, {first}")
        else:
            self.line(f"if {self.element()} > {self.element()}:")
            self.depth += 1
            self.line(f"{self.element()} = {self.value()}")
            self.depth -= 1
            if self.random.random() < 0.5:
                self.line("else:")
                self.depth += 1
                self.line(f"{self.element()} = {self.value()}")
                self.depth -= 1


def of_integers(seed: int) -> bool:
    return seed % 3 == 0


def arguments(seed: int, layout: str, *, integers: bool) -> tuple[Any, ...]:
    """Arguments, always the same for a seed; numbers that stay exact for a while."""
    chosen = np.random.default_rng(seed)
    n, m = (int(size) for size in chosen.integers(0 if seed % 4 == 0 else 3, 8, 2))
    memory = chosen.integers(-8, 9, 400)
    k, c = int(chosen.integers(-1, 3)), int(chosen.integers(-4, 5))
    if not integers:
        memory, c = memory / 4.0, float(c)
    A, x, y = memory[: n * m].reshape(n, m), memory[200 : 200 + n], memory[300 : 300 + n]
    if layout == "F":
        A = memory[: n * m].reshape(m, n).T
    elif layout == "strided":
        A, x, y = (
            memory[:196].reshape(14, 14)[: 2 * n : 2, :m],
            memory[200 : 200 + 2 * n : 2],
            memory[300 + n : 300 : -1],
        )
    elif layout == "folded":
        A = as_strided(memory, (n, m), (8, 8))
    elif layout == "joined":
        x, y = memory[2 : 2 + n], memory[1 : 1 + n]
    return memory, (A, x, y, k, c)


def outcome(function: Any, seed: int, layout: str, integers: bool) -> tuple[Any, Any, Any]:
    """The result, the class of the exception, and the memory afterwards."""
    memory, given = arguments(seed, layout, integers=integers)
    with np.errstate(all="ignore"):
        try:
            return function(*given), None, memory
        except (Exception, jitflow.CompilerBug) as error:
            return None, error, memory


def problem_of(seed: int) -> str | None:
    """What a program does otherwise than Python, if anything; None too where it is not compiled."""
    source = Writer(seed).text()
    plain, compiled = define(source), jitflow.function(define(source))
    for number in range(3):
        layout = LAYOUTS[(seed + number * 5) % len(LAYOUTS)] if number else "C"
        call = seed + number
        wanted, error, before = outcome(plain, call, layout, of_integers(seed))
        got, raised, after = outcome(compiled, call, layout, of_integers(seed))
        if layout == "folded" and isinstance(raised, NotImplementedError) and "share memory" in str(raised):
            continue
        if isinstance(raised, jitflow.CompilerBug) or (isinstance(raised, Exception) and error is None):
            if isinstance(raised, jitflow.UserError):
                return None
            return f"seed {seed}, call {number} {layout}: {raised!r}\n{source}"
        if error is not None and not isinstance(raised, type(error)):
            return f"seed {seed}, call {number} {layout}: expected {error!r}, got {raised!r}\n{source}"
        same = error is not None or all(np.array_equal(a, b, equal_nan=True) for a, b in zip(wanted, got, strict=True))
        if not same or not np.array_equal(before, after, equal_nan=True):
            return f"seed {seed}, call {number} {layout}: {wanted} {got}\n{before}\n{after}\n{source}"
    return None


def run_seeds(seeds: range) -> None:
    problems = [problem for problem in map(problem_of, seeds) if problem]
    assert not problems, "\n\n".join([f"{len(problems)} of {len(seeds)} programs", *problems[:2]])


@pytest.mark.parametrize("part", range(PARTS))
def test_loops(part: int) -> None:
    run_seeds(range(1000 * part, 1000 * part + EACH))


@pytest.mark.stress
@pytest.mark.parametrize("part", range(100))
def test_more_loops(part: int) -> None:
    run_seeds(range(100_000 + 1000 * part, 100_000 + 1000 * part + 50))
