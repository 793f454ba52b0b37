"""GPUs at call time: devices, streams and modules come from cupy, the driver's functions and cuBLAS by their addresses.

This is the one place that imports cupy, when somebody asks for a GPU, and that knows where the driver and cuBLAS are. A
program's context is that of any host program; what begins with a device's name is filled in from here. Stream, cuBLAS's
handle and the driver's context are those of the calling thread at the time of the call, so each call has a context of
its own.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from jitflow.ir.context_names import DEVICE_PREFIX
from jitflow.machines.hardware import is_gpu
from jitflow.runtime.native.native_code import make_immortal

__all__ = [
    "PER_THREAD_STREAM",
    "Event",
    "Gpu",
    "address_on",
    "driver_error",
    "gpu",
    "gpu_count",
    "gpu_of_address",
    "handle_of",
    "why_no_gpu",
]

_MISSING = (
    "cupy is not installed, which programs on a GPU run by: pip install 'jitflow[cuda13]', or 'jitflow[cuda12]' "
    "where the driver is one for CUDA 12"
)
_HANDLES = ("stream", "blas", "context")
"""What is the calling thread's at the time of a call."""
_RELIEVE = "relieve"
PER_THREAD_STREAM = 2
"""The driver's handle of a stream that is another one in each thread."""
_KERNEL = "kernel "
_ORDINAL = 9
"""The driver's name for the number of the device of a pointer."""
_FREEING = (("cuCtxPushCurrent_v2", 1), ("cuMemFreeAsync", 2), ("cuCtxPopCurrent_v2", 1))
_WITHOUT_TIMES = 2
"""What an event is made with that only orders."""
_RELEASE_THRESHOLD = 4
_POOLS: set[int] = set()
"""The driver's pools of memory, one of each GPU."""
_NO_MEMORY = 2
"""The driver's code for memory that there is not."""


class Gpu:
    """One GPU by its name, ``cuda:0``. Raises ImportError where cupy is not installed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = int(name.removeprefix(DEVICE_PREFIX))
        self._cuda = _cupy().cuda
        self._device = self._cuda.Device(self.number)
        self._keep_memory()

    @property
    def architecture(self) -> str:
        """What NVRTC calls its kind, such as ``sm_90``."""
        return f"sm_{self._device.compute_capability}"

    @property
    def description(self) -> dict[str, str | int]:
        """Its name, what it holds in bytes, and the versions of what drives it."""
        runtime = self._cuda.runtime
        properties = runtime.getDeviceProperties(self.number)
        return {
            "name": properties["name"].decode(),
            "architecture": self.architecture,
            "multiprocessors": properties["multiProcessorCount"],
            "memory": properties["totalGlobalMem"],
            "cache": properties["l2CacheSize"],
            "driver": _driver_version(),
            "cuda_driver": _version(runtime.driverGetVersion()),
            "cuda_runtime": _version(runtime.runtimeGetVersion()),
        }

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

    def handle(self, what: str) -> int:
        """What the calling thread has of this GPU: its ``stream``, ``blas``, or the driver's ``context``."""
        if what == "stream":
            return self.stream()
        if what == "context":
            place = ctypes.c_void_p()
            _expect_success(self.do("cuCtxGetCurrent", ctypes.addressof(place)))
            return place.value or 0
        with self._device:
            handle = int(self._device.cublas_handle)
        status = _function("cublasSetStream_v2", 2)(handle, self.stream())
        if status:
            raise RuntimeError(f"cuBLAS refused the stream with status {status}")
        return handle

    # Memory, in the order of the current stream's work

    def _keep_memory(self) -> None:
        """Let the driver's pool keep what is given back, which else goes back to the system whenever somebody waits."""
        pool, all_of_it = ctypes.c_void_p(), ctypes.c_uint64((1 << 64) - 1)
        _expect_success(self.do("cuDeviceGetDefaultMemPool", ctypes.addressof(pool), self.number))
        _expect_success(self.do("cuMemPoolSetAttribute", pool, _RELEASE_THRESHOLD, ctypes.addressof(all_of_it)))
        _POOLS.add(pool.value or 0)

    def allocate(self, size: int) -> int:
        """New memory, of at least one byte. Raises MemoryError where there is none left."""
        place = ctypes.c_void_p()
        status = self.do("cuMemAllocAsync", ctypes.addressof(place), max(size, 1), self.stream())
        if status == _NO_MEMORY:
            _free_cached()
            status = self.do("cuMemAllocAsync", ctypes.addressof(place), max(size, 1), self.stream())
        if status == _NO_MEMORY:
            raise MemoryError(f"Unable to allocate {size} bytes on {self.name}")
        _expect_success(status)
        return place.value or 0

    def free(self, address: int) -> None:
        """Give memory back."""
        _expect_success(self.do("cuMemFreeAsync", address, self.stream()))

    def freeing(self, address: int) -> Callable[[], object]:
        """What gives memory back later, in the order of the stream that is the current one now.

        Nothing is looked up or raised then: a finaliser calls it, perhaps as the process ends.
        """
        with self._device:
            stream = self._cuda.get_current_stream()
        context, popped = self.handle("context"), ctypes.c_void_p()
        push, free, pop = (_function(name, count) for name, count in _FREEING)

        def give_back() -> None:  # by whatever thread
            push(context)
            free(address, stream.ptr)
            pop(ctypes.addressof(popped))

        return give_back

    def copy_there(self, there: int, here: int, size: int) -> None:
        """Copy from the host's memory, which has been read when this returns."""
        _expect_success(self.do("cuMemcpyHtoDAsync_v2", there, here, size, self.stream()))

    def copy_here(self, here: int, there: int, size: int) -> None:
        """Copy to the host's memory, and wait for it."""
        _expect_success(self.do("cuMemcpyDtoHAsync_v2", here, there, size, self.stream()))
        self.synchronize()

    def copy_within(self, target: int, source: int, size: int) -> None:
        """Copy from the device's memory to itself."""
        _expect_success(self.do("cuMemcpyDtoDAsync_v2", target, source, size, self.stream()))

    def synchronize(self) -> None:
        """Wait for the work of the calling thread's stream."""
        _expect_success(self.do("cuStreamSynchronize", self.stream()))

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

    def copy_of(self, thing: Any) -> Any:
        """A copy on the host of an array of cupy's, and everything else as it is."""
        return _cupy().asnumpy(thing) if hasattr(thing, "__cuda_array_interface__") else thing

    def put(self, array: Any) -> Any:
        """A copy of an array of the host's, as one of cupy's."""
        with self._device:
            return _cupy().asarray(array)

    def do(self, name: str, *arguments: Any) -> int:
        """Call a function of the driver whose arguments are words; its status."""
        with self._device:
            return int(_function(name, len(arguments))(*arguments))

    def __enter__(self) -> None:
        self._device.__enter__()

    def __exit__(self, *error: object) -> None:
        self._device.__exit__(*error)


