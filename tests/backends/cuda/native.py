"""Runs whole programs for a GPU as a user's call would: the native host program, on what stands for the GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.lib.array_utils import byte_bounds

import jitflow
from jitflow.backends import cuda
from jitflow.backends.cuda import compile_to_cubin, print_program
from jitflow.backends.cuda.offload import offload
from jitflow.backends.llvm import compile_program
from jitflow.compilation.failures import failure_handler
from jitflow.ir.core import Function
from jitflow.ir.types import Variable
from jitflow.ir.verifier import verify
from jitflow.passes.expand.expand import expand
from jitflow.passes.lower import GPU, ResultPlace, lower
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from jitflow.runtime.entry.entry_device import DeviceSpecialisation
from jitflow.runtime.entry.plan import Plan, TupleOf
from jitflow.runtime.linked_symbols import link_symbols
from jitflow.runtime.native.cuda import gpu
from tests.backends.cuda.images import image_of
from tests.backends.cuda.ptx import PtxError
from tests.backends.cuda.stand_in import StandIn
from tests.execute import layouts_of

__all__ = ["GPUS", "Native", "OnDevice", "RealGpu"]


class RealGpu:
    """A GPU that is at hand, where tests have a `StandIn` elsewhere."""

    def installed(self) -> nullcontext[None]:
        """Nothing stands for anything."""
        return nullcontext()

    def array(self, content: Any) -> Any:
        """An array that lives on the device."""
        import cupy

        return cupy.asarray(content)

    def finish(self) -> None:
        """Wait for all that was asked for."""
        import cupy

        cupy.cuda.runtime.deviceSynchronize()


GPUS = [pytest.param(StandIn, id="stand-in"), pytest.param(RealGpu, id="gpu", marks=pytest.mark.cuda)]
"""What tests of whole programs run on."""


class OnDevice:
    """A Python function compiled for these arguments and ``device``, which is called as users call it.

    ``host`` may plant a fault in the host programs, which runs on a ``gpu``, with kernels for a kind of which that may
    not be. Options of `jitflow.function` follow.
    """

    def __init__(
        self, function: Any, *arguments: Any, host: Callable[[Function], Function] = lambda program: program,
        device: str | None = "cuda:0", gpu: type[StandIn] | type[RealGpu] = StandIn, architecture: str = "",
        **more: Any,
    ) -> None:  # fmt: skip
        self.architecture = architecture
        self.device: Any = gpu()
        self.host = host
        self.source = ""
        with self.installed():
            options = {"device": device, **more} if device else more
            self.function = function if hasattr(function, "_trace") and not device else jitflow.function(
                getattr(function, "__wrapped__", function), **options)  # fmt: skip
            self.function.compile(*arguments)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """What stands for the GPU is at hand."""

        def offloaded(program: Function, device: str) -> Function:
            done = self.host(offload(program, device))
            verify(done, "offload")
            return done

        def image(text: str, architecture: str) -> bytes:
            self.source = text
            return image_of(text, self.architecture or architecture.replace("sm", "compute"))

        compiler = compile_to_cubin if isinstance(self.device, RealGpu) else image
        with self.device.installed(), mock.patch.multiple(cuda, compile_to_cubin=compiler, offload=offloaded):
            yield

    def __call__(self, *arguments: Any) -> Any:
        with self.installed():
            try:
                return self.function(*arguments)
            finally:
                self.device.finish()

    def lost(self) -> int:
        """How many blocks of the device's memory nobody will give back, if that can be known."""
        if isinstance(self.device, RealGpu):
            return 0
        return len(self.device.blocks) - len(self.device.given)


