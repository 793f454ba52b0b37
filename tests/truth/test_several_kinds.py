"""Programs whose names stand for values of several kinds: what writes them, what judges them, and a campaign of them.

``pytest -m stress`` runs 20,000. A failure names its seed; ``python -m tests.truth.several_kinds.reduce SEED`` makes a
small program of it, and ``python -m tests.truth.several_kinds.campaign`` counts.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserTypeError
from tests.truth.several_kinds import verdict as judged
from tests.truth.several_kinds.campaign import group_of, record, run_seeds
from tests.truth.several_kinds.programs import Call, Program, program_of
from tests.truth.several_kinds.verdict import verdict

PARTS, EACH = 8, 3
PART = 200
MOST_REFUSED = 0.03
"""Of the programs that plain Python runs."""

CALLS = [Call(3, True, 1, 5, False), Call(3, False, 0, 6, False)]


def check_seeds(seeds: range, may_be_refused: float) -> None:
    """Run many programs, and report those that go wrong; each refusal says how to mend it."""
    found = [(seed, verdict(*program_of(seed))) for seed in seeds]
    wrong = [(seed, one) for seed, one in found if one.kind not in ("equal", "raised", "early", "refused")]
    refused = [(seed, one) for seed, one in found if one.kind == "refused"]
    silent = [(seed, one) for seed, one in refused if not one.mend]
    texts = [
        f"seed {seed}: {one.kind}: {one.text}\n{one.call}\n{program_of(seed)[0].source}"
        for seed, one in (wrong + silent)[:3]
    ]
    assert not texts, "\n\n".join([f"{len(wrong)} wrong, {len(silent)} refused without a mend", *texts])
    text = "\n".join(f"seed {seed}: {one.text}" for seed, one in refused)
    assert len(refused) <= may_be_refused, f"{len(refused)} refused:\n{text}"


@pytest.mark.parametrize("part", range(PARTS))
def test_programs(part: int) -> None:
    check_seeds(range(1000 * part, 1000 * part + EACH), 1)


@pytest.mark.stress
@pytest.mark.parametrize("part", range(100))
def test_more_programs(part: int) -> None:
    check_seeds(range(part * PART, (part + 1) * PART), 2 + MOST_REFUSED * PART)


# -- what writes them ----------------------------------------------------------------------------

CONSTRUCTS = {
    "a sentinel and a scan": r"m\d+ = \S+\n +k\d+ = \S+\n +for .*\n +if v\d+ > m\d+: m\d+ = v",
    "max of a sentinel": r"m\d+ = max\(m\d+, v\d+\)",
    "run lengths": r"if v\d+ != m\d+: k\d+ \+= 1; m\d+ = v",
    "labels": r"w\d+\[i\d+\] = k",
    "a conditional expression": r"\(\S+ if .* else .*\)",
    "or": r"\(\w+ or .*\)",
    "and": r"\(\w+ and .*\)",
    "a bool or an int as an index": r"\[c if c else 0\]",
    "a helper of two results": r"return None\n|if .*: return (1|0\.5)\n    return",
    "match": r"match n:\n +case 0:",
    "try in try": r"try:\n(.*\n)?( +)try:",
    "a nest of loops": r"( +)for j\d+ in .*:\n +for j\d+ in .*:\n +for j\d+ in .*:\n +for",
    "a loop variable after the loop": r"for v(\d+) in (a|b|range\(n\)):\n( {8}.*\n)+ {4}\S.*\bv\1\b",
    "an array of no axes on a path": r"if .*:\n {8}x\d+ = .*np\.(zeros\(\(\)\)|array\()",
    "out= of another dtype": r"np\.cumsum\(.*, out=w",
    "a narrow store": r"np\.zeros\(2, np\.uint8\)\n +w\d+\[0\] = (300|-1|1e10|np\.nan)",
    "a list that a condition chooses": r"\(\w+ if .* else \w+\)\.append\(",
    "a list behind a branch": r"(if .*|else):\n +[pq]\d* = \[9\.0, 9\.0\]",
    "a dict that a condition chooses": r"t\d* = \w+ if .* else \w+\n",
    "one of two lists from a helper": r"either\(.*, [pq]\d*, [pq]\d*\)",
    "a sum from an int": r"x\d+ = 0\n|sum\([ab]\)",
}


@pytest.fixture(scope="module")
def texts() -> str:
    return "\n\n".join(program_of(seed)[0].source for seed in range(1500))


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_it_is_written(texts: str, construct: str) -> None:
    assert re.search(CONSTRUCTS[construct], texts)


def test_a_seed_says_what_is_written() -> None:
    assert program_of(7) == program_of(7)
    assert program_of(7) != program_of(8)


# -- what judges them ----------------------------------------------------------------------------


def judge(patch: pytest.MonkeyPatch, source: str, other: Any) -> judged.Verdict:
    """What is said where the compiled program does what ``other`` does."""
    call = jitflow.function(lambda: None).cache_info()

    class Compiled:
        def __init__(self, plain: Any) -> None:
            pass

        def cache_info(self) -> Any:
            return call

        def __call__(self, *given: Any) -> Any:
            return other(*given)

    patch.setattr(judged.jitflow, "function", Compiled)
    return verdict(Program(f"def program(a, b, c, n, s):\n    {source}\n", ("float64", "float64"), "float"), CALLS)


def write(a: Any, value: float) -> None:
    a[0] = value


@pytest.mark.parametrize(
    ("source", "other", "kind"),
    [
        ("return a, 1", lambda a, *_: (a, 1), "equal"),
        ("return 1", lambda *_: 1.0, "wrong"),
        ("return 1", lambda *_: True, "wrong"),
        ("return 0.5", lambda *_: np.float64(0.5), "wrong"),
        ("return np.array(0.5)", lambda *_: np.float64(0.5), "wrong"),
        ("return np.uint8(1)", lambda *_: np.int8(1), "wrong"),
        ("return 0.0", lambda *_: -0.0, "wrong"),
        ("return {'n': 1}", lambda *_: {"n": 1.0}, "wrong"),
        ("return a", lambda a, *_: a.copy(), "wrong"),
        ("return a[::-1]", lambda a, *_: a[::-1].copy(), "wrong"),
        ("return [a][0], [1.0]", lambda a, *_: (a, [1.0]), "equal"),
        ("x = [1.0]; return x, x", lambda *_: ([1.0], [1.0]), "wrong"),
        ("a[0] = 8.0", lambda *_: None, "wrong"),
        ("return None", lambda a, *_: write(a, 8.0), "wrong"),
        ("a[0] = 8.0", lambda a, *_: write(a, 8.0), "equal"),
        ("return 1 // 0", lambda *_: 0, "wrong"),
        ("return 1 // 0", lambda *_: [][0], "wrong"),
        ("return 1 // 0", lambda *_: 1 // 0, "raised"),
        ("return np.array([np.nan]).astype(int)", lambda *_: 0, "raised"),
    ],
)
def test_what_differs_is_seen(monkeypatch: pytest.MonkeyPatch, source: str, other: Any, kind: str) -> None:
    assert judge(monkeypatch, source, other).kind == kind


def test_what_tracing_says_is_a_refusal_with_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise UserTypeError("s is a number on one path", mend="give it another name")

    found = judge(monkeypatch, "return 1", refuse)
    assert (found.kind, found.mend, found.ran) == ("refused", "give it another name", True)


def test_a_bug_and_a_hang_are_counted_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise jitflow.CompilerBug("no")

    def spin(*_: Any) -> Any:
        while True:
            pass

    assert judge(monkeypatch, "return 1", fail).kind == "bug"
    monkeypatch.setattr(judged, "SECONDS", 1)
    assert judge(monkeypatch, "return 1", spin).kind == "hang"


def test_what_python_is_too_long_for_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "PYTHONS_SECONDS", 1)
    assert judge(monkeypatch, "while True: pass", lambda *_: None).kind == "raised"


# -- what counts them ----------------------------------------------------------------------------


@pytest.mark.stress
def test_processes_say_what_they_found_of_each_seed() -> None:
    assert [finding["seed"] for finding in run_seeds(range(4), 2)] == [0, 1, 2, 3]


def test_a_campaign_counts() -> None:
    kinds = ("equal", "refused", "refused", "wrong", "raised")
    findings = [
        {
            "seed": seed,
            "kind": kind,
            "text": f"x{seed} is not",
            "mend": "m" * seed,
            "ran": kind != "raised",
            "seconds": seed,
        }
        for seed, kind in enumerate(kinds)
    ]
    stored = record(range(5), findings, 1.0)
    assert {kind: count for kind, count in stored["counts"].items() if count} == {
        "equal": 1, "raised": 1, "refused": 2, "wrong": 1
    }  # fmt: skip
    assert (stored["python_runs"], stored["refused_of_those"]) == (4, 0.5)
    assert [group["seeds"] for group in stored["refusals"].values()] == [[1, 2]]
    assert [found["seed"] for found in stored["slowest"]] == [4, 3, 2, 1, 0]
    assert [failure["seed"] for failure in stored["failures"]] == [3]


def test_refusals_are_grouped_by_what_they_say() -> None:
    one, other = "TypeError: x3 is a number at 12", "TypeError: m7 is a number at 3"
    assert group_of(one) == group_of(other) == "TypeError: x is a number at 0"
