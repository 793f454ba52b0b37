"""The addresses of library functions that compiled programs call.

The BLAS is the one that SciPy ships: `scipy.linalg.cython_blas` exports its functions as capsules whose pointers have
the plain C convention, with everything passed by pointer. SciPy is imported when a program first needs it. It counts
the processors of its threads by affinity; where a control group grants fewer, it is told so. Beyond that the number of
its threads is left alone: the bits of its products depend on it.
"""

from __future__ import annotations

import ctypes
from functools import cache

from jitflow.cores import usable_cores

__all__ = ["symbol_address"]


@cache
def symbol_address(name: str) -> int:
    """Where the library function ``name`` starts. Raises KeyError where SciPy's BLAS has none of that name."""
    from scipy.linalg import cython_blas

    _limit_threads(cython_blas.__file__)
    capsule = cython_blas.__pyx_capi__[name]
    address: int = _capsule_pointer(capsule, _capsule_name(capsule))
    return address


@cache
def _limit_threads(library: str) -> None:
    """Let BLAS use no more threads than there are processors for them, if it can be told."""
    try:
        loaded = ctypes.CDLL(library)  # in which the symbols of what it is linked with are found too
        threads, set_threads = (getattr(loaded, f"scipy_openblas_{what}_num_threads") for what in ("get", "set"))
    except (AttributeError, OSError):
        return
    if threads() > usable_cores():
        set_threads(usable_cores())


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
