"""Sums of floating-point numbers, and of their squares around the mean, without an error that grows with the length.

Floating-point sums are *blocked*: plain partial sums inside a block, and compensated addition between blocks (Knuth's
TwoSum), so that the error does not grow with the length; NumPy's pairwise summation has the same purpose.
``reduce_m2`` takes a second pass over each block while it is in the cache, around the block's own mean, and joins the
blocks by the formula of Chan, Golub and LeVeque (1983).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Value
from jitflow.passes.lower.kernels.reduction import Reduction
from jitflow.passes.schedule.folding import BLOCK

__all__ = ["MomentReduction", "SumReduction"]


class SumReduction(Reduction):
    """A floating-point sum. State: the sum of blocks and what rounding lost."""

    blocked = True

    def begin(self) -> None:
        zero = self.lanes_of(0, self.accumulator)
        self.state = [zero, zero]

    def fold_steps(self, elements: list[Value], count: Value) -> None:
        zero = self.lanes_of(0, self.accumulator)
        self.state = [self.emitter.elementwise("add", self.tree("add", elements), zero), zero]

    def combine(self, total: Value, first: Value | None = None) -> None:
        """Add a block that starts at ``first``. One at 0 is added to nothing, which short rows need not wait for."""

        def added() -> Sequence[Value]:
            sum_of_blocks, lost = self.state
            sum_of_blocks, error = self.two_sum(sum_of_blocks, total)
            return [sum_of_blocks, self.emitter.elementwise("add", lost, error)]

        def alone() -> Sequence[Value]:
            return [total, self.lanes_of(0, self.accumulator)]

        if first is None or not self.is_one_row:
            self.state = list(added())
        else:
            follows = self.emitter.emit("less", self.emitter.size(0), first)
            self.state = list(self.emitter.either(follows, added, alone))

    def close(self) -> None:
        total, lost = self.state
        lost = self._where_several(lambda: self.folded(lost, "add"), lambda: self.emitter.number(0, self.accumulator))
        self.state = [self.folded(total, "add"), lost]

    def follow(self, before: Sequence[Value]) -> Sequence[Value]:
        arithmetic = self.emitter.elementwise
        total, error = self.two_sum(before[0], self.state[0])
        return [total, arithmetic("add", arithmetic("add", before[1], self.state[1]), error)]

    def finish(self) -> Value:
        """The sum with what rounding lost, which is nothing in a row of one block."""
        total = self.folded(self.state[0], "add")

        def corrected() -> Value:
            arithmetic = self.emitter.elementwise
            lost = self.folded(self.state[1], "add")
            usable = arithmetic("isfinite", lost)
            return arithmetic("select", usable, arithmetic("add", total, lost), total)

        return self.narrow(self._where_several(corrected, lambda: total))

    def _where_several(self, body: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        """What ``body`` gives, or the other where the row is of one block."""
        if not self.is_one_row:
            return body()
        row = self.emitter.size(self.lowering.reduced[0].dim)
        several = self.emitter.emit("less", self.emitter.size(BLOCK), row)
        (found,) = self.emitter.either(several, lambda: [body()], lambda: [otherwise()])
        return found

    @property
    def is_one_row(self) -> bool:
        """Whether what is summed is one row, whose lanes are partial sums."""
        return self.lowering.horizontal and len(self.lowering.reduced) == 1


class MomentReduction(Reduction):
    """Sum of squared deviations. State: count, mean (high and low part), sum of squares around it."""

    blocked = True
    second_phase = True

    def begin(self) -> None:
        lanes = 0 if self.lowering.horizontal else self.lanes
        zero = self.emitter.number(0, self.accumulator, lanes)
        self.state = [zero, zero, zero, zero]
        self.mean: Value
        self.spread_mean: Value

    def centre(self, total: Value, count: Value) -> None:
        self.count = self.emitter.emit("cast", count, dtype=self.accumulator)
        self.mean = self.emitter.elementwise("divide", self.folded(total, "add"), self.count)

    def no_deviations(self) -> Sequence[Value]:
        zero = self.lanes_of(0, self.accumulator)
        return [zero, zero]

    def deviate(self, pair: Sequence[Value]) -> Sequence[Value]:
        """Adds up deviations from the block's mean, and their squares; the former correct the mean's rounding."""
        arithmetic = self.emitter.elementwise
        value = self.lowering.value(self.op.operands[0])
        if self.accumulator != self.dtype:
            value = arithmetic("cast", value, dtype=self.accumulator)
        deviation = arithmetic("subtract", value, self.mean)
        if self.lanes:
            deviation = self.emitter.splat(deviation, self.lanes)
        if self.lowering.horizontal and self.lowering.mask is not None:
            zero = self.lanes_of(0, self.accumulator)
            deviation = arithmetic("select", self.lowering.mask, deviation, zero)
        return [
            arithmetic("add", pair[0], deviation),
            arithmetic("add", pair[1], arithmetic("multiply", deviation, deviation)),
        ]

    def combine_moments(self, pair: Sequence[Value], count: Value) -> None:
        arithmetic = self.emitter.elementwise
        first, second = (self.folded(value, "add") for value in pair)
        low = arithmetic("divide", first, self.count)
        second = arithmetic("subtract", second, arithmetic("multiply", first, low))
        total, mean, mean_low, moment = self._joined(self.state, (self.count, self.mean, low, second))
        self.state = [self._like(total), mean, self._like(mean_low), moment]

    def _joined(self, before: Sequence[Value], part: Sequence[Value]) -> Sequence[Value]:
        """Count, mean, its low part, and the squares around it, of what comes before and of a part behind that."""
        arithmetic = self.emitter.elementwise
        (so_far, mean, mean_low, moment), (count, own, low, second) = before, part
        total = arithmetic("add", so_far, count)
        delta = arithmetic("add", arithmetic("subtract", own, mean), arithmetic("subtract", low, mean_low))
        weight = arithmetic("divide", count, total)
        mean, error = self.two_sum(mean, arithmetic("multiply", delta, weight))
        between = arithmetic("multiply", arithmetic("multiply", delta, delta), arithmetic("multiply", so_far, weight))
        moment = arithmetic("add", moment, arithmetic("add", second, between))
        return [total, mean, arithmetic("add", mean_low, error), moment]

    def close(self) -> None:
        """There are no lanes: blocks are closed."""

    def follow(self, before: Sequence[Value]) -> Sequence[Value]:
        return self._joined(before, self.state)

    def fold_steps(self, elements: list[Value], count: Value) -> None:
        arithmetic = self.emitter.elementwise
        self.centre(self.tree("add", elements), count)
        deviations = [arithmetic("subtract", element, self.mean) for element in elements]
        squares = [arithmetic("multiply", deviation, deviation) for deviation in deviations]
        self.combine_moments((self.tree("add", deviations), self.tree("add", squares)), count)

    def _like(self, value: Value) -> Value:
        return value if self.lowering.horizontal or not self.lanes else self.emitter.splat(value, self.lanes)

    def finish(self) -> Value:
        return self.narrow(self.state[3])
