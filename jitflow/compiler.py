"""The way of the data, as one readable sequence: from a traced function to a specialisation that can be called.

    trace -> verify -> tensor passes -> fuse -> plan -> lower -> expand -> LLVM -> entry

Each stage is timed under its name, and can be stopped at and read (`stage_text`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING

from jitflow.config import CONFIG
from jitflow.errors import CompilerBug, UserError
from jitflow.ir.core import Function

if TYPE_CHECKING:
    from jitflow.backends.llvm.executable import Executable
    from jitflow.frontend.entry.function import TracedFunction
    from jitflow.passes.lower import Lowered, Target
    from jitflow.passes.plan.record import Plan as BufferPlan
    from jitflow.passes.runner import Step
    from jitflow.runtime.plan import Plan
    from jitflow.runtime.specialisation import EntryCode, Specialisation

__all__ = [
    "GRAPH_STAGES",
    "STAGES",
    "Compilation",
    "check_stage",
    "compile_traced",
    "generate",
    "stage_graph",
    "stage_text",
]

STAGES = ("traced", "gradient", "optimized", "fused", "planned", "kernels", "llvm", "asm", "cuda")
GRAPH_STAGES = ("traced", "gradient", "optimized", "fused")
"""The stages whose dataflow graph can be drawn: from there on the program is memory and machine code."""


@dataclass
class Compilation:
    """What a compilation made, stage by stage, and how long each took (seconds)."""

    fastmath: bool
    ordered: bool = True
    """Whether calls that use the same variables wait for each other."""
    threads: int = 1
    """How many threads may run a kernel."""
    times: dict[str, float] = field(default_factory=dict)
    traced: TracedFunction = field(init=False)
    optimized: Function | None = None
    fused: Function | None = None
    buffers: BufferPlan | None = None
    lowered: Lowered | None = None
    host: Function | None = None
    executable: Executable | None = None
    plan: Plan | None = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens inside; what fails there other than by a user's mistake is a bug, with all to find it."""
        start = perf_counter()
        try:
            yield
        except CompilerBug as bug:
            bug.pass_name = bug.pass_name or name
            bug.reproducer = bug.reproducer or self._reproducer()
            raise
        except (UserError, MemoryError, RecursionError):
            raise
        except Exception as error:
            if name == "trace":  # which tells its own bugs: this is what the program raises
                raise
            raise CompilerBug(
                f"{type(error).__name__}: {error}", pass_name=name, reproducer=self._reproducer()
            ) from error
        finally:
            self.times[name] = self.times.get(name, 0.0) + perf_counter() - start

    def _reproducer(self) -> str:
        """The traced function as text, which the command ``jitflow opt`` reads; empty while it is being traced."""
        return str(with_layouts(self.traced)) if hasattr(self, "traced") else ""


def compile_traced(compilation: Compilation) -> Specialisation:
    """Run every stage and return the specialisation, ready to be linked.

    Raises `UserError` for programs that a later stage refuses, and `CompilerBug` for mistakes of jitflow.
    """
    specialisation = _specialise(compilation)
    if CONFIG.dump >= 1:
        times = ", ".join(f"{name} {seconds * 1e3:.2f}" for name, seconds in compilation.times.items())
        print(f"; compiled {compilation.traced.function.name} (ms: {times})", file=sys.stderr)
    return specialisation


# -- the stages ------------------------------------------------------------------------------------


def differentiated(compilation: Compilation) -> Function:
    """What was traced, with its derivatives written out; the tensor passes run on."""
    from jitflow.passes.pipeline import run_passes

    traced = with_layouts(compilation.traced)
    with compilation.stage("differentiate"):
        return run_passes(traced, ("unmark", "differentiate"), observe=_observer())


