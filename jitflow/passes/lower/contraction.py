"""Contractions, and kernels that hold one: of what follows a contraction, sums are what it is computed of."""

from __future__ import annotations

from jitflow.ir.core import Builder, Op
from jitflow.ir.types import Tensor
from jitflow.passes.lower.fusions import allocate_outputs, give_results, placed_layouts, places_of
from jitflow.passes.lower.kernels.beside_sums import BesideSums
from jitflow.passes.lower.kernels.contraction_kernel import ContractionKernel
from jitflow.passes.lower.kernels.kernel import Kernel
from jitflow.passes.lower.numbers import with_numbers
from jitflow.passes.lower.owning import OwningProgram

__all__ = ["lower_contraction", "lower_followed_contraction"]


def lower_contraction(host: OwningProgram, op: Op) -> None:
    """The contraction in memory of its own."""
    type = op.result.type
    assert isinstance(type, Tensor)
    storage = host.allocate(type.dtype, type.dims)
    layouts = [*(host.layouts[operand] for operand in op.operands), storage.layout]

    def make() -> Kernel:
        name = host.kernel_name("contract" + host.suffix)
        return ContractionKernel(op, layouts, BesideSums(), host.target, name).kernel()

    builder = Builder()
    builder.ops.append(op)
    region = builder.region(op.operands, [op.result])
    host.launch(host.once(make, *layouts, region=region), op.operands, (storage,))
    host.give(op.result, storage)


def lower_followed_contraction(host: OwningProgram, op: Op) -> None:
    """The contraction that a fusion holds, whose sums become what the fusion computes before they are written."""
    planned = host.plan.products[op]
    contraction, rest = planned.product, with_numbers(host, planned.rest)
    places = places_of(host, rest)
    outputs = allocate_outputs(host, rest, places)
    result = placed_layouts(host, rest).get(0, outputs[0].layout)
    others = zip(rest.operands[1:], rest.regions[0].parameters[1:], strict=True)
    lying = {inside: host.layouts[operand] for operand, inside in others if isinstance(inside.type, Tensor)}
    layouts = [*(host.layouts[operand] for operand in contraction.operands), result]

    def make() -> Kernel:
        beside = BesideSums.of(rest, contraction, lying)
        name = host.kernel_name(op.attributes["kernel"] + host.suffix)
        return ContractionKernel(contraction, layouts, beside, host.target, name).kernel()

    types = tuple(operand.type for operand in rest.operands[1:])
    kernel = host.once(make, *layouts, *lying.values(), types, region=op.regions[0])
    host.launch(kernel, (*contraction.operands, *rest.operands[1:]), outputs)
    give_results(host, rest, outputs)
