"""The addresses of library functions that compiled programs call.

The BLAS is the one that SciPy ships, with everything passed by pointer. On Linux its file stands beside SciPy's
wheel, and is opened where it is: to import `scipy.linalg`, which exports the same functions as capsules, takes a
tenth of a second. Where there is no such file, that is what is done. The library is opened when a program first needs
it. It counts the processors of its threads by affinity; where a control group grants fewer, it is told so. Beyond
that the number of its threads is left alone: the bits of its products depend on it.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from jitflow.machines.cores import usable_cores

__all__ = ["symbol_address"]


@cache
def symbol_address(name: str) -> int:
    """Where the library function ``name`` starts. Raises KeyError where SciPy's BLAS has none of that name."""
    library = _library()
    if library is not None and (function := getattr(library, f"scipy_{name}_", None)) is not None:
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    from scipy.linalg import cython_blas

    _limit_threads(ctypes.CDLL(cython_blas.__file__))  # in which the symbols of what it is linked with are found too
    capsule = cython_blas.__pyx_capi__[name]
    address: int = _capsule_pointer(capsule, _capsule_name(capsule))
    return address


@cache
def _library() -> ctypes.CDLL | None:
    """The BLAS in the folder of libraries that stands beside SciPy's own, as wheels for Linux have it."""
    scipy = find_spec("scipy")
    if scipy is None or scipy.origin is None:
        return None
    for file in sorted((Path(scipy.origin).parents[1] / "scipy.libs").glob("libscipy_openblas-*.so")):
        try:
            library = ctypes.CDLL(str(file))
        except OSError:
            continue
        _limit_threads(library)
        return library
    return None


def _limit_threads(library: ctypes.CDLL) -> None:
    """Let BLAS use no more threads than there are processors for them, if it can be told."""
    try:
        threads, set_threads = (getattr(library, f"scipy_openblas_{what}_num_threads") for what in ("get", "set"))
    except AttributeError:
        return
    if threads() > usable_cores():
        set_threads(usable_cores())


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
