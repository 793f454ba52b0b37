"""Programs in several parts, written by hand, and the same program as a whole, which says what they must give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from jitflow.backends.llvm import compile_program
from jitflow.compilation.gpu import offloaded, print_kernels, sites_of
from jitflow.ir.core import Function
from jitflow.ir.parser import parse
from jitflow.ir.verifier import verify
from jitflow.machines.hardware import is_gpu
from jitflow.passes.expand.expand import expand
from jitflow.passes.lower import CPU, GPU, lower_parts
from jitflow.passes.lower.parts import argument_slots
from jitflow.passes.partition import Partition
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from jitflow.runtime.entry.entry_device import DeviceSpecialisation
from jitflow.runtime.entry.specialisation import Specialisation
from jitflow.runtime.linked_symbols import link_symbols
from jitflow.runtime.native.cuda import gpu
from tests.backends.cuda.images import image_of
from tests.execute import Compiled


@dataclass(frozen=True)
class Part:
    device: str
    function: Function
    parameters: tuple[int, ...]
    results: tuple[int, ...]


def part(device: str, text: str, parameters: Sequence[int] = (), results: Sequence[int] = ()) -> Part:
    return Part(device, parse(text), tuple(parameters), tuple(results))


class CompiledParts(Compiled):
    """Parts of a function that can be called with arrays and scalars."""

    def __init__(self, whole: Function, parts: Sequence[Part | Partition]) -> None:
        layouts = ["C"] * len(whole.parameters)
        for one in parts:
            verify(one.function, "test")
        fused = [replace(one, function=_fused(one.function)) for one in parts]
        devices = [one.device for one in parts]
        targets = [GPU if is_gpu(device) else CPU for device in devices]
        self.lowered = lower_parts(whole, fused, targets)  # type: ignore[assignment]
        self.hosts = offloaded(zip(devices, map(expand, self.lowered.hosts), strict=True))
        for host in self.hosts:
            verify(host, "test")
        modules = print_kernels(zip(devices, self.hosts, strict=True))
        self.executable = compile_program(self.hosts, sites=sites_of(modules))
        images = {name: image_of(module.text, "compute_75") for name, module in modules.items()}
        loaded = {name: gpu(name).load(image) for name, image in images.items()}
        linked = link_symbols(self.executable.symbols, self.executable.sites, loaded)
        plan = replace(self._plan(whole, layouts), releases_gil_bytes=-1)
        if modules:
            slots = dict(zip(whole.parameters, argument_slots(whole), strict=True))
            homes = zip(whole.parameters, whole.attributes["devices"], strict=True)
            wanted = {slots[value]: home for value, home in homes if is_gpu(home)}
            made = {one.slot: one.device for one in self.lowered.places if one.device and one.kind == "new"}
            plan = replace(plan, gpus=tuple(modules), wanted=wanted, made=made)
        kind = partial(DeviceSpecialisation, handles=linked.handles) if modules else Specialisation
        self.specialisation = kind(
            plan,
            run=self.executable.address("run"),
            raise_error=self._raise,
            symbols=linked.addresses,
            keep_alive=(self.executable, linked, loaded),
        )


def _fused(function: Function) -> Function:
    attributes = MappingProxyType({**function.attributes, "layouts": ("C",) * len(function.parameters)})
    return run_passes(replace(function, attributes=attributes), FUSION_PIPELINE)


def together(whole: str, *parts: Part) -> tuple[Any, CompiledParts]:
    """The whole, and its parts, compiled."""
    function = parse(whole)
    return Compiled(function), CompiledParts(function, parts)
