"""What `jitflow.simulate` predicts of the gallery and of training steps, beside what they take, one thread.

``python -m benchmarks.predictions [NAME]...``. The machine is measured first, as ``jitflow doctor --measure`` does. How
often a loop goes round that nobody can count, the simulator is told: plain Python counts it. Each program has two
predictions, with what was told and with its guesses. What is measured is the fastest of some calls, in processor time,
with caches warm and memory kept, since a prediction knows nothing of what else a machine does.
"""

from __future__ import annotations

import ast
import copy
import json as json_format
import statistics
import time
from collections import defaultdict
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

import jitflow
from jitflow.machines.machine import Machine
from jitflow.machines.measuring import measure

from .gallery import FOLDER, PROGRAMS, load
from .machine import describe_machine, versions
from .training_cases import CASES
from .worker import Worker

__all__ = ["Line", "as_record", "count_turns", "run"]

UNSEEN = frozenset({
    "arc_distance", "bilateral_filter", "binomial_option", "bisection", "black_scholes", "cavity_flow",
    "cholesky", "convolution", "deriche", "doitgen", "durbin",
    "fdtd_2d", "heat_1d", "heat_3d", "ising", "kalman", "lstm", "lu", "mandelbrot_shrinking",
    "matrix_exponential", "max_pooling", "monte_carlo_option", "nbody", "nussinov", "pagerank",
    "power_iteration", "ray_marching", "resnet_block", "sobel", "softmax_attention", "viterbi",
})  # fmt: skip
"""Programs whose own figures nobody looked into while the model was made, though some common constants were chosen with
all of the gallery. The training steps are such, but the embedding, and took part in nothing."""

STEPS = {f"{name} step": case for name, case in CASES.items()}

CALLS = 3
SECONDS = 0.5
"""A program is called at least so often, and for so long."""


@dataclass(frozen=True)
class Line:
    """One program's seconds: measured, predicted with the turns of its loops told, and with those guessed."""

    name: str
    measured: float
    predicted: float
    guessing: float
    guessed: tuple[str, ...]
    unseen: bool

    @property
    def error(self) -> float:
        """How far the prediction lies from the measured time, as a part of that."""
        return abs(self.predicted / self.measured - 1)


class PredictionSession:
    """What happens inside of the process that measures."""

    def __init__(self, peer: str) -> None:
        self._machine = Machine(())

    def warm_up(self) -> Machine:
        """Measure the machine."""
        self._machine = measure()
        return self._machine

    def line(self, name: str, small: bool) -> Line:
        """Predict a program, and measure it."""
        function, arguments = _step(name) if name in STEPS else _program(name, small)
        guess = jitflow.simulate(function, arguments, devices=self._machine)
        told = guess
        if guess.guessed and name in PROGRAMS:
            turns = {line: turns for line, turns in count_turns(name, small).items() if line in guess.guessed}
            told = jitflow.simulate(function, arguments, devices=self._machine, turns=turns)
        seconds = _fastest(function, arguments)
        return Line(
            name,
            seconds,
            told.seconds,
            guess.seconds,
            guess.guessed,
            name in UNSEEN or (name in STEPS and not name.startswith("embedding")),
        )


def _program(name: str, small: bool) -> tuple[Any, tuple[Any, ...]]:
    module = load(name)
    return getattr(module, name), module.example("small" if small else "large")


def _step(name: str) -> tuple[Any, tuple[Any, ...]]:
    from .training_peers import with_jitflow

    case = STEPS[name]
    step: tuple[Any, tuple[Any, ...]] = getattr(with_jitflow, f"{case.model}_step")(case)
    return step


def _fastest(function: Any, arguments: tuple[Any, ...]) -> float:
    fastest, end, calls = float("inf"), time.perf_counter() + SECONDS, 0
    function(*copy.deepcopy(arguments))
    while calls < CALLS or time.perf_counter() < end:
        if fastest < SECONDS / 10:
            function(*copy.deepcopy(arguments))
        taken = copy.deepcopy(arguments)
        begin = time.thread_time()
        result = function(*taken)
        fastest = min(fastest, time.thread_time() - begin)
        del result
        calls += 1
    return fastest


