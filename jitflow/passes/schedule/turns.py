"""What a turn of a loop that runs kernels costs, in the instructions of `cost.py`."""

from __future__ import annotations

from collections.abc import Callable

from jitflow.ir.core import Op, Region, walk
from jitflow.ir.dims import Dim, product, substitute, symbols
from jitflow.ir.ops.linear import shown_dims
from jitflow.ir.types import Index, dims_of
from jitflow.passes.schedule.cost import cost_of

__all__ = ["work_of_turn"]


def work_of_turn(loop: Op, knows: Callable[[str], bool]) -> Dim:
    """What the first turn of a ``for`` costs, in terms of sizes that are known in front of it.

    What depends on other sizes counts as one element.
    """
    (region,) = loop.regions
    sizes = _sizes(region)
    position = region.parameters[0].type
    start = loop.operands[0].type
    if isinstance(position, Index) and isinstance(start, Index) and position.dim is not None and start.dim is not None:
        sizes[str(position.dim)] = start.dim
    total: Dim = 1
    for op in walk(region):
        work = _work(op)
        for _ in range(len(sizes)):
            work = substitute(work, sizes)
        total = total + (work if all(map(knows, symbols(work))) else 1)
    return total


def _sizes(region: Region) -> dict[str, Dim]:
    """The sizes that integers of a region become, by what these are."""
    dims: dict[object, Dim] = {}
    found: dict[str, Dim] = {}
    for op in walk(region):
        source = dims.get(op.operands[0]) if op.operands else None
        if op.name == "size":
            dims[op.result] = op.attributes["dim"]
        elif op.name == "cast" and source is not None:
            dims[op.result] = source
        elif op.name == "to_index" and source is not None and "binds" in op.attributes:
            found[op.attributes["binds"]] = source
    return found


def _work(op: Op) -> Dim:
    """What an op costs, for all of its elements."""
    if op.name == "matmul":
        return product(dims_of(op.result.type)) * dims_of(op.operands[0].type)[-1]
    if op.name == "contract":
        summed = {*op.attributes["left"]} - {*op.attributes["kept"]}
        dims = zip(op.attributes["left"], shown_dims(dims_of(op.operands[0].type), op.attributes), strict=True)
        return product(dims_of(op.result.type)) * product([dim for label, dim in dims if label in summed])
    if op.definition.traits & {"elementwise", "reduction"}:
        return product(dims_of(op.operands[0].type)) * cost_of(op)
    return 0
