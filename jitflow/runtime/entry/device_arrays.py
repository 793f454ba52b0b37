"""Arrays that live on a GPU, whoever made them: cupy's, torch's, or whatever else has ``__cuda_array_interface__``."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from jitflow.ir.context_names import DEVICE_PREFIX
from jitflow.ir.dtypes import dtype_of
from jitflow.runtime.entry import plan as p
from jitflow.runtime.native.cuda import gpu_count, gpu_of_address

__all__ = ["gpu_of", "header_of"]

_ALIGNED, _WRITEABLE = 0x0100, 0x0400


def header_of(thing: Any) -> np.ndarray[Any, Any] | None:
    """What an array of a GPU looks like, as a NumPy array whose elements nobody may touch; None for others."""
    if not hasattr(type(thing), "__cuda_array_interface__"):  # of objects, nobody's `__getattr__` is asked
        return None
    interface = getattr(thing, "__cuda_array_interface__", None)
    if interface is None:
        return None
    from jitflow.runtime.entry.python_results import wrap

    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    known = dtype_of(dtype)
    if known is None:
        return None
    strides = interface.get("strides") or tuple(
        math.prod(shape[axis + 1 :]) * dtype.itemsize for axis in range(len(shape))
    )
    address, read_only = interface["data"]
    words = (ctypes.c_int64 * (1 + 2 * len(shape)))(address or dtype.itemsize, *shape, *strides)
    return wrap(p.NewArray(0, known.name, len(shape)), words, _ALIGNED | (0 if read_only else _WRITEABLE))


def gpu_of(thing: Any) -> str:
    """The name of the GPU on which an array lives."""
    number = 0
    if gpu_count() > 1:
        address, _ = thing.__cuda_array_interface__["data"]
        number = gpu_of_address(address) if address else 0
    return f"{DEVICE_PREFIX}{number}"
