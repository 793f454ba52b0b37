"""The command line: what it prints, and how it refuses what it cannot use."""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import jitflow
from jitflow.cli import STAGES, app

PROGRAM = """\
import numpy as np
import jitflow

def plain(x, y):
    return np.exp(x) * y + x

@jitflow.function
def decorated(x):
    return x + 1

class Model:
    @staticmethod
    def forward(x):
        return np.tanh(x)

def wrong(x):
    return np.exp(x) @ x[:, :, 0]

number = 3

def turned(x):
    return x.T
"""

TEXT = """\
func @f(%x: f32[n]) {
  %0: f32[n] = multiply %x, %x
  %1: f32[n] = multiply %x, %x
  %2: f32[n] = add %0, %1
  yield %2
}
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file to aim at; what loading it leaves behind in this process is taken back."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "program_for_cli.py"
    file.write_text(PROGRAM)
    yield file
    sys.modules.pop(file.stem, None)


def run(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=text)


def refused(*arguments: object) -> str:
    """Run what must be refused as wrong usage, and return the message."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    return result.output


@pytest.mark.parametrize("stage", STAGES)
def test_ir_prints_every_stage_of_a_plain_function(program: Path, stage: str) -> None:
    result = run("ir", f"{program}:plain", "--arg", "f32[n,784]", "--arg", "f32[784]", "--stage", stage)
    assert result.exit_code == 0, result.output
    assert result.output.strip()


@pytest.mark.parametrize("name", ["decorated", "Model.forward"])
def test_ir_finds_decorated_functions_and_attributes(program: Path, name: str) -> None:
    result = run("ir", f"{program}:{name}", "--arg", "f64[n]", "--stage", "traced")
    assert result.exit_code == 0, result.output
    assert "f64[n]" in result.output