def optimize(compilation: Compilation) -> Function:
    """Verify what was traced and run the tensor passes."""
    from jitflow.ir.verifier import verify
    from jitflow.passes.pipeline import run_passes, tensor_pipeline

    if compilation.optimized is None:
        traced = with_layouts(compilation.traced)
        _dump(2, "traced", traced)
        with compilation.stage("verify"):
            verify(traced, "trace")  # always: it is where the frontend's mistakes are found
        with compilation.stage("optimize"):
            pipeline = tensor_pipeline(traced)
            if compilation.fastmath:
                pipeline = ("fastmath", *pipeline)
            compilation.optimized = run_passes(traced, pipeline, observe=_observer())
    return compilation.optimized


def fuse(compilation: Compilation) -> Function:
    """Group the ops into kernels."""
    from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes

    if compilation.fused is None:
        optimized = optimize(compilation)
        with compilation.stage("fuse"):
            compilation.fused = run_passes(optimized, FUSION_PIPELINE, observe=_observer())
    return compilation.fused


def plan(compilation: Compilation) -> BufferPlan:
    """Decide what lies where, from when to when."""
    from jitflow.passes.plan.planner import plan_buffers
    from jitflow.passes.plan.text import plan_text

    if compilation.buffers is None:
        fused = fuse(compilation)
        with compilation.stage("plan"):
            compilation.buffers = plan_buffers(fused, tile=_target(compilation).tile)
        if CONFIG.dump >= 3:
            print(f"; planned\n{plan_text(fused, compilation.buffers)}", file=sys.stderr)
    return compilation.buffers


def lower(compilation: Compilation) -> Function:
    """Turn each kernel into loops and the rest into the host program, in primitive arithmetic."""
    from jitflow.passes.expand.expand import expand
    from jitflow.passes.lower import lower as lower_function

    if compilation.host is None:
        fused, buffers = fuse(compilation), plan(compilation)
        with compilation.stage("lower"):
            compilation.lowered = lower_function(fused, _target(compilation), buffers, observe=_observer())
        with compilation.stage("expand"):
            compilation.host = expand(compilation.lowered.host)
        _verify(compilation.host, "expand")
        _dump(2, "kernels", compilation.host)
    return compilation.host


def generate(compilation: Compilation, entry: EntryCode | None = None) -> Executable:
    """Make machine code of it, with the guard, and the entry if one is given, in the host program's module."""
    from jitflow.backends.llvm.executable import compile_program

    if compilation.executable is None:
        host = lower(compilation)
        text = _guard_text(compilation) + (f"\n{entry.text}" if entry is not None else "")
        with compilation.stage("llvm"):
            compilation.executable = compile_program(host, fast_math=compilation.fastmath, extra_text=text)
        del compilation.times["llvm"]  # the executable knows it in parts
        for name, seconds in compilation.executable.times.items():
            compilation.times[f"llvm {name}"] = seconds
    return compilation.executable


def check_stage(stage: str, stages: tuple[str, ...] = STAGES) -> None:
    """Raise ValueError for a stage that there is not."""
    if stage not in stages:
        raise ValueError(f"expected a stage (one of {', '.join(stages)}), got {stage!r}")


def stage_graph(compilation: Compilation, stage: str, format: str) -> str:
    """The dataflow graph of the program at a stage, as text."""
    from jitflow.graph import draw
    from jitflow.passes.unmark import unmark

    readers: Mapping[str, Callable[[], Function]] = {
        "traced": lambda: unmark(compilation.traced.function),
        "gradient": lambda: differentiated(compilation),
        "optimized": lambda: optimize(compilation),
        "fused": lambda: fuse(compilation),
    }
    return draw(readers[stage](), format)


def stage_text(compilation: Compilation, stage: str) -> str:
    """The program at a stage, as text."""
    from jitflow.passes.plan.text import plan_text

    readers: Mapping[str, Callable[[], str]] = {
        "traced": lambda: str(with_layouts(compilation.traced)),
        "gradient": lambda: str(_without_decisions(differentiated(compilation))),
        "optimized": lambda: str(_without_decisions(optimize(compilation))),
        "fused": lambda: str(_without_decisions(fuse(compilation))),
        "planned": lambda: plan_text(fuse(compilation), plan(compilation)),
        "kernels": lambda: str(lower(compilation)),
        "llvm": lambda: generate(compilation).text,
        "asm": lambda: generate(compilation).asm(),
        "cuda": lambda: _cuda_text(compilation),
    }
    return readers[stage]()


