"""Exported programs give what Python gives, wherever they run: here in C and in Python, elsewhere under emulation."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow
from benchmarks.workloads import WORKLOADS
from jitflow import Spec, Variable, nn
from jitflow.errors import UserNotImplementedError
from jitflow.exports.linkers import link_library
from jitflow.exports.notice import written_notice
from jitflow.machines.processor import has_features, here
from tests.exports.elsewhere import (
    compiler,
    has_node,
    has_qemu,
    named,
    named_arguments,
    run_in_c,
    run_in_node,
)
from tests.gallery import PROGRAMS, compiled, example, plain

needs_compiler = pytest.mark.skipif(compiler("host") is None, reason="no C compiler")
WHERE = [
    pytest.param("host", marks=needs_compiler),
    pytest.param(
        "x86-64-v3", marks=[needs_compiler, pytest.mark.skipif(not has_features("avx2"), reason="no AVX2 here")]
    ),
    pytest.param("aarch64-linux", marks=pytest.mark.skipif(not has_qemu, reason="no qemu, or no compiler for AArch64")),
    pytest.param("wasm32", marks=pytest.mark.skipif(not has_node, reason="no node, or no linker for WebAssembly")),
]
RNG = np.random.default_rng(5)


@jitflow.function
def heat(u, alpha, steps):
    """Diffusion along a rod."""
    for _ in range(steps):
        u[1:-1] += alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u.max()


@jitflow.function
def positive(x):
    return x[x > 0], (x > 0).sum()


@jitflow.function
def picked(x, i):
    return x[i]


class Digits:
    """The classifier of examples/digits.py."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.w1, self.b1 = Variable(nn.he_normal((64, 100), rng)), Variable(nn.zeros(100))
        self.w2, self.b2 = Variable(nn.glorot_normal((100, 10), rng)), Variable(nn.zeros(10))

    def scores(self, images):
        return nn.relu(images @ self.w1 + self.b1) @ self.w2 + self.b2


MODEL = Digits(np.random.default_rng(1))
COUNT = Variable(np.zeros((), np.int64))


@jitflow.function
def classify(images):
    COUNT.assign(COUNT + 1)
    return MODEL.scores(images).argmax(axis=1)


def run_elsewhere(exported: Any, arguments: dict[str, Any], folder: Path, target: str) -> Any:
    if target == "wasm32":
        return run_in_node(exported, arguments, folder)
    return run_in_c(exported, arguments, folder, "aarch64-linux" if target == "aarch64-linux" else "host")


def check(function: Any, make: Any, expected: Any, folder: Path, target: str, name: str = "program") -> None:
    """Export for the arguments that ``make`` makes, run, and compare results and arguments with those ``expected``."""
    arguments = make()
    results = named(expected(*arguments), "result")
    after = named_arguments(function, arguments)
    exported = function.export(folder / f"{name}_{target}", *make(), target=target, name=name)
    ran = run_elsewhere(exported, named_arguments(function, make()), folder, target)
    assert (ran.status, ran.message) == (0, "")
    for found, wanted in ((ran.results, results), (ran.arguments, after)):
        for key, value in found.items():
            np.testing.assert_allclose(value, np.asarray(wanted[key]), rtol=2e-6, atol=1e-12, err_msg=key)


# -- here ----------------------------------------------------------------------------------------------


@needs_compiler
def test_a_program_in_c(tmp_path: Path) -> None:
    exported = heat.export(tmp_path / "heat", Spec("f64", ("n",)), Spec("float"), Spec("int"))
    header = exported.header.read_text()
    assert "int32_t heat(int64_t n, double *u, double alpha, int64_t steps, double *result, char *message);" in header
    assert " * Diffusion along a rod.\n" in header
    for size in (1, 2, 1000):
        u = RNG.random(size)
        ran = run_in_c(exported, {"u": u, "alpha": 0.1, "steps": 7}, tmp_path)
        assert ran.results["result"] == heat.__wrapped__(u, 0.1, 7)
        np.testing.assert_array_equal(ran.arguments["u"], u)
    ran = run_in_c(exported, {"u": np.empty(0), "alpha": 0.1, "steps": 7}, tmp_path)
    assert ran.status == 1
    assert re.fullmatch(r"ValueError: zero-size array .* \(test_export.py:\d+, in heat\)", ran.message)


