"""GPUs at call time: devices, streams and modules come from cupy, the driver's functions and cuBLAS by their addresses.

This is the one place that imports cupy, when a program for a GPU is made, and that knows where the driver and cuBLAS
are. A program's context is that of any host program, with what begins with the device's name filled in here. Stream and
cuBLAS's handle are those of the calling thread at the time of the call, so each call has a context of its own.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from jitflow.ir.core import Op
from jitflow.ir.routines import DEVICE_PREFIX
from jitflow.runtime.host_calls import link_symbols
from jitflow.runtime.plan import ERROR_SLOTS
from jitflow.runtime.pool import pool

__all__ = ["DeviceProgram", "Gpu", "driver_error", "gpu"]

_MISSING = (
    "cupy is not installed, which programs on a GPU run by: pip install 'jitflow[cuda13]', or 'jitflow[cuda12]' "
    "where the driver is one for CUDA 12"
)
_PER_CALL = ("stream", "blas")
"""Handles that are the calling thread's."""
_KERNEL = "kernel "
_NO_MEMORY = 2
"""The driver's code for memory that there is not."""


class Gpu:
    """One GPU by its name, ``cuda:0``. Raises ImportError where cupy is not installed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = int(name.removeprefix(DEVICE_PREFIX))
        self._cuda = _cupy().cuda
        self._device = self._cuda.Device(self.number)

    @property
    def architecture(self) -> str:
        """What NVRTC calls its kind, such as ``sm_90``."""
        return f"sm_{self._device.compute_capability}"

    def load(self, image: bytes) -> Any:
        """The module of machine code for this GPU. It stays loaded as long as the result lives."""
        module = self._cuda.function.Module()
        with self._device:
            module.load(image)
        return module

    def stream(self) -> int:
        """The calling thread's current stream."""
        with self._device:
            return int(self._cuda.get_current_stream().ptr)

    def blas(self, stream: int) -> int:
        """The calling thread's handle of cuBLAS, which works on that stream from now on."""
        with self._device:
            handle = int(self._device.cublas_handle)
        status = _function("cublasSetStream_v2", 2)(handle, stream)
        if status:
            raise RuntimeError(f"cuBLAS refused the stream with status {status}")
        return handle

    # Memory, in the order of the current stream's work

    def allocate(self, size: int) -> int:
        """New memory, of at least one byte. Raises MemoryError where there is none left."""
        place = ctypes.c_void_p()
        status = self._do("cuMemAllocAsync", ctypes.addressof(place), max(size, 1), self.stream())
        if status == _NO_MEMORY:
            raise MemoryError(f"Unable to allocate {size} bytes on {self.name}")
        _expect_success(status)
        return place.value or 0

    def free(self, address: int) -> None:
        """Give memory back."""
        _expect_success(self._do("cuMemFreeAsync", address, self.stream()))

    def freeing(self, address: int) -> Callable[[], object]:
        """What gives memory back later, in the order of the stream that is the current one now.

        Nothing is looked up or raised then: a finaliser calls it, perhaps as the process ends.
        """
        with self._device:
            stream = self._cuda.get_current_stream()
        free = _function("cuMemFreeAsync", 2)
        return lambda: free(address, stream.ptr)

    def copy_there(self, there: int, here: int, size: int) -> None:
        """Copy from the host's memory, which has been read when this returns."""
        _expect_success(self._do("cuMemcpyHtoDAsync_v2", there, here, size, self.stream()))

    def copy_here(self, here: int, there: int, size: int) -> None:
        """Copy to the host's memory, and wait for it."""
        stream = self.stream()
        _expect_success(self._do("cuMemcpyDtoHAsync_v2", here, there, size, stream))
        _expect_success(self._do("cuStreamSynchronize", stream))

    def array(
        self, address: int, dims: Sequence[int], dtype: Any, strides: Sequence[int] | None = None, owner: object = None
    ) -> Any:
        """An array of cupy's over memory that belongs to ``owner``, in C order where no strides are given."""
        if strides is None:
            strides = [math.prod(dims[axis + 1 :]) * dtype.itemsize for axis in range(len(dims))]
        span = dtype.itemsize + sum(abs(step) * (dim - 1) for dim, step in zip(dims, strides, strict=True) if dim)
        memory = self._cuda.UnownedMemory(address, span, owner, self.number)
        return _cupy().ndarray(tuple(dims), dtype, self._cuda.MemoryPointer(memory, 0), tuple(strides))

    # Routines of cupy's

    @property
    def library(self) -> Any:
        """The module cupy."""
        return _cupy()

    @contextmanager
    def working_on(self, stream: int) -> Iterator[None]:
        """What cupy does meanwhile, it does here and in that stream's order, and raises LinAlgError where it fails."""
        with self._device, self._cuda.ExternalStream(stream, self.number), _cupyx().errstate(linalg="raise"):
            yield

    def as_array(self, thing: Any) -> Any:
        """An array of cupy's; a copy of what is one of the host's, or a number."""
        return _cupy().asarray(thing)

    def copy_of(self, thing: Any) -> Any:
        """A copy on the host of an array of cupy's, and everything else as it is."""
        return _cupy().asnumpy(thing) if hasattr(thing, "__cuda_array_interface__") else thing

    def _do(self, name: str, *arguments: Any) -> int:
        with self._device:
            return int(_function(name, len(arguments))(*arguments))

    def __enter__(self) -> None:
        self._device.__enter__()

    def __exit__(self, *error: object) -> None:
        self._device.__exit__(*error)


