"""What stands for a GPU, its driver, cuBLAS and cupy on machines that have none.

Functions have the driver's signatures and are called by native code through their addresses. Memory is known by
addresses at which no process can have any, so that a host program which reads or writes it itself ends with a fault.
A stream is a list of work, which is done when somebody waits for the stream, one stream at a time: what is given to the
wrong stream, or read by the host without waiting, comes too late. Kernels are PTX, which `ptx.py` executes; all memory
begins as bytes that nobody has written.
"""

from __future__ import annotations

import ctypes
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from jitflow.runtime.native import cuda
from tests.backends.cuda.images import kernel_of
from tests.backends.cuda.ptx import Kernel, PtxError, run_on
from tests.backends.cuda.ptx_machine import DTYPES, MIDDLE, Array, Block
from tests.backends.cuda.stand_in_routines import Held, Routines

__all__ = ["DeviceArray", "StandIn"]

FIRST_KEY = 1 << 22
"""Addresses have their bit 62 set, which no address of a process has."""
BLAS, CONTEXT, STREAMS = 0xB1A5, 0xC7, 1 << 32
DEVICE_ORDINAL, RELEASE_THRESHOLD, POOL = 9, 4, 0xB001
BY_ANY_THREAD = ("cuCtx", "cuGetError", "cuEventDestroy", "cuPointer", "cuMemPool", "cublas")
ILLEGAL_ADDRESS, OUT_OF_MEMORY, INVALID_VALUE = 700, 2, 1

_P, _I, _U, _Z = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_int64
_GEMM = (_P, _I, _I, _Z, _Z, _Z, _P, _P, _Z, _P, _Z, _P, _P, _Z)
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuMemAllocAsync": (_P, ctypes.c_size_t, _P),
    "cuMemFreeAsync": (_P, _P),
    "cuMemcpyHtoDAsync_v2": (_P, _P, ctypes.c_size_t, _P),
    "cuMemcpyDtoHAsync_v2": (_P, _P, ctypes.c_size_t, _P),
    "cuMemcpyDtoDAsync_v2": (_P, _P, ctypes.c_size_t, _P),
    "cuStreamSynchronize": (_P,),
    "cuEventCreate": (_P, _U),
    "cuEventRecord": (_P, _P),
    "cuEventDestroy_v2": (_P,),
    "cuStreamWaitEvent": (_P, _P, _U),
    "cuDeviceGetDefaultMemPool": (_P, _P),
    "cuMemPoolSetAttribute": (_P, _I, _P),
    "cuMemPoolTrimTo": (_P, _P),
    "cuPointerGetAttribute": (_P, _I, _P),
    "cuCtxGetCurrent": (_P,),
    "cuCtxSetCurrent": (_P,),
    "cuCtxPushCurrent_v2": (_P,),
    "cuCtxPopCurrent_v2": (_P,),
    "cuLaunchKernel": (_P, *[_U] * 7, _P, _P, _P),
    "cuGetErrorString": (_I, _P),
    "cublasSetStream_v2": (_P, _P),
    **{f"cublas{letter}gemm_v2_64": _GEMM for letter in "SDCZ"},
}
_GEMM_TYPES = {"S": "f4", "D": "f8", "C": "c8", "Z": "c16"}
PROPERTIES = {"name": b"stand-in", "multiProcessorCount": 1, "totalGlobalMem": 1 << 30, "l2CacheSize": 1 << 20}
_TEXTS = {ILLEGAL_ADDRESS: b"an illegal memory access was encountered"}


