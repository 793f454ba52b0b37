"""The entry of a program that runs on a GPU: the plan of the Python entry, carried out with memory of the device.

Arrays that live on the device, cupy's or whatever has ``__cuda_array_interface__``, stay there. NumPy's are put there
for the time of the call, as they lie; those that the program writes to are written to again when it has ended, in a
call that raises too, while Variables stay as they were then. New arrays are cupy's if an argument lives on the device,
else NumPy's: each program gets back what it would without the compiler. A view is of the same kind as what it shows.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from jitflow.errors import UserNotImplementedError
from jitflow.ir.dtypes import dtype_of
from jitflow.runtime import plan as p
from jitflow.runtime.cuda import DeviceProgram, Gpu
from jitflow.runtime.dtypes import numpy_dtype
from jitflow.runtime.entry_python import (
    Binding,
    ResultBuilder,
    Slots,
    array_fits,
    guard_function,
    run_alone,
    variables_of,
    wrap,
)
from jitflow.runtime.pool import pool
from jitflow.runtime.specialisation import NOT_MATCHED

__all__ = ["DeviceSpecialisation", "header_of", "traceable"]

_ALIGNED_WRITEABLE = 0x0100 | 0x0400


@dataclass(frozen=True, eq=False)
class DeviceSpecialisation:
    """A plan with the program on a GPU that fulfils it, and the address of its guard (0: none)."""

    plan: p.Plan
    program: DeviceProgram
    guard: int = 0

    def call(self, arguments: tuple[Any, ...]) -> Any:
        """Call with flat arguments; `NOT_MATCHED` when they do not fit."""
        binding = _DeviceBinding(self.plan)
        if not binding.bind(arguments) or (self.guard and not guard_function(self.guard)(binding.slots)):
            return NOT_MATCHED
        variables = variables_of(self.plan, binding)
        run = partial(self._run, binding)
        return run() if variables is None else run_alone(variables, run)

    def _run(self, binding: _DeviceBinding) -> Any:
        device = self.program.device
        memory = _Memory(device)
        results = (ctypes.c_int64 * max(self.plan.result_slots, 1))()
        slots = type(binding.slots).from_buffer_copy(binding.slots)
        variables = {use.slot: use.writes for use in self.plan.uses}
        written = [(leaf.slot, array) for leaf, array in binding.arrays if variables.get(leaf.slot, leaf.writeable)]
        try:
            _require_apart([(array, leaf.writeable) for leaf, array in binding.arrays])
            for leaf, array in binding.arrays:
                slots[leaf.slot] = memory.lend(array)
            try:
                self.program(slots, results)
            except BaseException:
                memory.take_back(array for slot, array in written if slot not in variables)
                raise
            memory.take_back(array for _, array in written)
            stays = binding.lives_there
            return _DeviceBuilder(self.plan, binding, results, memory, stays=stays).build()
        finally:
            memory.release()


def header_of(thing: Any) -> np.ndarray[Any, Any] | None:
    """What an array of the device looks like, as a NumPy array whose elements nobody may touch; None for others."""
    interface = getattr(thing, "__cuda_array_interface__", None)
    if interface is None:
        return None
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    known = dtype_of(dtype)
    if known is None:
        return None
    strides = interface.get("strides") or tuple(
        math.prod(shape[axis + 1 :]) * dtype.itemsize for axis in range(len(shape))
    )
    address, read_only = interface["data"]
    words = (ctypes.c_int64 * (1 + 2 * len(shape)))(address or dtype.itemsize, *shape, *strides)
    return wrap(p.NewArray(0, known.name, len(shape)), words, 0x0100 if read_only else _ALIGNED_WRITEABLE)


def traceable(thing: Any) -> Any:
    """What a program can be traced with in the place of an array of the device: one of NumPy's that looks like it."""
    header = header_of(thing)
    if header is None:
        return thing
    low, high = byte_bounds(header)
    start = header.ctypes.data - low
    return np.ndarray(header.shape, header.dtype, np.empty(max(high - low, 1), np.uint8), start, header.strides)


def _require_apart(arrays: list[tuple[np.ndarray[Any, Any], bool]]) -> None:
    """Each array gets memory of its own there, so what one of them shows another must not write."""
    for number, (array, written) in enumerate(arrays):
        for other, also in arrays[:number]:
            if (written or also) and np.shares_memory(array, other):
                raise UserNotImplementedError(
                    "NumPy arrays that overlap and are written to, on a GPU",
                    mend="pass copies, or arrays that live on the GPU",
                )


