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

from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import DType
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor
from jitflow.passes.schedule.cost import GPU_PITCH, GPU_ROWS_THROUGH, GPU_TILE, GPU_TILE_DEPTHS, GPU_TILE_WARPS
from jitflow.records import dataclass

__all__ = ["ChainTiles", "Tiles", "choose_tiles", "is_along", "prefers_tiles"]

_FORMS = {"f16": "f16", "bf16": "bf16", "f32": "tf32"}
_ITEMSIZES = {"f16": 2, "bf16": 2, "tf32": 4}


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
        sides = (self.depth, GPU_TILE)
        lines = (sides if along else sides[::-1] for along in (self.left_along_steps, self.right_along_steps))
        return max(
            sum(2 * count * (length * itemsize + 16) for length, count in lines), GPU_ROWS_THROUGH * GPU_PITCH * 4
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """What a team does, as people read it."""
        multiplied = f"  multiply {GPU_TILE} x {GPU_TILE} by {self.form}, in threads of {GPU_TILE_WARPS}"
        head = f"for columns by {GPU_TILE} in parallel {{"
        inside = (f"for steps by {self.depth} {{", multiplied, "}", "what follows, on each element")
        return (head, *(f"  {line}" for line in inside), "}")


@dataclass(frozen=True, slots=True)
class ChainTiles:
    """How a chain of products with a softmax between them runs: the arithmetic, and how long rows of factors may be.

    A team has `GPU_TILE` rows of the left factor in registers, and takes half as many of each of the others at a time.
    """

    form: str
    width: int

    @property
    def room(self) -> int:
        """Bytes on the chip: rows of the left factor, and in their place those of the others."""
        return GPU_TILE * (self.width + 8) * 2

    @property
    def lines(self) -> tuple[str, ...]:
        """What a team does, as people read it."""
        columns = GPU_TILE // 2
        return (
            f"for columns by {columns} {{",
            f"  multiply {GPU_TILE} x {columns} by {self.form}, in threads of {GPU_TILE_WARPS}",
            "  scores, on each element, with the maximum and sum of rows so far",
            f"  multiply {GPU_TILE} x {self.width} by {self.form}, in threads of {GPU_TILE_WARPS}",
            "}",
        )


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
    right_along = right.strides[-2] == itemsize != right.strides[-1]
    return Tiles(form, GPU_TILE_DEPTHS[form], left.strides[-1] == itemsize, right_along)


def is_along(layout: Layout, dtype: DType) -> bool:
    """Whether rows or columns of matrices lie without gaps."""
    return dtype.itemsize in layout.strides[-2:]
