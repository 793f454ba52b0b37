"""Schedules: every legal one of a nest gives the same bits, and what is not legal is refused."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from jitflow.ir.core import Value
from jitflow.ir.printer import Names, print_op
from jitflow.passes.lower.kernels import kernel
from jitflow.passes.schedule.choose import choose
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.legal import check_schedule
from jitflow.passes.schedule.reader import parse_schedule
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.text import ScheduleNames, print_schedule
from jitflow.passes.schedule.transform import moves
from jitflow.passes.schedule.tree import Schedule
from tests.compare import EXACT, assert_same

PROGRAMS: dict[str, Callable[..., Any]] = {
    "elements": lambda x, y: (x * 2 + y[0], x - y[0]),
    "transposed": lambda x, y: x.T * 2 + np.arange(x.shape[0]),
    "outer": lambda x, y: x[:, :, None] * x[:, None, :] + y[0, 0],
    "softmax": lambda x, y: np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1)[:, None],
    "layer norm": lambda x, y: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5),
    "columns": lambda x, y: (x.sum(0), x.max(0), np.sqrt(np.abs(x.mean(0)))),
    "columns centred": lambda x, y: x - x.mean(0),
    "vector times matrix": lambda x, y: y[:, 0] @ x,
    "positions": lambda x, y: (x.argmax(1), x.argmin(0), (x > 1).argmax(1)),
    "questions": lambda x, y: ((x > 2).any(1), (x > -9).all(), (x == y).any(0)),
    "product of elements": lambda x, y: ((x / 4).prod(1), (x / 4).prod(0)),
    "short": lambda x, y: ((x[:, :3] - y[:, :3]) ** 2).sum(1),
    "running": lambda x, y: (np.cumsum(x, 0), np.maximum.accumulate(x, 1), np.cumsum(y * 2, 0)),
    "all": lambda x, y: (x.sum(), x.var(), np.abs(x).max()),
    "all and a bias": lambda x, y: ((x + y[0]).sum(), ((x - y[:, :1]) ** 2).mean(), np.exp((x.T - y[0, 0]) / 9).var()),
}
SIZES = [(70, 40), (3, 1100), (1, 1), (1030, 5), (0, 4), (4, 0), (33, 65)]


def names_of(op: Any, loops: JoinedLoops) -> ScheduleNames:
    values = Names()
    print_op(op, values)
    return ScheduleNames(loops, values)


def test_a_body_that_folds_may_be_longer_before_it_is_masked() -> None:
    """Under a mask the next fold waits for a selection; elementwise, masks cost nothing."""
    x = np.ones((70, 400), np.float32)
    added = jitflow.function(lambda x: np.exp(x).sum(1)).ir(x, stage="scheduled")
    stored = jitflow.function(lambda x: np.exp(x)).ir(x, stage="scheduled")
    assert ("in lanes" in added, "masked" in added) == (True, False)
    assert "in lanes, masked" in stored


def test_long_bodies_of_many_elements_have_turns_of_several_registers() -> None:
    """A processor does not look ahead to the next turn of such a body; few elements are not worth compiling it."""
    x = np.linspace(-3, 3, 1 << 18, dtype=np.float32)

    def lanes(function: Callable[..., Any], x: Any) -> int:
        (found,) = re.findall(r"by (\d+) in lanes", jitflow.function(function).ir(x, stage="scheduled"))
        return int(found)

    def long(x: Any) -> Any:
        return np.tanh(np.exp(x)) + x

    assert lanes(long, x) == 4 * lanes(long, x[:4096]) == 4 * lanes(lambda x: np.exp(x) + 1, x)
    assert_same(jitflow.function(long)(x)[:4097], jitflow.function(long)(x[:4097]), EXACT)


class Wandering:
    """Takes the place of `choose`: some random steps away from what that says, each legal."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.steps: list[str] = []

    def __call__(self, loops: JoinedLoops, target: Target, used: Collection[Value]) -> Schedule:
        schedule = choose(loops, target, used)
        names = names_of(_fusion_of(loops), loops)
        check_schedule(schedule, loops, target, names)
        for _ in range(self.random.randrange(1, 5)):
            possible = list(moves(schedule, loops, target, names))
            if possible:
                what, schedule = self.random.choice(possible)
                self.steps.append(what)
        text = print_schedule(schedule, names)
        parsed = parse_schedule(text, names, loops.vector)
        assert print_schedule(parsed, names) == text
        return parsed


def _fusion_of(loops: JoinedLoops) -> Any:
    from jitflow.ir.core import Builder

    builder = Builder()
    builder.add("fusion", *loops.nest.region.parameters, types=[v.type for v in loops.nest.region.yielded],
                regions=(loops.nest.region,))  # fmt: skip
    return builder.ops[0]


