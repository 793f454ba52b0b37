"""Random programs with lists do compiled what they do in Python, to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.truth.list_programs import list_program
from tests.truth.written import module_of

ARGUMENTS = [np.array([3.0, -1, 4, 0, -5, 2]), np.array([-1.0, 2]), np.array([0.5, -2, 7, 1, 1, 1, 9, -3, 2, 8])]


def outcome(function: Any, *arguments: Any) -> str:
    """What a call returns or raises, as text."""
    try:
        return repr(function(*arguments))
    except Exception as error:
        kind = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
        return f"{kind.__name__}: {str(error).splitlines()[0]}"


SEEDS = [pytest.param(seed, marks=() if seed < 8 else pytest.mark.stress) for seed in range(200)]


@pytest.mark.parametrize("seed", SEEDS)
def test_it_does_what_python_does(seed: int, tmp_path: Path) -> None:
    text = list_program(seed)
    module = module_of("import numpy as np\n\n\n" + text, tmp_path / f"lists_{seed}.py")
    compiled = jitflow.function(module.program)
    for u in ARGUMENTS:
        for k in (0, 1, 5):
            assert outcome(compiled, u, k) == outcome(module.program, u, k), text