class _DeviceBinding(Binding):
    """The registers and slots of one call, some of them arrays of the device."""

    def __init__(self, plan: p.Plan) -> None:
        super().__init__(plan)
        self.arrays: list[tuple[p.ArrayLeaf, np.ndarray[Any, Any]]] = []
        """The arrays that lie in the host's memory."""
        self.lives_there = False
        """Whether there are others."""

    def _fitting(self, leaf: p.ArrayLeaf, array: Any) -> Any:
        header = header_of(array)
        if header is None and array_fits(leaf, array):
            self.arrays.append((leaf, array))
            return array
        if header is not None and array_fits(leaf, header):
            self.lives_there = True
            return header
        return None


@dataclass(eq=False)
class _Span:
    """A piece of the device's memory that stands for one of the host's."""

    there: int
    here: int
    size: int


@dataclass(eq=False)
class _Memory:
    """What lies on the device for the time of a call."""

    device: Gpu
    spans: list[_Span] = field(default_factory=list)
    own: list[int] = field(default_factory=list)

    def lend(self, array: np.ndarray[Any, Any]) -> int:
        """Put an array there, with the gaps that it has; the address of its first element."""
        low, high = byte_bounds(array)
        span = _Span(self.device.allocate(high - low), low, high - low)
        self.own.append(span.there)
        self.spans.append(span)
        self.device.copy_there(span.there, low, span.size)
        return span.there + array.ctypes.data - low

    def take_back(self, arrays: Iterator[np.ndarray[Any, Any]]) -> None:
        """Write what the program has written into the host's arrays, and nothing between their elements."""
        for array in arrays:
            low, high = byte_bounds(array)
            span = next(span for span in self.spans if span.here == low and span.size == high - low)
            content = np.empty(span.size, np.uint8)
            self.device.copy_here(content.ctypes.data, span.there, span.size)
            if array.size:
                start = array.ctypes.data - low
                array[...] = np.ndarray(array.shape, array.dtype, content, start, array.strides)

    def bring(self, address: int, size: int) -> int:
        """Make memory of the program's a block of the host's pool; the address of that."""
        allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(pool().allocate_address)
        block: int | None = allocate(max(size, 1))
        if not block:
            raise MemoryError(f"Unable to allocate {size} bytes for an array")
        self.own.append(address)
        self.spans.append(_Span(address, block, size))
        self.device.copy_here(block, address, size)
        return block

    def here(self, address: int) -> int:
        """The address on the host of what lies at one of the device."""
        for span in self.spans:
            if span.there <= address < span.there + max(span.size, 1):
                return span.here + address - span.there
        return next((span.here + span.size for span in self.spans if address == span.there + span.size), address)

    def release(self) -> None:
        """Give everything back."""
        for address in self.own:
            self.device.free(address)
        self.own.clear()


class _DeviceBuilder(ResultBuilder):
    """Makes the result objects of one call. ``stays``: new arrays are cupy's."""

    def __init__(self, plan: p.Plan, binding: Binding, slots: Slots, memory: _Memory, *, stays: bool) -> None:
        super().__init__(plan, binding, slots)
        self._memory = memory
        self._stays = stays
        self._there = type(slots).from_buffer_copy(slots)
        """The addresses on the device."""

    def build(self) -> Any:
        """The result tree as Python objects."""
        if not self._stays:
            for leaf in p.new_arrays(self._plan).values():
                dims = self._slots[leaf.slot + 1 : leaf.slot + 1 + leaf.rank]
                size = math.prod(dims) * numpy_dtype(leaf.dtype).itemsize
                self._slots[leaf.slot] = self._memory.bring(self._there[leaf.slot], size)
        return super().build()

    def _take_over(self, leaf: p.NewArray) -> Any:
        if not self._stays:
            return super()._take_over(leaf)
        owner = _Owner(self._memory.device, self._there[leaf.slot])
        return self._array_there(leaf, owner)

    def _array_there(self, node: p.ArrayResult, owner: Any) -> Any:
        dims = self._there[node.slot + 1 : node.slot + 1 + node.rank]
        strides = self._there[node.slot + 1 + node.rank : node.slot + 1 + 2 * node.rank]
        return self._memory.device.array(self._there[node.slot], dims, numpy_dtype(node.dtype), strides, owner)

    def _view_of_argument(self, node: p.ViewOfArgument, base: Any) -> Any:
        if header_of(base) is not None:
            return self._array_there(node, base)
        self._slots[node.slot] = self._memory.here(self._there[node.slot])
        return super()._view_of_argument(node, base)

    def _view_of_result(self, node: p.ViewOfResult, leaf: int) -> Any:
        if self._stays:
            return self._array_there(node, self._arrays[leaf])
        self._slots[node.slot] = self._memory.here(self._there[node.slot])
        return super()._view_of_result(node, leaf)


class _Owner:
    """Gives a program's memory back when the last array that shows it goes."""

    def __init__(self, device: Gpu, address: int) -> None:
        self._free: Callable[[], object] = device.freeing(address)

    def __del__(self) -> None:
        self._free()
