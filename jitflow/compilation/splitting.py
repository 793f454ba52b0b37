"""Where a program runs, and its partitions if that is on several devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jitflow.compilation.compiler import Compilation, optimize
from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Function, walk
from jitflow.ir.dtypes import DTYPES

if TYPE_CHECKING:
    from jitflow.machines.machine import Machine
    from jitflow.passes.place import Placement

__all__ = ["split", "with_devices"]


def split(compilation: Compilation) -> None:
    """Decide where the program runs, and cut it if that is on several devices."""
    from jitflow.machines.hardware import HOME
    from jitflow.passes.partition import bring_results_home, partition
    from jitflow.passes.place import sole_gpu

    wanted = _wanted(compilation)
    if len(wanted.machine.devices) == 1 or _stays_whole(compilation, wanted):
        compilation.devices = (HOME,)
        return
    placed = _placed(compilation, wanted)
    alone = sole_gpu(placed)
    if alone:
        compilation.devices = (alone,)
        return
    with compilation.stage("partition"):
        placed = bring_results_home(placed)
        compilation.partitioned = partition(placed, DTYPES[compilation.transfer] if compilation.transfer else None)
    compilation.devices = tuple(part.device for part in compilation.partitioned.partitions)


def _stays_whole(compilation: Compilation, wanted: _Wanted) -> bool:
    """Whether a program has an op that keeps it from being split. Refuses it if that was asked for."""
    from jitflow.machines.hardware import HOME
    from jitflow.passes.analyses.homebound import WHOLE

    ops = list(walk(optimize(compilation).region))
    keeping = next((op for op in ops if op.name in WHOLE), None)
    if keeping is None:
        return False
    homes = (*optimize(compilation).attributes.get("devices", ()), *(op.loc.device for op in ops))
    if wanted.plan is not None or any(home not in ("", HOME) for home in homes):
        raise UserNotImplementedError(
            f"{WHOLE[keeping.name]}, in a program that is to run on several devices",
            mend="leave the whole program to cpu:0",
            location=keeping.loc,
        )
    return True


class _Wanted(NamedTuple):
    """The devices that may take part, the plan to follow, if there is one, and whether to search long for one."""

    machine: Machine
    plan: Placement | None
    search: bool


def _wanted(compilation: Compilation) -> _Wanted:
    from jitflow.machines.machine import this_machine
    from jitflow.passes.place import named_devices, read_placement

    plan, search = read_placement(compilation.placement)
    return _Wanted(this_machine(named_devices(optimize(compilation), plan)), plan, search)


def _placed(compilation: Compilation, wanted: _Wanted) -> Function:
    """The optimized program with a device for each op."""
    from jitflow.passes.place import place

    optimized = optimize(compilation)
    if compilation.placed is None:
        with compilation.stage("place"):
            compilation.placed = place(optimized, wanted.machine, wanted.plan, search=wanted.search)
    return compilation.placed


def with_devices(compilation: Compilation) -> Function:
    """The program with a device for each op."""
    return _placed(compilation, _wanted(compilation))
