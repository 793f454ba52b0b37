"""The command line: read any stage of a function, run passes on IR text, run the benchmarks, look at the machine.

Only the console script imports this module, so `import jitflow` loads neither typer nor rich. Exit status 2 says that
the command was used wrongly (a missing file or function, an argument that cannot be read), 1 that the program could
not be compiled.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jitflow.cache.command import cache
from jitflow.compilation.stages import GRAPH_STAGES, STAGES
from jitflow.errors import JitflowError, UserError
from jitflow.timeline.profiling import LIMIT

if TYPE_CHECKING:
    from jitflow.passes.pipeline import Step

__all__ = ["STAGES", "app", "main"]

app = typer.Typer(
    name="jitflow",
    help="jitflow compiles whole NumPy programs into a few fused native kernels.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # a box would break paths and IR text in the middle
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Target = Annotated[str, typer.Argument(metavar="TARGET", help="FILE.py:FUNCTION or MODULE:FUNCTION.")]
Arguments = Annotated[
    list[str] | None,
    typer.Option(
        "--arg",
        metavar="SPEC",
        help="One for each argument: f32[n,784] (an array), float, int, bool, complex, np.f32 (a NumPy scalar).",
    ),
]


def main() -> None:
    """Run the command line; the console script `jitflow` calls this."""
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        import jitflow

        typer.echo(f"jitflow {jitflow.__version__}")
        raise typer.Exit


@app.callback()
def _every_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


@app.command()
def ir(
    target: Target,
    arg: Arguments = None,
    stage: Annotated[str, typer.Option(help=f"One of {', '.join(STAGES)}.")] = "optimized",
) -> None:
    """Print a function at one stage of the compiler.

    \b
    jitflow ir model.py:forward --arg f32[n,784] --arg float --stage fused
    jitflow ir package.module:Class.method --arg f64[n] --stage asm
    """  # noqa: D301 - \b keeps the lines of the example
    if stage not in STAGES:
        raise _usage_error(f"unknown stage {stage!r}, expected one of {', '.join(STAGES)}", "--stage")
    function, specs = _function_and_specs(target, arg)
    typer.echo(_compiling(lambda: function.ir(*specs, stage=stage)).rstrip())


@app.command()
def graph(
    target: Target,
    arg: Arguments = None,
    stage: Annotated[str, typer.Option(help=f"One of {', '.join(GRAPH_STAGES)}.")] = "optimized",
    format: Annotated[str, typer.Option(help="text, dot, svg, png; by default what the file's name says.")] = "",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file.")] = None,
    placement: Annotated[
        bool, typer.Option("--placement", help="Colour it by device; the stage is optimized.")
    ] = False,
) -> None:
    """Draw the dataflow graph of a function, with data and control edges.

    \b
    jitflow graph model.py:step --arg f32[n,784] --arg float
    jitflow graph model.py:step --arg f32[n,784] --arg float --placement -o placed.svg
    jitflow graph model.py:step --arg f32[n,784] --arg float --stage gradient -o step.svg
    """  # noqa: D301 - \b keeps the lines of the example
    from jitflow.graph import FORMATS

    if stage not in GRAPH_STAGES:
        raise _usage_error(f"unknown stage {stage!r}, expected one of {', '.join(GRAPH_STAGES)}", "--stage")
    if placement and stage != "optimized":
        raise _usage_error(f"expected the stage optimized, which is placed, got {stage}", "--placement")
    suffix = "" if output is None else output.suffix.removeprefix(".")
    chosen = format or {"": "text", "txt": "text"}.get(suffix, suffix)
    if chosen not in FORMATS:
        raise _usage_error(
            f"unknown format {chosen!r}, expected one of {', '.join(FORMATS)}", "--format" if format else "--output"
        )
    if chosen == "png" and output is None:
        raise _usage_error("a picture needs a file: -o graph.png", "--format")
    if output is not None and not output.parent.is_dir():
        raise _usage_error(f"no such folder: {output.parent}", "--output")
    function, specs = _function_and_specs(target, arg)
    made = _compiling(lambda: function.graph(*specs, stage=stage, format=chosen, placement=placement))
    if output is None:
        typer.echo(made, nl=False)
    elif isinstance(made, bytes):
        output.write_bytes(made)
    else:
        output.write_text(made)


@app.command()
def explain(
    target: Target,
    arg: Arguments = None,
    schedule: Annotated[bool, typer.Option("--schedule", help="Print how its kernels run instead.")] = False,
    profile: Annotated[
        bool, typer.Option("--compile-profile", help="Print where the time of its compilation went instead.")
    ] = False,
) -> None:
    """Print what a function is specialised on, and how it was fused; or the schedules of its kernels.

    \b
    jitflow explain model.py:forward --arg f32[n,784] --arg float
    jitflow explain model.py:forward --arg f32[n,784] --arg float --schedule
    """  # noqa: D301 - \b keeps the lines of the example
    function, specs = _function_and_specs(target, arg)
    if schedule:
        typer.echo(_compiling(lambda: function.ir(*specs, stage="scheduled")).rstrip())
    elif profile:
        typer.echo(_compiling(lambda: function.explain(*specs)).profile())
    else:
        typer.echo(str(_compiling(lambda: function.explain(*specs))))


@app.command()
def tune(target: Target, arg: Arguments = None) -> None:
    """Measure schedules of a function's kernels, and keep those that are faster than what is chosen, on this machine.

    Sizes are numbers: what is fastest depends on them. All schedules have the same bits.

    \b
    jitflow tune model.py:forward --arg f32[64,784] --arg float
    """  # noqa: D301 - \b keeps the lines of the example
    from rich.console import Console
    from rich.table import Table

    from jitflow.compilation.tuning import best_of, trials
    from jitflow.passes.schedule.tuned import keep

    function, specs = _function_and_specs(target, arg)
    try:
        arguments = [spec.sample(number) for number, spec in enumerate(specs)]
    except ValueError as error:
        raise _usage_error(str(error), "--arg") from None
    found = []
    table = Table("kernel", "schedule", "predicted (us)", "a call (us)", box=None)
    console = Console()
    with console.status("measuring"):
        for trial in _compiling(lambda: trials(function, arguments)):
            found.append(trial)
            predicted = f"{trial.predicted * 1e6:.2f}" if trial.predicted == trial.predicted else ""
            table.add_row(trial.kernel, trial.what, predicted, f"{trial.seconds * 1e6:.2f}")
    if not found:
        console.print("there is no kernel that a schedule could be chosen for")
        return
    console.print(table)
    best = best_of(found)
    if best:
        console.print(
            f"{len(best)} of {len({trial.kernel for trial in found})} kernels are faster: kept in {keep(best)}"
        )
    else:
        console.print("what is chosen is the fastest")


@app.command()
def opt(
    file: Annotated[Path, typer.Argument(metavar="FILE.ir", help="IR text; - reads standard input.")],
    passes: Annotated[str, typer.Option("-p", "--passes", help="Names, as in simplify,cse,dce.")] = "",
    print_between: Annotated[bool, typer.Option("--print-between", help="Print the IR after each pass.")] = False,
    show_times: Annotated[bool, typer.Option("--time", help="Print each pass's time, to standard error.")] = False,
) -> None:
    """Run passes on IR text.

    \b
    jitflow ir model.py:forward --arg f32[n] --stage traced | jitflow opt - -p simplify,cse,dce
    """  # noqa: D301 - \b keeps the lines of the example
    from jitflow.ir.parser import parse
    from jitflow.ir.printer import print_function
    from jitflow.passes.pipeline import PASSES, run_passes

    names = tuple(name.strip() for name in passes.split(",") if name.strip())
    for name in names:
        if name not in PASSES:
            raise _usage_error(f"unknown pass {name!r}, expected some of {', '.join(PASSES)}", "-p")
    text = _read(file)
    try:
        function = parse(text)
    except JitflowError as error:
        raise _usage_error(str(error), "standard input" if str(file) == "-" else str(file)) from None

    def observe(step: Step) -> None:
        if show_times:
            typer.echo(f"{step.name:24}{step.seconds * 1e3:10.3f} ms", err=True)
        if print_between:
            typer.echo(f"; after {step.name}\n{print_function(step.function)}")

    result = _compiling(lambda: run_passes(function, names, observe=observe))
    if not (print_between and names):
        typer.echo(print_function(result), nl=False)


@app.command()
def profile(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT.py", help="Runs as with python SCRIPT.py.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGUMENTS", help="The script's, behind --.")] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option("-o", "--out", help="Write a trace for Perfetto (.json) or a picture (.svg, .png); repeatable."),
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="The most events in the trace.")] = LIMIT,
) -> None:
    """Run a script, write a trace of what its functions do, and print the dearest lines.

    \b
    jitflow profile train.py --out trace.json
    jitflow profile train.py --out trace.json --out trace.svg
    jitflow profile train.py --out trace.json -- --epochs 2
    """  # noqa: D301 - \b keeps the lines of the example
    import runpy

    import jitflow
    from jitflow.timeline import check_path

    if not script.is_file():
        raise _usage_error(f"no such file: {script}", "SCRIPT.py")
    for path in out or ():
        try:
            check_path(path)
        except (OSError, ValueError, ImportError) as error:
            raise _usage_error(str(error), "--out") from None
    first, others = (out[0], out[1:]) if out else (None, [])
    sys.argv = [str(script), *(arguments or ())]
    sys.path.insert(0, str(script.resolve().parent))
    taken = jitflow.profile(first, limit=limit)
    try:
        with taken:
            runpy.run_path(str(script), run_name="__main__")
    finally:
        for path in others:
            taken.save(path)


@app.command()
def doctor(
    measure: Annotated[bool, typer.Option("--measure", help="Measure this machine, and keep what was found.")] = False,
) -> None:
    """Show versions, CPU, BLAS, GPU and the entry path, and what is known of this machine's speed."""
    from jitflow.doctor import facts, measured

    if measure:
        typer.echo(f"{'measured':18}{measured()}")
    for name, text in facts():
        typer.echo(f"{name:18}{text}")


