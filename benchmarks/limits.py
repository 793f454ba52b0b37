"""What the cores of a process could do at best: the bandwidth of copies and the peak of arithmetic.

Every core that the process may use works on a part of its own, several times over, so that handing out the work costs
nothing. Where all cores share the memory, two copy hardly faster than one.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from llvmlite import binding

from jitflow.machines import processor

from .machine import usable_cores

__all__ = ["arithmetic_peak", "copy_bandwidth"]

_LINE = 64
_WORTH_HANDING_OUT = 1 << 26
"""Bytes that a core copies before it is asked again."""

_STREAMING_COPY = """
define void @work(ptr %target, ptr %source, i64 %size) {
entry:
  br label %loop
loop:
  %offset = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr i8, ptr %source, i64 %offset
  %to = getelementptr i8, ptr %target, i64 %offset
  %line = load <8 x double>, ptr %from, align 64
  store <8 x double> %line, ptr %to, align 64, !nontemporal !0
  %next = add i64 %offset, 64
  %more = icmp ult i64 %next, %size
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
!0 = !{i32 1}
"""

_CHAINS = 12
"""Vectors that are multiplied and added at once: more than the turns that one of them waits for another."""
_TURNS = 1 << 20


def copy_bandwidth(footprint: int) -> float:
    """Return the bytes per second, read plus written, of the best copy whose source and target fill `footprint`.

    A copy that fits into a cache is faster than one that does not, so a workload is compared with a copy of its own
    size, to the nearest power of two.
    """
    return _copy_bandwidth(1 << round(math.log2(max(footprint, 1 << 20))))


@cache
def _copy_bandwidth(footprint: int) -> float:
    """Time NumPy's copy, the C library's, and one that writes past the caches, and take the best."""
    cores = usable_cores()
    size = footprint // 2 // cores // _LINE * _LINE
    pairs = [(_aligned_memory(size), _aligned_memory(size)) for _ in range(cores)]
    with _compiled(_STREAMING_COPY, 3) as streaming_copy, ThreadPoolExecutor(cores) as pool:
        copies: list[Callable[[np.ndarray, np.ndarray], object]] = [
            np.copyto,
            lambda target, source: ctypes.memmove(target.ctypes.data, source.ctypes.data, size),
            lambda target, source: streaming_copy(target.ctypes.data, source.ctypes.data, size),
        ]
        times = 1 if cores == 1 else -(-_WORTH_HANDING_OUT // size)
        rounds = 9 if size * times >= 1 << 25 else 31
        seconds = [_least_seconds(pool, pairs, _repeated(copy, times), rounds) for copy in copies]
    return 2 * size * cores * times / min(seconds)


def _repeated(
    work: Callable[[np.ndarray, np.ndarray], object], times: int
) -> Callable[[tuple[np.ndarray, np.ndarray]], None]:
    def all_turns(pair: tuple[np.ndarray, np.ndarray]) -> None:
        for _ in range(times):
            work(*pair)

    return all_turns


@cache
def arithmetic_peak(itemsize: int) -> float:
    """Return the operations per second of vectors of floats of so many bytes, each multiplied and added to another."""
    cores = usable_cores()
    kind = {4: "float", 8: "double"}[itemsize]
    lanes = (processor.vectors()[0] or 16) // itemsize  # wider ones take more registers than there are
    with _compiled(_multiply_and_add(f"<{lanes} x {kind}>"), 1) as work, ThreadPoolExecutor(cores) as pool:
        memory = [_aligned_memory(_LINE * _CHAINS).ctypes.data for _ in range(cores)]
        seconds = _least_seconds(pool, memory, work, 15)
    return 2 * lanes * _CHAINS * _TURNS * cores / seconds


def _multiply_and_add(vector: str) -> str:
    """A loop of chains, each of which begins with what lies in memory and ends there."""
    element = vector.split()[-1][:-1]
    numbers = range(_CHAINS)
    carried = "".join(f"  %c{i} = phi {vector} [ zeroinitializer, %entry ], [ %n{i}, %loop ]\n" for i in numbers)
    steps = "".join(
        f"  %n{i} = call {vector} @llvm.fma({vector} %c{i}, {vector} %factor, {vector} %factor)\n" for i in numbers
    )
    stores = "".join(
        f"  %p{i} = getelementptr {vector}, ptr %memory, i64 {i}\n  store {vector} %n{i}, ptr %p{i}, align 64\n"
        for i in numbers
    )
    return f"""
declare {vector} @llvm.fma({vector}, {vector}, {vector})
define void @work(ptr %memory) {{
entry:
  %one = load {element}, ptr %memory
  %first = insertelement {vector} poison, {element} %one, i32 0
  %factor = shufflevector {vector} %first, {vector} poison, <{vector.split()[0][1:]} x i32> zeroinitializer
  br label %loop
loop:
  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]
{carried}{steps}  %next = add i64 %turn, 1
  %more = icmp ult i64 %next, {_TURNS}
  br i1 %more, label %loop, label %exit
exit:
{stores}  ret void
}}
"""


def _aligned_memory(size: int) -> np.ndarray:
    """Return touched memory that begins at a cache line."""
    memory = np.zeros(size + _LINE, np.uint8)
    memory.fill(0)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size]


def _least_seconds(pool: ThreadPoolExecutor, parts: list[Any], work: Callable[[Any], object], rounds: int) -> float:
    """Of all parts, each by a thread; by this one, if there is one."""
    samples = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        if len(parts) == 1:
            work(parts[0])
        else:
            list(pool.map(work, parts))
        samples.append(time.perf_counter() - start)
    return min(samples[1:])


@contextmanager
def _compiled(text: str, operands: int) -> Iterator[Callable[..., object]]:
    """A function ``work`` of LLVM's assembly, whose operands are words."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=2
    )
    engine = binding.create_mcjit_compiler(binding.parse_assembly(text), machine)
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_size_t] * operands)
    try:
        yield signature(engine.get_function_address("work"))
    finally:
        engine.close()
