"""The entry of a program that runs on GPUs, perhaps with the CPU: the plan, carried out with memory of theirs.

Arrays that live on a GPU, cupy's or whatever has ``__cuda_array_interface__``, stay there. NumPy's that the program
wants on one are put there for the time of the call, as they lie; those that it writes to are written to again when it
has ended, in a call that raises too, while Variables stay as they were then. Arrays that a GPU makes are cupy's if an
argument lives on one, and NumPy scalars then arrays without dims, else NumPy's: each program gets back what it would
without the compiler. A view is of the same kind as what it shows.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from jitflow.errors import UserNotImplementedError
from jitflow.records import dataclass
from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.device_arrays import gpu_of, header_of
from jitflow.runtime.entry.entry_python import Binding, guard_function, run_alone, run_function, variables_of
from jitflow.runtime.entry.plan import ERROR_SLOTS
from jitflow.runtime.entry.python_guards import array_fits
from jitflow.runtime.entry.python_results import ResultBuilder, Slots, pool_free
from jitflow.runtime.entry.specialisation import NOT_MATCHED, Specialisation
from jitflow.runtime.native.cuda import PER_THREAD_STREAM, Gpu, gpu
from jitflow.runtime.native.dtypes import numpy_dtype
from jitflow.runtime.native.pool import pool
from jitflow.runtime.residents import Resident

__all__ = ["DeviceSpecialisation"]

_FIRST_SYMBOL = 2
"""The slot of a context in which its symbols begin."""


class DeviceSpecialisation(Specialisation):
    """A specialisation whose program runs on GPUs. ``handles`` are what calls fill into its context."""

    def __init__(self, plan: p.Plan, *, handles: Mapping[int, tuple[str, str]], **given: Any) -> None:
        super().__init__(plan, **given)
        self._handles = handles

    def call(self, arguments: tuple[Any, ...]) -> Any:
        """Call with flat arguments; `NOT_MATCHED` when they do not fit."""
        binding = _DeviceBinding(self.plan)
        if not binding.bind(arguments):
            return NOT_MATCHED
        if self.guard_address and not guard_function(self.guard_address)(binding.slots):
            return NOT_MATCHED
        variables = variables_of(self.plan, binding)
        self.count_hit()
        run = partial(self._run, binding)
        return run() if variables is None else run_alone(variables, run)

    def _run(self, binding: _DeviceBinding) -> Any:
        memory = {name: _Memory(gpu(name)) for name in self.plan.gpus}
        results = (ctypes.c_int64 * max(self.plan.result_slots, 1))()
        slots = type(binding.slots).from_buffer_copy(binding.slots)
        variables = {use.slot: use.writes for use in self.plan.uses}
        lent = [(leaf, array, memory[self.plan.wanted[leaf.slot]]) for leaf, array in binding.lent]
        written = [(leaf.slot, array, there) for leaf, array, there in lent
                   if variables.get(leaf.slot, leaf.writeable)]  # fmt: skip
        with ExitStack() as left:
            for there in memory.values():
                left.callback(there.release)
            for leaf, array, there in lent:
                slots[leaf.slot] = there.lend(array)
            try:
                with ExitStack() as residents:  # behind other calls that use the same variables, on whatever streams
                    for resident in binding.residents.values():
                        resident.begin()
                        residents.callback(resident.end)
                    self.run_native(slots, results)
                    builder = _DeviceBuilder(self.plan, binding, results, memory)
                    left.callback(builder.release)
            except BaseException:
                _take_back([(array, there) for slot, array, there in written if slot not in variables])
                raise
            _take_back([(array, there) for _, array, there in written])
            return builder.build()

    def run_native(self, slots: Slots, results: Slots) -> None:
        """Run on the words of arguments, for those of results. It returns as soon as the host needs nothing more."""
        context = type(self.context).from_buffer_copy(self.context)
        for place, (device, what) in self._handles.items():
            context[_FIRST_SYMBOL + place] = handle = gpu(device).handle(what)
            if handle == PER_THREAD_STREAM and what == "stream" and self.plan.releases_gil_bytes == -1:
                raise UserNotImplementedError(
                    "a program that is split over devices, on a stream that each thread has of its own",
                    mend="call it on a stream that you make: with cupy.cuda.Stream(): ...",
                )
        error = (ctypes.c_int64 * ERROR_SLOTS)()
        with gpu(self.plan.gpus[0]):
            status = run_function(self.run_address, True)(ctypes.addressof(context), slots, results, error)
        if status:
            self.raise_error(status, ctypes.addressof(error))


class _DeviceBinding(Binding):
    """The registers and slots of one call, some of them arrays of GPUs."""

    def __init__(self, plan: p.Plan) -> None:
        super().__init__(plan)
        self.lent: list[tuple[p.ArrayLeaf, np.ndarray[Any, Any]]] = []
        """The arrays of the host that the program wants on a GPU."""
        self.lives = ""
        """The GPU on which an array lives that is given, if one does."""
        self.residents: dict[int, Resident] = {}
        """The variables that live on GPUs, by their slots."""

    def _fitting(self, leaf: p.ArrayLeaf, array: Any) -> Any:
        if leaf.lives:
            header = header_of(array)
            fits = header is not None and array_fits(leaf, header) and gpu_of(array) == leaf.lives
            if isinstance(array, Resident):
                self.residents[leaf.slot] = array
            else:
                self.lives = self.lives or leaf.lives
            return header if fits else None
        if array_fits(leaf, array):
            if leaf.slot in self.plan.wanted:
                self.lent.append((leaf, array))
            return array
        return None

    def lock_of(self, slot: int) -> int:
        return self.residents[slot].header if slot in self.residents else super().lock_of(slot)


@dataclass(eq=False)
class _Span:
    """A piece of a GPU's memory that stands for one of the host's."""

    there: int
    here: int
    size: int


@dataclass(eq=False)
class _Memory:
    """What lies on a GPU for the time of a call."""

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

    def fetch(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What the program has left of an array of the host that was lent, between other bytes."""
        low, high = byte_bounds(array)
        span = next(span for span in self.spans if span.here == low and span.size == high - low)
        content = np.empty(span.size, np.uint8)
        self.device.copy_here(content.ctypes.data, span.there, span.size)
        return np.ndarray(array.shape, array.dtype, content, array.ctypes.data - low, array.strides)

    def bring(self, address: int, size: int) -> int:
        """Make memory of the program's a block of the host's pool; the address of that."""
        allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(pool().allocate_address)
        block: int | None = allocate(max(size, 1))
        if not block:
            raise MemoryError(f"Unable to allocate {size} bytes for an array")
        try:
            self.device.copy_here(block, address, size)
        except BaseException:
            pool_free()(block, 0)
            raise
        self.own.append(address)
        self.spans.append(_Span(address, block, size))
        return block

    def here(self, address: int) -> int | None:
        """The address on the host of what lies at one of the device; None if it stands for nothing of the host's."""
        for span in self.spans:
            if span.there <= address < span.there + max(span.size, 1):
                return span.here + address - span.there
        return next((span.here + span.size for span in self.spans if address == span.there + span.size), None)

    def release(self) -> None:
        """Give everything back."""
        for address in self.own:
            self.device.free(address)
        self.own.clear()