@needs_compiler
def test_results_of_sizes_that_the_program_finds_and_messages_with_numbers(tmp_path: Path) -> None:
    x = RNG.normal(size=50)
    ran = run_in_c(positive.export(tmp_path / "positive", x), {"x": x}, tmp_path)
    np.testing.assert_array_equal(ran.results["result_0"], x[x > 0])
    assert ran.results["result_1"] == (x > 0).sum()
    exported = picked.export(tmp_path / "picked", Spec("c64", ("n",)), Spec("int"))
    ran = run_in_c(exported, {"x": np.arange(5) * 1j + np.ones(5, np.complex64), "i": -2}, tmp_path)
    assert ran.status == 0
    ran = run_in_c(exported, {"x": np.zeros(5, np.complex64), "i": -70}, tmp_path)
    assert ran.message.startswith("IndexError: index -70 is out of bounds for axis 0 with size 5 (test_export.py:")


@needs_compiler
def test_a_library_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert heat.export(tmp_path / "heat", Spec("f64", ("n",)), Spec("float"), Spec("int")).library is not None
    monkeypatch.setattr(
        "jitflow.runtime.native.native_code._object_code", lambda *_: pytest.fail("something is compiled")
    )
    monkeypatch.setattr("jitflow.runtime.native.linking.Linker.link", lambda *_: pytest.fail("something is linked"))
    loaded = jitflow.load(tmp_path / "heat")
    u = RNG.random(300)
    mine, numpy_s = u.copy(), u.copy()
    found = loaded(mine, alpha=0.1, steps=5)
    expected = heat.__wrapped__(numpy_s, 0.1, 5)
    assert (found, type(found)) == (expected, type(expected))
    np.testing.assert_array_equal(mine, numpy_s)
    assert repr(loaded) == "<exported function heat(u, alpha, steps)>"
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum") as caught:
        loaded(np.empty(0), 0.1, 1)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "return u.max()"
    with pytest.raises(TypeError, match="heat was exported for other arguments") as refused:
        loaded(u.astype(np.float32), 0.1, 1)
    assert "expected: u: f64 of 1 axes in C order, writeable, alpha: float, steps: int" in refused.value.render()
    with pytest.raises(TypeError, match="missing a required argument: 'steps'"):
        loaded(u, 0.1)


@needs_compiler
def test_results_that_are_nested_or_shared(tmp_path: Path) -> None:
    @jitflow.function
    def several(data, scale=2.0):
        a, b = data["a"], data["b"][0]
        a *= scale
        return {"a": a, "view": b[1:], "sum": (a + b, 1, None), "turned": b[::-1]}

    def make() -> dict[str, Any]:
        return {"a": np.arange(4.0), "b": [np.arange(4.0) + 7]}

    several.export(tmp_path / "several", make())
    loaded = jitflow.load(tmp_path / "several.so") if sys.platform == "linux" else jitflow.load(tmp_path / "several")
    data, same = make(), make()
    found, expected = loaded(data), several.__wrapped__(same)
    assert found["a"] is data["a"]
    assert found["view"].base is data["b"][0]
    np.testing.assert_equal(found, expected)
    np.testing.assert_equal(data, same)
    ran = run_in_c(several.export(tmp_path / "in_c", make()), {**named(make(), "data"), "scale": 2.0}, tmp_path)
    np.testing.assert_array_equal(ran.results["result_turned"], expected["turned"])


@needs_compiler
def test_what_is_carried_along_can_be_read_and_written(tmp_path: Path) -> None:
    images = RNG.normal(size=(7, 64)).astype(np.float32)
    exported = classify.export(tmp_path / "classify", Spec("f32", ("n", 64)))
    assert "float *classify_MODEL_w1(void);" in exported.header.read_text()
    loaded = jitflow.load(tmp_path / "classify")
    np.testing.assert_array_equal(loaded(images), MODEL.scores(images).argmax(axis=1))
    np.testing.assert_array_equal(loaded(images[:1]), MODEL.scores(images[:1]).argmax(axis=1))
    assert loaded.state["COUNT"] == 2
    assert COUNT == 0
    loaded.state["MODEL_w2"][...] = 0
    loaded.state["MODEL_b2"][...] = np.arange(10) == 3
    assert (loaded(images) == 3).all()
    assert jitflow.load(tmp_path / "classify").state["COUNT"] == 0
    for again in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded)):
        assert (again(images) == 3).all()
        assert again.state["COUNT"] == loaded.state["COUNT"] + 1
    jitflow.function(lambda x: x * 2).export(tmp_path / "classify", Spec("f64", ("n",)), name="classify")
    with pytest.raises(ValueError, match="exported anew, with another state"):
        copy.copy(loaded)


