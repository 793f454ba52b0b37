"""Routines that NumPy writes in Python over loops in C become those steps, with the arithmetic between them as ops.

``np.linalg.qr`` is two calls of LAPACK with Python around them, which takes longer than they do for a small matrix. As
steps the calls are direct (`jitflow.ir.inner_loops`), and the rest is part of kernels. Derivatives have been taken
by then, by rules for the routine as a whole. Left alone: routines outside of loops, where compiling the steps would
take longer than they save, stacks of stacks, which are no loop's, and programs on a GPU, whose routines are cupy's.

    %1: f64[n, k], %2: f64[k, m] = host_call %a {routine="numpy.linalg.qr", ..}
->
    %1: f64[n, m], %2: f64[k] = host_call %a {routine="jitflow.runtime.routines.qr_factors", ..}
    %3: f64[n, k] = host_call %1, %2 {routine="jitflow.runtime.routines.qr_basis", ..}
    %4: f64[k, m] = slice %1 ..                         ; and zeros below its diagonal
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import Any

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk_loops
from jitflow.ir.dims import minimum
from jitflow.ir.dtypes import C128, F64
from jitflow.ir.types import Tensor, Type, dims_of
from jitflow.passes.dce import dce
from jitflow.passes.derivatives.matrices import Matrices
from jitflow.passes.derivatives.notation import Notation, dtype_of, options_of, rank

__all__ = ["unfold"]

Steps = Callable[[Matrices, Op], Sequence[Value]]


def unfold(function: Function) -> Function:
    """Write routines in loops out as their steps."""
    ops = frozenset(op for op in walk_loops(function.region) if _has_steps(op))
    return dce(replace(function, region=_unfolded(function.region, ops, {}))) if ops else function


def _has_steps(op: Op) -> bool:
    return (
        op.name == "host_call"
        and op.attributes["routine"] in _STEPS
        and not any(op.attributes["keywords"])
        and rank(op.operands[0]) <= 3
    )


def _unfolded(region: Region, unfolding: Set[Op], renamed: dict[Value, Value]) -> Region:
    builder = Builder()
    for op in region.ops:
        current = replace(op, operands=tuple(renamed.get(operand, operand) for operand in op.operands))
        if op in unfolding:
            builder.loc = op.loc
            a = Matrices(Notation(builder))
            found = _STEPS[op.attributes["routine"]](a, current)
            typed = [a.m.converted(value, result.type) for value, result in zip(found, op.results, strict=True)]
            renamed.update(zip(op.results, typed, strict=True))
        else:
            builder.ops.append(
                replace(current, regions=tuple(_unfolded(inner, unfolding, renamed) for inner in op.regions))
            )
    return Region(region.parameters, tuple(builder.ops))


def _call(
    a: Matrices, step: str, operands: Sequence[Value], types: Sequence[Type], **options: Any
) -> tuple[Value, ...]:
    return a.m.add(
        "host_call", *operands, types=types, routine=f"jitflow.runtime.routines.{step}", keywords=(),
        options=tuple(options.items()), effect="none" if step == "qr_basis" else "check",
    )  # fmt: skip


def _qr(a: Matrices, op: Op) -> Sequence[Value]:
    """R, below whose diagonal Householder's vectors lie, and Q, which is made of these."""
    (matrix,), mode = op.operands, options_of(op)["mode"]
    double = C128 if dtype_of(matrix).is_complex else F64
    *batch, rows, columns = dims = dims_of(matrix.type)
    types = Tensor(double, tuple(dims)), Tensor(double, (*batch, minimum(rows, columns)))
    vectors, factors = _call(a, "qr_factors", (a.m.cast(matrix, double),), types)
    if mode == "raw":
        return a.transposed(vectors), factors
    inner = dims_of(op.results[-1].type)[-2]
    triangle = a.where("less_equal", a.first_rows(vectors, inner))
    if mode == "r":
        return (triangle,)
    kind = Tensor(double, (*batch, rows, inner))
    (basis,) = _call(a, "qr_basis", (vectors, factors), (kind,), complete=mode == "complete")
    return basis, triangle


_STEPS: dict[str, Steps] = {"numpy.linalg.qr": _qr}
"""What stands for a routine, by its name: its results, of any dtype."""
