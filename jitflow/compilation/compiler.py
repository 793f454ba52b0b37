"""The way of the data, as one readable sequence: from a traced function to a specialisation that can be called.

    trace -> verify -> tensor passes -> fuse -> plan -> lower -> expand -> LLVM -> entry

Each stage is timed under its name, and can be stopped at and read (`stages.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING

from jitflow.compilation.looking_on import dump, observer, verified
from jitflow.config import CONFIG
from jitflow.errors import CompilerBug, UserError
from jitflow.interruptions import is_interruption
from jitflow.ir.core import Function
from jitflow.records import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from jitflow.backends.cuda import CudaModule
    from jitflow.backends.llvm.executable import Executable
    from jitflow.cluster.standing_in import StandIn
    from jitflow.frontend.entry.function import TracedFunction
    from jitflow.machines.processor import CodeTarget
    from jitflow.passes.lower import Lowered, LoweredParts, Target
    from jitflow.passes.partition import Partitioned
    from jitflow.passes.place import Placement
    from jitflow.passes.plan.record import Plan as BufferPlan
    from jitflow.passes.runner import Step
    from jitflow.passes.schedule.target import Given
    from jitflow.runtime.entry.plan import Plan
    from jitflow.runtime.entry.specialisation import EntryCode, Specialisation

__all__ = [
    "Compilation",
    "compile_traced",
    "differentiated",
    "fuse",
    "generate",
    "guard_text",
    "lower",
    "optimize",
    "partitions",
    "plan",
    "plan_of",
    "target_here",
    "with_layouts",
]


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
    transfer: str = ""
    """The dtype as which arrays of f32 are sent to other devices, if it is a shorter one."""
    schedules: tuple[Given, ...] = ()
    """Those that the user wants for kernels."""
    target: CodeTarget | None = None
    """What it is exported for; None for code that runs in this process."""
    times: dict[str, float] = field(default_factory=dict)
    steps: list[Step] | None = None
    """The passes that have run, if somebody wants to see them."""
    traced: TracedFunction = field(init=False)
    optimized: Function | None = None
    placed: Function | None = None
    """The program with a device for each op, if there are several."""
    partitioned: Partitioned | None = None
    """What it is cut into, if it is to run on several."""
    devices: tuple[str, ...] = ()
    """Where it runs, or each of its partitions, that of the caller's thread first; and so with what follows."""
    fused: tuple[Function, ...] = ()
    buffers: tuple[BufferPlan, ...] = ()
    lowered: Lowered | LoweredParts | None = None
    hosts: tuple[Function, ...] = ()
    kernels: Mapping[str, CudaModule] = field(default_factory=dict)
    """Those of each GPU that takes part."""
    executable: Executable | None = None
    plan: Plan | None = None
    entry: EntryCode | None = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens inside; what fails there other than by a user's mistake is a bug, with all to find it."""
        from jitflow.runtime.native.notes import span

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
            if name == "trace" or is_interruption(error):  # which tells its own bugs: this is what the program raises
                raise
            text = f"{type(error).__name__}: {error}"
            raise CompilerBug(text, pass_name=name, reproducer=self._reproducer()) from error
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
        return run_passes(traced, ("unmark", "differentiate"), observe=observer(compilation.steps))


def optimize(compilation: Compilation) -> Function:
    """Verify what was traced and run the tensor passes."""
    from jitflow.ir.verifier import verify
    from jitflow.passes.pipeline import run_passes, tensor_pipeline, trapping

    if compilation.optimized is None:
        traced = with_layouts(compilation.traced)
        dump(2, "traced", traced)
        with compilation.stage("verify"):
            verify(traced, "trace")  # always: it is where the frontend's mistakes are found
        with compilation.stage("optimize"):
            pipeline = tensor_pipeline(traced)
            if compilation.check:
                pipeline = trapping(pipeline)
            if compilation.fastmath:
                pipeline = ("fastmath", *pipeline)
            optimized = run_passes(traced, pipeline, observe=observer(compilation.steps))
        seen = {**optimized.attributes, "numbers": tuple(compilation.traced.numbers.items())}
        seen |= {"fastmath": True} if compilation.fastmath else {}
        compilation.optimized = replace(optimized, attributes=MappingProxyType(seen))
    return compilation.optimized


