"""Running accumulations: what is folded so far is the result at this position.

They are reductions whose loop keeps its order, as in NumPy, so lanes are neighbouring lines (`Loop.in_order`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitflow.ir.core import Op
from jitflow.ir.dtypes import I64
from jitflow.passes.lower.kernels.reduction import Reduction

if TYPE_CHECKING:
    from jitflow.passes.lower.kernels.elements import Elements

__all__ = ["RunningReduction"]


class RunningReduction(Reduction):
    """An accumulator that is rounded after each element."""

    running = True

    def __init__(self, op: Op, lowering: Elements) -> None:
        super().__init__(op, lowering)
        self.fold, self.accumulator = op.name.removeprefix("accumulate_"), self.dtype

    def begin(self) -> None:
        """Set ``state`` to what changes no number, -0.0 neither."""
        super().begin()
        if self.fold == "add" and self.dtype.kind in "fc":
            self.state = [self.lanes_of(complex(-0.0, -0.0) if self.dtype.is_complex else -0.0, self.dtype)]

    def step(self) -> None:
        """Fold the element at this position into ``state``: with a complex product, the first one takes its place.

        A product with 1 is another one then: what is infinite becomes nan.
        """
        super().step()
        if self.fold != "multiply" or not self.dtype.is_complex:
            return
        element, emitter = self.element(1), self.emitter
        for loop in self.lowering.reduced:
            is_first = emitter.elementwise("equal", self.lowering.position(loop), emitter.number(0, I64))
            element = emitter.elementwise("select", is_first, element, self.state[0])
        self.state = [element]
