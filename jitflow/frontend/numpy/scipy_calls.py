"""Calls of SciPy's functions from compiled code, and of its ufuncs that jitflow has no code for: on whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitflow.frontend.arrays.operands import dtype_argument
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dtypes import DType
from jitflow.ir.types import Scalar, Tensor

__all__ = ["called", "called_ufunc"]


def called_ufunc(ufunc: np.ufunc, path: str) -> Callable[..., Any]:
    """A call of a ufunc of `scipy.special`, on operands of one shape and numbers."""

    def call(*operands: Value) -> Any:
        sample = ufunc(*(np.ones(0, values.dtype_of_value(operand).numpy) for operand in operands))
        results = sample if isinstance(sample, tuple) else (sample,)
        found = called(path, operands, max(operands, key=values.rank),
                        [dtype_argument(result.dtype) for result in results])  # fmt: skip
        return found[0] if len(found) == 1 else found

    return call


def called(
    routine: str, operands: tuple[Value, ...], like: Value, dtypes: list[DType], effect: str = "none", **options: Any
) -> tuple[Value, ...]:
    """The results of a routine, of the shape of one of its operands."""
    dims = values.dims(like)
    types = [Tensor(dtype, dims) if dims else Scalar(dtype) for dtype in dtypes]
    return current_trace().add("host_call", *operands, types=types, routine=routine, keywords=(),
                               options=tuple(options.items()), effect=effect)  # fmt: skip