@needs_compiler
def test_what_is_exported_anew_is_loaded_anew(tmp_path: Path) -> None:
    loaded = []
    for factor in (2.0, 3.0):
        jitflow.function(lambda x: x * factor).export(tmp_path / "scaled", Spec("f64", ("n",)), name="scaled")
        loaded.append(jitflow.load(tmp_path / "scaled"))
    assert [scaled(np.ones(2)).tolist() for scaled in loaded] == [[2.0, 2.0], [3.0, 3.0]]


def test_what_needs_python_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng()

    @jitflow.function
    def drawn(n):
        return rng.normal(size=n)

    @jitflow.function
    def solved(a, b):
        return np.linalg.solve(a, b)

    a = np.eye(3)

    @jitflow.function
    def shown(x):
        print(x.sum())

    for function, arguments, line in (
        (drawn, (3,), "rng.normal"), (solved, (a, a[0]), "np.linalg.solve"), (shown, (a,), "print(x.sum())"),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match="cannot be exported") as caught:
            function.export(tmp_path / "refused", *arguments)
        assert line in "".join(traceback.format_exception(caught.value))
    with pytest.raises(ValueError, match="there is no target 'z80'"):
        heat.export(tmp_path / "heat", a[0], 0.1, 3, target="z80")
    with pytest.raises(ValueError, match="C has no functions called 'free'"):
        heat.export(tmp_path / "heat", a[0], 0.1, 3, name="free")
    with pytest.raises(UserNotImplementedError, match="do not lie one behind the other"):
        heat.export(tmp_path / "heat", np.arange(10.0)[::2], 0.1, 3)


def test_what_is_refused_says_what_to_write(tmp_path: Path) -> None:
    def raises(x):
        if x > 1:
            raise KeyError(int(x))
        return x

    def warns(x):
        warnings.warn("large", stacklevel=1)
        return x

    def of_kinds(x):
        return x if x > 1 else None

    for function, message, mend in (
        (raises, "an exception with other arguments than one text", 'raise ValueError(f"got {n}")'),
        (warns, "the call of warn cannot", "do it outside"),
        (of_kinds, "not the same kind of thing", "float(n)"),
    ):  # fmt: skip
        with pytest.raises(UserNotImplementedError, match=re.escape(message)) as caught:
            jitflow.function(function).export(tmp_path / "refused", Spec("float"))
        assert mend in caught.value.render()


@needs_compiler
def test_methods_are_exported_with_their_object(tmp_path: Path) -> None:
    class Gain:
        def __init__(self, gain):
            self.gain = gain

        def applied(self, x, mode):
            return x * self.gain if mode == "times" else x

    exported = jitflow.function(Gain(2.0).applied).export(tmp_path / "applied", Spec("f64", ("n",)), "times")
    assert "double *applied_gain(void);" in exported.header.read_text()
    loaded = jitflow.load(tmp_path / "applied")
    loaded.state["gain"][...] = 3
    np.testing.assert_array_equal(loaded(np.ones(2), "times"), [3, 3])
    with pytest.raises(TypeError) as refused:
        loaded(np.ones(2), "plus")
    assert refused.value.render().endswith("expected: x: f64 of 1 axes in C order, mode: 'times'")


class OddError(KeyError, ValueError):
    """An exception of the user's, by a name of the module."""


@needs_compiler
def test_exceptions_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def checked(x):
        if x > 1:
            raise OddError(f"{int(x)} is odd")
        return x

    exported = jitflow.function(checked).export(tmp_path / "checked", Spec("float"))
    assert "OddError: 3 is odd (test_export.py" in run_in_c(exported, {"x": 3.0}, tmp_path).message
    loaded = jitflow.load(tmp_path / "checked")
    assert loaded(0.5) == 0.5
    with pytest.raises(OddError, match="3 is odd"):
        loaded(3.0)
    monkeypatch.setattr(sys.modules[__name__], "OddError", None)  # where nobody knows the class
    with pytest.raises(ValueError, match="3 is odd") as caught:
        loaded(3.0)
    assert isinstance(caught.value, KeyError)
    assert type(caught.value).__qualname__ == "OddError"


