"""What a program has to do with GPUs, whose memory is not that of the host.

A GPU takes part in a program that names it: an argument or a variable lives there, or a scope wants something there.
Where all arrays of the arguments live on one, all else is there too, but for what has no code for a GPU: nobody wants
an array to come back because it is small.

An array of the host that is used on one GPU alone is *lent*: the entry puts it there for the time of the call, and
writes back what the program has written, as it would lie there from the start. Not while Python may look at it, and not
where arguments overlap.
"""

from __future__ import annotations

from collections.abc import Mapping

from jitflow.ir.core import Function, Value, walk
from jitflow.ir.effects import is_storage
from jitflow.ir.types import Index, Scalar
from jitflow.machines.hardware import HOME, is_elsewhere, is_gpu
from jitflow.passes.analyses.homebound import calls_python
from jitflow.passes.place.placement import Placement

__all__ = ["common_gpu", "homes_of_arguments", "may_lend", "named_devices", "sole_gpu"]


def named_devices(function: Function, plan: Placement | None = None) -> tuple[str, ...]:
    """The GPUs, and the devices of other processes, that a program names, or a plan for it."""
    named = [*function.attributes.get("devices", ()), *(op.loc.device for op in walk(function.region))]
    named += [] if plan is None else [one.device for one in plan.ops]
    return tuple(sorted({name for name in named if is_gpu(name) or is_elsewhere(name)}))


def common_gpu(function: Function) -> str:
    """The GPU on which all arrays of the arguments live; empty if there is no such one."""
    given = function.attributes.get("devices", ())
    found = {device for value, device in zip(function.parameters, given, strict=False) if _is_array(value)}
    return min(found) if len(found) == 1 and is_gpu(min(found)) else ""


def may_lend(function: Function) -> bool:
    """Whether arguments may lie elsewhere while the program runs."""
    return not function.attributes.get("overlap") and not any(map(calls_python, walk(function.region)))


def homes_of_arguments(function: Function, storage: Mapping[Value, str]) -> tuple[str, ...]:
    """Where a placed function has its arguments: ``storage`` says it of what is written to."""
    given = function.attributes.get("devices") or ("",) * len(function.parameters)
    users = _users(function) if may_lend(function) and any(map(is_gpu, _devices(function))) else {}

    def home(value: Value, device: str) -> str:
        if device or not _is_array(value):
            return device or HOME
        if is_storage(value):
            return storage.get(value, HOME)
        found = users.get(value, set())
        return min(found) if len(found) == 1 and is_gpu(min(found)) else HOME

    return tuple(map(home, function.parameters, given))


def sole_gpu(function: Function) -> str:
    """The GPU that has all ops and all arrays of a placed function; empty if there is no such one."""
    found = _devices(function) | {
        device
        for value, device in zip(function.parameters, function.attributes["devices"], strict=True)
        if _is_array(value)
    }
    return min(found) if len(found) == 1 and is_gpu(min(found)) else ""


def _devices(function: Function) -> set[str]:
    return {op.attributes["device"] for op in walk(function.region) if op.name != "yield"}


def _users(function: Function) -> dict[Value, set[str]]:
    """The devices of the ops that read each argument, or a view of it."""
    base: dict[Value, Value] = {value: value for value in function.parameters}
    found: dict[Value, set[str]] = {}
    for op in walk(function.region):
        if "view" in op.definition.traits and op.operands[0] in base:
            base[op.result] = base[op.operands[0]]
        else:
            device = HOME if op.name == "yield" else op.attributes["device"]
            for value in op.operands:
                if value in base:
                    found.setdefault(base[value], set()).add(device)
    return found


def _is_array(value: Value) -> bool:
    return not isinstance(value.type, Scalar | Index)
