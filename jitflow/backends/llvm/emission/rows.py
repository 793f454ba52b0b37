"""The form of a row for arithmetic: one op on one kind of dtype, and what writes it.

Kinds are those of `DType.kind`, ``b i u f``, and ``h`` for the half formats f16 and bf16. A row for ``f`` serves them
too, through f32, unless there is a row for ``h``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jitflow.backends.llvm.emission.emitter import Emitter
from jitflow.backends.llvm.emission.types import Number, register_type
from jitflow.ir.dtypes import DType

__all__ = ["Arithmetic", "Row", "instruction", "kind_of"]

Arithmetic = Callable[..., str]
"""``(emitter, operand type, *operands) -> result``; all operands have that type, lanes included."""


class Row(NamedTuple):
    """How the op ``name`` is written for the ``kinds`` of dtype."""

    name: str
    kinds: str
    emit: Arithmetic


def instruction(name: str) -> Arithmetic:
    """One instruction of LLVM on two operands."""

    def emit(out: Emitter, type: Number, a: str, b: str) -> str:
        return out.let(f"{name} {register_type(type)} {a}, {b}")

    return emit


def kind_of(dtype: DType) -> str:
    """The kind under which the rows for a dtype are found."""
    return "h" if dtype.name in ("f16", "bf16") else dtype.kind