def _benchmarks() -> ModuleType:
    """Return the benchmarks: inside the package in a wheel, beside it in a checkout."""
    inside = f"{__package__}.benchmarks"
    name = inside if importlib.util.find_spec(inside) else "benchmarks"
    return importlib.import_module(f"{name}.command")


app.command()(cache)
app.command()(_benchmarks().bench)


def _function_and_specs(target: str, texts: list[str] | None) -> tuple[Any, list[Any]]:
    """Return the target, compiled, and a spec for each of its arguments."""
    function, specs = _compiled_function(target), _specs(texts)
    signature = inspect.signature(function)
    try:
        signature.bind(*specs)
    except TypeError as error:
        raise _usage_error(f"{error}; {target} takes {signature}, one --arg for each", "--arg") from None
    return function, specs


def _compiled_function(target: str) -> Any:
    """Return the target as a compiled function; an undecorated one is decorated first."""
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name:
        raise _usage_error(f"expected FILE.py:FUNCTION or MODULE:FUNCTION, got {target!r}", "TARGET")
    found: Any = _load_file(Path(where)) if where.endswith(".py") else _load_module(where)
    for part in name.split("."):
        if not hasattr(found, part):
            raise _usage_error(f"{where} has no {name!r}{_other_functions(found)}", "TARGET")
        found = getattr(found, part)
    if hasattr(found, "ir") and hasattr(found, "explain"):
        return found
    if not callable(found):
        raise _usage_error(f"{name!r} is a {type(found).__name__}, expected a function", "TARGET")
    from jitflow.config import CONFIG

    if CONFIG.disable:
        raise _usage_error("JITFLOW_DISABLE is set, so nothing is compiled", "TARGET")
    import jitflow

    return _compiling(lambda: jitflow.function(found))


