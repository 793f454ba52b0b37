"""Random programs with sets: the keys, the order in which Python goes through them, and what `pop` takes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import jitflow
from jitflow.errors import UserError
from tests.truth.written import module_of

KEYS = ("i", "n", "3", "i * 8", "n * 8", "i % 4", "i * 5 % 11", "16")
SETS = ("a", "b", "c")
TESTS = ("i % 2", "n > 3", "len(a) > 2", "3 in b", "a <= b", "c == a")


class Program:
    """A program that is drawn: three sets, of which one may be the caller's, and a list of what was found."""

    def __init__(self, seed: int) -> None:
        self.draw, self.lines, self.depth = random.Random(seed), list[str](), 0
        begin = self.draw.choice(["def program(n, a):", "def program(n, z):\n    a = {1, 2}"])
        self.put("b, c, out, i = {3, 11, 19}, set(), [], 0")
        for _ in range(self.draw.randint(4, 9)):
            self.statement()
        self.text = "\n".join([begin, *self.lines, "    return out, [*a], [*b], [*c]", ""])

    def put(self, *lines: str) -> None:
        self.lines += ["    " * (self.depth + 1) + line for line in lines]

    def inside(self, head: str, *first: str) -> None:
        """A block of one to three statements, not too deep."""
        if self.depth == 2:
            return
        self.put(head)
        self.depth += 1
        self.put(*first)
        for _ in range(self.draw.randint(1, 3)):
            self.statement()
        self.depth -= 1

    def statement(self) -> None:
        pick = self.draw.choice
        one, other, key = pick(SETS), pick(SETS), pick(KEYS)
        joined, method = pick("|&-^"), pick(["update", "difference_update", "intersection_update",
                                             "symmetric_difference_update"])  # fmt: skip
        made = pick(["set()", "{1, 9, 17}", f"{{{key}, {pick(KEYS)}}}", "set(range(0, n * 8, 8))", f"set({other})",
                     "{x % 5 for x in range(n + 3)}", f"{other}.copy()", "set(out)"])  # fmt: skip
        match self.draw.randrange(17):
            case 0 | 1 | 2:
                self.put(f"{one}.add({key})")
            case 3:
                self.put(f"{one}.discard({key})")
            case 4:
                self.put(f"if {one}: out.append({one}.pop())")
            case 5:
                self.put(f"{one} {joined}= {other}")
            case 6:
                self.put(f"{one} = {other} {joined} {pick(SETS)}")
            case 7:
                self.put(f"{one} = {made}")
            case 8:
                self.put(f"out.append(len({one}) + sum({other}))")
            case 9:
                self.put(f"for x in {one}: out.append(x)")
            case 10:
                self.put(f"out += [x * 2 for x in {one} if x > {key}]")
            case 11:
                self.put(f"{one}.{method}({pick([other, 'out', 'range(n)', '[1, 9]'])})")
            case 12:
                self.inside(f"if {pick(TESTS)}:")
            case 13:
                self.inside(f"for i in range({pick('n43')}):")
            case 14:
                self.put("turns = 0")
                self.inside(f"while {one} and turns < 6:", "turns += 1", f"out.append({one}.pop())")
            case 15:
                self.put(f"try: {one}.remove({key})", "except KeyError: out.append(-1)")
            case 16:
                self.put(f"{one}, {pick(SETS)} = {other}, {pick(SETS)}")


def outcome(function: Any, n: int) -> Any:
    """What a call returns or raises, and what it leaves of the set that it is given."""
    given = {n, 8 * n, 3}
    given.discard(3)
    try:
        found = function(n, given)
    except UserError as error:
        pytest.skip(f"refused: {error.message}")
    except Exception as error:
        found = repr(error)
    given.update((24, 32, 40))
    return found, [given.pop() for _ in range(len(given))]


SEEDS = [pytest.param(seed, marks=() if seed < 24 else pytest.mark.stress) for seed in range(1000)]


@pytest.mark.parametrize("seed", SEEDS)
def test_sets_are_gone_through_as_in_python(seed: int, tmp_path: Path) -> None:
    program = Program(seed)
    module = module_of(program.text, tmp_path / f"sets_{seed}.py")
    compiled = jitflow.function(module.program)
    for n in (2, 5, 9):
        assert outcome(compiled, n) == outcome(module.program, n), program.text


def test_what_is_changed_in_place_is_changed_for_all_who_know_it() -> None:
    def joins(n: int) -> Any:
        keys, row, places, table = {3, 11, 19}, [1], {5}, {1: {7}}
        same, other, held = keys, row, [places]
        added, items = {0}, []
        for i in range(n):
            added.add(i * 3)
            items.append(i)
        keys ^= added
        row += items
        held[0] |= added
        same.symmetric_difference_update({n, 19})
        inner = table[1]
        table[1] -= added
        return [*same], other, [*places], inner, keys is same, row is other, held[0] is places, table[1] is inner

    assert jitflow.function(joins)(4) == joins(4)


def test_lists_that_have_one_name_take_what_the_running_program_makes() -> None:
    """Nobody could tell a new list from the old one."""

    def two() -> list[int]:
        return [1, 2]

    def joins(x: Any, n: int) -> Any:
        items = []
        for i in range(n):
            items.append(i)
        made, ordered, (*rest,) = two(), sorted([3, 1, 2]), (4, 5)
        made += items
        ordered += items
        rest += items
        return made, ordered, rest

    assert jitflow.function(joins)(1.0, 4) == joins(1.0, 4)
