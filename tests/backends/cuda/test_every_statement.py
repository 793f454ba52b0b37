"""NumPy's surface on a GPU: each row of `tests/truth/statements.py`, judged as on the CPU, by every dtype and layout.

A program is a few rows with arguments of one dtype, size and layout. In the suite each row stands in one program, where
dtypes, sizes and layouts take turns; all that fit it, where there is time.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from jitflow.aligned import aligned_item
from jitflow.backends.cuda import compile_to_cubin
from tests.backends.cuda.kernels import ARCHITECTURES, needs_nvrtc
from tests.backends.cuda.native import OnDevice
from tests.sampled import sampled
from tests.truth.data import LAYOUTS
from tests.truth.programs import DTYPES, GLOBALS, Generator, NothingFits, Program, Statement, evaluate, usable
from tests.truth.quiet import quiet
from tests.truth.run import Refused, compare, define
from tests.truth.statements import ROWS, Row

pytestmark = needs_nvrtc

SIZES = (33, 0, 1025, 1, 31)
TOGETHER = 12
"""Rows of one program."""
PATTERNS = tuple({row.pattern: row for group in ROWS for row in group}.values())
KINDS = {"f": "f", "z": "c", "i": "iu"}
"""Which kinds of dtype the fields for values take that do not take all."""
COMPACT = ("C", "F", "unaligned", "readonly", "offset")
"""Layouts without gaps between elements."""
REFUSED = re.compile("arg(min|max) of complex numbers")
"""Neither backend compiles it."""


def in_parts(rows: Sequence[Row]) -> list[Sequence[Row]]:
    return [rows[at : at + TOGETHER] for at in range(0, len(rows), TOGETHER)]


def kind_of(dtype: str) -> str:
    return "b" if dtype == "?" else dtype[0]


def dtypes_of(row: Row) -> list[str]:
    """The dtypes that the fields of a row take."""
    (wanted,) = {KINDS[field] for field in re.findall(r"\{([fzi])\}", row.pattern)} or {"biufc"}
    return [dtype for dtype in dict.fromkeys(DTYPES) if kind_of(dtype) in wanted]


class OfRows(Generator):
    """Writes a program of given rows. Their first value is ``a0`` or ``a1``; beside these are bools and integers."""

    def __init__(self, rows: Sequence[Row], dtype: str, size: int, layout: str) -> None:
        super().__init__(random.Random(f"{dtype} {size} {layout} {rows[0].pattern}").randrange)
        self.rows = rows
        second = "C" if layout in ("unaligned", "readonly") else layout
        self.call = {
            "a0": f"array({dtype!r}, {(2, size)}, {layout!r}, 2)", "a1": f"array({dtype!r}, ({size},), {second!r}, 3)",
            "a2": f"array('?', ({size},), 'C', 5)", "a3": f"array('i4', (2, {size}), 'F', 7)",
        }  # fmt: skip

    def program(self) -> Program:
        self.values = evaluate(self.call)
        statements = [one for number, row in enumerate(self.rows) for one in self._statement(f"v{number}", row)]
        return Program((*self.call,), (), statements, [self.call])

    def _statement(self, name: str, row: Row) -> Iterator[Statement]:
        """The row with its fields filled so that NumPy takes it, if that is found."""
        for _ in range(20):
            text = self._text(row)
            if text is None:
                return
            with quiet():
                try:
                    result = eval(text, GLOBALS, self.values)
                except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, AttributeError):
                    continue
            if usable(result):
                yield Statement(name, text, row.closeness)
                return

    def _operand(self, key: str, partner: Any) -> str:
        everything = self.values
        if partner is None:
            self.values = {name: everything[name] for name in ("a0", "a1")}
        try:
            return super()._operand(key, partner)
        except NothingFits:
            self.values = everything
            return super()._operand(key, partner)
        finally:
            self.values = everything


def check(rows: Sequence[Row], dtype: str, size: int, layout: str) -> OnDevice | None:
    """Compare what a program of rows gives on a GPU; a row that is refused is left out.

    Of an array with gaps only its strides, which are no part of the key, say whether a reshape is a view.
    """
    program = OfRows(rows, dtype, size, layout).program()
    while program.statements:
        arguments = {name: aligned_item(argument) for name, argument in evaluate(program.calls[0]).items()}
        with quiet():
            expected = define(program.source())(*arguments.values())
            try:
                code, found, problem = _call(program, arguments)
                compare(program, arguments, (expected, None), (found, problem), views=layout in COMPACT)
            except Refused as refusal:
                assert REFUSED.search(str(refusal)), f"{refusal}\n{program.script()}"
                program.statements = [one for one in program.statements if not re.search("argm", one.text)]
            except Exception as error:
                error.add_note(program.script())
                raise
            else:
                assert code.lost() == 0
                return code
    return None


def _call(program: Program, arguments: dict[str, Any]) -> tuple[Any, Any, Exception | None]:
    try:
        code = OnDevice(define(program.source()), *arguments.values())
        return code, code(*arguments.values()), None
    except Exception as error:
        return None, None, error


def in_turn() -> list[Any]:
    """Each row once, with what of dtypes, sizes and layouts has its turn."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for number, row in enumerate(PATTERNS):
        dtypes = dtypes_of(row)
        rows[dtypes[number % len(dtypes)]].append(row)
    parts = [(dtype, part) for dtype, of_dtype in rows.items() for part in in_parts(of_dtype)]
    return [
        pytest.param(part, dtype, SIZES[at % len(SIZES)], LAYOUTS[at % len(LAYOUTS)], id=f"{at}-{dtype}")
        for at, (dtype, part) in enumerate(parts)
    ]


@pytest.mark.parametrize(("rows", "dtype", "size", "layout"), sampled(in_turn(), 4))
def test_each_row(rows: Sequence[Row], dtype: str, size: int, layout: str) -> None:
    check(rows, dtype, size, layout)


@pytest.mark.stress
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", dict.fromkeys(DTYPES))
def test_each_row_of_each_dtype_and_size(dtype: str, size: int) -> None:
    rows = [row for row in PATTERNS if dtype in dtypes_of(row)]
    for at, part in enumerate(in_parts(rows)):
        code = check(part, dtype, size, LAYOUTS[(at + size) % len(LAYOUTS)])
        if code is not None and size == SIZES[0]:
            for architecture in ARCHITECTURES:
                assert compile_to_cubin(code.source, architecture)
