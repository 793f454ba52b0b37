"""Runs IR through the whole compiler, below the frontend: for tests that start from a tensor function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.backends.llvm import compile_program
from jitflow.compilation.compiler import target_here
from jitflow.compilation.failures import failure_handler
from jitflow.ir.core import Function
from jitflow.ir.dtypes import C128
from jitflow.ir.types import Scalar, Tensor, Variable
from jitflow.passes.expand.expand import expand
from jitflow.passes.lower import Lowered, PlaceSource, ResultPlace, lower
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.specialisation import Specialisation
from jitflow.runtime.linked_symbols import link_symbols

__all__ = ["Compiled", "compile_ir", "layouts_of"]


class Compiled:
    """A tensor function that can be called with arrays and scalars."""

    def __init__(
        self, function: Function, layouts: Sequence[str] | None = None, pipeline: Sequence[str] = FUSION_PIPELINE
    ) -> None:
        parameters = function.parameters
        layouts = layouts or ["C"] * len(parameters)
        attributes = MappingProxyType({**function.attributes, "layouts": tuple(layouts)})
        self.fused = run_passes(replace(function, attributes=attributes), pipeline)
        self.lowered: Lowered = lower(self.fused, target_here(threads=1))
        self.expanded = expand(self.lowered.host)
        self.executable = compile_program(self.expanded)
        linked = link_symbols(self.executable.symbols, self.executable.sites)
        self.specialisation = Specialisation(
            self._plan(function, layouts),
            run=self.executable.address("run"),
            raise_error=self._raise,
            symbols=linked.addresses,
            keep_alive=(self.executable, linked),
        )

    def __call__(self, *arguments: Any) -> Any:
        results = self.specialisation.call(arguments)
        assert isinstance(results, tuple), "the arguments do not fit"
        return results

    def _plan(self, function: Function, layouts: Sequence[str]) -> p.Plan:
        checks: list[p.Check] = []
        slot = 0
        for position, (parameter, layout) in enumerate(zip(function.parameters, layouts, strict=True)):
            type = parameter.type
            if isinstance(type, Tensor | Variable):
                ones, rank = tuple(dim == 1 for dim in type.dims), len(type.dims)
                written = isinstance(type, Variable)
                checks.append(p.ArrayLeaf(position, type.dtype.name, rank, layout, written, ones, slot))  # type: ignore[arg-type]
                slot += 1 + 2 * rank
            else:
                assert isinstance(type, Scalar)
                kind = "python" if type.weak else "numpy"
                checks.append(p.ScalarLeaf(position, type.dtype.name, kind, slot))  # type: ignore[arg-type]
                slot += 2 if type.dtype == C128 else 1
        leaves: list[p.Result] = []
        for place, value in zip(self.lowered.places, function.results, strict=False):
            if place.kind == "new":
                leaves.append(p.NewArray(place.slot, place.dtype.name, place.rank))
            elif place.kind == "argument":
                leaves.append(p.ViewOfArgument(place.slot, place.dtype.name, place.rank, place.source))
            elif place.kind == "result":
                leaves.append(p.ViewOfResult(place.slot, place.dtype.name, place.rank, place.source))
            elif place.kind == "one of":
                alternatives = tuple((source.number, _alternative(place, source)) for source in place.sources)
                leaves.append(p.OneOf(place.chosen, alternatives))
            elif isinstance(value.type, Scalar) and value.type.weak:
                leaves.append(p.PythonScalar(place.slot, place.dtype.name))
            else:
                leaves.append(p.NumpyScalar(place.slot, place.dtype.name))
        bases = tuple(p.NewArray(b.slot, b.dtype.name, b.rank) for b in self.lowered.places[len(function.results) :])
        reads = tuple(p.Argument(position) for position in range(len(function.parameters)))
        names = tuple(f"a{position}" for position in range(len(function.parameters)))
        return p.Plan(
            names, reads, tuple(checks), slot, self.lowered.result_slots, p.TupleOf(tuple(leaves)), bases
        )  # fmt: skip

    def _raise(self, status: int, error: int) -> None:
        failure_handler(self.executable.sites)(status, error)


def _alternative(place: ResultPlace, source: PlaceSource) -> Any:
    if source.whole:
        return (p.SameObject if source.is_argument else p.SameResult)(source.index)
    view = p.ViewOfArgument if source.is_argument else p.ViewOfResult
    return view(place.slot, place.dtype.name, place.rank, source.index)


def layouts_of(arguments: Sequence[Any]) -> tuple[str, ...]:
    """The layout class of each argument; numbers count as C."""
    return tuple(p.layout_of(argument) if isinstance(argument, np.ndarray) else "C" for argument in arguments)


def compile_ir(function: Function, *arguments: Any) -> Compiled:
    """Compile for the layout classes of these arguments."""
    return Compiled(function, layouts_of(arguments))