def _take_back(lent: list[tuple[np.ndarray[Any, Any], _Memory]]) -> None:
    """Write what the program has written into arrays of the host, into all or none, and nothing between elements."""
    found = [(array, there.fetch(array)) for array, there in lent if array.size]
    for array, content in found:
        array[...] = content


class _DeviceBuilder(ResultBuilder):
    """Makes the result objects of one call."""

    def __init__(self, plan: p.Plan, binding: _DeviceBinding, slots: Slots, memory: Mapping[str, _Memory]) -> None:
        super().__init__(plan, binding, slots)
        self._memory = memory
        self._lives = binding.lives
        self._there = type(slots).from_buffer_copy(slots)
        """The addresses on the devices."""

    def build(self) -> Any:
        """The result tree as Python objects."""
        if not self._lives:
            for leaf in self._new.values():
                if leaf.slot in self._plan.made:
                    dims = self._slots[leaf.slot + 1 : leaf.slot + 1 + leaf.rank]
                    size = math.prod(dims) * numpy_dtype(leaf.dtype).itemsize
                    self._slots[leaf.slot] = self._made_on(leaf).bring(self._there[leaf.slot], size)
        return super().build()

    def _made_on(self, leaf: p.NewArray) -> _Memory:
        return self._memory[self._plan.made[leaf.slot]]

    def _stays(self, leaf: p.NewArray) -> bool:
        return bool(self._lives) and leaf.slot in self._plan.made

    def _take_over(self, leaf: p.NewArray) -> Any:
        if not self._stays(leaf):
            return super()._take_over(leaf)
        device = self._made_on(leaf).device
        owner = _Owner(device, self._there[leaf.slot])
        self._taken.add(leaf.slot)
        return self._array_there(leaf, device, owner)

    def _give_back(self, leaf: p.NewArray) -> None:
        if leaf.slot in self._plan.made and self._slots[leaf.slot] == self._there[leaf.slot]:
            self._taken.add(leaf.slot)
            self._made_on(leaf).device.free(self._there[leaf.slot])
        else:
            super()._give_back(leaf)

    def _array_there(self, node: p.ArrayResult, device: Gpu, owner: Any) -> Any:
        dims = self._there[node.slot + 1 : node.slot + 1 + node.rank]
        strides = self._there[node.slot + 1 + node.rank : node.slot + 1 + 2 * node.rank]
        return device.array(self._there[node.slot], dims, numpy_dtype(node.dtype), strides, owner)

    def _view_of_argument(self, node: p.ViewOfArgument, base: Any) -> Any:
        if header_of(base) is not None:
            return self._array_there(node, gpu(gpu_of(base)), base)
        places = (memory.here(self._there[node.slot]) for memory in self._memory.values())
        self._slots[node.slot] = next((place for place in places if place is not None), self._there[node.slot])
        return super()._view_of_argument(node, base)

    def _view_of_result(self, node: p.ViewOfResult, leaf: int) -> Any:
        whole = self._new[leaf]
        if self._stays(whole):
            return self._array_there(node, self._made_on(whole).device, self._arrays[leaf])
        if whole.slot in self._plan.made:
            place = self._made_on(whole).here(self._there[node.slot])
            self._slots[node.slot] = self._there[node.slot] if place is None else place
        return super()._view_of_result(node, leaf)

    def _number(self, node: p.NumpyScalar) -> Any:
        number = super()._number(node)
        return gpu(self._lives).put(np.asarray(number)) if self._lives else number


class _Owner:
    """Gives a program's memory back when the last array that shows it goes."""

    def __init__(self, device: Gpu, address: int) -> None:
        self._free: Callable[[], object] = device.freeing(address)

    def __del__(self) -> None:
        self._free()