def partitions(compilation: Compilation) -> tuple[Function, ...]:
    """Decide on devices, if there are several, and cut the program into one for each that takes part."""
    from jitflow.machines.hardware import HOME, devices, has_nodes, has_seen_gpus

    optimized = optimize(compilation)
    if not compilation.devices:
        alone = len(devices("cpu")) == 1 and not has_seen_gpus() and not has_nodes()
        if alone and compilation.placement in ("heuristic", "search"):
            compilation.devices = (HOME,)
        else:
            from jitflow.compilation.splitting import split

            split(compilation)
    if len(compilation.devices) == 1:
        return (optimized,)
    assert compilation.partitioned is not None
    return tuple(part.function for part in compilation.partitioned.partitions)


def fuse(compilation: Compilation) -> tuple[Function, ...]:
    """Group the ops of each partition into kernels."""
    from jitflow.passes.pipeline import fusion_pipeline, run_passes

    if not compilation.fused:
        functions = partitions(compilation)
        with compilation.stage("fuse"):
            compilation.fused = tuple(
                run_passes(one, fusion_pipeline(device, is_part=len(functions) > 1), observer(compilation.steps))
                for one, device in zip(functions, compilation.devices, strict=True)
            )
    return compilation.fused


def plan(compilation: Compilation) -> tuple[BufferPlan, ...]:
    """Decide for each partition what lies where, from when to when."""
    from jitflow.passes.plan.planner import plan_buffers
    from jitflow.passes.plan.text import plan_text

    if not compilation.buffers:
        fused, devices, targets = fuse(compilation), compilation.devices, _targets(compilation)
        with compilation.stage("plan"):
            compilation.buffers = tuple(
                plan_buffers(one, device, distributed=target.distributed, processor=target.processor)
                for one, device, target in zip(fused, devices, targets, strict=True)
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
        if _uses_gpus(compilation):
            from jitflow.compilation.gpu import offloaded, print_kernels

            with compilation.stage("offload"):
                compilation.hosts = offloaded(zip(compilation.devices, compilation.hosts, strict=True))
                compilation.kernels = print_kernels(zip(compilation.devices, compilation.hosts, strict=True))
        for host in compilation.hosts:
            verified(host, "expand")
            dump(2, "kernels", host)
    return compilation.hosts


def _lowered(compilation: Compilation) -> tuple[Function, ...]:
    from jitflow.passes.lower import lower, lower_parts, on_device
    from jitflow.passes.schedule.given import refuse_unknown

    fused, plans, targets = compilation.fused, compilation.buffers, _targets(compilation)
    if len(fused) == 1:
        lowered = lower(fused[0], targets[0], plans[0], observe=observer(compilation.steps))
        refuse_unknown(compilation.schedules, lowered.scheduled)
        compilation.lowered = replace(lowered, places=on_device(lowered.places, compilation.devices[0]))
        return (lowered.host,)
    assert compilation.partitioned is not None
    parts = [replace(part, function=one) for part, one in zip(compilation.partitioned.partitions, fused, strict=True)]
    together = lower_parts(compilation.partitioned.function, parts, targets, plans, observe=observer(compilation.steps))
    compilation.lowered = together
    return together.hosts


def _uses_gpus(compilation: Compilation) -> bool:
    from jitflow.machines.hardware import is_gpu

    return any(map(is_gpu, compilation.devices))


def generate(compilation: Compilation, entry: EntryCode | None = None) -> Executable:
    """Make machine code of it, with the guard, and the entry if one is given, in the host program's module."""
    from jitflow.backends.llvm.executable import compile_program

    if compilation.executable is None:
        from jitflow.compilation.gpu import sites_of

        hosts, sites = lower(compilation), sites_of(compilation.kernels)
        text = guard_text(compilation) + (f"\n{entry.text}" if entry is not None else "")
        with compilation.stage("llvm"):
            compilation.executable = compile_program(
                hosts, fast_math=compilation.fastmath, extra_text=text, sites=sites
            )
        del compilation.times["llvm"]  # the executable knows it in parts
        for name, seconds in compilation.executable.times.items():
            compilation.times[f"llvm {name}"] = seconds
    return compilation.executable


# -- the parts -------------------------------------------------------------------------------------


def with_layouts(traced: TracedFunction) -> Function:
    """The traced function with the layout class of each parameter and the sizes seen, which lowering needs."""
    layouts = tuple(getattr(leaf, "layout", "C") for leaf in traced.leaves)
    facts = {"layouts": layouts, "hints": tuple(traced.hints.items())}
    return replace(traced.function, attributes=MappingProxyType({**traced.function.attributes, **facts}))


def _targets(compilation: Compilation) -> tuple[Target, ...]:
    """What lowering must know of the processor of each partition."""
    from jitflow.machines.hardware import is_gpu
    from jitflow.passes.lower import GPU

    asked = compilation.notes, compilation.schedules
    here = replace(target_here(compilation.threads, compilation.target), notes=asked[0], given=asked[1])
    there = replace(GPU, notes=asked[0], given=asked[1])
    return tuple(there if is_gpu(device) else here for device in compilation.devices)


def target_here(threads: int, exported: CodeTarget | None = None) -> Target:
    """What lowering must know of the processor of this process, or of the one that a program is exported for."""
    from jitflow.machines.processor import here
    from jitflow.passes.lower import CPU
    from jitflow.passes.schedule.target import Processor

    return replace(CPU, threads=threads, processor=Processor.of(exported or here()))


def plan_of(compilation: Compilation) -> Plan:
    """The agreement between the entry and the code."""
    from jitflow.compilation.plans import make_plan

    if compilation.plan is None:
        assert compilation.lowered is not None
        homes = () if compilation.placed is None else compilation.placed.attributes["devices"]
        compilation.plan = make_plan(
            compilation.traced, compilation.lowered, compilation.devices, homes, ordered=compilation.ordered
        )
    return compilation.plan


def guard_text(compilation: Compilation) -> str:
    """The function that tests sizes and overlap, in LLVM's language; empty if there is nothing to test."""
    from jitflow.backends.llvm import guard

    return guard.guard_text(compilation.traced.function, compilation.traced.leaves, ordered=compilation.ordered)


def _entry(compilation: Compilation) -> EntryCode | None:
    """The entry as text, where calls take the native one."""
    from jitflow.runtime.entry.dispatcher import uses_native_entry
    from jitflow.runtime.entry.entry_native import emit_entry

    if not uses_native_entry() or plan_of(compilation).gpus:
        return None
    with compilation.stage("entry"):
        compilation.entry = emit_entry(plan_of(compilation))
    return compilation.entry


def _elsewhere(compilation: Compilation) -> Mapping[str, StandIn]:
    """What stands here for the partitions that other processes run, by name."""
    from jitflow.machines.hardware import is_elsewhere

    if not any(map(is_elsewhere, compilation.devices)):
        return {}
    from jitflow.cluster.standing_in import stand_ins

    with compilation.stage("elsewhere"):
        return stand_ins(compilation)


def _specialise(compilation: Compilation) -> Specialisation:
    from jitflow.compilation.failures import failure_handler
    from jitflow.runtime.entry.specialisation import Specialisation
    from jitflow.runtime.linked_symbols import link_symbols

    lower(compilation)
    entry = _entry(compilation)
    executable = generate(compilation, entry)
    modules: Mapping[str, object] = {}
    if compilation.kernels:
        from jitflow.compilation.gpu import load_kernels

        with compilation.stage("nvrtc"):
            modules = load_kernels(compilation.kernels)
    elsewhere = _elsewhere(compilation)
    functions = {name: one.address for name, one in elsewhere.items()}
    linked = link_symbols(executable.symbols, executable.sites, modules, functions)
    handler, stores = failure_handler(executable.sites), compilation.traced.stores
    kind: Callable[..., Specialisation] = Specialisation
    if modules:
        from jitflow.runtime.entry.entry_device import DeviceSpecialisation

        kind = partial(DeviceSpecialisation, handles=linked.handles)
    return kind(
        plan_of(compilation),
        run=executable.address(),
        guard=executable.address("guard") if guard_text(compilation) else 0,
        raise_error=handler if stores is None else stores.failing(handler),
        symbols=linked.addresses,
        keep_alive=(executable, linked, modules, elsewhere),
        entry=entry,
        entry_address=executable.address(entry.name) if entry is not None else 0,
        noted=compilation.notes,
    )
