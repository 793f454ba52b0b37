"""Rules of ops that are no analytic functions of complex numbers.

A gradient ``g`` by ``x + iy`` is ``df/dx + i df/dy``. So a small change ``dz`` changes the result by
``Re(conj(g) dz)``, and a reverse rule is the adjoint of the forward one under this product.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Value
from jitflow.passes.derivatives.factors import where
from jitflow.passes.derivatives.notation import Notation, dtype_of
from jitflow.passes.derivatives.rules import Arriving, Change, Tangent, Transpose, given

__all__ = ["TANGENTS", "TRANSPOSES"]


def _real(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    return (m("complex", given(cotangents), 0),)


def _imag(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    cotangent = given(cotangents)
    return (m("complex", m.number(0, dtype_of(cotangent)), cotangent),)


def _conjugate(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    return (m("conjugate", given(cotangents)),)


def _complex(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    cotangent = given(cotangents)
    return m("real", cotangent), m("imag", cotangent)


def _complex_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    parts = [
        m.zeros(operand.type) if tangent is None else tangent
        for operand, tangent in zip(op.operands, tangents, strict=True)
    ]
    return (m("complex", *parts),)


def _absolute(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """``z / |z|``, 0 at 0, is the direction in which the magnitude grows."""
    direction = m("sign", op.operands[0])
    return (m("multiply", m.cast(given(cotangents), dtype_of(direction)), direction),)


def _absolute_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    return (_along(m, m("sign", op.operands[0]), given(tangents)),)


def _along(m: Notation, direction: Value, change: Value) -> Value:
    """``Re(conj(direction) change)``."""
    if not dtype_of(direction).is_complex:
        return m("multiply", direction, change)
    parts = [m("multiply", m(part, direction), m(part, change)) for part in ("real", "imag")]
    return m("add", *parts)


def _sign(m: Notation, op: Op, changes: Sequence[Change]) -> Sequence[Change]:
    """Of ``z / |z|`` only the angle changes: by the part of the change across ``z``. The map is its own adjoint."""
    across = m("complex", m("negative", m("imag", op.result)), m("real", op.result))
    radius = m("absolute", op.operands[0])
    turned = m("divide", _along(m, across, given(changes)), radius)
    turned = where(m, m("equal", radius, 0), 0, turned)
    return (m("multiply", m.cast(turned, dtype_of(across)), across),)


TRANSPOSES: dict[str, Transpose] = {
    "real": _real,
    "imag": _imag,
    "conjugate": _conjugate,
    "complex": _complex,
    "absolute": _absolute,
    "sign": _sign,
}

TANGENTS: dict[str, Tangent] = {
    "complex": _complex_tangent,
    "absolute": _absolute_tangent,
    "sign": _sign,
}
