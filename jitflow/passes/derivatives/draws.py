"""Random draws that move with their parameters: the same random number, somewhere else or further out.

``loc + scale * z`` changes with ``loc`` as it is and with ``scale`` by ``z``, which the draw tells. Draws of other
distributions have no derivative by their parameters; those without parameters are constants. Nothing is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from jitflow.ir.core import Op, Value
from jitflow.passes.derivatives.notation import Notation
from jitflow.passes.derivatives.rules import Arriving, Change, Tangent, Transpose, given, no_rule, total

__all__ = ["TANGENTS", "TRANSPOSES"]


def _moved(m: Notation, op: Op) -> Sequence[Value | None]:
    """``loc + scale * z``."""
    _, loc, scale = op.operands
    return None, m("divide", m("subtract", op.result, loc), scale)


def _scaled(m: Notation, op: Op) -> Sequence[Value | None]:
    """``scale * z``."""
    return (m("divide", op.result, op.operands[1]),)


def _exponential(m: Notation, op: Op) -> Sequence[Value | None]:
    """``exp(mean + sigma * z)``."""
    _, mean, sigma = op.operands
    inner = m("divide", m("subtract", m("log", op.result), mean), sigma)
    return op.result, m("multiply", op.result, inner)


_FACTORS: Mapping[str, Callable[[Notation, Op], Sequence[Value | None]]] = {
    **dict.fromkeys(("normal", "laplace", "gumbel", "logistic", "uniform", "legacy_normal", "legacy_uniform"), _moved),
    **dict.fromkeys(("exponential", "rayleigh", "legacy_exponential"), _scaled),
    "lognormal": _exponential,
}
"""By how much a draw changes with each of its parameters, None being 1."""


def _factors(m: Notation, op: Op) -> Sequence[Value | None]:
    rule = _FACTORS.get(op.attributes["method"])
    if rule is None:
        raise no_rule(op)
    return rule(m, op)


def _times(m: Notation, change: Value, factor: Value | None) -> Value:
    return change if factor is None else m("multiply", change, factor)


def _transpose(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    cotangent = given(cotangents)
    return (None, *(_times(m, cotangent, factor) for factor in _factors(m, op)))


def _tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    parts = [
        None if tangent is None else _times(m, tangent, factor)
        for tangent, factor in zip(tangents[1:], _factors(m, op), strict=True)
    ]
    return (total(m, parts),)


TRANSPOSES: dict[str, Transpose] = {"draw": _transpose}
TANGENTS: dict[str, Tangent] = {"draw": _tangent}
