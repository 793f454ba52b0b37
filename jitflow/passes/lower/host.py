"""The host program: one native function that takes the arguments, runs the kernels and hands out results.

It walks the fused function once. Views become layouts, sizes become index arithmetic, arithmetic on numbers and control
flow stay as they are, a ``fusion`` becomes the allocation of its results and a launch. Memory is given back after its
last use; the entry point makes arrays of what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from jitflow.ir.core import Function, Op, Region
from jitflow.ir.ops import OPS
from jitflow.ir.types import Variable
from jitflow.passes.analyses.homebound import refuse_homebound
from jitflow.passes.fusion.absorb import product_of
from jitflow.passes.fusion.chain_products import chain_of
from jitflow.passes.lower.arrays import lower_constant, lower_empty
from jitflow.passes.lower.calls import give_called, lower_call
from jitflow.passes.lower.chains import lower_chain
from jitflow.passes.lower.concatenation import lower_concatenate
from jitflow.passes.lower.containers import CONTAINER_LOWERING
from jitflow.passes.lower.contraction import lower_contraction, lower_followed_contraction
from jitflow.passes.lower.control import lower_for, lower_if, lower_recur, lower_recursion, lower_while
from jitflow.passes.lower.draws import lower_draw
from jitflow.passes.lower.figures import Procedures
from jitflow.passes.lower.finishing import GPU_HOST_PASSES, HOST_PASSES
from jitflow.passes.lower.fusions import lower_accumulation, lower_fusion
from jitflow.passes.lower.grid_scan import lower_accumulation_on_grid
from jitflow.passes.lower.host_call import lower_host_call
from jitflow.passes.lower.messages import MESSAGE_OPS, meet_at_end
from jitflow.passes.lower.notes import note_program, noted_op
from jitflow.passes.lower.numbers import lower_arithmetic, lower_broadcast_dims, lower_size, lower_to_index
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.products import lower_matmul, lower_product
from jitflow.passes.lower.results import ResultPlace, give_results
from jitflow.passes.lower.scatter import lower_scatter
from jitflow.passes.lower.scopes import Scopes
from jitflow.passes.lower.storing import lower_load, lower_store, lower_variable
from jitflow.passes.lower.tapes import TAPE_OPS
from jitflow.passes.lower.tile_products import lower_matmul_on_grid, lower_product_on_grid
from jitflow.passes.plan.record import Plan, Version
from jitflow.passes.runner import Observer, run
from jitflow.passes.schedule.scheduled import Readable
from jitflow.passes.schedule.target import CPU, Target
from jitflow.records import dataclass

__all__ = ["LOWERING", "Lowered", "lower"]


def _names(trait: str) -> tuple[str, ...]:
    return tuple(name for name, definition in OPS.items() if trait in definition.traits)


def _lower_kernel(host: OwningProgram, op: Op) -> None:
    if chain_of(op) is not None:
        lower_chain(host, op)
    elif (product := product_of(op)) is None:
        lower_fusion(host, op)
    elif product.name == "contract":
        lower_followed_contraction(host, op)
    else:
        (lower_product_on_grid if host.target.distributed else lower_product)(host, op)


def _lower_matmul(host: OwningProgram, op: Op) -> None:
    (lower_matmul_on_grid if host.target.distributed else lower_matmul)(host, op)


def _lower_accumulation(host: OwningProgram, op: Op) -> None:
    (lower_accumulation_on_grid if host.target.distributed else lower_accumulation)(host, op)


def _lower_view(host: OwningProgram, op: Op) -> None:
    host.view(op)


LOWERING: Mapping[str, Callable[[OwningProgram, Op], None]] = {
    **dict.fromkeys(_names("elementwise"), lower_arithmetic),
    **dict.fromkeys(_names("view"), _lower_view),
    **dict.fromkeys(_names("accumulation"), _lower_accumulation),
    **TAPE_OPS,
    **CONTAINER_LOWERING,
    **MESSAGE_OPS,
    "constant": lower_constant,
    "check": lower_arithmetic,
    "print": lower_arithmetic,
    "size": lower_size,
    "to_index": lower_to_index,
    "broadcast_dims": lower_broadcast_dims,
    "if": lower_if,
    "for": lower_for,
    "while": lower_while,
    "recursion": lower_recursion,
    "recur": lower_recur,
    "call": lower_call,
    "fusion": _lower_kernel,
    "matmul": _lower_matmul,
    "contract": lower_contraction,
    "host_call": lower_host_call,
    "draw": lower_draw,
    "concatenate": lower_concatenate,
    "empty": lower_empty,
    "variable": lower_variable,
    "load": lower_load,
    "store": lower_store,
    "scatter": lower_scatter,
}
"""What each op of a fused function becomes in the host program. Others stand in kernels only, or are gone by then."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """The host program with its kernels, and where its results come out."""

    host: Function
    places: tuple[ResultPlace, ...]
    result_slots: int
    scheduled: Mapping[str, Readable]
    """What the kernels are made of, by name, those that are nests or contractions."""


def lower(
    function: Function, target: Target = CPU, plan: Plan | None = None, *, observe: Observer | None = None
) -> Lowered:
    """Lower a fused tensor function to loops and a host program, for a kind of processor, as the ``plan`` says.

    The attribute ``layouts`` holds the layout class of each parameter (``C F unit general``); arrays are expected in
    argument slots in parameter order, 1 + 2 * rank slots each, scalars in one slot, c128 in two. ``observe`` is called
    after each pass that finishes the host program.
    """
    if target.distributed:
        refuse_homebound(function)
    lowering = HostLowering(function, target, LOWERING, plan)
    lowered = lowering.run()
    passes = GPU_HOST_PASSES if target.distributed else HOST_PASSES
    kernels = {kernel.name for kernel in lowered.host.functions}
    called: list[Function] = []
    for one in lowering.called.values():
        finished = run(one, passes.items(), observe)
        called += [inner for inner in finished.functions if inner.name not in kernels]
        called.append(replace(finished, functions=()))
    if target.notes:
        passes = {**passes, "note_program": note_program}
    host = replace(lowered.host, functions=(*lowered.host.functions, *called))
    return replace(lowered, host=run(host, passes.items(), observe))


class HostLowering(OwningProgram):
    """Walks the fused function once; the modules beside this one lower what takes more than a few lines."""

    def lower_called(self, function: Function) -> Function:
        """A function that this one calls, as a host program that takes buffers and numbers and gives others."""
        inner = HostLowering(function, self.target, LOWERING, self.plan.called[function.name])
        inner.kernels, inner.scheduled, inner.procedures = self.kernels, self.scheduled, self.procedures
        inner.scopes.everywhere = self.scopes.everywhere
        parameters = inner.take_parameters()
        inner.lower_ops(function.region)
        region = inner.builder.region(parameters, give_called(inner))
        attributes = MappingProxyType({**inner._facts(), "called": True, "recursive": True, "factored": True})
        return Function(function.name, region, (), "host", attributes, tuple(self.kernels.values()))

    def run(self) -> Lowered:
        self.take_arguments()
        short = self.plan.short
        places, slots = self._body() if short is None else self._versions(short)
        meet_at_end(self)
        self.builder.add("yield")
        region, kernels = Region((), tuple(self.builder.ops)), tuple(self.kernels.values())
        host = Function(self.function.name, region, (), "host", MappingProxyType(self._facts()), kernels)
        return Lowered(host, places, slots, MappingProxyType(self.scheduled))

    def _facts(self) -> dict[str, Any]:
        """What passes of the host program must know of the tensor function."""
        facts: dict[str, Any] = {"overlap": True} if self.function.attributes.get("overlap") else {}
        if self.target.threads > 1:
            facts["threads"] = self.target.threads
        parameters = map(self.function.parameters.__getitem__, self.function.attributes.get("variables", ()))
        lasting = {self.storage[value].buffer for value in parameters if isinstance(value.type, Variable)}
        if lasting:
            arguments = (op for op in self.builder.ops if op.name == "argument")
            facts["lasting"] = tuple(op.attributes["slot"] for op in arguments if op.result in lasting)
        return facts

    def _body(self) -> tuple[tuple[ResultPlace, ...], int]:
        """Everything between the arguments and the end."""
        self.lower_ops(self.function.region)
        return give_results(self)

    def _versions(self, short: Version) -> tuple[tuple[ResultPlace, ...], int]:
        """The body twice: for sizes that are short as they were at the first call, and for all others."""
        build = self.builder.make
        sizes = self.scopes.open[0].sizes
        fits = [build("equal", sizes[name], self.dim(size)) for name, size in short.sizes.items()]
        condition = fits[0]
        for other in fits[1:]:
            condition = build("logical_and", condition, other)
        masked = replace(self.target, masked=True)  # one copy of each loop: this version is for the rare call
        versions = [
            self._version(short.function, self.target, short.plan, "_short"),
            self._version(self.function, masked, self.plan, ""),
        ]
        (first, places, slots), (second, *_) = versions
        self.builder.add("if", condition, types=(), regions=(first, second))
        return places, slots

    def _version(
        self, function: Function, target: Target, plan: Plan, suffix: str
    ) -> tuple[Region, tuple[ResultPlace, ...], int]:
        version = HostLowering(function, target, LOWERING, plan)
        version.suffix = suffix
        version.kernels, version.scheduled = self.kernels, self.scheduled
        version.procedures = Procedures(self.kernels)
        version.scopes = Scopes(self.scopes.open[0])
        for position, (own, other) in enumerate(zip(self.function.parameters, function.parameters, strict=True)):
            number = self.scopes.number(own)
            if number is not None:
                version.set_number(other, number)
            else:
                version.take_array(position, other, self.storage[own].buffer)
        places, slots = version._body()
        return version.builder.region((), ()), places, slots

    def lower_op(self, op: Op) -> None:
        with noted_op(self, op):
            super().lower_op(op)