class StandIn:
    """GPUs, one if nothing is said, with their driver.

    ``failures`` says which calls fail: the code by the name of the function and how often it was called before.
    """

    def __init__(self, count: int = 1) -> None:
        self.blocks: dict[int, Block] = {}
        """Memory as the work of the streams sees it."""
        self.streams: dict[int, list[Callable[[], None]]] = {}
        self.kernels: dict[int, Callable[[], Kernel]] = {}
        self.launched: set[str] = set()
        self.issued: list[tuple[str, int, int, Counter[str]]] = []
        """Of each launch the kernel, threads and bytes on the chip of a block, and what its warps did."""
        self.counts: Counter[str] = Counter()
        self.failures: dict[tuple[str, int], int] = {}
        self.fault: Exception | None = None
        """What went wrong first; real devices would go on with nonsense."""
        self.stream = 0x57
        self.count = count
        self._attached: defaultdict[int, list[int]] = defaultdict(list)
        self.owners: dict[int, int] = {}
        """The number of the GPU that has each block of memory."""
        self.events: dict[int, tuple[int, set[str]]] = {}
        """For each event the stream in which it was recorded last, and whether that has come to it."""
        self._lock = threading.RLock()
        self.blas_stream = 0
        self.given: list[int] = []
        """Memory of arrays that tests have put there."""
        self._to_host: set[Callable[[], None]] = set()
        """Work that writes to the host's memory, which may be gone later."""
        self._keys = FIRST_KEY
        self._functions = {name: self._function(name, types) for name, types in SIGNATURES.items()}
        self._loaded: list[Any] = []
        self.routines = Routines(self)

    # As cupy and the libraries

    @contextmanager
    def installed(self) -> Iterator[StandIn]:
        """Stand for cupy and the driver."""
        try:
            replaced = {"_cupy": self._cupy, "_cupyx": lambda: self.routines.cupyx, "address_of": self._address}
            with mock.patch.multiple(cuda, **replaced):
                self._forget()
                assert cuda.gpu_count() == self.count
                yield self
        finally:
            self._forget()

    def _forget(self) -> None:
        cuda.gpu.cache_clear()
        cuda.gpu_count.cache_clear()

    def _cupy(self) -> Any:
        names = SimpleNamespace(
            Device=lambda number: _Device(self, number),
            runtime=SimpleNamespace(
                getDeviceCount=lambda: self.count,
                getDeviceProperties=lambda number: PROPERTIES,
                driverGetVersion=lambda: 13000,
                runtimeGetVersion=lambda: 12090,
            ),
            function=SimpleNamespace(Module=lambda: _Module(self)),
            get_current_stream=lambda: SimpleNamespace(ptr=self.stream + STREAMS * (self.number or 0)),
            ExternalStream=self._using,
            UnownedMemory=lambda address, size, owner, device: (address, owner),
            MemoryPointer=lambda memory, offset: (memory[0] + offset, memory[1]),
        )
        pool = SimpleNamespace(free_all_blocks=lambda: self.counts.update(["free_all_blocks"]))
        return SimpleNamespace(
            cuda=names, ndarray=partial(DeviceArray, self), get_default_memory_pool=lambda: pool,
            **self.routines.functions,
        )  # fmt: skip

    @contextmanager
    def _using(self, stream: int, number: int) -> Iterator[None]:
        before, self.stream = self.stream, stream - STREAMS * number
        try:
            yield
        finally:
            self.stream = before

    def attached(self) -> list[int]:
        """The numbers of the GPUs for which the thread calls the driver, the last of them now.

        Python forgets what it knows of a native thread whenever that has called it.
        """
        return self._attached[threading.get_native_id()]

    @property
    def number(self) -> int | None:
        """Of the GPU for which the thread calls the driver, if it does."""
        return self.attached()[-1] if self.attached() else None

    def array(self, content: Array, number: int = 0) -> DeviceArray:
        """An array that lives on the device."""
        there = DeviceArray(self, content.shape, content.dtype, (self.new(np.ascontiguousarray(content)), None), None)
        self.given.append(there.address)
        self.owners[there.address >> 40] = number
        return there

    def _address(self, name: str) -> int:
        return ctypes.cast(self._functions[name], ctypes.c_void_p).value or 0

    def handle_of(self, kernel: Callable[[], Kernel]) -> int:
        """A handle by which the kernel can be launched, which is asked for then."""
        handle = 0xC0DE00 + len(self.kernels)
        self.kernels[handle] = kernel
        return handle

    def _function(self, name: str, types: Sequence[Any]) -> Any:
        multiply = self._multiply(name) if name.endswith("gemm_v2_64") else None

        def called(*arguments: Any) -> int:
            with self._lock:
                number = self.counts[name]
                self.counts[name] += 1
                if (name, number) in self.failures:
                    return self.failures[name, number]
                try:
                    if (
                        not name.startswith(
                            ("cuCtx", "cuGetError", "cuEventDestroy", "cuPointer", "cuMemPool", "cublas")
                        )
                        and self.number is None
                    ):
                        raise PtxError(f"{name} is called by a thread that the driver knows nothing of")
                    act = multiply or getattr(self, "_" + name)
                    return int(act(*arguments) or 0)
                except Exception as error:
                    return self._note(error)

        return ctypes.CFUNCTYPE(ctypes.c_int, *types)(called)

    def _note(self, error: Exception) -> int:
        self.fault = self.fault or error
        return ILLEGAL_ADDRESS

    # Memory

    def new(self, content: Array) -> int:
        """The address of new memory with these bytes, as an argument of a program has it."""
        self._keys += 1
        self.blocks[self._keys] = Block(content.reshape(-1).view(np.uint8).copy(), np.ones(content.nbytes, np.bool_))
        return (self._keys << 40) + MIDDLE

    def bytes_at(self, address: int, size: int) -> tuple[Block, slice]:
        """The memory at an address, and which part of it."""
        block, start = self.blocks.get(address >> 40), (address & ((1 << 40) - 1)) - MIDDLE
        if block is None or start < 0 or start + size > block.content.size:
            raise PtxError("a copy from or to memory that is not there")
        return block, slice(start, start + size)

    def free(self, address: int) -> None:
        """Give memory back."""
        self._free(address or 0)

    def _free(self, address: int) -> None:
        block, part = self.bytes_at(address, 0)
        if part.start:
            raise PtxError("memory is given back that begins elsewhere")
        assert self.blocks.pop(address >> 40) is block

    def _later(self, stream: int | None, work: Callable[[], None]) -> None:
        with self._lock:
            self.streams.setdefault(stream or 0, []).append(work)

    def refuse(self, name: str, number: int, code: int, times: int = 1) -> None:
        """Give a code at calls of a function, from the one with a number on, counted from now."""
        start = self.counts[name] + number
        self.failures.update({(name, start + turn): code for turn in range(times)})

    def recover(self) -> None:
        """Refuse nothing any more. Nobody waits for copies of a call that was refused: they had ended at once."""
        self.failures.clear()
        with self._lock:
            for work in self.streams.values():
                work[:] = [step for step in work if step not in self._to_host]

    def finish(self) -> None:
        """Do what is left of all streams; raises what went wrong since the last time."""
        if any(step in self._to_host for work in self.streams.values() for step in work):
            self.streams.clear()
            self._note(PtxError("a copy to the host that nobody has waited for"))
        for stream in list(self.streams):
            self._cuStreamSynchronize(stream)
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault

    # The driver

    def _cuMemAllocAsync(self, place: int, size: int, stream: int | None) -> int:
        if not size:
            return INVALID_VALUE
        self._keys += 1
        key = self._keys
        ctypes.c_uint64.from_address(place).value = (key << 40) + MIDDLE
        self.owners[key] = self.number or 0

        def allocate() -> None:
            self.blocks[key] = Block(np.full(size, 0xCD, np.uint8), np.zeros(size, np.bool_))

        self._later(stream, allocate)
        return 0

    def _cuMemFreeAsync(self, address: int, stream: int | None) -> None:
        self._later(stream, lambda: self._free(address))

    def _cuMemcpyHtoDAsync_v2(self, target: int, source: int, size: int, stream: int | None) -> None:
        content = np.frombuffer(ctypes.string_at(source, size), np.uint8)

        def write() -> None:
            block, part = self.bytes_at(target, size)
            block.content[part] = content
            assert block.written is not None
            block.written[part] = True

        self._later(stream, write)

    def _cuMemcpyDtoHAsync_v2(self, target: int, source: int, size: int, stream: int | None) -> None:
        def read() -> None:
            block, part = self.bytes_at(source, size)
            ctypes.memmove(target, block.content[part].tobytes(), size)

        self._to_host.add(read)
        self._later(stream, read)

    def _cuMemcpyDtoDAsync_v2(self, target: int, source: int, size: int, stream: int | None) -> None:
        def copy() -> None:
            (old, from_), (new, to) = self.bytes_at(source, size), self.bytes_at(target, size)
            assert old.written is not None
            assert new.written is not None
            new.content[to], new.written[to] = old.content[from_], old.written[from_]

        self._later(stream, copy)

    def _cuStreamSynchronize(self, stream: int | None) -> int:
        with self._lock:
            for step in self.streams.pop(stream or 0, []):
                try:
                    step()
                except Exception as error:
                    self._note(error)
            return ILLEGAL_ADDRESS if self.fault else 0

    def _cuLaunchKernel(self, handle: int, *given: Any) -> int:
        gx, gy, gz, bx, by, bz, shared, stream, places, extra = given
        if 0 in (gx, gy, gz, bx, by, bz) or bx * by * bz > 1024 or max(gy, gz) > 65535 or extra:
            return INVALID_VALUE
        kernel = self.kernels[handle]()
        if shared + sum(size for size in kernel.shared.values() if size > 0) > 48 << 10:
            return INVALID_VALUE
        self.launched.add(kernel.name)
        arguments = {}
        for number, (name, type) in enumerate(kernel.parameters.items()):
            place = ctypes.c_uint64.from_address(places + 8 * number).value
            dtype = np.dtype(DTYPES[type])
            arguments[name] = np.frombuffer(ctypes.string_at(place, dtype.itemsize), dtype)[0]
            address = int(arguments[name]) if dtype.kind in "iu" else 0
            if self.owners.get(address >> 40, self.number) != self.number:
                raise PtxError("a kernel gets memory of another GPU")

        def run() -> None:
            done = run_on(self.blocks, kernel, arguments, (gx, gy, gz), (bx, by, bz), shared)
            self.issued.append((kernel.name, bx * by * bz, shared, done))

        self._later(stream, run)
        return 0

    def _cuDeviceGetDefaultMemPool(self, place: int, number: int) -> None:
        ctypes.c_uint64.from_address(place).value = POOL + (number or 0)

    def _cuMemPoolSetAttribute(self, pool: int, attribute: int, place: int) -> int:
        assert (ctypes.c_uint64.from_address(place).value, attribute) == ((1 << 64) - 1, RELEASE_THRESHOLD)
        return 0

    def _cuMemPoolTrimTo(self, pool: int, least: int) -> None:
        pass

    def _cuEventCreate(self, place: int, flags: int) -> None:
        event = ctypes.c_uint64.from_address(place).value = 0xE000 + self.counts["cuEventCreate"]
        self.events[event] = (0, {"reached"})

    def _cuEventDestroy_v2(self, event: int) -> None:
        del self.events[event]

    def _cuEventRecord(self, event: int, stream: int | None) -> None:
        state: set[str] = set()
        self.events[event] = (stream or 0, state)
        self._later(stream, lambda: state.add("reached"))

    def _cuStreamWaitEvent(self, stream: int | None, event: int, flags: int) -> None:
        other, state = self.events[event]

        def wait() -> None:
            while not state and other != (stream or 0):
                self.streams[other].pop(0)()

        self._later(stream, wait)

    def _cuCtxGetCurrent(self, place: int) -> int:
        ctypes.c_uint64.from_address(place).value = 0 if self.number is None else CONTEXT + self.number
        return 0

    def _cuCtxSetCurrent(self, context: int | None) -> int:
        if not CONTEXT <= (context or 0) < CONTEXT + self.count:
            return INVALID_VALUE
        self.attached().append((context or 0) - CONTEXT)
        return 0

    def _cuPointerGetAttribute(self, place: int, attribute: int, address: int) -> int:
        ctypes.c_int.from_address(place).value = self.owners[address >> 40]
        return 0 if attribute == DEVICE_ORDINAL else INVALID_VALUE

    def _cuCtxPushCurrent_v2(self, context: int | None) -> int:
        return self._cuCtxSetCurrent(context)

    def _cuCtxPopCurrent_v2(self, place: int) -> None:
        self.attached().pop()

    def _cuGetErrorString(self, code: int, place: int) -> int:
        if code not in _TEXTS:
            return INVALID_VALUE
        ctypes.c_char_p.from_address(place).value = _TEXTS[code]
        return 0

    # cuBLAS

    def _cublasSetStream_v2(self, handle: int, stream: int | None) -> int:
        self.blas_stream = stream or 0
        return int(handle != BLAS)

    def _multiply(self, name: str) -> Callable[..., int]:
        dtype = np.dtype(_GEMM_TYPES[name[6]])

        def multiply(handle: int, left_flag: int, right_flag: int, m: int, n: int, k: int, *rest: Any) -> int:
            alpha, a, lda, b, ldb, beta, c, ldc = rest
            if handle != BLAS or min(m, n, k) < 0 or min(lda, ldb, ldc) < 1 or {left_flag, right_flag} - {0, 1}:
                return INVALID_VALUE
            factor, rest_factor = (np.frombuffer(ctypes.string_at(p, dtype.itemsize), dtype)[0] for p in (alpha, beta))

            def work() -> None:
                left, known = self._matrix(dtype, a, lda, *((k, m) if left_flag else (m, k)))
                right, also = self._matrix(dtype, b, ldb, *((n, k) if right_flag else (k, n)))
                target, written = self._matrix(dtype, c, ldc, m, n)
                product = factor * ((left.T if left_flag else left) @ (right.T if right_flag else right))
                target[...] = product if rest_factor == 0 else product + rest_factor * target
                written[...] = known.all() and also.all() and bool(rest_factor == 0 or written.all())

            self._later(self.blas_stream, work)
            return 0

        return multiply

    def _matrix(self, dtype: Any, address: int, leading: int, rows: int, columns: int) -> tuple[Array, Array]:
        """A column-major matrix in memory, and which of its bytes have been written: the library looks at none."""
        if not rows or not columns:
            return np.zeros((rows, columns), dtype), np.ones(0, np.bool_)
        block, part = self.bytes_at(address, ((columns - 1) * leading + rows) * dtype.itemsize)
        strides = (dtype.itemsize, leading * dtype.itemsize)
        assert block.written is not None
        written = np.ndarray((rows, columns, dtype.itemsize), np.bool_, block.written, part.start, (*strides, 1))
        return np.ndarray((rows, columns), dtype, block.content, part.start, strides), written


