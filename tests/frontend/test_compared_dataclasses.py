"""Comparisons that ``@dataclass`` writes, of fields that only the running program knows: one code for all values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import jitflow
from tests.compare import assert_all_same


@dataclass
class Body:
    x: float
    v: float
    name: str = field(default="", compare=False)

    def move(self, step: float) -> None:
        self.x += self.v * step


@dataclass(order=True)
class Job:
    cost: float
    size: int


class Late(Job):
    """Compares as its base does."""


def meetings(bodies: Any, steps: Any) -> Any:
    found = 0
    for _ in range(steps):
        for one in bodies:
            for other in bodies:
                if one != other:
                    one.v += 0.5 * (other.x - one.x)
                found += one == other
        for one in bodies:
            one.move(0.1)
    return found, [one.x for one in bodies]


def made_and_moved(x: Any, v: Any, steps: Any) -> Any:
    return meetings([Body(1.0, 0.5), Body(x, v, "another"), Body(x, 0.5)], steps)


def places(x: Any, size: Any) -> Any:
    jobs = [Job(x, size), Job(1.5, 2), Job(1.5, size)]
    wanted = Job(1.5, 2)
    return jobs.index(wanted), jobs.count(wanted), wanted in jobs[::2], Late(x, 2) == wanted, Late(x, 2) == Late(1.5, 2)


def ordered(jobs: Any) -> Any:
    one, other = jobs[0], jobs[-1]
    orders = one < other, one <= other, one > other, one >= other
    return [job.size for job in sorted(jobs)], min(jobs).size, max(jobs).cost, orders


def one_of_two(x: Any, flag: Any) -> Any:
    body = Body(x, 1.0) if flag else Body(1.0, x)
    return body == Body(1.0, x), body != Body(x, 1.0)


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        (made_and_moved, [(1.0, 0.5, 3), (2.0, 0.5, 2), (1.0, 0.25, 5)]),
        (places, [(1.5, 2), (1.5, 3), (0.5, 2)]),
        (ordered, [([Job(1.0, 2), Job(*other)],) for other in ((0.5, 3), (1.0, 1), (1.0, 2))]),
        (one_of_two, [(2.0, True), (1.0, True), (1.0, False)]),
    ],
)
def test_dataclasses_compare_as_their_fields(program: Any, calls: Any) -> None:
    compiled = jitflow.function(program)
    for call in calls:
        assert_all_same(compiled(*call), program(*call))
    assert compiled.cache_info().misses == 1
