"""Whatever changes between two processes, the second one computes what Python computes there.

Each case is a program and an edit of it. The second process runs the edited program with what the first one has
left on disk; whether it finds code there or compiles is part of the case: what an edit does not touch must be found.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from jitflow.cache import key
from jitflow.cache.store import Store
from jitflow.runtime import threads
from tests.cache.programs import load, outcome


class Case(NamedTuple):
    """A program, whose function is ``run(x)``, and what is replaced in it before the second process."""

    text: str
    old: str = ""
    new: str = ""
    is_found: bool = False


HEAD = "import numpy as np\nimport jitflow\n"

CASES = {
    "nothing": Case("@jitflow.function\ndef run(x):\n    return x * 2 + 1\n", is_found=True),
    "the code": Case("@jitflow.function\ndef run(x):\n    return x * 2 + 1\n", "+ 1", "+ 3"),
    "a constant in the code": Case("@jitflow.function\ndef run(x):\n    return x * 2.0\n", "2.0", "-2.0"),
    "the sign of a zero": Case("@jitflow.function\ndef run(x):\n    return 1 / (x * 0 + 0.0)\n", "+ 0.0", "* 1 - 0.0"),
    "a line above": Case("@jitflow.function\ndef run(x):\n    return x[100]\n", "@jit", "# more\n@jit"),
    "an option": Case("@jitflow.function\ndef run(x):\n    return x * 2 / 3\n", "function", "function(sync='unordered')"),
    "a helper": Case(
        "def helper(x):\n    return x + 1\n@jitflow.function\ndef run(x):\n    return helper(x) * 2\n", "x + 1", "x - 1"
    ),
    "a helper of a helper": Case(
        "def inner(x):\n    return x + 1\ndef helper(x):\n    return inner(x)\n"
        "@jitflow.function\ndef run(x):\n    return helper(x) * 2\n", "x + 1", "x - 1"
    ),
    "a default": Case(
        "def helper(x, by=2):\n    return x * by\n@jitflow.function\ndef run(x):\n    return helper(x)\n", "by=2", "by=3"
    ),
    "a default of the same value and another type": Case(
        "def helper(x, by=2):\n    return x // by\n@jitflow.function\ndef run(x):\n    return helper(x)\n",
        "by=2", "by=2.0",
    ),
    "a keyword default": Case(
        "def helper(x, *, by=2):\n    return x * by\n@jitflow.function\ndef run(x):\n    return helper(x)\n",
        "by=2", "by=3",
    ),
    "an array as a default": Case(
        "def helper(x, by=np.arange(3.0)):\n    return x[:3] * by\n"
        "@jitflow.function\ndef run(x):\n    return helper(x)\n", "np.arange(3.0)", "np.ones(3)", is_found=True
    ),
    "a number": Case("GAIN = 2.0\n@jitflow.function\ndef run(x):\n    return x * GAIN\n", "2.0", "3.0", is_found=True),
    "the type of a number": Case("GAIN = 2\n@jitflow.function\ndef run(x):\n    return x * GAIN\n", "= 2\n", "= 2.5\n"),
    "a number that Python asks for": Case(
        "AXIS = 0\n@jitflow.function\ndef run(x):\n    return x.reshape(2, 3).sum(AXIS)\n", "AXIS = 0", "AXIS = 1"
    ),
    "an array": Case(
        "TABLE = np.arange(6.0)\n@jitflow.function\ndef run(x):\n    return x * TABLE\n",
        "np.arange(6.0)", "np.full(6, 7.0)", is_found=True,
    ),
    "the dtype of an array": Case(
        "TABLE = np.arange(6.0)\n@jitflow.function\ndef run(x):\n    return x * TABLE\n", "np.arange(6.0)", "np.arange(6)"
    ),
    "a text": Case(
        "MODE = 'sum'\n@jitflow.function\ndef run(x):\n    return x.sum() if MODE == 'sum' else x.max()\n",
        "'sum'\n@", "'max'\n@",
    ),
    "a text that is the same": Case(
        "MODE = 'sum'\n@jitflow.function\ndef run(x):\n    return x.sum() if MODE == 'sum' else x.max()\n", is_found=True
    ),
    "a dict": Case(
        "SETTINGS = {'a': 2.0, 'b': 3.0}\n@jitflow.function\ndef run(x):\n    y = x\n    for key in SETTINGS:\n"
        "        y = y * SETTINGS[key] - len(key)\n    return y\n", "'b'", "'bb'"
    ),
    "the order of a dict": Case(
        "SETTINGS = {'a': 2.0, 'b': 3.0}\n@jitflow.function\ndef run(x):\n    y = x\n    for key in SETTINGS:\n"
        "        y = y * SETTINGS[key] - 1\n    return y\n", "'a': 2.0, 'b': 3.0", "'b': 3.0, 'a': 2.0"
    ),
    "a name that is bound now": Case(
        "@jitflow.function\ndef run(x):\n    return abs(x) + 1\n", "@", "def abs(x):\n    return x * 5\n@"
    ),
    "which function a name is": Case(
        "act = np.exp\n@jitflow.function\ndef run(x):\n    return act(x)\n", "np.exp", "np.tanh"
    ),
    "a module": Case(
        "import math as maths\n@jitflow.function\ndef run(x):\n    return x * maths.sqrt(2.0)\n", "math as maths",
        "cmath as maths",
    ),
    "a cell": Case(
        "def make(gain):\n    @jitflow.function\n    def run(x):\n        return x * gain\n    return run\nrun = make(2.0)\n",
        "make(2.0)", "make(3.0)", is_found=True,
    ),
    "a text in a cell": Case(
        "def make(mode):\n    @jitflow.function\n    def run(x):\n        return x * len(mode)\n    return run\n"
        "run = make('ab')\n", "'ab'", "'abc'"
    ),
    "a function in a cell": Case(
        "def make(act):\n    @jitflow.function\n    def run(x):\n        return act(x)\n    return run\n"
        "run = make(lambda x: x + 1)\n", "x + 1)", "x + 2)"
    ),
    "the cell of a helper": Case(
        "def make(by):\n    return lambda x: x * by\nhelper = make(2.0)\n"
        "@jitflow.function\ndef run(x):\n    return helper(x)\n", "make(2.0)", "make(5.0)", is_found=True
    ),
    "a body of a class": Case(
        "class Model:\n    def __init__(self):\n        self.gain = 2.0\n    def apply(self, x):\n"
        "        return x * self.gain + 1\nmodel = Model()\n"
        "@jitflow.function\ndef run(x):\n    return model.apply(x)\n", "+ 1", "+ 4"
    ),
    "an attribute of an object": Case(
        "class Model:\n    def apply(self, x):\n        return x * self.gain + 1\nmodel = Model()\nmodel.gain = 2.0\n"
        "@jitflow.function\ndef run(x):\n    return model.apply(x)\n", "2.0", "6.0", is_found=True
    ),
    "an attribute of a class": Case(
        "class Model:\n    mode = 'a'\n    def apply(self, x):\n        return x if self.mode == 'a' else -x\n"
        "model = Model()\n@jitflow.function\ndef run(x):\n    return model.apply(x)\n", "mode = 'a'", "mode = 'b'"
    ),
    "a property": Case(
        "class Model:\n    @property\n    def gain(self):\n        return 3.0\nmodel = Model()\n"
        "@jitflow.function\ndef run(x):\n    return x * model.gain\n", "3.0", "4.0"
    ),
    "a base class": Case(
        "class Base:\n    def apply(self, x):\n        return x + 1\nclass Model(Base):\n    pass\nmodel = Model()\n"
        "@jitflow.function\ndef run(x):\n    return model.apply(x)\n", "x + 1", "x + 2"
    ),
    "a dataclass that is returned": Case(
        "import dataclasses\n@dataclasses.dataclass\nclass Pair:\n    a: object\n    b: object = 5\n"
        "    def __post_init__(self):\n        self.c = 1\n"
        "@jitflow.function\ndef run(x):\n    return Pair(x + 1, 2)\n", "self.c = 1", "self.c = 2"
    ),
    "a named tuple that is returned": Case(
        "import collections\nPair = collections.namedtuple('Pair', 'a b')\n"
        "@jitflow.function\ndef run(x):\n    return Pair(x + 1, x.sum())\n", is_found=True
    ),
    "an enumeration": Case(
        "import enum\nclass Mode(enum.Enum):\n    A = 1\n    B = 2\nMODE = Mode.A\n"
        "@jitflow.function\ndef run(x):\n    return x * MODE.value\n", "A = 1", "A = 3"
    ),
    "the error that is raised": Case(
        "class Wrong(Exception):\n    pass\n@jitflow.function\ndef run(x):\n    for value in x:\n"
        "        if value > 4:\n            raise Wrong('too large')\n    return x\n", is_found=True
    ),
    "a helper with other globals": Case(
        "GAIN = 2.0\nother = {'GAIN': 5.0}\nsource = compile('def helper(x):\\n    return x * GAIN', 'program_text', 'exec')\n"
        "exec(source, globals())\nexec(source, other)\nhelper = helper\n"
        "@jitflow.function\ndef run(x):\n    return helper(x)\n", "helper = helper\n", "helper = other['helper']\n"
    ),
    "a compiled helper": Case(
        "@jitflow.function\ndef helper(x):\n    return x + 1\n@jitflow.function\ndef run(x):\n    return helper(x) * 2\n",
        "x + 1", "x - 1",
    ),
    "an array that the trace computes": Case(
        "@jitflow.function\ndef run(x):\n    return x * np.linspace(0, 1, 6)\n", is_found=True
    ),
    "how many numbers the trace computes with": Case(
        "COUNT = 6\n@jitflow.function\ndef run(x):\n    return x * np.hanning(COUNT)\n", "COUNT = 6", "COUNT = 1"
    ),
    "a gradient": Case(
        "def loss(x):\n    return (x ** 2).sum()\nrun = jitflow.grad(loss)\ndef plain(x):\n    return 3 * x ** 2\n",
        "** 2", "** 3",
    ),
    "a gradient of the same": Case(
        "def loss(x):\n    return (x ** 2).sum()\nrun = jitflow.grad(loss)\ndef plain(x):\n    return 2 * x\n",
        is_found=True,
    ),
    "an early return": Case(
        "@jitflow.function\ndef run(x):\n    for i in range(len(x)):\n        if x[i] > 2:\n            return i\n"
        "    return None\n", is_found=True
    ),
}  # fmt: skip

NEVER_KEPT = {
    "the order of a set": "NAMES = frozenset(['ab', 'c', 'def'])\n@jitflow.function\ndef run(x):\n    y = x\n"
    "    for name in NAMES:\n        y = y * 2 + len(name)\n    return y\n",
    "the order of a set that is made": "@jitflow.function\ndef run(x):\n    y = x\n    for name in {'ab', 'c', 'def'}:\n"
    "        y = y * 2 + len(name)\n    return y\n",
    "a logger": "import logging\nlog = logging.getLogger('program')\n@jitflow.function\ndef run(x):\n    log.debug('here')\n"
    "    return x + 1\n",
    "stores to an object": "class Count:\n    calls = 0\ncount = Count()\n@jitflow.function\ndef run(x):\n"
    "    count.calls += 1\n    return x[len(x) - 1] + 1\n",
}


X = np.arange(6.0)


@pytest.mark.parametrize("name", CASES)
def test_an_edit(name: str, disk: Store, tmp_path: Path) -> None:
    case = CASES[name]
    assert case.old in case.text
    path = tmp_path / "program_edited.py"
    first = load(path, HEAD + case.text)
    outcome(first.run, X)
    assert first.run.cache_info().misses == 1
    second = load(path, HEAD + (case.text.replace(case.old, case.new, 1) if case.old else case.text))
    for _ in range(2):
        _agrees(second)
    assert second.run.cache_info().misses == (not case.is_found), second.run._uncached


def _agrees(module: ModuleType) -> None:
    with np.errstate(all="ignore"):
        expected = outcome(getattr(module, "plain", module.run.__wrapped__), X)
    assert _parts(outcome(module.run, X)) == _parts(expected)


def _parts(thing: Any) -> Any:
    """A result as what can be compared: the class and the bits of all that is in it."""
    if isinstance(thing, tuple):
        return type(thing), [*map(_parts, thing)]
    if isinstance(thing, np.ndarray | np.generic):
        return type(thing), thing.dtype, thing.tolist()
    return (type(thing), [*map(_parts, vars(thing).values())]) if hasattr(thing, "__dict__") else (type(thing), thing)


@pytest.mark.parametrize("name", NEVER_KEPT)
def test_what_is_not_kept(name: str, disk: Store, tmp_path: Path) -> None:
    path = tmp_path / "program_not_kept.py"
    module = load(path, HEAD + NEVER_KEPT[name])
    outcome(module.run, X)
    assert {file.path.parent.name for file in disk.files()} <= {"runtime"}
    assert module.run.explain().on_disk.startswith("not kept: ")


def test_arrays_that_are_captured_are_those_of_the_process(disk: Store, tmp_path: Path) -> None:
    text = HEAD + "TABLE = np.zeros(6)\n@jitflow.function\ndef run(x):\n    TABLE[2] += x.sum()\n    return TABLE\n"
    first = load(tmp_path / "program_captured.py", text)
    assert first.run(X) is first.TABLE
    second = load(tmp_path / "program_captured.py", text)
    assert second.run(X) is second.TABLE
    second.TABLE[2] = 1
    assert second.run(X)[2] == 16
    assert first.TABLE[2] == 15
    assert second.run.cache_info().misses == 0


def test_variables_are_those_of_the_process(disk: Store, tmp_path: Path) -> None:
    text = HEAD + (
        "w = jitflow.Variable(np.ones(6), name='w')\n@jitflow.function\ndef run(x):\n"
        "    w.assign(w - 0.5 * x)\n    return w.sum()\n"
    )
    results = []
    for misses in (1, 0):
        module = load(tmp_path / "program_variables.py", text)
        results.append([float(module.run(X)) for _ in range(3)])
        assert module.run.cache_info().misses == misses
    assert results[0] == results[1]


def test_generators_are_those_of_the_process(disk: Store, tmp_path: Path) -> None:
    text = HEAD + "@jitflow.function\ndef run(x, random):\n    return x + random.normal(size=6)\n"
    for misses in (1, 0):
        module = load(tmp_path / "program_draws.py", text)
        found = module.run(X, np.random.default_rng(5))
        np.testing.assert_array_equal(found, X + np.random.default_rng(5).normal(size=6))
        assert module.run.cache_info().misses == misses


def test_each_kind_of_call_is_found(disk: Store, tmp_path: Path) -> None:
    text = HEAD + "@jitflow.function\ndef run(x, y=None):\n    return x * 2 if y is None else x + y\n"
    calls: list[tuple[Any, ...]] = [
        (X,), (X.astype(np.float32),), (X.reshape(2, 3),), (X[::2],), (X, 2), (X, 2.0), (X, X), (X[:1], X), ([1.0, 2.0],),
    ]  # fmt: skip
    for misses in (len(calls), 0):
        module = load(tmp_path / "program_calls.py", text)
        for call in calls:
            assert _parts(outcome(module.run, *call)) == _parts(outcome(module.run.__wrapped__, *call))
        if not misses:
            assert module.run.cache_info().misses == 0


def test_what_a_size_decided_is_asked_again(disk: Store, tmp_path: Path) -> None:
    text = HEAD + "@jitflow.function\ndef run(x):\n    return x * 2 if len(x) > 4 else x - 1\n"
    for misses in (2, 0):
        module = load(tmp_path / "program_sizes.py", text)
        for size in (6, 3, 5, 2):
            np.testing.assert_array_equal(module.run(X[:size]), module.run.__wrapped__(X[:size]))
        assert module.run.cache_info().misses == misses


def test_explain_and_ir_trace_what_was_found(disk: Store, tmp_path: Path) -> None:
    text = HEAD + "@jitflow.function\ndef run(x, y):\n    return np.exp(x) + y\n"
    first = load(tmp_path / "program_explained.py", text)
    first.run(X, 2.0)
    assert first.run.explain().on_disk == "kept for later processes"
    second = load(tmp_path / "program_explained.py", text)
    second.run(X, 2.0)
    assert second.run.explain().on_disk.startswith("found there")
    assert second.run.explain().key == first.run.explain().key
    assert "exp" in second.run.ir()
    assert second.run.cache_info().misses == 0


@pytest.mark.parametrize(
    "what", ["a version", "the processor", "the threads", "a tuned schedule", "the printing of arrays"]
)
def test_what_all_code_depends_on(
    what: str, disk: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    text = HEAD + "@jitflow.function\ndef run(x):\n    return np.exp(x)\n"
    load(tmp_path / "program_versions.py", text).run(X)
    if what == "the threads":
        monkeypatch.setattr(threads, "_limit", threads._limit + 1)
    elif what == "a tuned schedule":
        monkeypatch.setattr(key, "_tuned", lambda: "others")
    elif what == "the printing of arrays":
        monkeypatch.setattr(key.np, "get_printoptions", lambda: {"precision": 3})
    else:
        monkeypatch.setattr(key, "_fixed", lambda: ("another one",))
    second = load(tmp_path / "program_versions.py", text)
    np.testing.assert_array_equal(second.run(X), np.exp(X))
    assert second.run.cache_info().misses == 1