def _other_functions(owner: Any) -> str:
    names = [name for name, value in vars(owner).items() if callable(value) and not name.startswith("_")]
    return f", but {', '.join(names)}" if names else ""


def _load_file(path: Path) -> ModuleType:
    """Execute the file as a module of its own, with its folder on the path, as `python FILE.py` has it."""
    if not path.is_file():
        raise _usage_error(f"no such file: {path}", "TARGET")
    sys.path.insert(0, str(path.resolve().parent))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return module


def _load_module(name: str) -> ModuleType:
    """Import the module, with the current folder on the path, as `python -m` has it."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # a module that the target imports may be missing too; that is not a matter of usage
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise _usage_error(f"no module named {error.name!r}", "TARGET") from None


def _specs(texts: list[str] | None) -> list[Any]:
    import jitflow

    specs = []
    for text in texts or []:
        try:
            specs.append(jitflow.Spec.parse(text))
        except (JitflowError, ValueError, TypeError) as error:
            raise _usage_error(str(error), "--arg") from None
    return specs


def _read(file: Path) -> str:
    if str(file) == "-":
        return sys.stdin.read()
    if not file.is_file():
        raise _usage_error(f"no such file: {file}", "FILE.ir")
    return file.read_text()


def _compiling(work: Callable[[], Any]) -> Any:
    """Run `work`; a mistake in the user's program is reported without the compiler's own traceback."""
    try:
        return work()
    except UserError as error:
        typer.echo(error.render(), err=True)
        raise typer.Exit(1) from None


def _usage_error(message: str, where: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint=where)
