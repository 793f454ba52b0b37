"""Faults in host programs for a GPU are found: every op that moves, launches or waits, left out or done twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jitflow.ir.core import Function, Op, Region, walk
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import OnDevice

MOVING = ("transfer", "wait", "launch", "library", "invoke", "inspect")


def program(x: Any, w: Any, index: Any, table: Any) -> Any:
    y = table[index]
    s = (np.sort(y) @ w).sum()
    if s > 0:
        x += s
    return x * np.array([1.0, 2.0, 3.0]), s


def arguments(last: int = 5) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    index = np.array([3, 0, 5, 1, last])
    return random.random((40, 3)), random.random((4, 5)), index, random.random((6, 4))


def is_moving(op: Op) -> bool:
    """Whether an op is work for the device; memory of the host is the pool's affair."""
    if op.name == "free":
        return " on cuda:0" in str(op.operands[0].type)
    return op.name in MOVING


def changed(number: int, change: Callable[[Op], list[Op]]) -> Callable[[Function], Function]:
    """A change of the op that is the ``number``-th of those in `MOVING`."""

    def rewrite(host: Function) -> Function:
        left = [number]

        def region(old: Region) -> Region:
            return Region(old.parameters, tuple(new for op in old.ops for new in one(op)))

        def one(op: Op) -> list[Op]:
            op = replace(op, regions=tuple(map(region, op.regions)))
            if not is_moving(op):
                return [op]
            left[0] -= 1
            return change(op) if left[0] == -1 else [op]

        return replace(host, region=region(host.region))

    return rewrite


def behaves(host: Callable[[Function], Function], counts: dict[str, int]) -> bool:
    """Whether the program does what it should, with no more work for the device than ``counts`` say."""
    try:
        code = OnDevice(program, *arguments(), host=host)
        ours, theirs = arguments(), arguments()
        (result, total), (wanted, wanted_total) = code(*ours), program(*theirs)
        np.testing.assert_allclose(result, wanted)
        np.testing.assert_allclose(ours[0], theirs[0])
        np.testing.assert_allclose(total, wanted_total)
        if code.lost() or dict(code.device.counts) != counts:
            return False
        bad = arguments(last=6)
        before = bad[0].copy()
        with pytest.raises(IndexError, match="index 6 is out of bounds for axis 0 with size 6"):
            code(*bad)
        return bool((bad[0] == before).all()) and not code.lost()
    except Exception:
        return False
    except pytest.fail.Exception:
        return False


def nothing(program: Function) -> Function:
    return program


def right_counts() -> tuple[Function, dict[str, int], set[str]]:
    seen: list[Function] = []
    code = OnDevice(program, *arguments(), host=lambda host: seen.append(host) or host)  # type: ignore[func-returns-value]
    code(*arguments())
    return seen[0], dict(code.device.counts), code.device.launched


@needs_nvrtc
def test_every_op_matters() -> None:
    host, counts, launched = right_counts()
    assert behaves(nothing, counts)

    def is_idle(region: Region) -> bool:
        """Whether it launches what is for other sizes."""
        names = (
            op.attributes["kernel"] + "_narrow" * bool(op.attributes.get("narrow"))
            for op in walk(region)
            if op.name == "launch"
        )
        return any(name not in launched for name in names)

    branches = [op for op in walk(host.region) if op.name == "if"]
    rare = {inner for op in branches for r in op.regions if op.attributes.get("rare") or is_idle(r)
            for inner in walk(r)}  # fmt: skip
    moving = [op for op in walk(host.region) if is_moving(op)]
    survived = []
    for number, op in enumerate(moving):
        for what, change in (("left out", lambda op: []), ("twice", lambda op: [op, op])):
            idempotent = what == "twice" and op.name == "inspect"
            if op not in rare and not idempotent and behaves(changed(number, change), counts):
                survived.append(f"{number}: {op.name} {what}")
    assert survived == []
