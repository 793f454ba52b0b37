"""The tables of schedules in ARCHITECTURE.md: each is what is printed for the program beside it.

``pytest -n0 --bless tests/test_schedule_tables.py`` writes what is printed now; read the diff.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jitflow
import jitflow.nn
from jitflow.ir.parser import parse
from jitflow.passes.lower import CPU, GPU, lower
from jitflow.passes.pipeline import fusion_pipeline, run_passes

DOCUMENT = Path(__file__).parents[1] / "ARCHITECTURE.md"
HEAD = "| kernel | program | schedule |\n|---|---|---|\n"
PROGRAM = re.compile(r"`(?P<code>.+?)`, (?P<types>.+)")
TYPE = re.compile(r"(\w+): (\w+\[[^\]]*\])")


def tables() -> list[list[list[str]]]:
    """The rows of each table, in three columns."""
    text = DOCUMENT.read_text()
    parts = [part.partition("\n\n")[0].rstrip("\n") for part in text.split(HEAD)[1:]]
    return [[[cell.strip() for cell in line.strip("|").split(" | ")] for line in part.splitlines()] for part in parts]


def printed(kernel: str, program: str, *, gpu: bool) -> str:
    """The schedule of a program, on one line: without figures, and without the user's lines."""
    parts = PROGRAM.fullmatch(program)
    assert parts is not None, program
    types = dict(TYPE.findall(parts["types"]))
    function = eval(f"lambda {', '.join(types)}: {parts['code']}", {"np": np, "jitflow": jitflow})
    traced = jitflow.function(function).ir(*map(jitflow.Spec.parse, types.values()), stage="optimized")
    target = GPU if gpu else replace(CPU, threads=4 if "threads" in kernel else 1)
    fused = run_passes(parse(traced), fusion_pipeline("cuda:0" if gpu else "cpu:0"))
    *_, (name, scheduled) = lower(fused, target).scheduled.items()
    lines = scheduled.text(name).partition(f"\n{scheduled.kind} @{name} ")[2].splitlines()[1:]
    told = [line.partition(";")[0].strip() for line in lines[: lines.index("}")]]
    return " ".join(line for line in told if not re.match(r"\w+ = ", line))


@pytest.mark.parametrize("number", range(2))
def test_schedules_are_those_that_are_printed(number: int, request: pytest.FixtureRequest) -> None:
    rows, text = tables()[number], DOCUMENT.read_text()
    assert len(rows) > 3
    bless = request.config.getoption("--bless")
    for kernel, program, schedule in rows:
        now = f"`{printed(kernel, program, gpu=number == 1)}`"
        row = f"| {kernel} | {program} | {schedule} |"
        assert text.count(row) == 1, row
        assert bless or schedule == now, "if this is right: pytest -n0 --bless tests/test_schedule_tables.py"
        text = text.replace(row, f"| {kernel} | {program} | {now} |")
    if bless:
        DOCUMENT.write_text(text)
