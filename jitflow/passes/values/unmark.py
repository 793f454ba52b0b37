"""Takes marks away and hands their names on, so that whoever reads a later stage finds the program's own words.

%4: f64[n, 10] = add %2, %3                        %logits: f64[n, 10] = add %2, %3
mark %4 {label="logits"}                ->
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from jitflow.ir.core import Function, Region, Value, walk

__all__ = ["has_marks", "unmark"]


def has_marks(function: Function) -> bool:
    """Whether the program names values."""
    return any(op.name == "mark" for op in walk(function.region))


def unmark(function: Function) -> Function:
    """The function without marks, in which values have the names that the marks gave them."""
    copied = {op.result: op.operands[0] for op in walk(function.region) if op.name == "copy"}
    named: dict[Value, Value] = {}
    for op in walk(function.region):
        if op.name == "mark":
            value, name = op.operands[0], re.sub(r"\W", "_", op.attributes["label"])
            for one in (value, copied.get(value)):
                if one is not None and one not in function.parameters:
                    named.setdefault(one, Value(one.type, name if name[0].isalpha() else f"_{name}"))
    return replace(function, region=_renamed(function.region, named))


def _renamed(region: Region, named: Mapping[Value, Value]) -> Region:
    def new(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(named.get(value, value) for value in values)

    return Region(
        new(region.parameters),
        tuple(
            replace(
                op,
                operands=new(op.operands),
                results=new(op.results),
                regions=tuple(_renamed(inner, named) for inner in op.regions),
            )
            for op in region.ops
            if op.name != "mark"
        ),
    )
