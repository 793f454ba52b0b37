"""Functions of `scipy.linalg` on one real matrix or a few: called as they are, with SciPy's values and errors.

What a function gives is said by letters, an axis each, as generalized ufuncs have it: of a matrix ``mn`` there may be
``mk kn``, where ``k`` is the smaller size. Dtypes are those that SciPy gives for a small matrix, while tracing.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.operands import array_operand, dtype_argument, new, refuse
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.dims import Dim, minimum
from jitflow.ir.types import Scalar, Tensor, Type

__all__ = ["SCIPY_LINEAR"]

_Gives = str | Callable[[Mapping[str, Any]], str]


def _svd(options: Mapping[str, Any]) -> str:
    if not options.get("compute_uv", True):
        return "k"
    return "mm k nn" if options.get("full_matrices", True) else "mk k kn"


def _qr(options: Mapping[str, Any]) -> str:
    return {"full": "mm mn", "r": "mn", "economic": "mk kn"}.get(options.get("mode", "full"), "")


def _eigh(options: Mapping[str, Any]) -> str:
    return "n" if options.get("eigvals_only") else "n nn"


_FUNCTIONS: Mapping[str, tuple[str, _Gives, tuple[str, ...]]] = {
    **dict.fromkeys(("inv", "expm", "sinm", "cosm", "tanm", "sinhm", "coshm", "tanhm"), ("nn", "nn", ())),
    **{f"solve_{name}": ("nn nm nn mm", "nn", ()) for name in ("continuous_are", "discrete_are")},
    **{f"solve_{name}_lyapunov": ("nn nn", "nn", ()) for name in ("continuous", "discrete")},
    "solve_sylvester": ("mm nn mn", "mn", ()),
    "det": ("nn", "-", ()),
    "cholesky": ("nn", "nn", ("lower",)),
    "solve": ("nn *", "*", ("lower", "assume_a", "transposed")),
    "lu_factor": ("nn", "nn n", ()),
    "lu": ("mn", "mm mk kn", ()),
    "pinv": ("mn", "nm", ("atol", "rtol")),
    "svd": ("mn", _svd, ("full_matrices", "compute_uv")),
    "svdvals": ("mn", "k", ()),
    "eigh": ("nn", _eigh, ("lower", "eigvals_only")),
    "eigvalsh": ("nn", "n", ("lower",)),
    "qr": ("mn", _qr, ("mode",)),
    "eig": ("nn", "n nn", ()),
    "eigvals": ("nn", "n", ()),
    "schur": ("nn", "nn nn", ("output",)),
    "toeplitz": ("n", "nn", ()),
}
"""Of each the operands, what it gives, and the options that a call may have beside ``check_finite``.

``*`` are all axes of the right sides, ``-`` is a number.
"""

_WITHOUT_MEANING = ("overwrite_a", "overwrite_b", "check_finite")


def _call(name: str, *args: Any, **keywords: Any) -> Any:
    takes, gives, known = _FUNCTIONS[name]
    function = getattr(sys.modules["scipy.linalg"], name)
    bound = dict(inspect.signature(function).bind(*args, **keywords).arguments)
    operands = [array_operand(bound.pop(parameter)) for parameter in [*bound][: len(takes.split())]]
    options = {option: value for option, value in bound.items() if option not in _WITHOUT_MEANING}
    if odd := [option for option in options if option not in known]:
        raise refuse(f"{name} with {odd[0]}", "leave it out, or call the function behind the compiled one")
    if traced := [option for option, value in options.items() if isinstance(value, tracers.Tracer)]:
        raise refuse(f"{name} with {traced[0]} that only the running program knows", "write a number, True or a text")
    sizes: dict[str, Dim] = {}
    for letters, operand in zip(takes.split(), operands, strict=True):
        dims = values.dims(operand)
        if values.dtype_of_value(operand).is_complex or (letters != "*" and len(letters) != len(dims)):
            raise refuse(f"{name} of complex numbers, or of stacks of matrices", f"np.linalg.{name}, if there is one")
        sizes |= {} if letters == "*" else {key: sizes.get(key, dim) for key, dim in zip(letters, dims, strict=True)}
    wanted = gives if isinstance(gives, str) else gives(options)
    if not wanted:
        raise refuse(f"{name} with {options}", "use another mode")
    sizes["k"] = minimum(*sizes.values())
    samples = (_sample(values.rank(operand), values.dtype_of_value(operand).numpy) for operand in operands)
    found = function(*samples, **options)
    parts = found if isinstance(found, tuple) else (found,)
    types = []
    for part, letters in zip(parts, wanted.split(), strict=True):
        dims = values.dims(operands[-1]) if letters == "*" else tuple(sizes[key] for key in letters.strip("-"))
        types.append(_type(part, dims))
    results = current_trace().add(
        "host_call", *operands, types=types, routine=f"scipy.linalg.{name}", keywords=("",) * len(operands),
        options=tuple(options.items()), effect="check",
    )  # fmt: skip
    for result in results:
        current_trace().storage.classes[result] = -1, "general"  # LAPACK's order is another one for each function
    given = [new(result) for result in results]
    return tuple(given) if isinstance(found, tuple) else given[0]


def _sample(rank: int, dtype: Any) -> Any:
    """A small operand for which every function has an answer."""
    return (2 * np.eye(3)).astype(dtype) if rank == 2 else np.ones(3, dtype)


def _type(part: Any, dims: Any) -> Type:
    dtype = dtype_argument(np.asarray(part).dtype)
    return Tensor(dtype, tuple(dims)) if np.ndim(part) else Scalar(dtype, not isinstance(part, np.generic))


SCIPY_LINEAR: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {f"scipy.linalg.{name}": partial(_call, name) for name in _FUNCTIONS}
)
"""By the path under which a user finds the function."""
