"""The text of the schedule of a product: the figures that sizes decide, and the loops round its blocks.

    blocks @product_f32 (rows: n, steps: k, columns: m) {
      large = min((4*k*m) // 1048576, 1)
      ...
      for columns by width in threads, pieces of piece_columns {
        for rows by height in threads, pieces of piece_rows {
          for steps by depth {
            for each row of blocks {
              for each block {
                multiply 8 x 48 in lanes of 16 columns, the right matrix packed where packs
              }
            }
          }
        }
      }
    }

A figure is what it is called in all that stands below. Those that are the same for all sizes are numbers where they are
used, and have no line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from jitflow.ir.dims import Dim
from jitflow.passes.schedule.products import Blocks
from jitflow.records import dataclass

__all__ = ["FigureTexts", "block_lines", "loops_text"]

_NUMBER = re.compile(r"\$\d+")
"""What tells the figures of one product from those of another one of the same program."""


@dataclass(slots=True)
class FigureTexts:
    """The figures of a product: what each is, and how it was computed of those before it."""

    dims: dict[str, Dim] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    inside: set[str] = field(default_factory=set)
    """Those that are known only where another one is computed (`Figures.where`)."""

    def add(self, name: str, dim: Dim, text: str) -> Dim:
        """Note a figure, if sizes decide it."""
        if not isinstance(dim, int):
            self.dims[name], self.texts[name] = dim, _plain(text)
        return dim


def loops_text(blocks: Blocks) -> str:
    """The sizes of a product."""
    factors = blocks.factors
    return f"rows: {factors.rows}, steps: {factors.inner}, columns: {factors.columns}"


def block_lines(blocks: Blocks, figures: Mapping[str, str], *, follows: bool) -> Iterator[str]:
    """The figures and the loops; ``follows``: the kernel works on the product."""
    yield from (f"{figure} = {text}" for figure, text in figures.items())
    factors = blocks.factors
    heads = (
        f"for columns by {_plain(blocks.part_columns)}{_shared(blocks.piece_columns, factors.columns)}",
        f"for rows by {_plain(blocks.part_rows)}{_shared(blocks.piece_rows, factors.rows)}",
        f"for steps by {_plain(blocks.depth)}",
        "for each row of blocks",
        "for each block",
    )
    for depth, head in enumerate(heads):
        yield f"{'  ' * depth}{head} {{"
    yield f"{'  ' * len(heads)}{_block(blocks)}"
    for depth in reversed(range(len(heads))):
        yield f"{'  ' * depth}}}"
        if depth == len(heads) - 1 and follows and not blocks.may_overlap:
            yield f"{'  ' * depth}what follows, on these rows"


def _shared(length: Dim, size: Dim) -> str:
    return "" if length == size else f" in threads, pieces of {_plain(length)}"


def _block(blocks: Blocks) -> str:
    steps = f"{blocks.along_rows} x {blocks.along_columns} in lanes of steps"
    packing = _where(", the right matrix packed", blocks.packs_right)
    left = _where(", the left one beforehand", blocks.packs_left)
    between = ", what follows between the steps of the next block" if blocks.may_overlap else ""
    columns = f"{blocks.rows} x {blocks.columns} in lanes of {blocks.lanes} columns{packing}{left}{between}"
    if isinstance(blocks.along, int):
        return f"multiply {steps if blocks.along else columns}"
    return f"multiply {steps} where {_plain(blocks.along)}, else {columns}"


def _where(what: str, flag: Dim) -> str:
    return {0: "", 1: what}.get(flag, "") if isinstance(flag, int) else f"{what} where {_plain(flag)}"


def _plain(dim: Dim | str) -> str:
    return _NUMBER.sub("", str(dim))
