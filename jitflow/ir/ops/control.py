"""Control flow as regions, calls, and the group that fusion makes.

``yield`` closes every region. ``break`` and early ``return`` are carried flags. These rows serve all three layers.
``rare`` is the number of the region of an ``if`` that hardly ever runs. ``polls`` says after how many turns a loop of
machine code asks whether it is to go on. ``counts`` of a ``while`` is the position of a carried number and what each
turn adds to it; the test does not hold once it is beyond the last carried number, which stays what it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.records import Attributes, Effect, OpDef
from jitflow.ir.types import Type

__all__ = ["CONTROL_OPS"]


def _nothing(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return ()


CONTROL_OPS = [
    OpDef("yield", "the results of a region", "any", None, _nothing, None, (), frozenset({"terminator"})),
    OpDef(
        "if", "operand 0 is a bool scalar; runs region 0 or region 1 (no parameters), which yield the results", "any",
        1, None, attributes=("rare",), regions=2,
    ),
    OpDef(
        "for", "operands: start, stop, step (index), then carried values; the region takes the position and the "
        "carried values and yields the next ones; results are the last ones", "any", None, None,
        attributes=("parallel", "polls"), regions=1,
    ),
    OpDef(
        "while", "operands: carried values; region 0 yields a bool scalar, region 1 the next carried values, both "
        "taking the carried values; results are the last ones", "any", None, None,
        attributes=("polls", "counts"), regions=2,
    ),
    OpDef(
        "fusion", "ops that become one kernel; the region takes the operands and yields the results. ``reason`` says "
        "what kind of nest it is", "tensor", None, None, attributes=("kernel", "reason"), regions=1,
    ),
    OpDef("call", "runs ``function`` of this module on the operands", "any", None, None, None,
          (Effect("external"),), attributes=("function",)),
]  # fmt: skip
