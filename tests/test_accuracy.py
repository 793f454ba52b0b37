"""The command that measures the elementary functions through the whole compiler, and what it has stored."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.accuracy import DOUBLE, SINGLE, SUBJECTS, Subject, compute_with_jitflow, main, measure_subject
from benchmarks.accuracy_report import BEGIN, END, RESULTS, Finding, as_record, rewrite_page

BOUND = 2.0
"""The contract with the user, in ulp."""


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("subject", [each for each in SUBJECTS if each.widens], ids=lambda each: each.name)
def test_compiled_functions_keep_the_contract(subject: Subject, dtype: type) -> None:
    with np.errstate(all="ignore"):
        worst, where, _ = measure_subject(subject, compute_with_jitflow(subject, dtype), dtype, 1 << 10)
    assert worst <= BOUND, f"{subject.name}({where}) is off by {worst:.3f} ulp"


def test_the_command_prints_a_line_for_each_function(capsys: pytest.CaptureFixture[str]) -> None:
    main(["arcsin", "hypot", "--fast", "--f32", "--source", "jitflow"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["arcsin", "f32"], ["hypot", "f32"]]
    assert lines[3:] == ["all special values as in NumPy"]


def test_the_table_stands_between_its_markers() -> None:
    record = as_record([Finding("exp", "f64", 0.9, "1.0", 0.5, 0.6, 1000, ())], "jitflow")
    text = rewrite_page(record, f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert text.startswith(f"before\n{BEGIN}\n`python -m benchmarks.accuracy")
    assert "old" not in text
    assert "| `exp` | - | - | - | 0.90 | 0.50 | 0.60 |" in text
    assert text.endswith(f"{END}\nafter\n")
    assert rewrite_page(record, text) == text
    with pytest.raises(ValueError, match="expected the lines"):
        rewrite_page(record, "no markers")


def test_what_is_published_keeps_the_contract() -> None:
    record = json.loads(RESULTS.read_text())
    assert {each["function"] for each in record["functions"]} == {subject.name for subject in SUBJECTS}
    for each in record["functions"]:
        assert each["worst_ulp"] <= BOUND, each
        assert not each["differences"], each
