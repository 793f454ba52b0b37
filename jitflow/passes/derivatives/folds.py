"""Rules of the methods of ufuncs that are routines: `numpy.add.reduceat`, `numpy.logaddexp.reduce` and its kin."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from jitflow.ir.core import Op, Value
from jitflow.ir.types import dims_of
from jitflow.passes.derivatives.accumulations import recurrence
from jitflow.passes.derivatives.factors import difference, where
from jitflow.passes.derivatives.notation import Notation, dtype_of, options_of, rank
from jitflow.passes.derivatives.rules import Arriving, Change, Tangent, Transpose, given, no_rule

__all__ = ["TANGENTS", "TRANSPOSES"]

_ROUTINES = "jitflow.runtime.calls.routines"


# -- sums of stretches


def _reduceat(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    array, marks = op.operands
    options = _options_of_sum(op)
    (found,) = m.add(
        "host_call", m.cast(given(cotangents), dtype_of(array)), marks, array, types=(array.type,),
        routine=f"{_ROUTINES}.over_stretches", keywords=(), options=(("axis", options["axis"]),), effect="none",
    )  # fmt: skip
    return found, None


def _reduceat_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    _options_of_sum(op)
    tangent = tangents[0]
    assert tangent is not None
    return (_again(m, op, tangent, *op.operands[1:]),)


def _options_of_sum(op: Op) -> dict[str, Any]:
    options = options_of(op)
    if options["ufunc"] != "add":
        raise no_rule(op, "use np.add.reduceat, or a loop over the stretches")
    return options


def _again(m: Notation, op: Op, *operands: Value) -> Value:
    """The same routine of other operands."""
    (found,) = m.add("host_call", *operands, types=(op.results[0].type,), **dict(op.attributes))
    return found


def _over_stretches(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    options = (("ufunc", "add"), ("axis", options_of(op)["axis"]), ("dtype", None))
    (found,) = m.add(
        "host_call", given(cotangents), op.operands[1], types=(op.operands[0].type,), routine=f"{_ROUTINES}.reduceat",
        keywords=(), options=options, effect="check",
    )  # fmt: skip
    return found, None, None


def _over_stretches_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    tangent = tangents[0]
    return (None if tangent is None else _again(m, op, tangent, *op.operands[1:]),)


# -- reductions


def _slopes(m: Notation, op: Op) -> tuple[Value, Callable[[Value], Value]]:
    """By how much the result changes with each element; and what gives something of the result to each of them."""
    options, array, result = options_of(op), op.operands[0], op.results[0]
    dims, axis = dims_of(array.type), options["axis"]
    folded = range(len(dims)) if axis is None else axis
    kept = tuple(place for place in range(len(dims)) if place not in folded)

    def spread(value: Value) -> Value:
        if len(kept) != rank(value):
            value = m("reshape", value, dims=tuple(dims[place] for place in kept))
        return m("broadcast", m.cast(value, dtype_of(array)), dims=dims, axes=kept)

    whole = spread(result)
    match options["ufunc"]:
        case "logaddexp" | "logaddexp2" as name:
            behind = difference(m, array, whole)
            return m("exp" if name == "logaddexp" else "exp2", behind), spread
        case "hypot":
            return where(m, m("equal", whole, 0), 0, m("divide", array, whole)), spread
    raise no_rule(op)


def _reduce(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    slopes, spread = _slopes(m, op)
    return (m("multiply", spread(given(cotangents)), slopes),)


def _reduce_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    slopes, _ = _slopes(m, op)
    options, dims = options_of(op), dims_of(op.operands[0].type)
    axes = tuple(range(len(dims))) if options["axis"] is None else tuple(options["axis"])
    found = m("reduce_add", m("multiply", given(tangents), slopes), axes=axes)
    wanted = dims_of(op.results[0].type)
    return (m("reshape", found, dims=wanted) if len(wanted) != rank(found) else found,)


# -- running sums of exponentials


def _shares(m: Notation, op: Op) -> tuple[Value, Value]:
    """How much of each result is what was there before, and how much is the new element."""
    array, result, options = op.operands[0], op.results[0], options_of(op)
    if options["ufunc"] not in ("logaddexp", "logaddexp2"):
        raise no_rule(op)
    behind = difference(m, array, result)
    if options["ufunc"] == "logaddexp2":
        behind = m("multiply", behind, math.log(2))
    return m("negative", m("expm1", behind)), m("exp", behind)


def _accumulate(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    before, new = _shares(m, op)
    return (m("multiply", new, recurrence(m, before, given(cotangents), options_of(op)["axis"], backwards=True)),)


def _accumulate_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    before, new = _shares(m, op)
    entering = m("multiply", new, given(tangents))
    return (recurrence(m, before, entering, options_of(op)["axis"], backwards=False),)


TRANSPOSES: dict[str, Transpose] = {
    f"{_ROUTINES}.accumulate": _accumulate,
    f"{_ROUTINES}.reduceat": _reduceat,
    f"{_ROUTINES}.over_stretches": _over_stretches,
    f"{_ROUTINES}.reduce": _reduce,
}

TANGENTS: dict[str, Tangent] = {
    f"{_ROUTINES}.accumulate": _accumulate_tangent,
    f"{_ROUTINES}.reduceat": _reduceat_tangent,
    f"{_ROUTINES}.over_stretches": _over_stretches_tangent,
    f"{_ROUTINES}.reduce": _reduce_tangent,
}
