"""`explain` says of each loop whether it became a native loop or was unrolled, and why.

The answers are files in ``explained/``; ``pytest -n0 --bless tests/frontend`` writes them anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.frontend.control import loops_to_explain

EXPLAINED = Path(__file__).parent / "explained"
U = np.arange(8.0)
ARGUMENTS: dict[str, tuple[Any, ...]] = {"kinds": (U, 5, 10), "nests": (U, 5), "explicit": (U, 5)}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_loops(name: str, request: pytest.FixtureRequest) -> None:
    explanation = jitflow.function(getattr(loops_to_explain, name)).explain(*ARGUMENTS[name])
    text = "\n".join(explanation.loops) + "\n"
    assert "  loops\n    " + explanation.loops[0] in str(explanation)
    path = EXPLAINED / f"{name}.txt"
    if request.config.getoption("--bless"):
        path.write_text(text)
    assert text == path.read_text(), "if this is right: pytest -n0 --bless tests/frontend"


def test_no_loops() -> None:
    explanation = jitflow.function(loops_to_explain.straight).explain(U)
    assert explanation.loops == ()
    assert "  loops\n" not in str(explanation)
