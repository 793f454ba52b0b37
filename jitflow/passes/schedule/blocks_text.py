"""A product with its schedule, as people read it: the figures that sizes decide, and the loops round its blocks.

blocks @product_f32_7f0e (8 x 48 in lanes of 16) {
large = min((4*k*m) // 1048576, 1)
...
for columns by width in pieces of piece_columns { for rows by height in pieces of piece_rows {
for steps by depth { for rows by 8 { for columns by 48 { multiply, packing right where packs } } } } }
}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from jitflow.ir.core import Op
from jitflow.ir.dims import Dim
from jitflow.ir.printer import print_op
from jitflow.passes.schedule.products import Blocks

__all__ = ["ScheduledProduct"]

_NUMBER = re.compile(r"\$\d+")
"""What tells the figures of one product from those of another one of the same program."""


@dataclass(frozen=True, slots=True, eq=False)
class ScheduledProduct:
    """A ``matmul`` op, or a fusion of one with what follows it, and its schedule.

    The ``figures`` of that are told as they are computed, one behind the other.
    """

    op: Op
    blocks: Blocks
    figures: Mapping[str, str]

    def text(self, name: str, sizes: Mapping[str, int] = MappingProxyType({})) -> str:
        """The op and the schedule of the kernel of this name."""
        blocks = self.blocks
        opening = f"blocks @{name} ({blocks.rows} x {blocks.columns} in lanes of {blocks.lanes}) {{"
        figures = (f"{figure} = {_NUMBER.sub('', text)}" for figure, text in self.figures.items())
        lines = "".join(f"  {line}\n" for line in (*figures, *self._loops()))
        return f"{print_op(self.op)}\n{opening}\n{lines}}}\n"

    def _loops(self) -> Iterator[str]:
        blocks = self.blocks
        loops = (
            ("columns", _plain(blocks.part_columns), blocks.pieces_across, blocks.piece_columns),
            ("rows", _plain(blocks.part_rows), blocks.pieces_down, blocks.piece_rows),
            ("steps", _plain(blocks.depth), 1, 1),
            ("rows", _plain(blocks.row_step), 1, 1),
            ("columns", _plain(blocks.column_step), 1, 1),
        )
        for depth, (axis, step, pieces, length) in enumerate(loops):
            shared = "" if pieces == 1 else f" in threads, pieces of {_plain(length)}"
            yield f"{'  ' * depth}for {axis} by {step}{shared} {{"
        yield f"{'  ' * len(loops)}{self._block()}"
        for depth in reversed(range(len(loops))):
            yield f"{'  ' * depth}}}"
            if depth == len(loops) - 1 and self.op.name != "matmul" and not self.blocks.may_overlap:
                yield f"{'  ' * depth}what follows, on these rows"

    def _block(self) -> str:
        blocks = self.blocks
        packing = {0: "", 1: ", the right matrix packed"}.get(
            blocks.packs_right if isinstance(blocks.packs_right, int) else -1,
            f", the right matrix packed where {_plain(blocks.packs_right)}",
        )
        along = f"{blocks.along_rows} x {blocks.along_columns} in lanes of steps"
        by_columns = f"multiply {blocks.rows} x {blocks.columns} in lanes of columns{packing}"
        if blocks.packs_left:
            by_columns += ", the left one beforehand"
        if blocks.may_overlap:
            by_columns += ", what follows between the steps of the next block"
        if blocks.along == 0:
            return by_columns
        if blocks.along == 1:
            return f"multiply {along}"
        return f"multiply {along} where {_plain(blocks.along)}, else {by_columns}"


def _plain(dim: Dim) -> str:
    return _NUMBER.sub("", str(dim))
