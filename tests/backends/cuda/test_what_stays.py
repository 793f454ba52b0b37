"""What stays on the host, and why: a golden list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Function, walk
from jitflow.ir.routine_table import ROUTINES
from jitflow.passes.analyses.homebound import reason_to_stay, refuse_homebound
from jitflow.runtime.calls import gpu_routines
from tests.golden import read_sections
from tests.truth.run import define

GOLDEN = Path(__file__).parent / "golden" / "stays.txt"

a, s, z = np.eye(4), np.ones((3, 4, 4)), np.eye(4) * 1j
ARGUMENTS = {"x": np.arange(8.0), "i": np.arange(16).reshape(2, 8), "a": a, "s": s, "z": z, "y": 0.5, "n": 3}


def heard(x: Any) -> Any:
    jitflow.callback(print)(x)
    return x


def heard_number(y: Any) -> Any:
    jitflow.callback(print)(y)
    return y


def written(x: Any) -> Any:
    print(x)
    return x


def grown(x: Any) -> Any:
    found = []
    for number in x:
        if number > 0:
            found.append(number * 2)
    return np.array(found)


def solved_or_not(a: Any) -> Any:
    try:
        x = np.linalg.solve(a, a[0])
    except np.linalg.LinAlgError:
        x = a[0]
    return x


HELPERS = (heard, heard_number, written, grown, solved_or_not)


def traced(statement: str) -> Function:
    program = define(f"def program({', '.join(ARGUMENTS)}):\n    return {statement}\n")
    program.__globals__.update({helper.__name__: helper for helper in HELPERS})
    function = jitflow.function(program)
    return function._trace(function._bind(tuple(ARGUMENTS.values()), {})).traced.function


def what_stays(statement: str) -> str:
    """The first op that stays on the host, with its reason."""
    reasons = ((op.attributes.get("routine", op.name), reason_to_stay(op)) for op in walk(traced(statement).region))
    return next((f"{what}: {reason}" for what, reason in reasons if reason), "on the GPU")


@pytest.mark.parametrize("name", read_sections(GOLDEN))
def test_the_list(name: str, check_golden: Callable[[Path, str, str], None]) -> None:
    statements = read_sections(GOLDEN)[name].before.splitlines()
    check_golden(GOLDEN, name, "".join(f"{each}  # {what_stays(each)}\n" for each in statements))


def test_the_refusal_says_so() -> None:
    with pytest.raises(UserNotImplementedError, match=r"eigvals on a GPU: .* another order") as caught:
        refuse_homebound(traced("np.linalg.eigvals(z)"))
    assert "leave this part to cpu:0" in caught.value.__notes__[0]


def test_every_function_for_gpus_is_in_the_table() -> None:
    assert {row.gpu for row in ROUTINES.values()} - {""} == set(gpu_routines.__all__)
