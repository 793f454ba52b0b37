"""Small kernels and host programs, and a way to run them without the rest of jitflow."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitflow.backends.llvm import Executable, compile_program
from jitflow.ir.core import Builder, Function, Region, Value
from jitflow.ir.dtypes import DTYPES, DType
from jitflow.ir.types import Buffer, Index, Scalar, Type

INDEX = Index()
ERROR_SLOTS = 16
Build = Callable[..., Value]


class Kit(Builder):
    """A builder with short ways to say what kernels say all the time."""

    def constant(self, value: Any, type: Type = INDEX) -> Value:
        return self.make("constant", value=value, type=type)

    def nested(self, build: Callable[[], Sequence[Value]], *parameters: Value) -> Region:
        """A region of what ``build`` adds; what stood before stays."""
        before, self.ops = self.ops, []
        region = self.region(parameters, build())
        self.ops = before
        return region

    def loop(
        self, start: Value, stop: Value, step: int | Value, body: Callable[..., Sequence[Value]],
        *carried: Value,
    ) -> tuple[Value, ...]:  # fmt: skip
        """A ``for``; ``body(position, *carried)`` returns what is carried on."""
        position = Value(INDEX, "position")
        parameters = [position, *(Value(value.type) for value in carried)]
        region = self.nested(lambda: body(*parameters), *parameters)
        stride = self.constant(step) if isinstance(step, int) else step
        types = [value.type for value in carried]
        return self.add("for", start, stop, stride, *carried, types=types, regions=(region,))


def kernel(
    parameters: Sequence[Type], build: Callable[..., object], name: str = "kernel", **attributes: Any
) -> Function:
    """A kernel: ``build(kit, *parameters)`` adds its ops."""
    kit, values = Kit(), [Value(type) for type in parameters]
    build(kit, *values)
    return Function(name, kit.region(values, []), layer="loop", attributes=attributes)


def host(build: Callable[[Kit], object], *kernels: Function) -> Function:
    """A host program: ``build(kit)`` adds its ops."""
    kit = Kit()
    build(kit)
    return Function("program", kit.region([], []), layer="host", functions=tuple(kernels))


def launching(*kernels: Function) -> Function:
    """A host program that passes its arguments to kernels: the first ones to the first."""

    def build(kit: Kit) -> None:
        slot = 0
        for inner in kernels:
            values = []
            for parameter in inner.parameters:
                values.append(kit.make("argument", slot=slot, types=[parameter.type]))
                slot += 2 if str(parameter.type) == "c128" else 1
            kit.add("launch", *values, types=(), kernel=inner.name)

    return host(build, *kernels)


def mapping(build: Build, inputs: Sequence[DType], output: DType, lanes: int) -> Function:
    """A program of one `mapping_kernel`."""
    return launching(mapping_kernel(build, inputs, output, lanes))


def mapping_kernel(
    build: Build, inputs: Sequence[DType], output: DType, lanes: int, name: str = "kernel"
) -> Function:  # fmt: skip
    """A kernel over arrays: ``build(kit, *numbers)`` lane by lane, with a masked tail, or number by number."""

    def add(kit: Kit, *parameters: Value) -> None:
        *sources, target, count = parameters

        def turn(position: Value, *mask: Value) -> None:
            def offset(dtype: DType) -> Value:
                return kit.make("multiply", position, kit.constant(dtype.itemsize))

            numbers = [
                kit.make("read", source, offset(dtype), *mask, lanes=lanes)
                for source, dtype in zip(sources, inputs, strict=True)
            ]
            kit.add("write", target, offset(output), build(kit, *numbers), *mask)

        def whole(position: Value) -> Sequence[Value]:
            turn(position)
            return []

        def tail(position: Value) -> Sequence[Value]:
            turn(position, kit.make("lanes_below", kit.make("subtract", count, position), lanes=lanes))
            return []

        zero = kit.constant(0)
        if not lanes:
            kit.loop(zero, count, 1, whole)
            return
        full = kit.make("floor_divide", count, kit.constant(lanes))
        end = kit.make("multiply", full, kit.constant(lanes))
        kit.loop(zero, end, lanes, whole)
        kit.loop(end, count, lanes, tail)

    return kernel([*map(Buffer, inputs), Buffer(output), INDEX], add, name)


class Failed(Exception):
    """`run` returned a status that is not zero."""

    def __init__(self, status: int, error: np.ndarray[Any, Any]) -> None:
        super().__init__(f"status {status}, error slots {error.tolist()}")
        self.status, self.error = status, error


class Allocator:
    """Counts what is given and taken back, and fails when it is told to."""

    def __init__(self, fail_at: int = -1) -> None:
        self.live: dict[int, Any] = {}
        self.count = 0
        self.fail_at = fail_at
        self._allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(self.allocate)
        self._free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(self.free)
        self.problems: list[str] = []

    def allocate(self, nbytes: int) -> int | None:
        self.count += 1
        if self.count - 1 == self.fail_at or not 0 <= nbytes < 1 << 40:
            return None
        memory = ctypes.create_string_buffer(nbytes + 1)
        address = ctypes.addressof(memory)
        self.live[address] = (memory, nbytes)
        return address

    def free(self, address: int, nbytes: int) -> None:
        memory = self.live.pop(address, None)
        if memory is None or memory[1] != nbytes:
            self.problems.append(f"freed {address} with {nbytes} bytes, which was not allocated so")

    def pointers(self) -> list[int]:
        return [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in (self._allocate, self._free)]


def run(
    executable: Executable, arguments: Sequence[Any], results: int = 0, allocator: Allocator | None = None,
    symbols: Sequence[int] = (),
) -> np.ndarray[Any, Any]:  # fmt: skip
    """Call `run` with arrays, ints and NumPy scalars in slots, and return the result slots."""
    words: list[int] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            words.append(argument.ctypes.data)
        elif isinstance(argument, np.generic):
            words += np.frombuffer(argument.tobytes().ljust(-(-argument.nbytes // 8) * 8, b"\0"), np.int64).tolist()
        else:
            words.append(argument)
    slots = np.array([*words, 0], np.int64)
    output, error = np.zeros(max(results, 1), np.int64), np.zeros(ERROR_SLOTS, np.int64)
    allocator = allocator or Allocator()
    context = np.array([*allocator.pointers(), *symbols], np.int64)
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)(executable.address("run"))
    status = function(context.ctypes.data, slots.ctypes.data, output.ctypes.data, error.ctypes.data)
    assert not allocator.problems
    if status:
        raise Failed(status, error)
    return output


def map_together(
    builds: Sequence[Build], inputs: Sequence[np.ndarray[Any, Any]], output: DType, widths: Sequence[int],
    prepare: Callable[[Function], Function] = lambda program: program,
) -> list[tuple[np.ndarray[Any, Any], ...]]:  # fmt: skip
    """What each function gives for these arrays in each width: kernels of one program, which LLVM has sooner."""
    dtypes = [dtype_named(array.dtype) for array in inputs]
    kernels = [
        mapping_kernel(build, dtypes, output, lanes, f"kernel_{number}_{lanes}")
        for number, build in enumerate(builds)
        for lanes in widths
    ]
    results = [np.zeros(len(inputs[0]), output.numpy) for _ in kernels]
    executable = compile_program(prepare(launching(*kernels)))
    run(executable, [argument for result in results for argument in (*inputs, result, len(result))])
    return [tuple(results[number * len(widths) :][: len(widths)]) for number in range(len(builds))]


def map_arrays(build: Build, inputs: Sequence[np.ndarray[Any, Any]], output: DType, lanes: int) -> np.ndarray[Any, Any]:
    """What `mapping` gives for these arrays."""
    return map_together([build], inputs, output, [lanes])[0][0]


def dtype_named(dtype: np.dtype[Any]) -> DType:
    return next(candidate for candidate in DTYPES.values() if candidate.numpy == dtype)


_SPECIAL_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e-3, 7.25, -100.75]


def samples(dtype: DType, count: int = 67, seed: int = 0) -> np.ndarray[Any, Any]:
    """Numbers of a dtype: the awkward ones and random ones, in random order."""
    random = np.random.default_rng([seed, *dtype.name.encode()])
    if dtype.kind == "b":
        return random.integers(0, 2, count).astype(bool)
    if dtype.is_float:
        awkward = np.array(_SPECIAL_FLOATS, dtype.numpy)
        values = (random.standard_normal(count) * 10.0 ** random.integers(-3, 4, count)).astype(dtype.numpy)
    else:
        limits = np.iinfo(dtype.numpy)
        awkward = np.array([0, 1, 2, 3, 5, 7, limits.min, limits.max, limits.min + 1, limits.max - 1], dtype.numpy)
        if dtype.kind == "i":
            awkward = np.concatenate([awkward, np.array([-1, -2, -3, -7], dtype.numpy)])
        values = random.integers(limits.min, limits.max, count, dtype.numpy, endpoint=True)
    awkward = awkward[:count]
    values[: len(awkward)] = awkward
    return random.permutation(values)


def assert_same_bits(got: np.ndarray[Any, Any], expected: Any) -> None:
    """Equal dtypes and bits, but any NaN for a NaN."""
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype
    got, expected = np.ascontiguousarray(got), np.ascontiguousarray(expected)
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected)
        return
    both_nan = np.isnan(got) & np.isnan(expected)
    unsigned = np.dtype(f"u{expected.dtype.itemsize}")
    wrong = ~both_nan & (got.view(unsigned) != expected.view(unsigned))
    assert not wrong.any(), f"got {got[wrong][:5]}, expected {expected[wrong][:5]} at {np.nonzero(wrong)[0][:5]}"


def scalar_type(dtype: DType) -> Scalar:
    return Scalar(dtype)
