"""What a name of a random program stands for, so that the writer knows what fits where.

A number has a *kind*: ``int float bool`` are Python's, ``f8 f4 i8 i4`` NumPy's scalars. An array has a dtype and for
each axis a *length*: a name like ``n``, followed by what was cut off. ``n~1`` is as long as ``x[1:]`` and ``x[:-1]``
for an ``x`` of length ``n``. So `cuts` says by which slices an array of one length becomes one of another.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CUTS", "Array", "Inner", "Kind", "Number", "cuts", "python_kind"]


@dataclass(frozen=True)
class Number:
    kind: str


@dataclass(frozen=True)
class Array:
    dtype: str
    lengths: tuple[str, ...]

    @property
    def rank(self) -> int:
        """How many axes it has."""
        return len(self.lengths)


@dataclass(frozen=True)
class Inner:
    """A function of one parameter that is defined inside of the program."""

    parameter: Number | Array
    result: Number | Array


Kind = Number | Array | Inner

CUTS: dict[str, tuple[str, ...]] = {
    "~1": ("1:", ":-1"),
    "~2": ("1:-1", "2:", ":-2"),
    "/2": ("::2",),
    "/3": ("::3",),
    "-2": ("::-2",),
}
"""Slices that leave the same length."""


def cuts(source: str, wanted: str) -> tuple[str, ...]:
    """The slices that make an axis of length ``wanted`` of one of length ``source``."""
    if source == wanted:
        return (":", ":", "::-1")
    return CUTS.get(wanted[-2:], ()) if wanted[:-2] == source else ()


def python_kind(dtype: str) -> str:
    """The Python number that does not promote arrays of a dtype."""
    return "float" if dtype in ("f8", "f4") else "int"
