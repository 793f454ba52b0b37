"""Functions of SciPy: what its authors write in Python or Cython, by the paths under which users find them.

Solvers are called as they are and have SciPy's values and errors. SciPy is never imported here, only found where a
program has imported it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.errors import UserValueError
from jitflow.frontend.arrays.operands import array_operand, new, refuse, static_int
from jitflow.frontend.containers.conversions import bool_
from jitflow.frontend.numpy.elementwise import as_tracer
from jitflow.frontend.numpy.scipy_calls import called
from jitflow.frontend.numpy.scipy_linear import SCIPY_LINEAR
from jitflow.frontend.recording import values
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BF16, DTYPES, F64, DType

__all__ = ["SCIPY_FUNCTIONS"]


# -- sums of exponentials --------------------------------------------------------------------------


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    if return_sign:
        raise refuse("logsumexp with return_sign=True", "compute the sign of the sum: np.sign(np.sum(b * np.exp(a)))")
    a = as_tracer(a)
    if b is not None:
        a, b = np.broadcast_arrays(np.where(np.equal(b, 0), -np.inf, a), b)
    largest = np.max(a, axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0)
    powers = np.exp(a - largest)
    total = np.log(np.sum(powers if b is None else b * powers, axis=axis, keepdims=True)) + largest
    if keepdims:
        return total
    return np.squeeze(total, axis=axis)[()] if axis is not None else total.reshape(())[()]


def softmax(x: Any, axis: Any = None) -> Any:
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    largest = np.max(x, axis=axis, keepdims=True)
    moved = x - np.where(np.isfinite(largest), largest, 0)
    return moved - np.log(np.sum(np.exp(moved), axis=axis, keepdims=True))


# -- equations -------------------------------------------------------------------------------------


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, overwrite_b: Any = False,
    check_finite: Any = True,
) -> Any:  # fmt: skip
    matrix, right, dtype = _system("solve_triangular", a, b)
    trans = trans if isinstance(trans, str) else static_int(trans, "trans")
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise refuse(f"solve_triangular with trans={trans!r}", "trans is 0, 1 or 2")
    turned = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    options = {"trans": turned, "lower": bool(bool_(lower)), "unit_diagonal": bool(bool_(unit_diagonal))}
    found = called("scipy.linalg.solve_triangular", (matrix, right), right, [dtype], "check", **options)
    return new(found[0])


def cho_factor(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    matrix, _, dtype = _system("cho_factor", a, a)
    lower = bool(bool_(lower))
    (found,) = called("jitflow.runtime.calls.routines.cho_factor", (matrix,), matrix, [dtype], "check", lower=lower)
    return new(found), lower


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: Any = False, check_finite: Any = True) -> Any:
    factor, lower = c_and_lower
    matrix, right, dtype = _system("cho_solve", factor, b)
    found = called("jitflow.runtime.calls.routines.cho_solve", (matrix, right), right, [dtype], "check",
                    lower=bool(bool_(lower)))  # fmt: skip
    return new(found[0])


def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: Any = False, check_finite: Any = True) -> Any:
    factor, pivots = lu_and_piv
    matrix, right, dtype = _system("lu_solve", factor, b)
    found = called("jitflow.runtime.calls.routines.lu_solve", (matrix, array_operand(pivots), right), right, [dtype],
                   "check", trans=static_int(trans, "trans"))  # fmt: skip
    return new(found[0])


def _system(name: str, a: Any, b: Any) -> tuple[Value, Value, DType]:
    """One matrix and its right sides, in floats."""
    matrix, right = array_operand(a), array_operand(b)
    if values.rank(matrix) != 2 or values.rank(right) not in (1, 2):
        raise refuse(f"{name} of stacks of matrices", "go through them in a loop")
    dtypes = [values.dtype_of_value(item) for item in (matrix, right)]
    if any(dtype.is_complex for dtype in dtypes):
        raise refuse(f"{name} of complex numbers", "np.linalg.solve takes them")
    if any(dtype == BF16 for dtype in dtypes):
        raise UserValueError(f"{name} takes no bfloat16")
    wanted = DTYPES["f32"] if all(dtype.kind == "f" and dtype.itemsize <= 4 for dtype in dtypes) else F64
    return values.cast(matrix, wanted), values.cast(right, wanted), wanted


SCIPY_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "scipy.special.logsumexp": logsumexp,
        "scipy.special.softmax": softmax,
        "scipy.special.log_softmax": log_softmax,
        "scipy.linalg.solve_triangular": solve_triangular,
        "scipy.linalg.cho_factor": cho_factor,
        "scipy.linalg.cho_solve": cho_solve,
        "scipy.linalg.lu_solve": lu_solve,
        **SCIPY_LINEAR,
    }
)
"""By the path under which a user finds the function."""
