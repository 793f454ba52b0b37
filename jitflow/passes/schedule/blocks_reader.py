"""Reading the text of the schedule of a product (`blocks_text.py`), and what it may not say.

1. What bits depend on is as chosen: over how many steps sums are made at a time, and where lanes are steps.
2. A block has whole vectors of columns, as wide as the processor's, and its sums fit into the registers.
3. The right matrix is packed or not; where its steps lie side by side, it is, if lanes are columns. The left one is
   packed beforehand only if it is that of one product, and its rows lie side by side; parts are then whole blocks.
4. What follows goes between the steps of blocks only where that was chosen, and then blocks and parts are as chosen.
5. Threads, if there are several, share pieces of rows or of columns, not of both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, NoReturn

from jitflow.errors import UserValueError
from jitflow.ir.dims import Dim, maximum, minimum, substitute, symbols
from jitflow.ir.parser import parse_dim
from jitflow.ir.tokens import ParseError
from jitflow.passes.schedule.blocks_text import FigureTexts
from jitflow.passes.schedule.products import Blocks, Figures
from jitflow.passes.schedule.target import Target
from jitflow.records import dataclass

__all__ = ["BlocksReader"]

_FIGURE = re.compile(r"(?P<name>\w+) = (?P<yes>.+?)(?: where (?P<flag>.+), else (?P<no>.+))?")
_LOOPS = ("columns", "rows", "steps")
_OVER_BLOCKS = ("for each row of blocks {", "for each block {")
_LOOP = re.compile(r"for (?P<axis>\w+) by (?P<step>.+?)(?: in threads, pieces of (?P<piece>.+))? \{")
_MULTIPLY = re.compile(
    r"multiply(?: (?P<along_rows>\d+) x (?P<along_columns>\d+) in lanes of steps(?: where (?P<along>.+), else)?)?"
    r"(?: (?P<rows>\d+) x (?P<columns>\d+) in lanes of (?P<lanes>\d+) columns"
    r"(?P<right>, the right matrix packed(?: where (?P<packs_right>.+?))?)?"
    r"(?P<left>, the left one beforehand(?: where (?P<packs_left>.+?))?)?"
    r"(?P<between>, what follows between the steps of the next block)?)?"
)


@dataclass(slots=True)
class BlocksReader:
    """What somebody says of a product for which some blocks are chosen, by figures that are ``known``.

    Figures that are told otherwise become ``figures``. ``single``: the product is not one of many.
    """

    chosen: Blocks
    known: FigureTexts
    figures: Figures
    target: Target
    single: bool
    read: FigureTexts = field(default_factory=FigureTexts)
    """The figures that were read so far."""
    choices: dict[str, Any] = field(default_factory=dict)
    lines: list[tuple[int, str]] = field(default_factory=list)
    number: int = 0

    def blocks(self, text: str, first_line: int = 1) -> Blocks:
        """The schedule in a text. Raises `UserValueError` for what is none, or may not be said."""
        lines = ((number, line.split(";")[0].strip()) for number, line in enumerate(text.splitlines(), first_line))
        self.lines, factors = [(number, line) for number, line in lines if line], self.chosen.factors
        self.choices = {"piece_rows": factors.rows, "piece_columns": factors.columns}
        while self.lines and (parts := _FIGURE.fullmatch(self.lines[0][1])):
            self.next()
            self.figure(**parts.groupdict())
        for axis in _LOOPS:
            self.loop(axis)
        for expected in _OVER_BLOCKS:
            if self.next() != expected:
                self.fail("this is no loop over blocks", expected)
        self.multiply()
        self.ends()
        self.check()
        return replace(self.chosen, **self.choices)

    def next(self) -> str:
        """The next line."""
        if not self.lines:
            self.fail("the text ends", "what jitflow explain --schedule prints")
        self.number, line = self.lines.pop(0)
        return line

    # Sizes

    def figure(self, name: str, yes: str, flag: str | None, no: str | None) -> None:
        """A figure: what the program has already if nothing of it is changed, else one of its own."""
        text = yes if flag is None else f"{yes} where {flag}, else {no}"
        used = set(re.findall(r"[a-z_]\w*", text)) & self.read.dims.keys()
        if self.known.texts.get(name) == text and all(self.read.dims[one] == self.known.dims.get(one) for one in used):
            dim = self.known.dims[name]
        elif flag is None or no is None:
            dim = self.figures.named(name, self.dim(yes))
        else:
            dim = self.figures.either(name, *map(self.dim, (flag, yes, no)))
        self.read.dims[name], self.read.texts[name] = dim, text

    def dim(self, text: str) -> Dim:
        """A size, in which figures have their names."""
        try:
            dim = parse_dim(text)
        except ParseError as error:
            self.fail(str(error), "a size")
        known = {*self.read.dims, *(name for size in self.chosen.factors.sizes for name in symbols(size))}
        for name in symbols(dim):
            if name not in known:
                self.fail(f"there is no size {name}", ", ".join(sorted(known)))
            if name in self.known.inside and self.read.dims[name] == self.known.dims[name]:
                self.read.dims[name] = self.figures.named(name, self.dim(self.read.texts[name]))
        return substitute(dim, self.read.dims)

    # Lines

    def loop(self, axis: str) -> None:
        parts = _LOOP.fullmatch(line := self.next())
        if parts is None or parts["axis"] != axis:
            self.fail(f"{line!r} is not the next loop", f"for {axis} by ... {{")
        self.choices[{"columns": "part_columns", "rows": "part_rows", "steps": "depth"}[axis]] = self.dim(parts["step"])
        if parts["piece"]:
            if axis == "steps" or self.target.threads == 1:
                self.fail(f"nobody shares {axis}", "no threads")
            self.choices[f"piece_{axis}"] = self.dim(parts["piece"])

    def multiply(self) -> None:
        parts = _MULTIPLY.fullmatch(line := self.next())
        if parts is None or not (parts["rows"] or parts["along_rows"]):
            self.fail(f"{line!r} is no block", "multiply ROWS x COLUMNS in lanes of ...")
        found: Mapping[str, str] = {name: text for name, text in parts.groupdict().items() if text}
        for name in ("rows", "columns", "lanes", "along_rows", "along_columns"):
            if name in found:
                self.choices[name] = int(found[name])
        self.choices["along"] = self.dim(found["along"]) if "along" in found else int("rows" not in found)
        if "rows" in found:
            for side in ("right", "left"):
                flag = f"packs_{side}"
                self.choices[flag] = self.dim(found[flag]) if flag in found else int(side in found)
            self.choices["may_overlap"] = "between" in found

    def ends(self) -> None:
        rest = [line for _, line in self.lines if line != "what follows, on these rows"]
        if rest != ["}"] * (len(_LOOPS) + len(_OVER_BLOCKS)):
            self.fail("the loops do not end", "'}' for each of them")

    # What may not be said

    def check(self) -> None:
        """Raise `UserValueError` with the first thing that is not as it must be, and keep flags flags."""
        chosen, choices = self.chosen, self.choices
        for name, what in (("depth", "sums are made over as many steps as were chosen"),
                           ("along", "lanes are steps where that was chosen"),
                           ("lanes", "vectors are as wide as the processor's")):  # fmt: skip
            if choices.get(name, getattr(chosen, name)) != getattr(chosen, name):
                self.refuse(f"{what}, which bits depend on" if name != "lanes" else what, getattr(chosen, name))
        self.check_block("rows", "columns", chosen.lanes)
        self.check_block("along_rows", "along_columns", 1)
        rows = choices.get("rows", chosen.rows)
        if chosen.along != 0 and choices.get("along_rows", chosen.along_rows) > rows:
            self.refuse("blocks whose lanes are steps have no more rows than others", rows)
        for name in ("part_rows", "part_columns", "piece_rows", "piece_columns"):
            if isinstance(choices[name], int) and choices[name] < 1 and choices[name] != getattr(chosen, name):
                self.refuse("parts and pieces are not empty", "1 at least")
        self.check_packing()
        self.check_pieces()
        names = ("rows", "columns", "part_rows", "part_columns", "packs_left")
        if choices.get("may_overlap") and (not chosen.may_overlap or any(
            choices[name] != getattr(chosen, name) for name in names
        )):  # fmt: skip
            self.refuse("what follows goes between the steps of the blocks that were chosen for it alone", "no change")

    def check_block(self, rows: str, columns: str, lanes: int) -> None:
        found = [self.choices.get(name, getattr(self.chosen, name)) for name in (rows, columns)]
        vectors, processor = found[1] // lanes, self.target.processor
        assert processor is not None
        if min(found) < 1 or found[1] % lanes or found[0] * vectors > processor.registers:
            self.refuse(
                f"a block of {found[0]} x {found[1]} does not fit into registers",
                f"columns that are a multiple of {lanes}, and at most {processor.registers} vectors",
            )

    def check_packing(self) -> None:
        chosen, choices, factors = self.chosen, self.choices, self.chosen.factors
        for flag in ("packs_right", "packs_left"):
            packs = choices.get(flag, getattr(chosen, flag))
            if packs != getattr(chosen, flag):
                if factors.are_turned and flag == "packs_right":
                    self.refuse("the right matrix is turned", "packed")
                choices[flag] = int(packs != 0) if isinstance(packs, int) else minimum(maximum(packs, 0), 1)
        if choices.get("packs_left", chosen.packs_left) == 0:
            return
        if not (self.single and factors.is_left_turned):
            self.refuse("the left matrix is read as it lies", "the right one packed, or none")
        rows = choices.get("rows", chosen.rows)
        for name in ("part_rows", "piece_rows"):
            length, is_chosen = choices[name], rows == chosen.rows and choices[name] == getattr(chosen, name)
            if not (is_chosen or length == factors.rows or (isinstance(length, int) and length % rows == 0)):
                self.refuse("the left matrix is packed by rows of blocks", f"parts of a multiple of {rows} rows")

    def check_pieces(self) -> None:
        """Threads share rows or columns: where sizes decide and might say both, rows."""
        (rows, columns), factors = (self.choices[name] for name in ("piece_rows", "piece_columns")), self.chosen.factors
        if (rows, columns) == (self.chosen.piece_rows, self.chosen.piece_columns):
            return
        if rows == factors.rows or columns == factors.columns:
            return
        if isinstance(rows, int) and isinstance(columns, int):
            self.refuse("threads share rows or columns, not both", "one of them without threads")
        are_cut = minimum(maximum((factors.rows - 1) // maximum(rows, 1), 0), 1)
        self.choices["piece_columns"] = self.figures.either("piece_columns", are_cut, factors.columns, columns)

    def refuse(self, what: str, expected: object) -> NoReturn:
        raise UserValueError(f"the schedule cannot be followed: {what}", expected=str(expected))

    def fail(self, what: str, expected: str) -> NoReturn:
        raise UserValueError(f"line {self.number} of the schedule: {what}", expected=expected)
