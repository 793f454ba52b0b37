"""Schedules of products and contractions are read back as they were printed, edited or not, with the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
import jitflow.nn
from jitflow.compilation.compiler import lower
from jitflow.errors import UserValueError


def normal(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def product(x: Any, w: Any) -> Any:
    return x @ w


def by_steps(x: Any, w: Any) -> Any:
    return x @ w.T


def turned(x: Any, w: Any) -> Any:
    return x.T @ w


def dense(x: Any, w: Any, b: Any) -> Any:
    y = x @ w + b
    return y / (1 + np.abs(y))


def convolved(x: Any, w: Any) -> Any:
    return jitflow.nn.conv(x, w)


PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "product": (product, (normal(37, 530), normal(530, 67))),
    "batch": (product, (normal(3, 20, 30), normal(3, 30, 40))),
    "by steps": (by_steps, (normal(3, 900), normal(41, 900))),
    "turned": (turned, (normal(600, 130), normal(600, 90))),
    "dense": (dense, (normal(65, 520), normal(520, 100), normal(100))),
    "convolved": (convolved, (normal(2, 9, 12, 12), normal(20, 9, 3, 3))),
}


def scheduled(function: Any) -> dict[str, Any]:
    """The kernels of a function that was called, with their schedules."""
    compilation = function._compilation()
    compilation.traced = function._last[1]
    lower(compilation)
    return dict(compilation.lowered.scheduled)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_printed_is_read_back(name: str, tmp_path: Path) -> None:
    program, arguments = PROGRAMS[name]
    function, file = jitflow.function(program), tmp_path / "printed"
    expected = function(*arguments)
    file.write_text(text := function.ir(stage="scheduled"))
    again = jitflow.function(program, schedule=file)
    np.testing.assert_array_equal(again(*arguments), expected)
    assert again.ir(stage="scheduled") == text


@pytest.mark.parametrize("name", PROGRAMS)
def test_proposals_have_the_same_bits(name: str, tmp_path: Path) -> None:
    program, arguments = PROGRAMS[name]
    function, file = jitflow.function(program), tmp_path / "proposal"
    expected = function(*arguments)
    ((kernel, one),) = scheduled(function).items() if name != "convolved" else [*scheduled(function).items()][-1:]
    found = list(one.proposals())
    assert found[0].what == "as chosen"
    assert len(found) > 6
    for proposal in found[1::3]:
        file.write_text(f"{one.kind} @{kernel} ({one.loops_text}) {{\n{proposal.text}}}\n")
        given = jitflow.function(program, schedule=file)
        np.testing.assert_array_equal(given(*arguments), expected, err_msg=proposal.what)
        ((_, read),) = [pair for pair in scheduled(given).items() if pair[0] == kernel]
        assert next(read.proposals()).text == proposal.text


def test_a_figure_that_is_edited_changes_what_is_made_of_it(tmp_path: Path) -> None:
    program, arguments = PROGRAMS["product"]
    function, file = jitflow.function(program), tmp_path / "edited"
    expected = function(*arguments)
    text = function.ir(stage="scheduled")
    packs = next(line for line in text.splitlines() if line.startswith("  packs = "))
    file.write_text(text.replace(packs, "  packs = min(right_bytes, 1)"))
    given = jitflow.function(program, schedule=file)
    np.testing.assert_array_equal(given(*arguments), expected)
    text = given.ir(stage="scheduled")
    assert "  packs = min(right_bytes, 1)\n" in text
    assert "  height = n where packs, else some_rows\n" in text
    file.write_text(text)
    np.testing.assert_array_equal(jitflow.function(program, schedule=file)(*arguments), expected)


MISTAKES = {
    "product": {
        "for steps by depth": ("for steps by 64", "sums are made over as many steps as were chosen"),
        "steps: m": ("steps: n", "kernel product_f32 has other loops"),
        "blocks @": ("panels @", "kernel product_f32 has another kind of schedule"),
        "multiply ": ("divide ", "is no block"),
        "multiply 6": ("multiply 60", "a block of 60"),
        "multiply 8": ("multiply 80", "a block of 80"),
        "for each block {": ("for all blocks {", "this is no loop over blocks"),
        "for rows by height": ("for rows by high", "there is no size high"),
        "for rows by": ("for lines by", "is not the next loop"),
        "packed where packs": ("packed where packs, the left one beforehand", "the left matrix is read as it lies"),
    },
    "by steps": {", the right matrix packed where packs": ("", "the right matrix is turned")},
    "convolved": {
        "for steps by 512": ("for steps by 0", "something is empty"),
        "for columns by 64": ("for columns by 60", "rows of panels and blocks are whole lines"),
        "multiply ": ("multiply 9", "a block does not fit into registers"),
        "ahead": ("behind", "is not what stands there"),
        "rows: ": ("lines: ", "has other loops"),
    },
}


@pytest.mark.parametrize(("name", "old"), [(name, old) for name, some in MISTAKES.items() for old in some])
def test_what_cannot_be_followed_is_an_error(name: str, old: str, tmp_path: Path) -> None:
    program, arguments = PROGRAMS[name]
    text, (new, message) = jitflow.function(program).ir(*arguments, stage="scheduled"), MISTAKES[name][old]
    if old not in text:
        pytest.skip("another processor has other blocks")
    (file := tmp_path / "mistake").write_text(text.replace(old, new, 1))
    with pytest.raises(UserValueError, match=message) as caught:
        jitflow.function(program, schedule=file)(*arguments)
    assert f"{file}:" in "".join(caught.value.__notes__)
