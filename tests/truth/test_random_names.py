"""Random programs that hand a few arrays from name to name, in branches and loops, and write to them on the way.

Every program gives what Python gives, results and mutated arguments alike, or is refused with `NotImplementedError`.
"""

from __future__ import annotations

import copy
import random
from pathlib import Path

import numpy as np
import pytest

import jitflow
from tests.compare import assert_all_same, assert_same
from tests.truth.written import module_of

NAMES = "abcd"
TURNS = (4, 0, 1, 7)
FRESH = ("{x} * 0.5", "{x} + {y}", "{x}.copy()", "{x}[::-1] * 0.5", "np.zeros({x}.shape)", "{x} - 1.0")
SHOWN = ("{x}", "{x}", "{x}", "{x}[::-1]", "{x}.ravel()", "{x}[:]")


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def program(self) -> str:
        lines = ["    d = a * 2.0", "    t = a[0] * 1.0"]
        for _ in range(self._random.randint(2, 5)):
            lines += self._statement(depth=3, indent=1, in_loop=False)
        lines += ["    return a + 0, b + 0, c + 0, d + 0, t * 1.0"]
        return "import numpy as np\n\n\ndef program(a, b, c, n):\n" + "\n".join(lines) + "\n"

    def _pick(self, *choices: str) -> str:
        x, y = self._random.choice(NAMES), self._random.choice(NAMES)
        return self._random.choice(choices).format(x=x, y=y, k=self._random.randint(1, 5))

    def _statement(self, depth: int, indent: int, in_loop: bool) -> list[str]:
        margin, kind = "    " * indent, self._random.random()
        at = self._pick("0", "1", "-1", *(["i % 6"] if in_loop else []))
        simple = self._simple(kind, at)
        if simple:
            return [margin + simple]
        if depth == 0:
            return [margin + self._pick("{x}[2] = t")]
        inner = self._block(depth - 1, indent + 1, in_loop or kind >= 0.9)
        if kind < 0.9:
            lines = [margin + "if " + self._pick("{x}[0] > {y}[1]", "t > 2", "n > 2", "n > 1") + ":", *inner]
            other = self._block(depth - 1, indent + 1, in_loop) if self._random.random() < 0.6 else []
            return [*lines, margin + "else:", *other] if other else lines
        if in_loop:
            return [margin + f"for j in range({self._pick('2', 'n', '5')}):", *inner]
        if self._random.random() < 0.25:
            return [margin + "i = 0", margin + "while i < n:", *inner, margin + "    i += 1"]
        return [margin + f"for i in range({self._pick('n', 'n', '6')}):", *inner]

    def _simple(self, kind: float, at: str) -> str:
        if kind < 0.28:
            return self._pick("{x} = ") + self._pick(*FRESH, *SHOWN)
        if kind < 0.36:
            return self._pick("{x}, {y} = {y}, {x}")
        if kind < 0.55:
            return self._pick(f"{{x}}[{at}] = {{y}}[3] + {{k}}", f"{{x}}[{at}] = {{y}}[-2]")
        if kind < 0.79:
            return self._pick("{x} += 1.0", "{x}[1:] = {y}[:-1]", "{x} *= {y} * 0.1", "t = t + {x}[1]",
                              "{x}[{x} > 3] = 0.5")  # fmt: skip
        return ""

    def _block(self, depth: int, indent: int, in_loop: bool) -> list[str]:
        return [line for _ in range(self._random.randint(1, 4)) for line in self._statement(depth, indent, in_loop)]


def check(seed: int, folder: Path) -> None:
    module = module_of(Writer(seed).program(), folder / f"names_{seed}.py")
    compiled = jitflow.function(module.program)
    for turns in TURNS:
        theirs = [np.random.default_rng(number).random(6) for number in range(3)]
        ours = copy.deepcopy(theirs)
        with np.errstate(all="ignore"):
            expected = module.program(*theirs, turns)
        try:
            found = compiled(*ours, turns)
        except NotImplementedError:
            return
        assert_same(found, expected)
        assert_all_same(ours, theirs)


@pytest.mark.parametrize("part", range(4))
def test_names(part: int, tmp_path: Path) -> None:
    for seed in range(1000 * part, 1000 * part + 8):
        check(seed, tmp_path)


@pytest.mark.stress
@pytest.mark.parametrize("part", range(4))
def test_more_names(part: int, tmp_path: Path) -> None:
    for seed in range(1000 * part + 8, 1000 * part + 300):
        check(seed, tmp_path)