class DeviceArray(NDArrayOperatorsMixin):
    """As cupy's arrays: ``memory`` is the address of the first element, and what owns it.

    Operators and methods work on what the current stream makes of it.
    """

    def __init__(
        self, device: StandIn, shape: Sequence[int], dtype: Any, memory: tuple[int, Any], strides: Any
    ) -> None:
        self.device, self.shape, self.dtype = device, tuple(shape), np.dtype(dtype)
        self.address, self.owner = memory
        self.strides = tuple(np.empty(shape, dtype).strides if strides is None else strides)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "strides": self.strides,
            "version": 3,
        }  # fmt: skip

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        held = [item.content() if isinstance(item, DeviceArray) else item for item in inputs]
        return getattr(ufunc, method)(*held, **kwargs)

    def __array__(self, *arguments: Any, **keywords: Any) -> Array:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("ndim", "size", "nbytes"):
            return getattr(np.broadcast_to(np.empty((), self.dtype), self.shape), name)
        return getattr(self.content(), name)

    def __setitem__(self, key: Any, value: Any) -> None:
        assert key is Ellipsis
        content = value.content() if isinstance(value, DeviceArray) else value
        assert isinstance(content, Held)
        assert (content.dtype, content.shape) == (self.dtype, self.shape)

        def write() -> None:
            there, written = self._memory()
            there[...], written[...] = content, True

        self.device._later(self.device.stream, write)

    def content(self) -> Held:
        """What the elements are when the current stream has come so far."""
        self.device._cuStreamSynchronize(self.device.stream)
        content, written = self._memory()
        if not written.all():
            raise PtxError("a function of cupy reads what nobody has written")
        return content.copy().view(Held)

    def _memory(self) -> tuple[Array, Array]:
        """The elements, and which of their bytes have been written."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype), np.ones(0, np.bool_)
        block, part = self.device.bytes_at(self.address, 0)
        assert block.written is not None
        shape, strides = (*self.shape, self.dtype.itemsize), (*self.strides, 1)
        written = np.ndarray(shape, np.bool_, block.written, part.start, strides)
        return np.ndarray(self.shape, self.dtype, block.content, part.start, self.strides), written

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice):
            return self.content()[key]
        start, stop, step = key.indices(self.shape[0])
        shape = (len(range(start, stop, step)), *self.shape[1:])
        strides = (self.strides[0] * step, *self.strides[1:])
        address = self.address + start * self.strides[0]
        return DeviceArray(self.device, shape, self.dtype, (address, self), strides)

    def get(self) -> Array:
        """A copy on the host, of what was done so far."""
        self.device.finish()
        return self._memory()[0].copy()


class _Device:
    """As cupy's device: in a ``with`` it is the one for which the thread calls the driver."""

    compute_capability, cublas_handle = "75", BLAS

    def __init__(self, gpu: StandIn, number: int) -> None:
        self._gpu, self._number = gpu, number

    def __enter__(self) -> None:
        self._gpu.attached().append(self._number)

    def __exit__(self, *error: object) -> None:
        self._gpu.attached().pop()


class _Module:
    """As cupy's: source stands for machine code."""

    def __init__(self, gpu: StandIn) -> None:
        self._gpu = gpu
        self._image = b""

    def load(self, image: bytes) -> None:
        self._image = image

    def get_function(self, name: str) -> Any:
        assert f" {name}(".encode() in self._image
        return SimpleNamespace(ptr=self._gpu.handle_of(partial(kernel_of, self._image, name)))
