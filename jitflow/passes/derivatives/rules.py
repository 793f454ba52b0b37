"""What the rules of ops that are not elementwise are made of.

A reverse rule (`Transpose`) takes the cotangents of an op's results, None where a result does not matter, and gives for
each operand what arrives there: a cotangent, None, or a `Part`, which knows how to add itself to the cotangent of a
larger array without making one as large. A forward rule (`Tangent`) takes the tangents of the operands and gives those
of the results; None is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Op, Value
from jitflow.passes.derivatives.notation import Notation
from jitflow.records import dataclass

__all__ = ["Arriving", "Change", "Part", "Refused", "Tangent", "Transpose", "given", "no_rule", "total"]


@dataclass(frozen=True, eq=False)
class Part:
    """What arrives at some elements of an operand: ``add_to(m, place)`` adds it to storage of the operand's type.

    ``put_in`` stores it instead, where nothing else arrives at these elements.
    """

    add_to: Callable[[Notation, Value], None]
    put_in: Callable[[Notation, Value], None] | None = None


@dataclass(frozen=True)
class Refused:
    """The tangent of a result that has no derivative, and what to do instead."""

    mend: str = ""


Change = Value | None
Arriving = Value | Part | None
Transpose = Callable[[Notation, Op, Sequence[Change]], Sequence[Arriving]]
Tangent = Callable[[Notation, Op, Sequence[Change]], Sequence[Change | Refused]]


def given(changes: Sequence[Change]) -> Value:
    """The change of an op's only result or operand, which there is: nobody asks a rule about nothing."""
    (change,) = changes
    assert change is not None
    return change


def total(m: Notation, changes: Sequence[Change]) -> Change:
    """The sum of what there is."""
    found: Change = None
    for change in changes:
        if change is not None:
            found = change if found is None else m("add", found, change)
    return found


def no_rule(op: Op, mend: str = "") -> UserNotImplementedError:
    """The error for an op that has no derivative."""
    what = op.attributes.get("routine", op.name)
    name = str(what).replace("jitflow.runtime.calls.routines", "numpy")
    error = UserNotImplementedError(
        f"{name} has no gradient",
        mend=mend
        or "give it one with jitflow.custom_gradient, or keep it out of the gradient with jitflow.stop_gradient",
    )
    return error.at(op.loc)
