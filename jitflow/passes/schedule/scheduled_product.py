"""A product with its schedule, as people read it and hand it back, and others that are worth a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from math import nan
from types import MappingProxyType
from typing import Any

from jitflow.errors import UserValueError
from jitflow.ir.core import Op
from jitflow.ir.dims import minimum, product
from jitflow.ir.printer import Names, print_op
from jitflow.ir.types import dims_of
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.blocks_text import FigureTexts, block_lines, loops_text
from jitflow.passes.schedule.given import following
from jitflow.passes.schedule.price import price_product
from jitflow.passes.schedule.products import Blocks, Factors, Figures
from jitflow.passes.schedule.scheduled import Proposal, predictions
from jitflow.passes.schedule.target import Given, Target
from jitflow.passes.schedule.tuned import known_by
from jitflow.records import dataclass

__all__ = ["ScheduledProduct", "product_key"]


def product_key(op: Op, target: Target, factors: Factors, single: bool) -> str:
    """What a product is known by whenever it is compiled: its ops, how its factors lie, what the first call told."""
    return known_by(print_op(op, Names()).splitlines(), target, factors, single)


@dataclass(frozen=True, slots=True, eq=False)
class ScheduledProduct:
    """A ``matmul`` op, or a fusion of one with what follows it, one or of many, and its schedule."""

    op: Op
    blocks: Blocks
    known: FigureTexts
    target: Target
    single: bool = True
    kind = "blocks"

    @property
    def loops_text(self) -> str:
        """Its sizes."""
        return loops_text(self.blocks)

    @property
    def key(self) -> str:
        """What it is known by (`product_key`)."""
        return product_key(self.op, self.target, self.blocks.factors, self.single)

    def text(self, name: str, sizes: Mapping[str, int] = MappingProxyType({})) -> str:
        """The op and the schedule of the kernel of this name."""
        opening = f"{print_op(self.op)}\n{self.kind} @{name} ({self.loops_text}) {{\n{self._body(self.blocks)}}}\n"
        return opening + predictions(self.proposals(sizes), sizes)

    def _body(self, blocks: Blocks) -> str:
        lines = block_lines(blocks, self.known.texts, follows=self.op.name != "matmul")
        return "".join(f"  {line}\n" for line in lines)

    def following(self, given: Given, figures: Figures) -> ScheduledProduct:
        """With what somebody gives. Raises `UserValueError` for what is none, or may not be said."""
        with following(given, self.kind, self.loops_text):
            return self.reading(given.text, figures, given.line)

    def reading(self, text: str, figures: Figures, line: int = 1) -> ScheduledProduct:
        """With the blocks of a text, and its figures."""
        from jitflow.passes.schedule.blocks_reader import BlocksReader  # few read one

        reader = BlocksReader(self.blocks, self.known, figures, self.target, self.single)
        return replace(self, blocks=reader.blocks(text, line), known=reader.read)

    def proposals(self, sizes: Mapping[str, int] = MappingProxyType({})) -> Iterator[Proposal]:
        """Schedules of the same bits, that which it has first."""
        texts = set[str]()
        for what, choices in {"as chosen": {}, **self._choices()}.items():
            blocks = replace(self.blocks, **choices)
            text = self._body(blocks)
            with suppress(UserValueError):
                self.reading(text, Figures())
                if text not in texts:
                    yield Proposal(what, text, self._predicted(blocks, sizes))
                texts.add(text)

    def _predicted(self, blocks: Blocks, sizes: Mapping[str, int]) -> float:
        """Of the product alone, without what follows."""
        assert self.target.processor is not None
        count = 1 if self.single else product(dims_of(self.op.result.type)[:-2])
        try:
            return price_product(blocks, count, self.target.processor, sizes).total
        except KeyError:  # a size that only the run finds
            return nan

    def _choices(self) -> dict[str, dict[str, Any]]:
        """What else may be chosen, in one decision each."""
        blocks, factors, processor = self.blocks, self.blocks.factors, self.target.processor
        assert processor is not None
        found: dict[str, dict[str, Any]] = {}
        behind = {"may_overlap": False}
        for rows in cost.REGISTER_ROWS[processor.registers]:
            for vectors in range(1, min(processor.for_sums // (rows + 1), cost.MOST_VECTORS) + 1):
                block = {"rows": rows, "columns": vectors * blocks.lanes, "along_rows": min(rows, blocks.along_rows)}
                if blocks.along != 1:
                    found[f"blocks of {rows} x {vectors * blocks.lanes}"] = block | behind
        if not factors.are_turned:
            for packs, what in ((1, "the right matrix packed"), (0, "the right matrix as it lies")):
                found[what] = {"packs_right": packs, **behind}
        if self.single and factors.is_left_turned:
            for left, what in ((1, "the left matrix packed"), (0, "the left matrix as it lies")):
                found[what] = {"packs_left": left, **behind}
        for width in (cost.HEIGHT, 2 * cost.HEIGHT):
            found[f"parts of {width} columns"] = {"part_columns": minimum(factors.columns, width), **behind}
            height = width // blocks.rows * blocks.rows
            found[f"parts of {height} rows"] = {"part_rows": minimum(factors.rows, height), **behind}
        for name, step in (("rows", blocks.rows), ("columns", blocks.columns)) if self.target.threads > 1 else ():
            size, whole = getattr(factors, name), {"piece_rows": factors.rows, "piece_columns": factors.columns}
            for pieces in (self.target.threads, self.target.threads * cost.PIECES):
                length = (size + pieces * step - 1) // (pieces * step) * step
                found[f"{pieces} pieces of {name}"] = whole | {f"piece_{name}": length}
        return found
