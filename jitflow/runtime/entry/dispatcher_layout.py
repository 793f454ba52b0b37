"""Where the fields of a native function object lie."""

from __future__ import annotations

_OBJECT_HEAD = 16

INSTANCE_FIELDS = (
    "vectorcall",
    "dict",
    "weakrefs",
    "head",
    "version",
    "function",
    "names",
    "positional",
    "positional_only",
    "total",
    "plain",
)
"""The 64-bit words behind the object head; `dict`, `function` and `names` are references.

`names` are the parameters in the order of the flat arguments, interned; the first `positional` of
`total` can be given by position, the first `positional_only` only so. `plain` is the number of
arguments with which a call without keywords is flat already, or -1. Functions with star parameters
have a `total` of -1, and Python binds their calls.
"""

INSTANCE_SIZE = _OBJECT_HEAD + 8 * len(INSTANCE_FIELDS)

REFERENCES = ("dict", "function", "names")


def field_offset(name: str) -> int:
    """Where a field of an instance lies, in bytes."""
    return _OBJECT_HEAD + 8 * INSTANCE_FIELDS.index(name)