@needs_compiler
def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no library"):
        jitflow.load(tmp_path / "nothing")
    other = tmp_path / "other.so"
    other.write_bytes(b"\x7fELF" + bytes(1000))
    with pytest.raises(ValueError, match="was not exported by jitflow"):
        jitflow.load(other)
    notice = written_notice({"triple": "z80-none", "features": [], "name": "f"})
    for damaged in (notice[:-1], notice[:40], notice[:-3] + b"..." + notice[-1:]):
        other.write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged"):
            jitflow.load(other)
    other.write_bytes(written_notice({"name": "f"}))
    with pytest.raises(ValueError, match="makes no sense: KeyError: 'triple'"):
        jitflow.load(other)
    other.write_bytes(notice)
    with pytest.raises(ValueError, match="is for z80-none"):
        jitflow.load(other)
    this = str(here().triple)
    other.write_bytes(written_notice({"triple": this, "features": ["antigravity"], "name": "f"}))
    with pytest.raises(ValueError, match="a processor with antigravity"):
        jitflow.load(other)


@needs_compiler
def test_names_of_programs_are_no_names_inside_and_several_fit_together(tmp_path: Path) -> None:
    objects = []
    for name in ("run", "guard", "kernel_0"):
        objects.append(heat.export(tmp_path / name, np.arange(5.0), 0.1, 2, name=name).object)
    together = tmp_path / "together.so"
    command = compiler("host")
    assert command is not None
    subprocess.run([*command, "-shared", *map(str, objects), "-lm", "-o", str(together)], check=True)


# -- everywhere ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", WHERE)
@pytest.mark.parametrize("name", ["layer_norm"])
def test_a_fused_workload(name: str, target: str, tmp_path: Path) -> None:
    check_workload(name, target, tmp_path)


def check_workload(name: str, target: str, folder: Path) -> None:
    workload = WORKLOADS[name]
    function = jitflow.function(workload.function)
    check(function, lambda: workload.make_inputs(np.random.default_rng(0), True), function, folder, target)


@pytest.mark.parametrize("target", WHERE)
def test_the_digits_classifier(target: str, tmp_path: Path) -> None:
    images = RNG.normal(size=(9, 64)).astype(np.float32)
    check(classify, lambda: (images,), lambda images: MODEL.scores(images).argmax(axis=1), tmp_path, target)


GALLERY = ["heat_3d", "mandelbrot_masked", "levenshtein", "gauss_jordan", "kmeans", "ackermann", "nbody"]


@pytest.mark.parametrize("target", WHERE[2:])
@pytest.mark.parametrize("name", GALLERY[:2])
def test_a_program_of_the_gallery(name: str, target: str, tmp_path: Path) -> None:
    check(compiled(name), lambda: example(name), plain(name), tmp_path, target)


@pytest.mark.stress
@pytest.mark.parametrize("target", WHERE)
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_fused_workload(name: str, target: str, tmp_path: Path) -> None:
    check_workload(name, target, tmp_path)


@pytest.mark.stress
@pytest.mark.parametrize("target", WHERE)
@pytest.mark.parametrize("name", GALLERY)
def test_more_of_the_gallery(name: str, target: str, tmp_path: Path) -> None:
    check(compiled(name), lambda: example(name), plain(name), tmp_path, target)


@pytest.mark.stress
@needs_compiler
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gallery_in_python(name: str, tmp_path: Path) -> None:
    """What is exported of it, which is nearly all, gives what the compiled function gives."""
    function = compiled(name)
    try:
        function.export(tmp_path / name, *example(name), name=f"p_{name}")
    except NotImplementedError as error:
        pytest.skip(str(error).splitlines()[0])
    arguments, same = example(name), example(name)
    found, expected = jitflow.load(tmp_path / name)(*arguments), function(*same)
    np.testing.assert_equal(named(found, "result"), named(expected, "result"))
    np.testing.assert_equal(named(arguments, "argument"), named(same, "argument"))


def test_without_a_linker_there_is_no_library_and_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    exported = heat.export(tmp_path / "heat", np.arange(5.0), 0.1, 2, target="wasm32")
    assert exported.library is None
    assert exported.why == "no linker was found: install a C compiler, or ziglang"
    assert exported.object.read_bytes()[:4] == b"\0asm"
    assert link_library.__doc__
