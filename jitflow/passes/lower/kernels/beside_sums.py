"""What follows a contraction: the sums of some rows and columns become what a kernel computes of them.

That is done as soon as they are summed up, before they are written, on vectors of columns. What the kernel reads beside
them is one number for each row, or one for each column: of the columns of a strip these stand in a line of scratch
memory, those of rows are read where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from jitflow.ir.core import Op, Region, Value
from jitflow.ir.dtypes import DType
from jitflow.ir.layout import Layout
from jitflow.ir.types import Scalar, Tensor
from jitflow.passes.fusion.beside import arrays_beside, axes_varied
from jitflow.passes.lower.kernels.emitter import Emitter
from jitflow.records import dataclass

__all__ = ["ArrayBeside", "BesideSums"]


@dataclass(frozen=True, slots=True, eq=False)
class ArrayBeside:
    """An array that is read beside sums, and how it lies along the axes of the result.

    ``position`` is that of the operand, ``value`` what shows it in the region.
    """

    position: int
    value: Value
    layout: Layout
    by_rows: bool

    @property
    def dtype(self) -> DType:
        assert isinstance(self.value.type, Tensor)
        return self.value.type.dtype


@dataclass(frozen=True, slots=True, eq=False)
class BesideSums:
    """A region that follows, of which the first parameter is what is summed up; None if nothing does."""

    region: Region | None = None
    arrays: tuple[ArrayBeside, ...] = ()
    numbers: Mapping[Value, int] = field(default_factory=dict)
    """Parameters that are numbers, with their positions."""

    @staticmethod
    def of(fusion: Op, contraction: Op, layouts: Mapping[Value, Layout]) -> BesideSums:
        """What a fusion does whose first operand is a contraction; ``layouts`` are those of the other ones."""
        (region,) = fusion.regions
        shown = arrays_beside(region, region.parameters[0], layouts)
        assert shown is not None
        columns = set(contraction.attributes["right"]) - set(contraction.attributes["left"])
        across = {axis for axis, label in enumerate(contraction.attributes["kept"]) if label in columns}
        sources = _sources(region)
        positions = {parameter: position for position, parameter in enumerate(region.parameters)}
        arrays = tuple(
            ArrayBeside(positions[sources[value]], value, layout, axes_varied(value, layout).isdisjoint(across))
            for value, layout in shown.items()
        )
        numbers = {value: position for value, position in positions.items() if isinstance(value.type, Scalar)}
        return BesideSums(region, arrays, numbers)

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """Those of the arrays."""
        return tuple(array.layout for array in self.arrays)

    def emit(
        self, emitter: Emitter, sums: Value, beside: Callable[[ArrayBeside], Value], numbers: Mapping[Value, Value]
    ) -> Value:
        """The region's result for a vector of sums, and what stands ``beside`` it."""
        assert self.region is not None
        known: dict[Value, Value] = {self.region.parameters[0]: sums, **numbers}
        known |= {array.value: beside(array) for array in self.arrays}
        for op in self.region.body:
            emitter.loc = op.loc
            if op.result in known:
                continue
            if op.name == "constant":
                type = op.result.type
                assert isinstance(type, Scalar)
                known[op.result] = emitter.number(op.attributes["value"], type.dtype)
            elif "view" in op.definition.traits or op.name == "copy":
                if op.operands[0] in known:
                    known[op.result] = known[op.operands[0]]
            else:
                operands = [known[operand] for operand in op.operands]
                known[op.result] = emitter.elementwise(op.name, *operands, **op.attributes)
        return known[self.region.yielded[0]]


def _sources(region: Region) -> dict[Value, Value]:
    """The parameter that each array of a region shows which shows one."""
    sources = {value: value for value in region.parameters if isinstance(value.type, Tensor)}
    for op in region.body:
        if "view" in op.definition.traits and op.operands[0] in sources:
            sources[op.result] = sources[op.operands[0]]
    return sources
