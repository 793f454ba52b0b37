"""How long dims are: what is computed of each other in many steps is too long to work with, or doubles each time."""

from __future__ import annotations

from functools import lru_cache

from jitflow.ir.dims import Call, Dim, Expression

__all__ = ["length"]


@lru_cache(maxsize=1 << 12)
def length(dim: Dim) -> int:
    """How many sizes and calls a dim is written with."""
    atoms = [atom for monomial, _ in dim.terms for atom in monomial] if isinstance(dim, Expression) else []
    return len(atoms) + sum(length(operand) for atom in atoms if isinstance(atom, Call) for operand in atom.operands)
