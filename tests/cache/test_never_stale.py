"""Whatever changes between two processes, the second one computes what Python computes there.

Each case of `edits.md` is a program and an edit of it. The second process runs the edited program with what the first
one has left on disk; whether it finds code there or compiles is part of the case: what an edit does not touch must be
found.
"""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from jitflow.cache import key
from jitflow.cache.store import Store
from jitflow.runtime.parallel import threads
from tests.cache.programs import load, outcome, switched


class Case(NamedTuple):
    """A program, what is replaced in it before the second process, and whether that finds code: a word of the title."""

    text: str
    old: str
    new: str
    fate: str


HEAD = "import numpy as np\nimport jitflow\n"
EDITS = Path(__file__).with_name("edits.md")


def read_cases() -> dict[str, Case]:
    """The cases of `edits.md`, by their titles."""
    found = {}
    for section in EDITS.read_text().split("\n## ")[1:]:
        title, _, rest = section.partition("\n")
        name, _, fate = title.partition(": ")
        text, _, edit = rest.partition("```python\n")[2].partition("\n```\n")
        old, new = (ast.literal_eval(line[3:-1]) for line in edit.split("\n") if line) if edit.strip() else ("", "")
        found[name] = Case(f"{HEAD}{text}\n", old, new, fate or "compiled")
    return found


CASES = read_cases()
X = np.arange(6.0)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.fate != "never kept"])
def test_an_edit(name: str, disk: Store, tmp_path: Path) -> None:
    case = CASES[name]
    assert case.old in case.text
    path = tmp_path / "program_edited.py"
    first = load(path, case.text)
    outcome(first.run, X)
    assert first.run.cache_info().misses == 1
    second = load(path, case.text.replace(case.old, case.new, 1) if case.old else case.text)
    for _ in range(2):
        _agrees(second)
    assert second.run.cache_info().misses == (case.fate == "compiled"), second.run._uncached


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


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.fate == "never kept"])
def test_what_is_not_kept(name: str, disk: Store, tmp_path: Path) -> None:
    path = tmp_path / "program_not_kept.py"
    module = load(path, CASES[name].text)
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


TRAINING = """\
w = jitflow.Variable(np.linspace(0, 1, 6), name="w")
b = jitflow.Variable(np.zeros(()), name="b")
optimiser = jitflow.optim.Adam(0.1)

def loss(x):
    return ((x * w + b - 1) ** 2).mean()

@jitflow.function
def run(x):
    return optimiser.minimize(lambda: loss(x), [w, b])
"""

STEPS = {
    "nothing": ("", "", 0),
    "the rate": ("0.1", "0.2", 0),
    "the optimiser": ("Adam(0.1)", "SGD(0.1)", 1),
    "the order of the variables": ("[w, b]", "[b, w]", 1),
    "one variable": ("[w, b]", "[w]", 1),
    "clipping": ("Adam(0.1)", "Adam(0.1, clip_norm=0.01)", 1),
    "the type of a variable": ("np.zeros(())", "np.zeros((), np.float32)", 1),
    "the size of a variable": ("np.zeros(())", "np.zeros(6)", 1),
    "slots that are there already": (
        "@jit", "optimiser.minimize(lambda: loss(np.ones(6)), [b, w])\nw.assign(np.zeros(6))\n@jit", 1
    ),
    "one object for two, which is refused": ("optimiser =", "b = w\noptimiser =", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_training(name: str, tmp_path: Path) -> None:
    old, new, misses = STEPS[name]
    assert old in TRAINING
    path, texts = tmp_path / "program_training.py", (TRAINING, TRAINING.replace(old, new, 1) if old else TRAINING)

    def losses(text: str) -> tuple[list[Any], Any]:
        module = load(path, HEAD + text)
        return [_parts(outcome(module.run, X)) for _ in range(4)], module.run

    expected, _ = losses(texts[1])
    with switched(tmp_path / "cache"):
        losses(texts[0])
        found, run = losses(texts[1])
    assert found == expected
    assert run.cache_info().misses == misses


TRANSFORMED = """\
a, b = jitflow.Variable(2.0), jitflow.Variable(3.0)

def loss(x, y=1.0):
    return (x * a * a * b * y * y).sum()

def pair(x, y=1.0):
    return loss(x, y), x * 5

run = jitflow.grad(loss)
"""

TRANSFORMATIONS = [
    "grad(loss)", "grad(loss, variables=[a])", "grad(loss, variables=[b])", "grad(loss, variables=[b, a])",
    "value_and_grad(loss)", "value_and_grad(pair, has_aux=True)", "grad(loss, argnums=(0,))",
    "grad(lambda x: loss(x, 2.0))", "grad(lambda x: loss(x, 3.0))", "jacobian(lambda x: x ** 2 * a)", "hessian(loss)",
]  # fmt: skip


def test_transformations_of_functions(tmp_path: Path) -> None:
    """Each makes a function of the same code of jitflow's, which differs in what it holds."""
    path, expected, found = tmp_path / "program_transformed.py", [], []
    for transformation in TRANSFORMATIONS:
        text = HEAD + TRANSFORMED.replace("grad(loss)", transformation)
        expected.append(repr(load(path, text).run(X)))
    with switched(tmp_path / "cache"):
        for _ in range(2):
            for transformation in TRANSFORMATIONS:
                found.append(repr(load(path, HEAD + TRANSFORMED.replace("grad(loss)", transformation)).run(X)))
    assert found == expected * 2


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
        (X,), (X.astype(np.float32),), (X.reshape(2, 3),), (X[::2],), (X, 2), (X, 2.0), (X, X), (X[:1], X)
    ]  # fmt: skip
    calls.append(([1.0, 2.0],))
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
        monkeypatch.setattr(key, "lasting", lambda: ("another one",))
    second = load(tmp_path / "program_versions.py", text)
    np.testing.assert_array_equal(second.run(X), np.exp(X))
    assert second.run.cache_info().misses == 1
