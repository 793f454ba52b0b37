"""What belongs to the process: the linker, the memory of code, the form of the code."""

import gc
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from jitflow.backends.llvm import compile_program
from jitflow.backends.llvm.engine import ENGINE
from jitflow.ir.dtypes import F32
from jitflow.ir.types import Buffer
from jitflow.machines.processor import has_features
from jitflow.runtime.native.linking import LINKER_SERVES
from tests.backends.programs import INDEX, host, kernel, launching, mapping, run


def mapped_code():
    """The pages of memory without a file that hold code."""
    with open("/proc/self/maps") as maps:
        places = [line.split()[0].split("-") for line in maps if "x" in line.split()[1] and "/" not in line]
    return sum(int(end, 16) - int(start, 16) for start, end in places) // 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_code_is_freed_with_its_executable():
    program = host(lambda kit: kit.add("result", kit.constant(7), slot=0))
    executable = compile_program(program)
    before = mapped_code()
    kept = [ENGINE.link(executable.object_code, ("run",)) for _ in range(2 * LINKER_SERVES)]
    assert mapped_code() > before + LINKER_SERVES
    kept = kept[:1]
    gc.collect()
    assert mapped_code() <= before + 2
    executable._linked = kept[0]  # from a linker that serves no longer
    assert run(executable, [], 1)[0] == 7


TORN_MEMORY = """
import ctypes, mmap
import numpy as np
import jitflow

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
NO_RESERVE = 0x4000


def reserve(size):
    return libc.mmap(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE, -1, 0)


def program(x, y):
    return np.exp(x * 1.5 + y).sum() + np.sin(x) @ np.tanh(y)


expected = jitflow.function(program)(np.arange(10.0), np.ones(10))
barrier = reserve(5 << 30)
taken = []
for pages in (64, 16, 4, 1):  # all that is free above the barrier
    while (at := reserve(pages * mmap.PAGESIZE)) > barrier:
        taken.append((at, pages))
for at, pages in taken[:200:2]:
    libc.munmap(at + (pages // 2) * mmap.PAGESIZE, mmap.PAGESIZE)
for _ in range(10):
    again = jitflow.function(lambda x, y: program(x, y))(np.arange(10.0), np.ones(10))
    assert again == expected
"""


@pytest.mark.skipif(sys.platform != "linux", reason="maps memory as Linux does")
def test_code_is_linked_where_free_memory_is_single_pages_far_apart():
    subprocess.run([sys.executable, "-c", TORN_MEMORY], check=True)


def test_wide_vectors_use_the_widest_registers():
    executable = compile_program(mapping(lambda kit, a, b: kit.make("add", a, b), [F32, F32], F32, 64))
    if has_features("avx512f"):
        assert len(re.findall(r"vaddps.*%zmm", executable.asm())) >= 8  # four in the loop, four in the tail


def test_addresses_that_a_loop_does_not_change_stand_in_front_of_it():
    def build(kit, target, source, stop, row, stride):
        begin = kit.make("multiply", row, stride)

        def turn(position):
            place = kit.make("add", begin, kit.make("multiply", position, kit.constant(4)))
            kit.add("write", target, place, kit.make("read", source, place, lanes=8))
            kit.add("write", target, place, kit.make("read", target, place, lanes=8))
            return []

        kit.loop(kit.constant(0), stop, 8, turn)

    executable = compile_program(launching(kernel([Buffer(F32), Buffer(F32), INDEX, INDEX, INDEX], build)))
    (loop,) = re.findall(r"^loop\d+:.*?^done\d+:", executable.text, re.DOTALL | re.MULTILINE)
    assert len(re.findall("getelementptr", loop)) == 4  # only the position is added
    source, target = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    run(executable, (target, source, 16, 1, 64))
    assert target.tolist() == [0.0] * 16 + source[16:32].tolist() + [0.0] * 8


def test_numbers_are_added_by_the_instruction_that_reads_there():
    """Addresses from in front of the loop took registers from it: small calls of grids were up to a fifth slower."""

    def build(kit, target, source, stop):
        def turn(position):
            for place in (64, 128):
                kit.add("write", target, position, kit.make("read", source, kit.constant(place), lanes=8))
            return []

        kit.loop(kit.constant(0), stop, 8, turn)

    executable = compile_program(launching(kernel([Buffer(F32), Buffer(F32), INDEX], build)))
    (loop,) = re.findall(r"^loop\d+:.*?^done\d+:", executable.text, re.DOTALL | re.MULTILINE)
    assert len(re.findall("getelementptr i8, ptr %a1, i64 (64|128)", loop)) == 2


def test_nothing_is_contracted_unless_asked():
    def build(kit, a, b):
        return kit.make("add", kit.make("multiply", a, b), b)

    program = mapping(build, [F32, F32], F32, 16)
    fused = re.compile(r"vfmadd|fmla")
    assert not fused.search(compile_program(program).asm())
    assert "fmul reassoc arcp contract afn <16 x float>" in compile_program(program, fast_math=True).text
    if has_features("fma"):
        assert fused.search(compile_program(program, fast_math=True).asm())


def test_scalar_kernels_get_the_passes_of_llvm():
    program = mapping(lambda kit, a: kit.make("multiply", kit.make("add", a, a), kit.make("add", a, a)), [F32], F32, 0)
    (inner,) = program.functions
    marked = replace(program, functions=(replace(inner, attributes={"scalar": True}),))
    vector = re.compile(r"vaddps|addps|fadd\tv")
    assert vector.search(compile_program(marked).asm())
    assert not vector.search(compile_program(program).asm())