def test_ir_takes_a_module(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(program.parent)
    result = run("ir", "program_for_cli:plain", "--arg", "f32[n]", "--arg", "float")
    assert result.exit_code == 0, result.output


def test_graph_prints_and_writes(program: Path, tmp_path: Path) -> None:
    target = ("graph", f"{program}:plain", "--arg", "f32[n]", "--arg", "float")
    text = run(*target)
    assert text.exit_code == 0, text.output
    assert "← x" in text.output
    assert run(*target, "--stage", "fused", "--format", "dot").output.startswith('digraph "plain"')
    for suffix, start in (("svg", "<svg"), ("dot", "digraph"), ("txt", "plain: ")):
        file = tmp_path / f"graph.{suffix}"
        assert run(*target, "-o", file).exit_code == 0
        assert file.read_text().startswith(start)
    assert "unknown stage 'llvm'" in refused(*target, "--stage", "llvm")
    assert "unknown format 'jpg'" in refused(*target, "-o", tmp_path / "graph.jpg")
    assert "a picture needs a file" in refused(*target, "--format", "png")
    assert "no such folder" in refused(*target, "-o", tmp_path / "missing" / "graph.svg")
    written = run(*target, "-o", tmp_path / "graph.png")
    if importlib.util.find_spec("matplotlib"):
        assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")
    else:
        assert "pip install 'jitflow[plot]'" in written.output
    assert " cpu:0 " in run(*target, "--placement").output
    assert "expected the stage optimized" in refused(*target, "--placement", "--stage", "fused")


def test_explain_prints_the_specialisation(program: Path) -> None:
    result = run("explain", f"{program}:plain", "--arg", "f32[n]", "--arg", "np.f32")
    assert result.exit_code == 0, result.output
    for line in ("plain", "x: f32[n], C order", "np: is the module numpy", "y: f32, a run-time NumPy scalar"):
        assert line in result.output
    assert re.search(r"kernel_0 holds 3 ops: exp \(.*:5\), multiply .*, add ", result.output)


def test_a_program_without_kernels_has_no_schedule(program: Path) -> None:
    explained = run("explain", f"{program}:turned", "--arg", "f32[3,4]", "--schedule")
    assert explained.output == "; no kernel here has a schedule\n"
    tuned = run("tune", f"{program}:turned", "--arg", "f32[3,4]")
    assert tuned.output == "there is no kernel that a schedule could be chosen for\n"


def test_explain_prints_where_the_time_of_a_compilation_went(program: Path) -> None:
    result = run("explain", f"{program}:plain", "--arg", "f32[n]", "--arg", "np.f32", "--compile-profile")
    assert result.exit_code == 0, result.output
    assert re.search(r"plain: compiled in [\d.]+ ms\n  stage +ms  share\n  llvm generate +[\d.]+", result.output)
    assert re.search(r"\n  simplify +[\d.]+ +\d+ %  +1  +\d+", result.output)


def test_a_mistake_in_the_program_is_shown_at_its_line(program: Path) -> None:
    result = run("ir", f"{program}:wrong", "--arg", "f32[n]")
    assert result.exit_code == 1, result.output
    assert f"{program}:17" in result.output
    assert "Traceback" not in result.output


def test_unusable_targets_are_refused(program: Path) -> None:
    assert "expected FILE.py:FUNCTION or MODULE:FUNCTION, got 'plain'" in refused("ir", "plain")
    assert "no such file: missing.py" in refused("ir", "missing.py:plain")
    assert "no module named 'missing_module'" in refused("ir", "missing_module:plain")
    assert "has no 'other', but plain, decorated, Model, wrong" in refused("ir", f"{program}:other")
    assert "'number' is a int, expected a function" in refused("ir", f"{program}:number")
    assert "unknown stage 'machine'" in refused("ir", f"{program}:plain", "--stage", "machine")


@pytest.mark.parametrize("spec", ["f33[n]", "f32[", "f32[n,]x", "string", ""])
def test_unreadable_specs_are_refused(program: Path, spec: str) -> None:
    assert "--arg" in refused("ir", f"{program}:plain", "--arg", spec)


def test_a_wrong_number_of_arguments_is_refused(program: Path) -> None:
    message = refused("ir", f"{program}:plain", "--arg", "f32[n]")
    assert "missing a required argument: 'y'" in message
    assert "takes (x, y), one --arg for each" in message
    assert "too many positional arguments" in refused("explain", f"{program}:decorated", *["--arg", "float"] * 2)


def test_opt_runs_passes_on_text(tmp_path: Path) -> None:
    file = tmp_path / "f.ir"
    file.write_text(TEXT)
    untouched = run("opt", file)
    assert untouched.exit_code == 0, untouched.output
    assert untouched.output.count("multiply") == 2
    optimised = run("opt", file, "-p", "cse,dce")
    assert optimised.exit_code == 0, optimised.output
    assert optimised.output.count("multiply") == 1


def test_opt_reads_what_it_prints() -> None:
    once = run("opt", "-", "-p", "cse", text=TEXT)
    assert run("opt", "-", text=once.output).output == once.output


def test_opt_prints_and_times_each_pass() -> None:
    result = run("opt", "-", "-p", "cse,dce", "--print-between", "--time", text=TEXT)
    assert result.exit_code == 0, result.output
    assert result.stdout.index("; after cse") < result.stdout.index("; after dce")
    assert re.search(r"^cse +\d+\.\d+ ms$", result.stderr, re.MULTILINE)


def test_opt_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    file = tmp_path / "broken.ir"
    file.write_text("func @f(%x: f32[n]) { yield %y }")
    assert "broken.ir" in refused("opt", file)
    assert "no such file: missing.ir" in refused("opt", "missing.ir")
    assert "unknown pass 'polish', expected some of" in refused("opt", file, "-p", "polish")


def test_doctor_reports_what_it_found() -> None:
    result = run("doctor")
    assert result.exit_code == 0, result.output
    for name in ("python", "jitflow", "numpy", "llvmlite", "cpu", "vectors", "blas", "gpu", "entry path"):
        assert re.search(rf"^\s*{name} ", result.output, re.MULTILINE), name
    assert "lookup failed" not in result.output


def test_the_examples_of_the_help_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is run as it is written, in a folder with such files."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.chdir(tmp_path)
    model = "import numpy as np\n\ndef forward(x, y=1.0):\n    return np.tanh(x) * y\n\nstep = forward\n"
    (tmp_path / "model.py").write_text(model)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "module.py").write_text("class Class:\n    def method(x):\n        return x + 1\n")
    (tmp_path / "train.py").write_text("import jitflow\njitflow.function(lambda x: x + 1)(2.0)\n")
    examples = [
        line.strip().removeprefix("jitflow ")
        for command in app.registered_commands
        for line in (command.callback.__doc__ or "").splitlines()
        if line.strip().startswith("jitflow ")
    ]
    assert len(examples) >= 8
    for example in examples:
        text = None
        for command in example.split(" | "):
            done = run(*command.removeprefix("jitflow ").split(), text=text)
            assert done.exit_code == 0, (example, done.output)
            text = done.stdout
    for name in ("model", "package", "package.module"):
        sys.modules.pop(name, None)


