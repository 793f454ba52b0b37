"""The random programs of `tests/truth`, straight ones and such with statements, on a GPU: NumPy says what is right.

Other seeds than on the CPU; ``pytest -m stress`` runs many more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

import jitflow
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import OnDevice
from tests.truth.run import check_compiled
from tests.truth.test_random_programs import run_seeds
from tests.truth.test_whole_programs import run_seeds as run_whole_seeds

pytestmark = needs_nvrtc


@pytest.fixture(autouse=True)
def _on_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All that is compiled is for ``cuda:0``, which nobody's memory is left on."""
    code = OnDevice(lambda x: x + 1, np.ones(3))
    monkeypatch.setattr(jitflow, "function", partial(jitflow.function, device="cuda:0"))
    with code.installed():
        yield
        code.device.finish()
    assert code.lost() == 0


def test_some() -> None:
    run_seeds(check_compiled, range(7000, 7006))
    run_whole_seeds(range(8000, 8002))


@pytest.mark.stress
@pytest.mark.parametrize("part", range(20))
def test_many(part: int) -> None:
    run_seeds(check_compiled, range(100_000 + 100 * part, 100_030 + 100 * part))
    run_whole_seeds(range(200_000 + 100 * part, 200_010 + 100 * part))