class _Counting(ast.NodeTransformer):
    """Adds to each loop what counts how often it begins, and how many turns it has in all."""

    def visit_For(self, node: ast.For) -> Any:
        return self._counted(node)

    def visit_While(self, node: ast.While) -> Any:
        return self._counted(node)

    def _counted(self, node: ast.For | ast.While) -> Any:
        self.generic_visit(node)
        node.body.insert(0, _counter(node.lineno, 1))
        return [_counter(node.lineno, 0), node]


def _counter(line: int, place: int) -> ast.stmt:
    return ast.parse(f"_counts[{line}][{place}] += 1").body[0]


def count_turns(name: str, small: bool) -> dict[str, float]:
    """How often each loop of a program goes round on average, by its line, as plain Python runs it."""
    path = FOLDER / f"{name}.py"
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    plain = load(name, lambda fn: fn)
    tree = ast.fix_missing_locations(_Counting().visit(ast.parse(path.read_text())))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
            exec(compile(ast.Module([node], []), str(path), "exec"), vars(plain) | {"_counts": counts}, vars(plain))
    functions = {key: value for key, value in vars(plain).items() if callable(value)}
    for value in functions.values():
        if hasattr(value, "__globals__"):
            value.__globals__.update(functions)
    getattr(plain, name)(*plain.example("small" if small else "large"))
    return {f"{path.name}:{line}": turns / starts for line, (starts, turns) in counts.items() if starts}


def run(names: list[str], *, json: Path | None, small: bool, console: Console) -> list[Line]:
    """Predict and measure the named programs, print the table, store it if asked for."""
    lines = []
    with closing(Worker("jitflow", keep_memory=True, make_session=PredictionSession)) as worker:
        machine: Machine = worker.ask("warm_up")
        for name in track(names, description="measuring", console=console, transient=True):
            lines.append(worker.ask("line", name, small))
            if json is not None:  # a long run leaves what it has
                json.write_text(json_format.dumps(as_record(lines, machine), indent=2, allow_nan=False) + "\n")
    print_table(lines, console)
    return lines


def print_table(lines: list[Line], console: Console) -> None:
    """Print what is predicted and measured in milliseconds, the ratio, and the medians of the errors."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("program", "measured (ms)", "predicted", "ratio", "guessing", "guessed"):
        table.add_column(column, no_wrap=True, justify="left" if column in ("program", "guessed") else "right")
    for line in sorted(lines, key=lambda line: line.predicted / line.measured):
        times = [f"{seconds * 1e3:.3f}" for seconds in (line.measured, line.predicted)]
        table.add_row(line.name, *times, f"{line.predicted / line.measured:.2f}",
                      f"{line.guessing / line.measured:.2f}", ", ".join(line.guessed))  # fmt: skip
    console.print(table)
    for title, summary in summaries(lines).items():
        console.print(f"{title}: median error {summary['median_error']:.0%} of {summary['programs']:.0f}, "
                      f"{summary['within_a_quarter']:.0f} within 25 %")  # fmt: skip


def summaries(lines: list[Line]) -> dict[str, dict[str, float]]:
    """The medians of the errors: of all programs, of those not looked at, of training, and where loops are guessed."""
    errors = {
        "all": [line.error for line in lines],
        "programs that the model was not made with": [line.error for line in lines if line.unseen],
        "training steps": [line.error for line in lines if line.name in STEPS],
        "all, with turns guessed": [abs(line.guessing / line.measured - 1) for line in lines],
    }
    return {
        title: {"median_error": statistics.median(found), "within_a_quarter": sum(error <= 0.25 for error in found),
                "programs": len(found)}
        for title, found in errors.items() if found
    }  # fmt: skip


def as_record(lines: list[Line], machine: Machine) -> dict[str, Any]:
    """Everything about a run as JSON can hold it."""
    return {
        "kind": "predictions",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "versions": versions(),
        "threads": 1,
        "profile": json_format.loads(machine.to_json()),
        "summaries": summaries(lines),
        "programs": [{**asdict(line), "error": line.error} for line in lines],
    }


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Programs; all if none.")] = None,
    json: Annotated[Path | None, typer.Option(help="Store the result in this file.", metavar="FILE.json")] = None,
    small: Annotated[bool, typer.Option("--small", help="Small input, on which calls cost most.")] = False,
) -> None:
    """Compare predicted times with measured ones, on one thread."""
    run(names or [*PROGRAMS, *STEPS], json=json, small=small, console=Console())


if __name__ == "__main__":
    typer.run(main)
