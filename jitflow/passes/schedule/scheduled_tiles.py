"""Products in tiles on a GPU with their schedule, as people read it. Nothing of it is for them to choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from jitflow.ir.core import Op
from jitflow.ir.dims import Dim
from jitflow.ir.printer import Names, print_op
from jitflow.passes.schedule.cost import GPU_TILE
from jitflow.passes.schedule.scheduled import Proposal
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.tiles import ChainTiles, Tiles
from jitflow.passes.schedule.tuned import known_by
from jitflow.records import dataclass

__all__ = ["ScheduledTiles"]


@dataclass(frozen=True, slots=True, eq=False)
class ScheduledTiles:
    """A ``fusion`` op with products in tiles, of sizes with these names; there are ``matrices`` only in batches."""

    op: Op
    tiles: Tiles | ChainTiles
    sizes: Mapping[str, Dim]
    target: Target
    kind = "tiles"

    @property
    def loops_text(self) -> str:
        """Its sizes."""
        return ", ".join(f"{name}: {size}" for name, size in self.sizes.items())

    @property
    def key(self) -> str:
        """What it is known by."""
        return known_by(print_op(self.op, Names()).splitlines(), self.target, self.tiles)

    def text(self, name: str, sizes: Mapping[str, int] = MappingProxyType({})) -> str:
        """The op and the schedule of the kernel of this name."""
        return f"{print_op(self.op)}\n{self.kind} @{name} ({self.loops_text}) {{\n{self._body()}}}\n"

    def _body(self) -> str:
        lines = (f"for rows by {GPU_TILE} in parallel {{", *(f"  {line}" for line in self.tiles.lines), "}")
        if "matrices" in self.sizes:
            lines = ("for matrices by 1 in parallel {", *(f"  {line}" for line in lines), "}")
        return "".join(f"  {line}\n" for line in lines)

    def proposals(self, sizes: Mapping[str, int] = MappingProxyType({})) -> Iterator[Proposal]:
        """That which it has."""
        yield Proposal("as chosen", self._body())
