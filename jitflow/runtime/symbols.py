"""The addresses of library functions that compiled programs call.

The BLAS is the one that SciPy ships: `scipy.linalg.cython_blas` exports its functions as capsules whose pointers have
the plain C convention, with everything passed by pointer. SciPy is imported when a program first needs it.
"""

from __future__ import annotations

import ctypes
from functools import cache

__all__ = ["symbol_address"]


@cache
def symbol_address(name: str) -> int:
    """Where the library function ``name`` starts. Raises KeyError where SciPy's BLAS has none of that name."""
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[name]
    address: int = _capsule_pointer(capsule, _capsule_name(capsule))
    return address


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
