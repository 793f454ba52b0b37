"""Partial results in memory: each lane of a strip of positions has cells of its own.

That is where they are if the loop along which lanes run stands inside of the reduced ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Scalar, Tensor, Vector
from jitflow.passes.lower.kernels.reduction import Reduction

if TYPE_CHECKING:
    from jitflow.passes.lower.kernels.elements import Elements

__all__ = ["Cells"]


class Cells:
    """The partial results of some reductions, at as many ``positions`` at most as there are from ``first`` on."""

    def __init__(self, lowering: Elements, reductions: Sequence[Reduction], first: Value, positions: Dim) -> None:
        self.lowering, self.emitter = lowering, lowering.emitter
        self.reductions = reductions
        self.first, self.positions = first, positions
        self._memory: dict[tuple[Reduction, int], Value] = {}

    # Whole phases, each at one position of the strip

    def begin(self) -> None:
        """Set all to what they are before any element."""
        for reduction in self.reductions:
            self.emitter.loc = reduction.op.loc
            reduction.begin()
            self._write_state(reduction)
            if reduction.blocked:
                self._write(reduction, len(reduction.state), reduction.partial())

    def fetch(self) -> None:
        """Read what a fold of elements changes."""
        for reduction in self.reductions:
            if reduction.blocked:
                reduction.sums = [self._read(reduction, len(reduction.state))]
            else:
                self._read_state(reduction)

    def put(self) -> None:
        """Write what it has changed."""
        for reduction in self.reductions:
            if reduction.blocked:
                self._write(reduction, len(reduction.state), reduction.sums[0])
            else:
                self._write_state(reduction)

    def combine(self) -> None:
        """Add the sums of a block to those of the blocks before it."""
        for reduction in self.reductions:
            if reduction.blocked:
                self._read_state(reduction)
                reduction.combine(self._read(reduction, len(reduction.state)))
                self._write_state(reduction)
                self._write(reduction, len(reduction.state), reduction.partial())

    def finish(self) -> None:
        """The results at this position are known from here on."""
        for reduction in self.reductions:
            self.emitter.loc = reduction.op.loc
            self._read_state(reduction)
            self.emitter.store_cached(reduction.op.result, reduction.finish())

    # Single cells

    def _read_state(self, reduction: Reduction) -> None:
        reduction.state = [self._read(reduction, number) for number in range(len(reduction.state))]

    def _write_state(self, reduction: Reduction) -> None:
        for number, value in enumerate(reduction.state):
            self._write(reduction, number, value)

    def _read(self, reduction: Reduction, number: int) -> Value:
        buffer, offset, mask = self._cell(reduction, number)
        depth = max(self.emitter.depth_of[known] for known in (offset, *mask))
        return self.emitter.emit("read", buffer, offset, *mask, depth=depth, lanes=self.lowering.lanes)

    def _write(self, reduction: Reduction, number: int, value: Value) -> None:
        if (reduction, number) not in self._memory:
            assert isinstance(value.type, Vector | Scalar)
            dtype = value.type.dtype
            cells = Value(Tensor(dtype, (self.positions,)), "sums")
            self.lowering.rows[cells] = nbytes = self.positions * dtype.itemsize
            self.lowering.scratch.append((self.lowering.buffer_for(cells, dtype), nbytes))
            self._memory[reduction, number] = cells
        buffer, offset, mask = self._cell(reduction, number)
        self.emitter.here("write", buffer, offset, self.emitter.splat(value, self.lowering.lanes), *mask)

    def _cell(self, reduction: Reduction, number: int) -> tuple[Value, Value, tuple[Value, ...]]:
        """Memory, where the lanes of the present positions lie in it, and the mask of those that there are."""
        emitter, mask, itemsize = self.emitter, self.lowering.mask, reduction.accumulator.itemsize
        index = next(scope.index for scope in emitter.scopes if scope.loop is self.lowering.vector)
        assert index is not None
        offset = emitter.cached(("cell", index, itemsize))
        if offset is None:
            position = emitter.emit("subtract", index, self.first)
            offset = emitter.emit("multiply", position, emitter.size(itemsize))
            emitter.store_cached(("cell", index, itemsize), offset)
        cells = self._memory[reduction, number]
        at = emitter.arithmetic("add", self.lowering.start_of(cells, 0), offset)
        return self.lowering.buffers[cells], at, () if mask is None else (mask,)
