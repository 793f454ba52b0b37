"""Partitions as text, which another process compiles for its own processor."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from jitflow.ir.core import Function, Region, walk
from jitflow.ir.location import Loc
from jitflow.ir.together import FRAME, MEET, RECEIVE, SEND, STOPS
from jitflow.records import dataclass

__all__ = ["SIGNATURES", "PartitionText", "Program", "as_text"]

_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64
_WORDS = ctypes.POINTER(_NUMBER)
SIGNATURES: Mapping[str, Any] = MappingProxyType({
    SEND: ctypes.CFUNCTYPE(None, _POINTER, _NUMBER, _NUMBER, _POINTER, _NUMBER, _WORDS, _NUMBER),
    RECEIVE: ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, _NUMBER, _NUMBER, _WORDS, _NUMBER, ctypes.c_bool),
    MEET: ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, ctypes.c_bool),
    STOPS: ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, _POINTER),
})  # fmt: skip
"""How partitions call what they talk to one another by (`runtime/parallel/channels_text.py`)."""


@dataclass(frozen=True)
class PartitionText:
    """A partition as another process needs it to compile it: ``devices`` are those of all partitions."""

    text: str
    locations: tuple[Loc, ...]
    device: str
    devices: tuple[str, ...]
    meets: bool
    writes: bool
    """Whether something that outlives the call is written behind the meeting."""
    fastmath: bool
    levels: int


def as_text(function: Function) -> tuple[str, tuple[Loc, ...]]:
    """A function as text, and where its ops come from, in their order."""
    return str(function), tuple(op.loc for op in walk(function.region))


def _from_text(text: str, locations: Sequence[Loc]) -> Function:
    from jitflow.ir.parser import parse

    left = iter(locations)

    def located(region: Region) -> Region:
        ops = []
        for op in region.ops:
            loc = next(left)
            ops.append(replace(op, loc=loc, regions=tuple(map(located, op.regions))))
        return Region(region.parameters, tuple(ops))

    function = parse(text)
    return replace(function, region=located(function.region))


class Program:
    """A partition, compiled; ``functions`` are what it calls to talk to the others."""

    def __init__(self, partition: PartitionText, functions: Mapping[str, int]) -> None:
        from jitflow.backends.llvm.executable import compile_program
        from jitflow.compilation.compiler import target_here
        from jitflow.passes.expand.expand import expand
        from jitflow.passes.lower import lower_part
        from jitflow.passes.pipeline import fusion_pipeline, run_passes
        from jitflow.passes.plan.planner import plan_buffers
        from jitflow.runtime.entry.entry_python import run_function
        from jitflow.runtime.linked_symbols import link_symbols
        from jitflow.runtime.native.pool import pool
        from jitflow.runtime.parallel.threads import most_threads

        target, device = target_here(most_threads()), partition.device
        fused = run_passes(_from_text(partition.text, partition.locations), fusion_pipeline(device, is_part=True))
        plan = plan_buffers(fused, device, distributed=target.distributed, processor=target.processor)
        lowered = lower_part(fused, {"meets": partition.meets}, device, target, plan)
        executable = compile_program((expand(lowered.host),), fast_math=partition.fastmath, devices=partition.devices)
        linked = link_symbols(executable.symbols, executable.sites, functions=functions)
        self.sites = executable.sites
        self.levels, self.writes = partition.levels, partition.writes
        self.words = (pool().allocate_address, pool().free_address, *linked.addresses)
        self.frame_slot = 2 + executable.symbols.index(FRAME)
        self.run = run_function(executable.address(), releases_gil=True)
        self._keep = executable, linked