class Event:
    """A place in the work of a stream, for which other streams may wait; nothing before it is first recorded."""

    def __init__(self, device: Gpu) -> None:
        self._device = device
        place = ctypes.c_void_p()
        _expect_success(device.do("cuEventCreate", ctypes.addressof(place), _WITHOUT_TIMES))
        self._event = place.value or 0
        self._destroy = _function("cuEventDestroy_v2", 1)

    def record(self) -> None:
        """The event is here, in the calling thread's stream."""
        _expect_success(self._device.do("cuEventRecord", self._event, self._device.stream()))

    def wait(self) -> None:
        """Let the calling thread's stream wait for it."""
        _expect_success(self._device.do("cuStreamWaitEvent", self._device.stream(), self._event, 0))

    def __del__(self) -> None:
        if hasattr(self, "_destroy"):
            self._destroy(self._event)


@cache
def gpu(name: str) -> Gpu:
    """The GPU of that name, one object for each."""
    return Gpu(name)


@cache
def gpu_count() -> int:
    """How many GPUs there are that programs can run on; 0 without cupy."""
    try:
        return int(_cupy().cuda.runtime.getDeviceCount())
    except ImportError:
        return 0
    except Exception as error:
        if type(error).__name__ != "CUDARuntimeError":
            raise
        return 0


def why_no_gpu() -> str:
    """What to do where a GPU is wanted that there is not."""
    try:
        _cupy()
    except ImportError as error:
        return str(error)
    return f"cupy finds {gpu_count()} GPUs: jitflow.devices('cuda')"


def gpu_of_address(address: int) -> int:
    """The number of the GPU that memory at an address belongs to."""
    number = ctypes.c_int()
    _expect_success(_function("cuPointerGetAttribute", 3)(ctypes.addressof(number), _ORDINAL, address))
    return number.value


def address_on(module: Any, what: str) -> int:
    """What a context holds for a GPU: a kernel of a module, a function of the driver or of cuBLAS, 0 for a handle."""
    if what in _HANDLES:
        return 0
    if what == _RELIEVE:
        return _relieve()
    if what.startswith(_KERNEL):
        return int(module.get_function(what.removeprefix(_KERNEL)).ptr)
    return address_of(what)


def handle_of(symbol: str) -> tuple[str, str] | None:
    """The device and the handle that a call has to fill in for a symbol, if it is one."""
    device, _, what = symbol.partition(" ")
    return (device, what) if is_gpu(device) and what in _HANDLES else None


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


def _free_cached() -> None:
    """Give back what cupy and the driver keep for later, where there is no memory left."""
    _cupy().get_default_memory_pool().free_all_blocks()
    for pool in tuple(_POOLS):
        _function("cuMemPoolTrimTo", 2)(pool, 0)


@cache
def _relieve() -> int:
    """The same, as native code calls it."""
    called = ctypes.CFUNCTYPE(None)(_free_cached)
    make_immortal(called)
    return ctypes.cast(called, ctypes.c_void_p).value or 0


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


@cache
def _blas() -> ctypes.CDLL:
    """The library that cupy has loaded."""
    major = _cupy().cuda.runtime.runtimeGetVersion() // 1000
    return ctypes.CDLL(f"cublas64_{major}.dll" if sys.platform == "win32" else f"libcublas.so.{major}")


def _version(number: int) -> str:
    """A version as CUDA counts them: 12040 is 12.4."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _driver_version() -> str:
    """The version of the kernel's module, where the system tells it."""
    try:
        return Path("/sys/module/nvidia/version").read_text().strip()
    except OSError:
        return "unknown"


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
