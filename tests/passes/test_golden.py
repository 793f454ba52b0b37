"""Golden files: what each rule and pass makes of a small function, that it means the same, and that rules fire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from jitflow.ir.core import Function
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from jitflow.ir.verifier import verify
from jitflow.passes.pipeline import run_passes
from jitflow.passes.rules.rewrite import Rule, RuleTable, rewrite
from jitflow.passes.values.fastmath import FASTMATH
from jitflow.passes.values.simplify import SIMPLIFICATION
from tests.compare import assert_all_same, tolerance_of
from tests.golden import Section, read_sections
from tests.special_numbers import arguments_for

FOLDER = Path(__file__).parent / "golden"
SECTIONS = [(path, section) for path in sorted(FOLDER.glob("*.ir")) for section in read_sections(path).values()]
RULES: dict[str, Rule] = {rule.name: rule for rule in (*SIMPLIFICATION, *FASTMATH)}
TABLES = {"simplify": RuleTable(SIMPLIFICATION), "fastmath": RuleTable(FASTMATH)}


def _name(value: object) -> str:
    return value.name if isinstance(value, Section) else value.stem if isinstance(value, Path) else str(value)


@pytest.mark.parametrize(("path", "section"), SECTIONS, ids=_name)
def test_before_and_after(path: Path, section: Section, check_golden: Callable[[Path, str, str], None]) -> None:
    before = parse(section.before)
    verify(before)
    after = run_passes(before, section.passes)
    verify(after, " ".join(section.passes))
    if section.name in RULES:
        fired: Counter[str] = Counter()
        rewrite(before, TABLES[section.passes[0]], fired)
        assert fired[section.name], f"the rule {section.name} does not fire in its own test"
    check_golden(path, section.name, print_function(_without_decisions(after)))
    if "fastmath" not in section.passes:
        equal = ("n", "k") if path.stem == "agree" else ()
        assert_same_meaning(before, after, equal=equal)
        assert_writeable(before, after, equal)


def _without_decisions(function: Function) -> Function:
    """What `fuse` says about its choices stands elsewhere."""
    attributes = {name: value for name, value in function.attributes.items() if name != "decisions"}
    return replace(function, attributes=MappingProxyType(attributes))


def test_every_rule_has_a_section_of_its_own() -> None:
    names = [rule.name for rule in (*SIMPLIFICATION, *FASTMATH)]
    assert len(names) == len(set(names))
    assert set(names) <= {section.name for _, section in SECTIONS}


def assert_same_meaning(before: Function, after: Function, rounds: int = 8, equal: Sequence[str] = ()) -> None:
    """Both functions give the same results, in the same state, on random numbers among which are the special ones."""
    random = np.random.default_rng(3)
    tolerance = tolerance_of(before)
    for _ in range(rounds):
        arguments = arguments_for(before, random, equal=equal)
        copies = [np.array(value) if isinstance(value, np.ndarray) else value for value in arguments]
        expected, actual = interpret(before, *arguments), interpret(after, *copies)
        assert_all_same(actual, expected, tolerance)
        assert_all_same(copies, arguments)
        if not any(op.regions for op in before.region.body):
            assert _sharing(actual, copies) == _sharing(expected, arguments)
            assert_no_new_sharing(actual, expected)


def assert_no_new_sharing(actual: Sequence[Any], expected: Sequence[Any]) -> None:
    """Results share memory with each other only where they did; of results of loops that is not always known."""
    for now, before in zip(_sharing(actual, actual), _sharing(expected, expected), strict=True):
        assert all(old or not new for new, old in zip(now, before, strict=True))


def _sharing(left: Sequence[Any], right: Sequence[Any]) -> list[list[bool]]:
    return [[np.may_share_memory(a, b) for b in right] for a in left]


def assert_writeable(before: Function, after: Function, equal: Sequence[str] = ()) -> None:
    """What was an array of its own is not a view that repeats one number: the user may write to it."""
    random = np.random.default_rng(4)
    arguments = arguments_for(before, random, equal=equal)
    copies = [np.array(value) if isinstance(value, np.ndarray) else value for value in arguments]
    for wanted, got in zip(interpret(before, *arguments), interpret(after, *copies), strict=True):
        assert not isinstance(wanted, np.ndarray) or got.flags.writeable or not wanted.flags.writeable
