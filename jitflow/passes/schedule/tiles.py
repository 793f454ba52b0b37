"""Products on a GPU in tiles: a team of warps makes a tile of the result out of tiles of the factors on the chip.

While one pair of tiles is multiplied, the next is copied (`cp.async`), 16 bytes a thread. Each warp keeps its part of
the result in registers, 64 numbers a thread, and what the program does with the product is done there. Half floats go
through tensor cores, with sums in f32, and where a GPU has none for them are multiplied and added number by number; so
do numbers of f32 where rounding may change (tf32).

Which products: those of half floats, for which there is no library, and those of f32 that tensor cores take, if
rounding may change. Others are cuBLAS's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import DType
from jitflow.ir.layout import Layout
from jitflow.ir.printer import print_op
from jitflow.ir.types import Tensor

__all__ = ["PITCH", "TILE", "WARPS", "WIDTHS", "ChainTiles", "ScheduledTiles", "Tiles", "choose_tiles", "is_along",
           "prefers_tiles"]  # fmt: skip

TILE, WARPS = 128, 8
"""Rows and columns of a tile of the result, and warps of the team that makes it."""
_FORMS = {"f16": "f16", "bf16": "bf16", "f32": "tf32"}
_DEPTHS = {"f16": 32, "bf16": 32, "tf32": 16}
_ITEMSIZES = {"f16": 2, "bf16": 2, "tf32": 4}
ROWS_THROUGH, PITCH = 16, 132
"""Rows of the product that go through memory on the chip at a time, and how far apart they lie there, in numbers."""


WIDTHS = (64, 128)
"""Elements of the rows that a chain of products has in registers (`lower/chains.py`)."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """How tiles are multiplied: the arithmetic, the steps of a tile, and along what each factor lies without gaps."""

    form: str
    depth: int
    left_along_steps: bool
    right_along_steps: bool

    @property
    def room(self) -> int:
        """Bytes on the chip: two tiles of each factor, in whose place the product's rows go through memory later."""
        itemsize = _ITEMSIZES[self.form]
        sides = (self.depth, TILE)
        lines = (sides if along else sides[::-1] for along in (self.left_along_steps, self.right_along_steps))
        return max(sum(2 * count * (length * itemsize + 16) for length, count in lines), ROWS_THROUGH * PITCH * 4)

    def __str__(self) -> str:
        lie = (f"{side} along {'steps' if along else 'lines'}" for side, along in
               (("left", self.left_along_steps), ("right", self.right_along_steps)))  # fmt: skip
        sizes = f"rows={TILE}, columns={TILE}, steps={self.depth}, warps={WARPS}, room={self.room}"
        return f"{{{sizes}}} of {self.form}, {', '.join(lie)}"


@dataclass(frozen=True, slots=True)
class ChainTiles:
    """How a chain of products with a softmax between them runs: the arithmetic, and how long rows of factors may be.

    A team has `TILE` rows of the left factor in registers, and takes half as many of each of the others at a time.
    """

    form: str
    width: int

    @property
    def room(self) -> int:
        """Bytes on the chip: rows of the left factor, and in their place those of the others."""
        return TILE * (self.width + 8) * 2

    def __str__(self) -> str:
        sizes = f"rows={TILE}, columns={TILE // 2}, width={self.width}, warps={WARPS}, room={self.room}"
        return f"{{{sizes}}} of {self.form}, carrying maximum and sum of rows"


@dataclass(frozen=True, slots=True, eq=False)
class ScheduledTiles:
    """A fusion that holds products, and its tiles."""

    op: Op
    tiles: Tiles | ChainTiles

    def text(self, name: str, sizes: Mapping[str, int] = MappingProxyType({})) -> str:
        """The op and the schedule of the kernel of this name."""
        return f"{print_op(self.op)}\ntiles @{name} {self.tiles}\n"


def prefers_tiles(product: Op, layouts: Mapping[Value, Layout], *, fastmath: bool) -> bool:
    """Whether a product is made in tiles, and not by the library; with ``fastmath`` rounding may change."""
    left, right = product.operands
    assert isinstance(left.type, Tensor)
    dtype = left.type.dtype
    if dtype.name not in _FORMS:
        return False
    if dtype.name != "f32":
        return True
    return fastmath and all(is_along(layouts[factor], dtype) for factor in (left, right))


def choose_tiles(dtype: DType, left: Layout, right: Layout) -> Tiles:
    """The tiles of a product of factors that lie so."""
    form, itemsize = _FORMS[dtype.name], dtype.itemsize
    return Tiles(form, _DEPTHS[form], left.strides[-1] == itemsize, right.strides[-2] == itemsize != right.strides[-1])


def is_along(layout: Layout, dtype: DType) -> bool:
    """Whether rows or columns of matrices lie without gaps."""
    return dtype.itemsize in layout.strides[-2:]
