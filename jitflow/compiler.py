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
from jitflow.errors import CompilerBug, UserError, UserNotImplementedError
from jitflow.ir.core import Function

if TYPE_CHECKING:
    from pathlib import Path

    from jitflow.backends.llvm.executable import Executable
    from jitflow.frontend.entry.function import TracedFunction
    from jitflow.passes.lower import Lowered, LoweredParts, Target
    from jitflow.passes.partition import Partitioned
    from jitflow.passes.place import Placement
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

STAGES = ("traced", "gradient", "optimized", "partitioned", "fused", "planned", "kernels", "llvm", "asm", "cuda")
GRAPH_STAGES = ("traced", "gradient", "optimized", "fused")
"""The stages whose dataflow graph can be drawn: from there on the program is memory and machine code."""


@dataclass
class Compilation:
    """What a compilation made, stage by stage, and how long each took (seconds)."""

    fastmath: bool
    check: str = ""
    """``nan``: the program stops at the first op that makes a nan or an infinity."""
    ordered: bool = True
    """Whether calls that use the same variables wait for each other."""
    threads: int = 1
    """How many threads may run a kernel."""
    notes: bool = False
    """Whether the program tells a profile what it does."""
    name: str = ""
    placement: str | Path | Placement = "heuristic"
    """How devices are chosen where nothing is said, if there are several."""
    times: dict[str, float] = field(default_factory=dict)
    traced: TracedFunction = field(init=False)
    optimized: Function | None = None
    partitioned: Partitioned | None = None
    """What the program is cut into, if it is to run on several devices."""
    fused: tuple[Function, ...] = ()
    """The program, or each of its partitions, that of the caller's thread first; and so with the host programs."""
    buffers: tuple[BufferPlan, ...] = ()
    lowered: Lowered | LoweredParts | None = None
    hosts: tuple[Function, ...] = ()
    executable: Executable | None = None
    plan: Plan | None = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens inside; what fails there other than by a user's mistake is a bug, with all to find it."""
        from jitflow.runtime.notes import span

        start = perf_counter()
        try:
            with span(f"compile {self.name}: {name}"):
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
    from jitflow.passes.pipeline import run_passes, tensor_pipeline, trapping

    if compilation.optimized is None:
        traced = with_layouts(compilation.traced)
        _dump(2, "traced", traced)
        with compilation.stage("verify"):
            verify(traced, "trace")  # always: it is where the frontend's mistakes are found
        with compilation.stage("optimize"):
            pipeline = tensor_pipeline(traced)
            if compilation.check:
                pipeline = trapping(pipeline)
            if compilation.fastmath:
                pipeline = ("fastmath", *pipeline)
            compilation.optimized = run_passes(traced, pipeline, observe=_observer())
    return compilation.optimized


def partitions(compilation: Compilation) -> tuple[Function, ...]:
    """Decide on devices, if there are several, and cut the program into one for each that takes part."""
    from jitflow.hardware import devices

    optimized = optimize(compilation)
    if len(devices()) == 1:
        return (optimized,)
    if compilation.partitioned is None:
        from jitflow.machine import this_machine
        from jitflow.passes.partition import partition
        from jitflow.passes.place import place, read_placement

        with compilation.stage("place"):
            plan, search = read_placement(compilation.placement)
            placed = place(optimized, this_machine(), plan, search=search)
        with compilation.stage("partition"):
            compilation.partitioned = partition(placed)
    parts = compilation.partitioned.partitions
    return tuple(part.function for part in parts) if len(parts) > 1 else (optimized,)


def fuse(compilation: Compilation) -> tuple[Function, ...]:
    """Group the ops of each partition into kernels."""
    from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes

    if not compilation.fused:
        functions = partitions(compilation)
        with compilation.stage("fuse"):
            compilation.fused = tuple(run_passes(one, FUSION_PIPELINE, observe=_observer()) for one in functions)
    return compilation.fused


def plan(compilation: Compilation) -> tuple[BufferPlan, ...]:
    """Decide for each partition what lies where, from when to when."""
    from jitflow.hardware import HOME
    from jitflow.passes.plan.planner import plan_buffers
    from jitflow.passes.plan.text import plan_text

    if not compilation.buffers:
        fused, tile = fuse(compilation), _target(compilation).tile
        split = compilation.partitioned if len(fused) > 1 else None
        devices = [part.device for part in split.partitions] if split is not None else [HOME]
        with compilation.stage("plan"):
            compilation.buffers = tuple(
                plan_buffers(one, device, tile=tile) for one, device in zip(fused, devices, strict=True)
            )
        if CONFIG.dump >= 3:
            for one, buffers in zip(fused, compilation.buffers, strict=True):
                print(f"; planned\n{plan_text(one, buffers)}", file=sys.stderr)
    return compilation.buffers


