"""Random programs of small integers that comparisons choose: flags, states and counts, compared with each other.

They index, bound loops and slices, and decide; every program gives what Python gives.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from tests.compare import Tolerance
from tests.truth.whole.same import assert_does_what_python_does
from tests.truth.written import module_of

NUMBERS = ("a[i]", "a[i - 1]", "x", "y", "a[-1]", "a[i] * x", "m")
FLAGS = ("1 if {} else 0", "0 if {} else 1", "int({})", "-1 if {} else 1", "3 if {} else 5", "p if {} else q")
SUMS = Tolerance("sums in another order", epsilons=64)


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._flags = ["p", "q", "state", "count"]

    def program(self) -> str:
        lines = ["    count, p, q, m, state, out, held = 0, 0, 1, 0.0, 0, np.zeros(8), []"]
        is_loop = self._random.random() < 0.8
        lines.append("    for i in range(1, len(a)):" if is_loop else "    i = 1")
        margin = "        " if is_loop else "    "
        for number in range(self._random.randint(2, 4)):
            lines.append(f"{margin}f{number} = {self._flag()}")
            self._flags.append(f"f{number}")
        for _ in range(self._random.randint(3, 6)):
            lines += [margin + line for line in self._statement(is_loop)]
        lines.append("    return count, p, q, state, m, out, held")
        return "import numpy as np\n\n\ndef program(x, y, a):\n" + "\n".join(lines) + "\n"

    def _pick(self, *choices: str) -> str:
        known = {name: self._random.choice(self._flags) for name in ("f", "g")}
        number = self._random.choice(NUMBERS)
        return self._random.choice(choices).format(**known, v=number, k=self._random.randint(-1, 4))

    def _comparison(self) -> str:
        return self._pick("{v} > 0.5", "{v} <= 2.0", "{v} < x", "{v} != 0.0", "{v} >= a[i]", "{v} > a[i - 1]")

    def _flag(self) -> str:
        return self._pick(self._random.choice(FLAGS).format(self._comparison()))

    def _condition(self) -> str:
        of_flags = self._pick(
            "{f} == {g}", "{f} != {g}", "{f} < {g}", "{f} >= {g}", "{f} == {k}", "{f} < {k}", "not {f}"
        )
        joined = self._random.choice(["{0}", "{0}", "{0}", "{0} and {1}", "({1} or {0})"])
        return joined.format(of_flags, self._comparison())

    def _expression(self) -> str:
        chosen = self._pick("{f} + {g}", "{f} - {g}", "{f} * {g}", "min({f}, {g})", "max({f}, {g})", "({f} + 7) % 3")
        condition = self._condition()
        return self._random.choice([chosen, self._flag(), self._pick(f"{{f}} if {condition} else {{g}}")])

    def _statement(self, is_loop: bool) -> list[str]:
        kind, condition, expression = self._random.random(), self._condition(), self._expression()
        if kind < 0.25:
            return [f"if {condition}: count += 1"]
        if kind < 0.4:
            return [f"{self._random.choice(['p', 'q', 'state'])} = ({expression}) % 5"]
        if kind < 0.6:
            return [self._pick("out[{f} % 8] += {v}", "out[{f} % 4:{g} % 8] += 1.0")]
        if kind < 0.7:
            return [self._pick("for j in range({f} % 4, {g} % 7): out[j] += 0.5")]
        if kind < 0.8:
            return [f"if {condition}:", f"    state = ({expression}) % 4", "else:", self._pick("    m += {v}")]
        if kind < 0.92 or not is_loop:
            return [self._pick("held.append({f})", f"m = max(m, {{v}}) if {condition} else m")]
        return [f"if {condition}: {self._random.choice(['continue', 'break'])}"]


def check(seed: int, folder: Path) -> None:
    program, draw = module_of(Writer(seed).program(), folder / f"flags_{seed}.py").program, np.random.default_rng(seed)
    calls = [(draw.uniform(-1, 3), draw.uniform(-1, 3), draw.uniform(-2, 4, size)) for size in (9, 2, 4)]
    assert_does_what_python_does(program, calls, SUMS)


@pytest.mark.parametrize("part", range(4))
def test_flags(part: int, tmp_path: Path) -> None:
    for seed in range(1000 * part, 1000 * part + 6):
        check(seed, tmp_path)


@pytest.mark.stress
@pytest.mark.parametrize("part", range(4))
def test_more_flags(part: int, tmp_path: Path) -> None:
    for seed in range(1000 * part + 6, 1000 * part + 300):
        check(seed, tmp_path)
