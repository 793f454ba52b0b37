"""The record of a call site, as native code reads it: what its words are."""

from __future__ import annotations

from jitflow.runtime.native import object_layout as layout
from jitflow.runtime.native.llvm_text import FunctionText

__all__ = ["ARRAY_FIELDS", "NUMBER_FIELDS", "NUMBER_KINDS", "RESULT_FIELDS", "SITE_FIELDS", "Site", "fields_of",
           "require_sole_owner", "site_offset"]  # fmt: skip

SITE_FIELDS = (
    "api", "slow", "callable", "arguments", "positional", "keywords", "operand_words", "results", "result_type",
    "firsts", "variable", "value", "allocate", "handler", "described", "words", "array_count", "arrays", "number_count",
    "numbers", "update_flags",
)  # fmt: skip
"""The 64-bit words of a record. ``arguments`` is null unless the fast way may be taken: a tuple of those by position,
of which there are ``positional``, and of those by keyword, whose names are the tuple ``keywords``. ``variable`` and
``value``: the context variable that is set during the call, null for none. ``described`` points to `RESULT_FIELDS` for
each of ``results`` results, ``words`` to the operand words of the last call, ``arrays`` to `ARRAY_FIELDS` for each
operand that is an array, ``numbers`` to `NUMBER_FIELDS` for each other one. ``firsts``: for each word of the results
that is a size which the call binds, the place of the first word of this size, and -1 for all others. ``handler`` is by
what NumPy takes memory from the pool."""

ARRAY_FIELDS = ("array", "start", "words")
"""The array of an operand, where its words begin, and how many its dims and strides are."""

NUMBER_FIELDS = ("kind", "dtype", "start", "place")
"""A number: one of `NUMBER_KINDS`, its dtype, where its word is, and its place among the arguments."""

NUMBER_KINDS = ("numpy", "bool", "i64", "f64", "c128")
"""NumPy's scalar of the dtype, or Python's number."""

RESULT_FIELDS = ("type", "dtype", "number", "rank", "itemsize")
"""What a result must be: an array or NumPy scalar of this type, dtype (or its number) and rank."""


def site_offset(field: str) -> int:
    """Where a field of a record lies, in bytes."""
    return 8 * SITE_FIELDS.index(field)


class Site:
    """The fields of the record, loaded where they are needed."""

    def __init__(self, function: FunctionText) -> None:
        self._function = function

    def load(self, kind: str, field: str) -> str:
        return self._function.load(kind, "%record", site_offset(field))


def fields_of(function: FunctionText, table: str, number: str, fields: tuple[str, ...]) -> str:
    """The address of the fields of one of several things."""
    return function.element(table, function.let(f"mul i64 {number}, {len(fields)}"))


def require_sole_owner(function: FunctionText, thing: str, otherwise: str) -> None:
    """Another thread that is inside of a call owns what it uses, and so does a result that is a view of an operand."""
    function.require(function.compare("eq", function.load("i32", thing, layout.REFERENCES), "1", "i32"), otherwise)