def lower(compilation: Compilation) -> tuple[Function, ...]:
    """Turn each kernel into loops and the rest into host programs, in primitive arithmetic."""
    from jitflow.passes.expand.expand import expand

    if not compilation.hosts:
        plan(compilation)
        with compilation.stage("lower"):
            hosts = _lowered(compilation)
        with compilation.stage("expand"):
            compilation.hosts = tuple(map(expand, hosts))
        for host in compilation.hosts:
            _verify(host, "expand")
            _dump(2, "kernels", host)
    return compilation.hosts


def _lowered(compilation: Compilation) -> tuple[Function, ...]:
    from jitflow.passes.lower import lower, lower_parts

    fused, plans, target = compilation.fused, compilation.buffers, _target(compilation)
    if len(fused) == 1:
        compilation.lowered = lowered = lower(fused[0], target, plans[0], observe=_observer())
        return (lowered.host,)
    assert compilation.partitioned is not None
    parts = [replace(part, function=one) for part, one in zip(compilation.partitioned.partitions, fused, strict=True)]
    together = lower_parts(compilation.partitioned.function, parts, target, plans, observe=_observer())
    compilation.lowered = together
    return together.hosts


def generate(compilation: Compilation, entry: EntryCode | None = None) -> Executable:
    """Make machine code of it, with the guard, and the entry if one is given, in the host program's module."""
    from jitflow.backends.llvm.executable import compile_program

    if compilation.executable is None:
        hosts = lower(compilation)
        text = _guard_text(compilation) + (f"\n{entry.text}" if entry is not None else "")
        with compilation.stage("llvm"):
            compilation.executable = compile_program(hosts, fast_math=compilation.fastmath, extra_text=text)
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
        "fused": lambda: _only(fuse(compilation)),
    }
    return draw(readers[stage](), format)


def stage_text(compilation: Compilation, stage: str) -> str:
    """The program at a stage, as text."""
    from jitflow.passes.plan.text import plan_text

    readers: Mapping[str, Callable[[], str]] = {
        "traced": lambda: str(with_layouts(compilation.traced)),
        "gradient": lambda: str(_without_decisions(differentiated(compilation))),
        "optimized": lambda: str(_without_decisions(optimize(compilation))),
        "partitioned": lambda: _partitions_text(compilation, partitions(compilation)),
        "fused": lambda: _partitions_text(compilation, fuse(compilation)),
        "planned": lambda: "\n".join(map(plan_text, fuse(compilation), plan(compilation))),
        "kernels": lambda: "\n".join(map(str, lower(compilation))),
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


def _partitions_text(compilation: Compilation, functions: tuple[Function, ...]) -> str:
    """The program, or its partitions, each below a line that says what it takes and gives."""
    functions = tuple(map(_without_decisions, functions))
    if len(functions) == 1:
        return str(functions[0])
    assert compilation.partitioned is not None
    parts = compilation.partitioned.partitions
    return str(replace(compilation.partitioned, partitions=tuple(
        replace(part, function=one) for part, one in zip(parts, functions, strict=True))))  # fmt: skip


def _only(functions: tuple[Function, ...]) -> Function:
    """The program. Raises `UserNotImplementedError` if it is in several partitions."""
    if len(functions) > 1:
        raise UserNotImplementedError(
            "the graph of a program that is split over devices, behind its partition", mend="draw the stage optimized"
        )
    return functions[0]


def _target(compilation: Compilation) -> Target:
    """What lowering must know of this processor."""
    from jitflow.backends.llvm.engine import ENGINE
    from jitflow.passes.lower import CPU

    tile = CPU.tile if ENGINE.makes_products else None
    return replace(CPU, threads=compilation.threads, tile=tile, notes=compilation.notes)


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
        noted=compilation.notes,
    )


def _cuda_text(compilation: Compilation) -> str:
    """The kernels, lowered once more for warps, as CUDA C++. That needs neither NVRTC nor a GPU."""
    from jitflow.backends.cuda import cuda_text
    from jitflow.passes.expand.expand import expand
    from jitflow.passes.lower import GPU
    from jitflow.passes.lower import lower as lower_function

    return cuda_text(expand(lower_function(_only(fuse(compilation)), GPU).host))


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
