"""Stores that would leave the program: ``global x; x = ...`` and ``nonlocal`` of a cell from outside.

The interpreter stores globals and cells without asking anybody, so such code is found in the bytecode and refused
before it runs.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType

from jitflow.errors import UserNotImplementedError
from jitflow.ir.location import Loc

__all__ = ["refuse_stores"]


def refuse_stores(code: CodeType) -> None:
    """Raise `UserNotImplementedError` at the first such store in ``code`` or in a function defined in it."""
    if not _may_store(code):
        return
    for place, what in _stores(code, frozenset(code.co_freevars)):
        raise UserNotImplementedError(
            f"{what} inside a compiled function would happen once, while tracing",
            mend="return the new value and assign it outside the compiled function",
            location=place,
        )


_STORES = tuple(dis.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF"))


def _may_store(code: CodeType) -> bool:
    """Whether a byte of the code, or of code in it, is such an instruction: quick, and never wrongly false."""
    instructions = code.co_code[::2]
    return any(store in instructions for store in _STORES) or any(
        _may_store(inner) for inner in code.co_consts if isinstance(inner, CodeType)
    )


def _stores(code: CodeType, outside: frozenset[str]) -> Iterator[tuple[Loc, str]]:
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            what = f"assigning to the global variable {name!r}"
        elif instruction.opname in ("STORE_DEREF", "DELETE_DEREF") and name in outside:
            what = f"assigning to {name!r}, a variable of the enclosing function,"
        else:
            continue
        where = instruction.positions
        line, column, end = (where.lineno, where.col_offset, where.end_col_offset) if where else (None, None, None)
        columns = (-1, -1) if column is None or end is None else (column, end)
        yield Loc(code.co_filename, line or code.co_firstlineno, code.co_name, *columns), what
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _stores(inner, outside & frozenset(inner.co_freevars))
