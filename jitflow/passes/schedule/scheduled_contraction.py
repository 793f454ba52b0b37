"""A contraction with its schedule, as people read it and hand it back, and others that are worth a comparison.

    panels @contract (rows: 6272, columns: 32, steps: 144) {
      for rows by 864 in threads {
        for columns by 64 in threads {
          for steps by 512 {
            for rows by 96 {
              multiply 6 rows by 2 vectors of 32 bytes, ahead 3
            }
          }
        }
      }
    }

What it may not say: a row of a panel is whole lines, and so is what a block has of it, in vectors that the processor
has; the sums of a block fit into the registers; nothing is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NoReturn

from jitflow.errors import UserValueError
from jitflow.ir.core import Op
from jitflow.ir.dims import Dim, symbols
from jitflow.ir.parser import parse_dim
from jitflow.ir.printer import Names, print_op
from jitflow.ir.tokens import ParseError
from jitflow.ir.types import Tensor
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.contractions import Panels
from jitflow.passes.schedule.given import following, given_for
from jitflow.passes.schedule.scheduled import Proposal
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.tuned import known_by, tuned_text
from jitflow.records import dataclass

__all__ = ["ScheduledContraction"]

_LINES = (
    r"for rows by (?P<block>.+?)(?: in threads)? \{", r"for columns by (?P<columns>\d+)(?: in threads)? \{",
    r"for steps by (?P<steps>\d+) \{", r"for rows by (?P<height>\d+) \{",
    r"multiply (?P<rows>\d+) rows by (?P<vectors>\d+) vectors of (?P<vector_bytes>\d+) bytes, ahead (?P<ahead>\d+)",
    r"\}", r"\}", r"\}", r"\}",
)  # fmt: skip
_FOLLOWS = "what follows, on these rows"


@dataclass(frozen=True, slots=True, eq=False)
class ScheduledContraction:
    """A ``contract`` op with so many rows, columns and steps, and how it runs on a kind of processor."""

    op: Op
    panels: Panels
    sizes: tuple[Dim, Dim, Dim]
    memory: object
    """How the arrays lie."""
    target: Target
    follows: bool
    """Whether sums become what a kernel computes of them."""
    kind = "panels"

    @property
    def loops_text(self) -> str:
        """Its sizes."""
        return ", ".join(f"{name}: {size}" for name, size in zip(("rows", "columns", "steps"), self.sizes, strict=True))

    @property
    def key(self) -> str:
        """What it is known by whenever it is compiled."""
        return known_by(print_op(self.op, Names()).splitlines(), self.target, self.memory)

    def text(self, name: str, sizes: Mapping[str, int] = MappingProxyType({})) -> str:
        """The op and the schedule of the kernel of this name."""
        return f"{print_op(self.op)}\n{self.kind} @{name} ({self.loops_text}) {{\n{self._body(self.panels)}}}\n"

    def _body(self, panels: Panels) -> str:
        shared = " in threads" if self.target.threads > 1 else ""
        vectors = f"{panels.vectors} vectors of {panels.vector_bytes}"
        lines = [
            f"for rows by {panels.block}{shared} {{", f"for columns by {panels.columns}{shared} {{",
            f"for steps by {panels.steps} {{", f"for rows by {panels.height} {{",
            f"multiply {panels.rows} rows by {vectors} bytes, ahead {panels.ahead}",
            *[_FOLLOWS] * self.follows,
        ]  # fmt: skip
        depths = [*range(4), *[4] * (len(lines) - 4), *reversed(range(4))]
        ends = ["}"] * 4
        return "".join(f"  {'  ' * depth}{line}\n" for depth, line in zip(depths, [*lines, *ends], strict=True))

    def followed(self, name: str) -> ScheduledContraction:
        """With the schedule that the user gives for the kernel of this name, or that measuring has found, if any.

        Raises `UserValueError` for what is none, or may not be said.
        """
        given = given_for(self.target, name)
        if given is not None:
            with following(given, self.kind, self.loops_text):
                return replace(self, panels=self._read(given.text, given.line))
        tuned = tuned_text(lambda: self.key)
        if tuned is not None:
            with suppress(UserValueError):  # it may be of another version of jitflow
                return replace(self, panels=self._read(tuned))
        return self

    def _read(self, text: str, first_line: int = 1) -> Panels:
        lines = [(number, line.split(";")[0].strip()) for number, line in enumerate(text.splitlines(), first_line)]
        lines = [(number, line) for number, line in lines if line]
        found: dict[str, Any] = {}
        as_printed, patterns = self._body(self.panels).splitlines(), list(_LINES)
        patterns[5:5] = [_FOLLOWS] * self.follows
        for (number, line), pattern, printed in zip(lines, patterns, as_printed, strict=False):
            parts = re.fullmatch(pattern, line)
            if parts is None:
                self._refuse(f"line {number} of the schedule: {line!r} is not what stands there", printed.strip())
            found |= parts.groupdict()
        if len(lines) != len(patterns):
            self._refuse("the schedule does not end where it should", f"{len(patterns)} lines")
        try:
            block = parse_dim(found.pop("block"))
        except ParseError as error:
            self._refuse(str(error), "a size")
        known = {name for size in self.sizes for name in symbols(size)}
        if unknown := set(symbols(block)) - known:
            self._refuse(f"there is no size {min(unknown)}", ", ".join(sorted(known)))
        panels = Panels(block=block, **{name: int(number) for name, number in found.items()})
        self._check(panels)
        return panels

    def _check(self, panels: Panels) -> None:
        line, vector_bytes = cost.CACHE_LINE, panels.vector_bytes
        processor, dtype = self.target.processor, self.op.result.type
        assert isinstance(dtype, Tensor)
        most, registers = min(cost.PANEL_REGISTERS), 16
        if processor is not None:
            most, registers = processor.vector_bytes, processor.registers
        numbers = (panels.rows, panels.vectors, panels.steps, panels.columns, panels.height)
        if min(numbers) < 1 or (isinstance(panels.block, int) and panels.block < 1):
            self._refuse("the schedule cannot be followed: something is empty", "numbers from 1 on")
        if vector_bytes > most or line % vector_bytes or vector_bytes not in cost.PANEL_REGISTERS:
            self._refuse(f"the schedule cannot be followed: there are no vectors of {vector_bytes}", f"{most} bytes")
        if panels.columns * dtype.dtype.itemsize % line or panels.vectors * vector_bytes % line:
            self._refuse("the schedule cannot be followed: rows of panels and blocks are whole lines", f"{line} bytes")
        if panels.rows * panels.vectors > registers:
            self._refuse("the schedule cannot be followed: a block does not fit into registers", f"{registers} vectors")

    def _refuse(self, what: str, expected: str) -> NoReturn:
        raise UserValueError(what, expected=expected)

    def proposals(self, sizes: Mapping[str, int] = MappingProxyType({})) -> Iterator[Proposal]:
        """Schedules of the same bits, that which it has first."""
        panels, texts = self.panels, set[str]()
        rows, vectors = panels.rows, panels.vectors
        choices: dict[str, dict[str, Any]] = {
            "as chosen": {},
            f"blocks of {2 * rows} x {vectors // 2}": {"rows": 2 * rows, "vectors": vectors // 2},
            f"blocks of {rows // 2} x {2 * vectors}": {"rows": rows // 2, "vectors": 2 * vectors},
            **{f"panels of {steps} steps": {"steps": steps} for steps in (panels.steps // 2, 2 * panels.steps)},
            **{f"panels of {columns} columns": {"columns": columns}
               for columns in (panels.columns // 2, 2 * panels.columns)},
            **{f"{height} rows at a time": {"height": height} for height in (panels.height // 2, 2 * panels.height)},
            **{f"blocks of {block} rows": {"block": block} for block in (panels.height, cost.PANEL_ROWS // 2)},
            "nothing ahead": {"ahead": 0},
        }  # fmt: skip
        for what, choice in choices.items():
            text = self._body(replace(panels, **choice))
            with suppress(UserValueError):
                self._read(text)
                if text not in texts:
                    yield Proposal(what, text)
                texts.add(text)
