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
x, found = np.arange(1.0, 4.0), []
for name in sys.argv[1:]:
    step, twice, cube, slope, weights = pickle.load(open(name, "rb"))
    each = [step(x, 3), twice(x, 2), cube(x), cube(x, mode="other"), *slope(x), *weights.numpy()]
    found.append([float(number) for number in each])
print(found)
"""


@jitflow.function
def importable(x: Any) -> Any:
    return x + 1


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_script_sends_its_functions(tmp_path: Path) -> None:
    """To threads of its own, to joblib's and multiprocessing's processes, and to files that others read."""
    script = tmp_path / "script.py"
    script.write_text((Path(__file__).parent / "script.py").read_text())
    expected = json.loads(run(str(script)))
    script.unlink()  # the text goes along
    assert json.loads(run("-c", LOADING, str(tmp_path / "pickle"), str(tmp_path / "cloudpickle"))) == [expected] * 2


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
    text = pickle.dumps((inner, inner, table))
    other, again, its_table = pickle.loads(text)
    assert pickle.loads(text)[0] is not other, "each copy has its own variables"
    assert other is again
    assert other is not inner
    np.testing.assert_array_equal(other(X), 2 * X + 1)
    np.testing.assert_array_equal(its_table.numpy(), 2 * X)
    np.testing.assert_array_equal(table.numpy(), X)
    assert other.__wrapped__.__globals__["importable"] is importable


def test_a_function_of_nothing_that_changes_is_made_once() -> None:
    bound = 2.0

    def helper(x: Any) -> Any:
        return x * bound if x.sum() > bound else x

    def pickled() -> bytes:
        return pickle.dumps(jitflow.function(lambda x: helper(x) + np.float32(1)))

    other = pickle.loads(pickled())
    np.testing.assert_array_equal(other(X), X * 2 + 1)
    assert pickle.loads(pickled()) is other
    bound = 4.0
    assert pickle.loads(pickled()) is not other
    helper.changes = []  # type: ignore[attr-defined]
    text = pickled()
    assert pickle.loads(text) is not pickle.loads(text)


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(pickle.PicklingError, match="pip install cloudpickle"):
        pickle.dumps(jitflow.function(lambda x: x))
