"""The IR as passes and backends see it: its records, and the builder that makes ops.

The rows of `jitflow.ir.ops` and the printer stand on the records alone (`records.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from jitflow.ir.location import NOWHERE, Loc
from jitflow.ir.ops import OPS
from jitflow.ir.printer import print_function
from jitflow.ir.records import (
    NO_ATTRIBUTES,
    Attributes,
    Effect,
    Fact,
    Function,
    Op,
    OpDef,
    Region,
    TypeRuleError,
    Value,
    clone_op,
    free_values,
    kernel_operands,
    renamed_op,
    renamed_region,
    uses,
    walk,
    walk_inside,
    walk_loops,
    walk_ops,
    with_sizes,
)
from jitflow.ir.types import Type

__all__ = ["NO_ATTRIBUTES", "Attributes", "Builder", "Effect", "Fact", "Function", "Op", "OpDef", "Region",
           "TypeRuleError", "Value", "clone_op", "free_values", "kernel_operands", "renamed_op", "renamed_region",
           "uses", "walk", "walk_inside", "walk_loops", "walk_ops", "with_sizes"]  # fmt: skip

Function.__str__ = print_function  # type: ignore[method-assign, assignment]


class Builder:
    """Appends ops to a list, inferring their result types from the table.

    ``loc`` is what new ops get; a frontend or a pass sets it as it goes.
    """

    def __init__(self, table: Mapping[str, OpDef] | None = None, loc: Loc = NOWHERE) -> None:
        self.table = OPS if table is None else table
        self.ops: list[Op] = []
        self.loc = loc

    def add(
        self,
        name: str,
        *operands: Value,
        types: Sequence[Type] | None = None,
        regions: tuple[Region, ...] = (),
        names: Sequence[str] = (),
        **attributes: Any,
    ) -> tuple[Value, ...]:
        """Append an op and return its results. ``types`` gives result types where the rule cannot.

        Raises `TypeRuleError` where operands break the op's rule.
        """
        definition = self.table[name]
        frozen = MappingProxyType(attributes) if attributes else NO_ATTRIBUTES
        if types is None:
            if definition.infer is None:
                raise TypeRuleError(f"{name} does not infer its result types: expected types=")
            types = definition.infer([operand.type for operand in operands], frozen)
        hints = list(names) + [""] * (len(types) - len(names))
        results = tuple(Value(type, hint) for type, hint in zip(types, hints, strict=False))
        self.ops.append(Op(definition, operands, results, frozen, regions, self.loc))
        return results

    def make(self, name: str, *operands: Value, **keywords: Any) -> Value:
        """`add` for an op with one result."""
        (result,) = self.add(name, *operands, **keywords)
        return result

    def relocate_last(self, loc: Loc) -> None:
        """Put the last op at another place of the source."""
        self.ops[-1] = replace(self.ops[-1], loc=loc)

    def region(self, parameters: Sequence[Value], yielded: Sequence[Value]) -> Region:
        """Close what was built so far with ``yield`` as a region, and start afresh."""
        self.add("yield", *yielded)
        region = Region(tuple(parameters), tuple(self.ops))
        self.ops = []
        return region
