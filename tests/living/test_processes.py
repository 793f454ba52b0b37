"""Functions in other processes: by name where it finds them, with all that they read where it does not."""

from __future__ import annotations

import copy
import importlib.util
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow

needs = [importlib.util.find_spec(name) is None for name in ("cloudpickle", "joblib")]
pytestmark = pytest.mark.skipif(any(needs), reason="needs cloudpickle and joblib")
ROOT = Path(__file__).parents[2]
X = np.arange(3.0)
LOADING = """
import sys, pickle, numpy as np
step, twice, cube, slope, weights = pickle.load(sys.stdin.buffer)
x = np.arange(1.0, 4.0)
found = [step(x, 3), twice(x, 2), cube(x), cube(x, mode="other"), *slope(x), *weights.numpy()]
print([float(number) for number in found])
"""


@jitflow.function
def importable(x: Any) -> Any:
    return x + 1


def run(*arguments: str, sent: bytes = b"") -> bytes:
    done = subprocess.run([sys.executable, *arguments], input=sent, capture_output=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_a_script_sends_its_functions(tmp_path: Path) -> None:
    """To threads of its own, to joblib's and multiprocessing's processes, and to files that others read."""
    script = tmp_path / "script.py"
    script.write_text((Path(__file__).parent / "script.py").read_text())
    expected = json.loads(run(str(script), "run"))
    for kind in ("pickle", "cloudpickle"):
        sent = run(str(script), "dump", kind)
        script.rename(tmp_path / "away")  # the text goes along
        assert json.loads(run("-c", LOADING, sent=sent)) == expected
        (tmp_path / "away").rename(script)


def test_by_name_it_is_the_same_function() -> None:
    assert pickle.loads(pickle.dumps([importable, importable])) == [importable] * 2
    assert copy.deepcopy(importable) is importable


def test_a_closure_is_another_function() -> None:
    table = jitflow.Variable(np.zeros(3))

    @jitflow.function
    def inner(x: Any) -> Any:
        table[:] = table + x
        return importable(table.numpy())

    inner(X)
    other, again, its_table = pickle.loads(pickle.dumps((inner, inner, table)))
    assert other is again
    assert other is not inner
    np.testing.assert_array_equal(other(X), 2 * X + 1)
    np.testing.assert_array_equal(its_table.numpy(), 2 * X)
    np.testing.assert_array_equal(table.numpy(), X)
    assert other.__wrapped__.__globals__["importable"] is importable


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(pickle.PicklingError, match="pip install cloudpickle"):
        pickle.dumps(jitflow.function(lambda x: x))