def test_what_is_said_to_install_can_be_installed() -> None:
    root = Path(__file__).parents[1]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    texts = [path.read_text() for folder in ("jitflow", "benchmarks") for path in (root / folder).rglob("*.py")]
    named = {
        extra for text in [*texts, (root / "README.md").read_text()] for extra in re.findall(r"jitflow\[(\w+)\]", text)
    }
    assert {"bench", "graph", "plot"} <= named <= extras.keys()


def test_the_package_can_be_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["jitflow", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("jitflow", run_name="__main__")
    assert capsys.readouterr().out == f"jitflow {jitflow.__version__}\n"


def test_version() -> None:
    assert run("--version").output == f"jitflow {jitflow.__version__}\n"


def test_help_names_the_commands() -> None:
    for command in ("ir", "graph", "explain", "opt", "bench", "doctor"):
        assert command in run("--help").output


def test_a_script_is_profiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    script, out = tmp_path / "script.py", tmp_path / "trace.json"
    script.write_text(
        "import sys, numpy as np, jitflow\n"
        "f = jitflow.function(lambda x: np.exp(x).sum())\n"
        "if __name__ == '__main__':\n"
        "    print(sys.argv[1:], f(np.zeros(int(sys.argv[1]))))\n"
    )
    picture = tmp_path / "trace.svg"
    done = run("profile", script, "--out", out, "--out", picture, "--", 5, "--quick")
    assert done.exit_code == 0, done.output
    assert "['5', '--quick'] 5.0" in done.output
    assert [one.get("cat") for one in json.loads(out.read_text())["traceEvents"]].count("kernel") == 1
    assert "1 call," in done.stderr
    assert picture.read_text().startswith("<svg")
    assert run("profile", tmp_path / "missing.py").exit_code == 2
    assert "ends in .json, .svg or .png" in refused("profile", script, "--out", tmp_path / "trace.txt")
    assert run("profile", script, "--out", tmp_path / "no" / "trace.json").exit_code == 2


def test_a_profiled_script_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    script, out = tmp_path / "script.py", tmp_path / "trace.json"
    script.write_text("raise KeyError('lost')\n")
    done = run("profile", script, "--out", out)
    assert isinstance(done.exception, KeyError)
    assert json.loads(out.read_text())["traceEvents"] == []


def test_a_profiled_script_may_set_switches(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os\n"
        "os.environ |= {'JITFLOW_CPU_DEVICES': '2', 'JITFLOW_THREADS': '3'}\n"
        "import jitflow\n"
        "print(len(jitflow.devices()), jitflow.num_threads())\n"
    )
    command = [sys.executable, "-c", "from jitflow.cli import main; main()", "profile", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    assert done.stdout == "2 3\n"