# -- the parts -------------------------------------------------------------------------------------


def with_layouts(traced: TracedFunction) -> Function:
    """The traced function with the layout class of each parameter and the sizes seen, which lowering needs."""
    layouts = tuple(getattr(leaf, "layout", "C") for leaf in traced.leaves)
    facts = {"layouts": layouts, "hints": tuple(traced.hints.items())}
    return replace(traced.function, attributes=MappingProxyType({**traced.function.attributes, **facts}))


def _target(compilation: Compilation) -> Target:
    """What lowering must know of this processor."""
    from jitflow.backends.llvm.engine import ENGINE
    from jitflow.passes.lower import CPU

    return replace(CPU, threads=compilation.threads, tile=CPU.tile if ENGINE.makes_products else None)


def _without_decisions(fused: Function) -> Function:
    """What `explain` shows, a line for each op, would stand on one line in front of the IR."""
    attributes = {name: value for name, value in fused.attributes.items() if name not in ("decisions", "kept")}
    return replace(fused, attributes=MappingProxyType(attributes))


def _plan(compilation: Compilation) -> Plan:
    """The agreement between the entry and the code."""
    from jitflow.plans import make_plan

    if compilation.plan is None:
        assert compilation.lowered is not None
        compilation.plan = make_plan(compilation.traced, compilation.lowered, ordered=compilation.ordered)
    return compilation.plan


def _guard_text(compilation: Compilation) -> str:
    from jitflow.backends.llvm.guard import guard_text

    return guard_text(compilation.traced.function, ordered=compilation.ordered)


def _entry(compilation: Compilation) -> EntryCode | None:
    """The entry as text, where calls take the native one."""
    from jitflow.runtime.dispatcher import uses_native_entry
    from jitflow.runtime.entry_native import emit_entry

    if not uses_native_entry():
        return None
    with compilation.stage("entry"):
        return emit_entry(_plan(compilation))


def _specialise(compilation: Compilation) -> Specialisation:
    from jitflow.failures import failure_handler
    from jitflow.runtime.host_calls import link_symbols
    from jitflow.runtime.specialisation import Specialisation

    lower(compilation)
    entry = _entry(compilation)
    executable = generate(compilation, entry)
    linked = link_symbols(executable.symbols, executable.sites)
    return Specialisation(
        _plan(compilation),
        run=executable.address(),
        guard=executable.address("guard") if _guard_text(compilation) else 0,
        raise_error=failure_handler(executable.sites),
        symbols=linked.addresses,
        keep_alive=(executable, linked),
        entry=entry,
        entry_address=executable.address(entry.name) if entry is not None else 0,
    )


def _cuda_text(compilation: Compilation) -> str:
    """The kernels, lowered once more for warps, as CUDA C++. That needs neither NVRTC nor a GPU."""
    from jitflow.backends.cuda import cuda_text
    from jitflow.passes.expand.expand import expand
    from jitflow.passes.lower import GPU
    from jitflow.passes.lower import lower as lower_function

    return cuda_text(expand(lower_function(fuse(compilation), GPU).host))


# -- looking on ------------------------------------------------------------------------------------


def _observer() -> Callable[[Step], None] | None:
    if CONFIG.dump < 3:
        return None

    def observe(step: Step) -> None:
        print(f"; after {step.name} ({step.seconds * 1e3:.3f} ms)\n{step.function}", file=sys.stderr)

    return observe


def _verify(function: Function, pass_name: str) -> None:
    if CONFIG.verify:
        from jitflow.ir.verifier import verify

        verify(function, pass_name)


def _dump(level: int, stage: str, function: Function) -> None:
    if CONFIG.dump >= level:
        print(f"; {stage}\n{function}", file=sys.stderr)