@cache
def gpu(name: str) -> Gpu:
    """The GPU of that name, one object for each."""
    return Gpu(name)


class DeviceProgram:
    """A native host program for a GPU with its kernels: called with words, which are what its slots hold.

    ``image`` is the machine code of its kernels, ``run`` the address of the host program, ``symbols`` and ``sites`` are
    what its executable names. ``raise_error(status, error_address)`` must raise. ``keep_alive`` is whatever owns the
    machine code.
    """

    def __init__(
        self, device: Gpu, image: bytes, *, run: int, symbols: Sequence[str], sites: Sequence[Op],
        raise_error: Callable[[int, int], object], keep_alive: object = None,
    ) -> None:  # fmt: skip
        self.device = device
        self._raise_error = raise_error
        self._module = device.load(image)
        own = f"{device.name} "
        linked = link_symbols([name for name in symbols if not name.startswith(own)], sites)
        others = iter(linked.addresses)
        words = [self._address(name.removeprefix(own)) if name.startswith(own) else next(others) for name in symbols]
        self._words = (pool().allocate_address, pool().free_address, *words)
        self._slots = {name: symbols.index(own + name) + 2 for name in _PER_CALL if own + name in symbols}
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)(run)
        self._keep_alive = (keep_alive, linked)

    def _address(self, name: str) -> int:
        if name in _PER_CALL:
            return 0
        if name.startswith(_KERNEL):
            return int(self._module.get_function(name.removeprefix(_KERNEL)).ptr)
        return address_of(name)

    def __call__(self, arguments: Any, results: Any) -> None:
        """Run on arrays of words. It returns as soon as nothing that the host needs is missing."""
        context = (ctypes.c_void_p * len(self._words))(*self._words)
        stream = self.device.stream()
        if "stream" in self._slots:
            context[self._slots["stream"]] = stream
        if "blas" in self._slots:
            context[self._slots["blas"]] = self.device.blas(stream)
        error = (ctypes.c_int64 * ERROR_SLOTS)()
        with self.device:
            status = self._run(context, arguments, results, error)
        if status:
            self._raise_error(status, ctypes.addressof(error))


# -- libraries


def _cupy() -> Any:
    try:
        import cupy
    except ImportError:
        raise ImportError(_MISSING) from None
    return cupy


def _cupyx() -> Any:
    """What comes with cupy beside what NumPy has."""
    import cupyx

    return cupyx


def address_of(name: str) -> int:
    """Where a function of the driver, or of cuBLAS, starts."""
    library = _blas() if name.startswith("cublas") else _driver()
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


@cache
def _blas() -> ctypes.CDLL:
    """The library that cupy has loaded."""
    major = _cupy().cuda.runtime.runtimeGetVersion() // 1000
    return ctypes.CDLL(f"cublas64_{major}.dll" if sys.platform == "win32" else f"libcublas.so.{major}")


def _function(name: str, arguments: int) -> Callable[..., int]:
    """A function of the driver or of cuBLAS whose arguments are words, and that gives a status."""
    return ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * arguments)(address_of(name))


def _expect_success(status: int) -> None:
    if status:
        raise RuntimeError(driver_error(status))


def driver_error(code: int) -> str:
    """What the driver says of a code that one of its functions gave."""
    text = ctypes.c_char_p()
    known = _function("cuGetErrorString", 2)(code, ctypes.addressof(text)) == 0 and text.value
    return f"error {code} of the GPU's driver" + (f": {text.value.decode()}" if known and text.value else "")
