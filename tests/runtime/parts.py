"""Programs in several parts, written by hand, and the same program as a whole, which says what they must give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from jitflow.backends.llvm import compile_program
from jitflow.ir.core import Function
from jitflow.ir.parser import parse
from jitflow.ir.verifier import verify
from jitflow.passes.expand.expand import expand
from jitflow.passes.lower import lower_parts
from jitflow.passes.partition import Partition
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from jitflow.runtime.host_calls import link_symbols
from jitflow.runtime.specialisation import Specialisation
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
        self.lowered = lower_parts(whole, fused)  # type: ignore[assignment]
        self.hosts = [expand(host) for host in self.lowered.hosts]
        for host in self.hosts:
            verify(host, "test")
        self.executable = compile_program(self.hosts)
        linked = link_symbols(self.executable.symbols, self.executable.sites)
        plan = replace(self._plan(whole, layouts), releases_gil_bytes=-1)
        self.specialisation = Specialisation(
            plan,
            run=self.executable.address("run"),
            raise_error=self._raise,
            symbols=linked.addresses,
            keep_alive=(self.executable, linked),
        )


def _fused(function: Function) -> Function:
    attributes = MappingProxyType({**function.attributes, "layouts": ("C",) * len(function.parameters)})
    return run_passes(replace(function, attributes=attributes), FUSION_PIPELINE)


def together(whole: str, *parts: Part) -> tuple[Any, CompiledParts]:
    """The whole, and its parts, compiled."""
    function = parse(whole)
    return Compiled(function), CompiledParts(function, parts)
