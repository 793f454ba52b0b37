"""Control flow as regions, calls, and the group that fusion makes.

``yield`` closes every region. ``break`` and early ``return`` are carried flags. These rows serve all three layers.
``rare`` is the number of the region of an ``if`` that hardly ever runs. ``polls`` says after how many turns a loop of
machine code asks whether it is to go on. ``counts`` of a ``while`` is the position of a carried number and what each
turn adds to it; the test does not hold once it is beyond the last carried number, which stays what it is.

A function that calls itself is a region, too: `recursion` calls it first, and `recur`, which stands in it, again. So it
may use values from around it, as all regions do; lowering makes a function of the module of it, and calls of both.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.records import Attributes, Effect, OpDef
from jitflow.ir.types import Type

__all__ = ["CONTROL_OPS"]


def _nothing(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return ()


def _recur_effects(attributes: Attributes) -> tuple[Effect, ...]:
    """What a further call does: it may be too deep, and does to storage what the region does."""
    found = [Effect("external" if attributes.get("external") else "check")]
    for operand in attributes.get("storage", ()):
        found += [Effect("reads", operand), Effect("writes", operand)]
    return tuple(found)


def _call_effects(attributes: Attributes) -> tuple[Effect, ...]:
    return (Effect("external"),) if "frames" in attributes else ()


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
    OpDef(
        "recursion", "calls the region, which takes the operands and yields the results; it may `recur`. So many "
        "``frames`` of the user's this call is; ``owned`` are the operands whose memory it takes over", "any",
        None, None, None, (Effect("check"),), attributes=("function", "frames", "owned"), regions=1,
    ),
    OpDef(
        "recur", "calls the region of the `recursion` around it of this ``function`` again, for its results. It reads "
        "and writes the operands that are ``storage``, reads containers of the types ``read``, writes to those of the "
        "types ``written``, and is ``external`` if something in the region is", "any",
        None, None, None, _recur_effects,
        attributes=("function", "frames", "storage", "read", "written", "external"),
    ),
    OpDef("call", "runs ``function`` of this module on the operands. One that calls itself counts ``frames``; if these "
          "are too many, ``error`` with this ``message`` is raised. Any other one computes numbers, and nothing else",
          "any", None, None, None, _call_effects, attributes=("function", "frames", "error", "message")),
]  # fmt: skip
