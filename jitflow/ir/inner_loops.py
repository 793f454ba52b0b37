"""Routines whose work one of NumPy's own loops does, which compiled code can call without Python around it.

``np.linalg.solve`` looks at its arguments, and a generalized ufunc looks again, checks, allocates and at last calls a C
function, which calls LAPACK. For small matrices all that takes ten times as long as the equations. Compiled code knows
dtypes and strides, so it calls that C function itself, with the same bits as a result.

The loop says with the floating-point flag "invalid" that it had no answer (a singular matrix). Then, and where sizes
are not what a loop takes, the routine itself is called, which knows what to say.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from jitflow.ir.routine_table import row_of
from jitflow.records import dataclass

__all__ = ["FLAG_FUNCTIONS", "LOOP_PREFIX", "InnerLoop", "find_ufunc", "inner_loop"]

LOOP_PREFIX = "jitflow.inner_loop."
"""What a loop is called in a context: this, the ufunc, a colon and the types. Null where it could not be found."""

FLAG_FUNCTIONS = ("feclearexcept", "fetestexcept")
"""C's functions of floating-point flags, as a context calls them."""

_MODULE = "numpy.linalg._umath_linalg"


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """A loop of a generalized ufunc: ``void loop(pointers, sizes, strides, data)``.

    ``axes`` names the axes that it works on, of each operand and then of each result; same name, same size. One that is
    ``in_place`` leaves the first result where its first operand was.
    """

    symbol: str
    axes: tuple[tuple[str, ...], ...]
    in_place: bool = False


def inner_loop(attributes: Mapping[str, Any]) -> InnerLoop | None:
    """The loop that does all of what an ``invoke`` with these attributes does for one matrix or a stack of them."""
    choose = _CHOICES.get(attributes["routine"])
    in_place = row_of(attributes["routine"]).overwrites
    takes, gives = attributes["takes"], attributes["gives"][in_place:]
    if choose is None or any(attributes["keywords"]) or attributes.get("makes"):
        return None
    ranks = [rank if isinstance(rank, int) else 0 for _, rank in takes]
    name = choose(dict(attributes["options"]), ranks)
    ufunc = find_ufunc(name)
    types = "->".join("".join(dtype.numpy.char for dtype, _ in part) for part in (takes, gives))
    if ufunc is None or types not in ufunc.types or any(number >= 0 for _, dims in gives for number in dims):
        return None
    axes = _axes(ufunc.signature)
    outer = [rank - len(names) for rank, names in zip([*ranks, *(len(dims) for _, dims in gives)], axes, strict=True)]
    if min(outer) < 0 or max(outer) > 1:
        return None  # a stack of stacks is so much work that the way through Python does not matter
    return InnerLoop(f"{LOOP_PREFIX}{name}:{types}", axes, in_place)


def _cholesky(options: Mapping[str, Any], ranks: Sequence[int]) -> str:
    return "cholesky_up" if options["upper"] else "cholesky_lo"


def _svd(options: Mapping[str, Any], ranks: Sequence[int]) -> str:
    if options["hermitian"]:
        return ""
    return "svd" if not options["compute_uv"] else "svd_f" if options["full_matrices"] else "svd_s"


def _of_triangle(name: str) -> Callable[[Mapping[str, Any], Sequence[int]], str]:
    return lambda options, ranks: name + {"L": "_lo", "U": "_up"}[options["UPLO"].upper()]


_CHOICES: dict[str, Callable[[Mapping[str, Any], Sequence[int]], str]] = {
    "numpy.linalg.solve": lambda options, ranks: "solve1" if ranks[1] == 1 else "solve",
    "numpy.linalg.cholesky": _cholesky,
    "numpy.linalg.svd": _svd,
    "numpy.linalg.svdvals": lambda options, ranks: "svd",
    "numpy.linalg.eigh": _of_triangle("eigh"),
    "numpy.linalg.eigvalsh": _of_triangle("eigvalsh"),
    "jitflow.runtime.calls.routines.finite_eig": lambda options, ranks: "eig",
    "jitflow.runtime.calls.routines.finite_eigvals": lambda options, ranks: "eigvals",
    "jitflow.runtime.calls.routines.inverse": lambda options, ranks: "inv",
    "jitflow.runtime.calls.routines.least_squares": lambda options, ranks: "lstsq",
    "jitflow.runtime.calls.routines.qr_factors": lambda options, ranks: "qr_r_raw",
    "jitflow.runtime.calls.routines.qr_basis": lambda options, ranks: (
        "qr_complete" if options["complete"] else "qr_reduced"
    ),
    **{f"numpy.linalg.{name}": lambda options, ranks, name=name: name  # type: ignore[misc]
       for name in ("inv", "det", "slogdet")},
}  # fmt: skip
"""The ufunc behind a routine, by its options and the ranks of its operands; ``""`` where it does more than that."""


@cache
def find_ufunc(name: str) -> Any:
    """A generalized ufunc of NumPy's linear algebra, or None if this NumPy has none of that name."""
    try:
        found = getattr(importlib.import_module(_MODULE), name, None)
    except ImportError:
        return None
    return found if getattr(found, "signature", None) else None


def _axes(signature: str) -> tuple[tuple[str, ...], ...]:
    """``(m,m),(m,n)->(m,n)`` as tuples of names."""
    parts = signature.replace(" ", "").replace("->", ",").removeprefix("(").removesuffix(")").split("),(")
    return tuple(tuple(part.split(",")) if part else () for part in parts)