class Native:
    """A tensor function compiled for ``cuda:0``, for the layout classes of arguments (C if there are none).

    ``source`` and ``host`` may plant a fault in the kernels' text or in the host program.
    """

    def __init__(
        self, function: Function, arguments: Sequence[Any] = (), *, source: Callable[[str], str] = str,
        host: Callable[[Function], Function] = lambda program: program,
    ) -> None:  # fmt: skip
        layouts = layouts_of(arguments) if arguments else ("C",) * len(function.parameters)
        attributes = MappingProxyType({**function.attributes, "layouts": layouts})
        self.function = function
        self.lowered = lower(run_passes(replace(function, attributes=attributes), FUSION_PIPELINE), GPU)
        self.host = host(offload(expand(self.lowered.host), "cuda:0"))
        verify(self.host, "offload")
        module = print_program(self.host)
        self.executable = compile_program(self.host, sites=module.sites)
        self.device = StandIn()
        with self.device.installed():
            modules = {"cuda:0": gpu("cuda:0").load(image_of(source(module.text), "compute_75"))}
            linked = link_symbols(self.executable.symbols, self.executable.sites, modules)
            plan = Plan((), (), (), 0, 0, TupleOf(()), gpus=("cuda:0",))
            self.program = DeviceSpecialisation(
                plan, handles=linked.handles, run=self.executable.address(), symbols=linked.addresses,
                raise_error=failure_handler(self.executable.sites), keep_alive=(self.executable, linked, modules),
            )  # fmt: skip

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """The results, copied to the host. Arrays that the program writes to are written to."""
        slots, places = [], []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                places.append(self._put(argument))
                slots += [places[-1], *argument.shape, *argument.strides]
            else:
                slots += _words(argument)
                places.append(0)
        given = (ctypes.c_uint64 * max(len(slots), 1))(*(slot & (1 << 64) - 1 for slot in slots))
        results = (ctypes.c_int64 * max(self.lowered.result_slots, 1))()
        found: tuple[Any, ...] = ()
        owned: set[int] = set()
        with self.device.installed():
            try:
                self.program.run_native(given, results)
                self.device.finish()
                found = tuple(self._result(place, results) for place in self._places())
                owned = {results[place.slot] for place in self.lowered.places if place.kind == "new"}
            except PtxError:  # a fault: nothing that is left means anything
                self.device.blocks.clear()
                raise
            except Exception:
                self._end(arguments, places, ())
                raise
        self._end(arguments, places, owned)
        return found

    def _end(self, arguments: Sequence[Any], places: Sequence[int], owned: Collection[int]) -> None:
        """What belongs to the caller goes; then there must be nothing left."""
        self.device.finish()
        self._take_back(arguments, places)
        for address in {*owned, *filter(None, places)}:
            self.device.blocks.pop(address >> 40)
        assert not self.device.blocks, "memory was lost"

    def _places(self) -> Sequence[ResultPlace]:
        """Those of the function's own results; behind them stand arrays that only own memory of others."""
        return self.lowered.places[: len(self.function.results)]

    def _put(self, array: Any) -> int:
        """Memory of the device with the bytes that an array spans; the address of its first element."""
        low, high = byte_bounds(array)
        content = np.ctypeslib.as_array((ctypes.c_uint8 * max(high - low, 1)).from_address(low))
        return self.device.new(content) + array.ctypes.data - low

    def _take_back(self, arguments: Sequence[Any], places: Sequence[int]) -> None:
        for argument, place, parameter in zip(arguments, places, self.function.parameters, strict=True):
            if isinstance(parameter.type, Variable) and argument.size:
                argument[...] = self._array(place, argument.shape, argument.dtype, argument.strides)

    def _array(self, address: int, dims: Sequence[int], dtype: Any, strides: Sequence[int]) -> Any:
        if 0 in dims:
            return np.empty(dims, dtype)
        block, part = self.device.bytes_at(address, 0)
        return np.ndarray(dims, dtype, block.content, part.start, strides).copy()

    def _result(self, place: Any, words: Any) -> Any:
        dtype = place.dtype.numpy
        if place.kind == "scalar":
            raw = bytes(words)[8 * place.slot :]
            return np.frombuffer(raw[: dtype.itemsize], dtype)[0]
        address, *numbers = words[place.slot : place.slot + 1 + 2 * place.rank]
        return self._array(address, numbers[: place.rank], dtype, numbers[place.rank :])


def _words(number: Any) -> list[int]:
    value = np.asarray(number)
    raw = value.tobytes().ljust(
        8 * -(-value.itemsize // 8), b"\xff" if value.dtype.kind == "i" and value < 0 else b"\0"
    )
    return [int.from_bytes(raw[at : at + 8], "little") for at in range(0, len(raw), 8)]