def arguments(rows: int, columns: int, dtype: str) -> Sequence[Any]:
    numbers = np.random.default_rng(rows * 7919 + columns)
    return [(8 * numbers.normal(size=(rows, columns))).astype(dtype) for _ in range(2)]


def check(name: str, dtype: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS[name]
    expected = jitflow.function(program)
    scheduled = jitflow.function(lambda x, y: program(x, y))
    wandering = Wandering(seed)
    with monkeypatch.context() as patch:
        patch.setattr(kernel, "choose", wandering)
        scheduled(*arguments(70, 40, dtype))
    for size in SIZES:
        given = arguments(*size, dtype)
        try:
            program(*given)
        except (ValueError, IndexError):  # no elements to take one of
            continue
        try:
            assert_same(scheduled(*given), expected(*given), EXACT)
        except AssertionError as error:
            error.add_note(f"{name} {dtype} {size}, seed {seed}: {', '.join(wandering.steps)}")
            raise


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_schedules_have_the_same_bits(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if dtype == "i2" and name in ("softmax", "layer norm"):
        dtype = "c16" if name == "columns" else "f2"
    check(name, dtype, len(name) * 31 + len(dtype), monkeypatch)


@pytest.mark.stress
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(20))
def test_many_schedules_have_the_same_bits(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(50 * part, 50 * part + 50):
        numbers = random.Random(seed)
        name = numbers.choice(list(PROGRAMS))
        check(name, numbers.choice(["f4", "f8", "i4", "u1", "f2"]), seed, monkeypatch)


# Schedules that the user gives


def column_sums(x: Any) -> Any:
    return x.sum(0)


def given(text: str, folder: Path) -> Any:
    file = folder / "column_sums.schedule"
    file.write_text(text)
    return jitflow.function(column_sums, schedule=file)


def without_predictions(text: str) -> str:
    """A printed schedule without the comments behind it, which are about sizes."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("; "))


@pytest.fixture(scope="module")
def printed() -> str:
    return without_predictions(jitflow.function(column_sums).ir(np.ones((3, 40)), stage="scheduled"))


def test_a_schedule_is_followed(printed: str, tmp_path: Path) -> None:
    edited = printed.replace("for i by 4096", "for i by 64").replace("by 8 in lanes", "by 16 in lanes")
    assert edited != printed
    scheduled, x = given(edited, tmp_path), np.random.default_rng(0).normal(size=(2100, 300))
    assert_same(scheduled(x), jitflow.function(column_sums)(x), EXACT)
    assert without_predictions(scheduled.ir(stage="scheduled")) == edited


MISTAKES = {
    "fold %2 ": ("store %2 ", "%2 is folded 0 times"),
    "by 1024": ("by 512", "%2 is folded in blocks of 1024"),
    "by 1024 {": ("by 1024 in threads of q {", "there is no size q"),
    "i: m, j: n": ("i: n, j: m", "kernel kernel_0 has other loops"),
    "@kernel_0": ("@kernel_1", "there is no kernel kernel_1 to be scheduled"),
    "for i": ("for k", "there is no loop k"),
    "store %2": ("store %9", "there is no value %9"),
    "in lanes, masked": ("in lanes, sideways", "is no node of a schedule"),
    "schedule": ("plan", "there is no schedule in"),
    "for j by 4 ": ("for j by 3000 ", "the loop j by 3000 does not fit into the one around it"),
    "reduce %2 in memory": ("reduce %2", "a sweep stands where the loops of its results are open, or a strip of them"),
}


@pytest.mark.parametrize("found", MISTAKES)
def test_what_cannot_be_followed_is_refused(found: str, printed: str, tmp_path: Path) -> None:
    edited, message = MISTAKES[found]
    assert found in printed
    with pytest.raises(ValueError, match=re.escape(message)):
        given(printed.replace(found, edited), tmp_path)(np.ones((3, 40)))


def test_what_does_not_go_on_evenly_is_staged_in_each_block(tmp_path: Path) -> None:
    def total(x: Any, b: Any) -> Any:
        return (x + b).sum()

    given = np.random.default_rng(0).normal(size=(70, 40)), np.ones(40)
    printed = without_predictions(jitflow.function(total).ir(*given, stage="scheduled"))
    (stage,) = re.findall(r" *stage %\d+\n", printed)
    file = tmp_path / "total.schedule"
    for text, message in (
        (printed.replace(stage, ""), "the loop i needs operands in scratch memory, a block of 1024 at a time"),
        (
            printed.replace("  reduce", stage + "  reduce"),
            "does not go on evenly is brought into scratch memory at the",
        ),
    ):
        file.write_text(text)
        with pytest.raises(UserError, match=message) as raised:
            jitflow.function(total, schedule=file)(*given)
        assert f"--> {file}:" in raised.value.render()
        assert "| schedule @kernel_0 (" in raised.value.render()
    file.write_text(printed)
    assert_same(jitflow.function(total, schedule=file)(*given), jitflow.function(total)(*given), EXACT)
