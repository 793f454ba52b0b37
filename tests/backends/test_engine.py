"""What belongs to the process: the linker, the memory of code, the form of the code."""

import gc
import re
import sys
from dataclasses import replace

import pytest

from jitflow.backends.llvm import compile_program
from jitflow.backends.llvm.engine import ENGINE, LINKER_SERVES
from jitflow.ir.dtypes import F32
from jitflow.processor import has_features
from tests.backends.programs import host, mapping, run


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


def test_wide_vectors_use_the_widest_registers():
    executable = compile_program(mapping(lambda kit, a, b: kit.make("add", a, b), [F32, F32], F32, 64))
    if has_features("avx512f"):
        assert len(re.findall(r"vaddps.*%zmm", executable.asm())) >= 8  # four in the loop, four in the tail


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
