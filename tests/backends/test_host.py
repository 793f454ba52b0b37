"""Slots, memory, launches and library calls of host programs."""

import threading
from functools import partial

import numpy as np
import pytest

from jitflow.backends.llvm import compile_program
from jitflow.backends.llvm.emission.symbols import LIBRARY
from jitflow.backends.llvm.engine import ENGINE
from jitflow.backends.llvm.module import emit_program
from jitflow.errors import CompilerBug
from jitflow.ir.dtypes import C64, C128, DTYPES, F32, F64, I32, I64
from jitflow.ir.types import Buffer, Scalar
from jitflow.machines.processor import here
from jitflow.runtime.linked_symbols import link_symbols
from jitflow.runtime.native.symbols import symbol_address
from tests.backends.programs import INDEX, Allocator, Failed, host, kernel, run, samples

LARGEST = (1 << 63) - 1


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_scalars_go_through_slots(dtype):
    def build(kit):
        kit.add("result", kit.make("argument", slot=0, types=[Scalar(dtype)]), slot=1)

    executable = compile_program(host(build))
    values = samples(dtype) if not dtype.is_complex else samples(dtype.real, 10) * dtype.numpy.type(1 - 2j)
    for value in values:
        slots = run(executable, [value], 3)
        assert slots[1:].tobytes()[: dtype.itemsize] == value.tobytes()
        if dtype.is_integer:
            assert slots[1] == value.astype(np.int64)


@pytest.mark.parametrize(("beside", "works"), [(0, ["vectors", "calls"]), (20, ["vectors", "turns"])])
def test_loops_that_compute_between_launches_get_registers(beside, works):
    """A loop that does little but launch is compiled as straight lines of calls are."""
    inner = kernel([INDEX], lambda kit, size: ())

    def build(kit):
        def body(position, total):
            kit.add("launch", position, types=(), kernel=inner.name)
            for _ in range(beside):
                total = kit.make("add", total, one)
            return [total]

        one = kit.constant(1, Scalar(I64))
        (total,) = kit.loop(kit.constant(0), kit.constant(9), kit.constant(1), body, kit.constant(0, Scalar(I64)))
        kit.add("result", total, slot=0)

    program = emit_program([host(build, inner)], ENGINE.header(), here(), fast_math=False, extra_text="",
                           extra_symbols=())  # fmt: skip
    assert [module.work for module in program.modules if "define" in module.text] == works
    assert run(compile_program(host(build, inner)), [], 1).tolist() == [9 * beside]


def test_sizes_and_offsets():
    def build(kit):
        buffer, size = kit.make("argument", slot=0, types=[Buffer(F32)]), kit.make("argument", slot=1, types=[INDEX])
        kit.add("result", kit.make("offset", buffer, kit.make("multiply", size, kit.constant(4))), slot=0)
        kit.add("result", size, slot=1)

    assert run(compile_program(host(build)), [1000, 5], 2).tolist() == [1020, 5]


def test_sizes_saturate_and_memory_errors_follow():
    def build(kit):
        rows, columns = (kit.make("argument", slot=slot, types=[INDEX]) for slot in (0, 1))
        kept = kit.make("alloc", kit.constant(8), dtype=F64)
        count = kit.make("add", kit.make("multiply", rows, columns), kit.constant(1))
        kit.add("result", kit.make("alloc", kit.make("multiply", count, kit.constant(8)), dtype=F64), slot=0)
        kit.add("result", kept, slot=1)

    executable = compile_program(host(build))
    allocator = Allocator()
    run(executable, [3, 4], 2, allocator)
    assert sorted(nbytes for _, nbytes in allocator.live.values()) == [8, 104]
    for rows, columns in [(1 << 40, 1 << 40), (LARGEST, 1), (1 << 62, 2)]:
        allocator = Allocator()
        with pytest.raises(Failed) as failure:
            run(executable, [rows, columns], 2, allocator)
        assert failure.value.error[[0, 2]].tolist() == [2, LARGEST]
        assert executable.sites[failure.value.error[1]].name == "alloc"
        assert not allocator.live


def carrying(kit):
    """Carries two buffers through a loop, each turn replacing the older; a check fails in the turn that is asked."""
    turns, bad = (kit.make("argument", slot=slot, types=[INDEX]) for slot in (0, 1))
    size = kit.constant(64)

    def body(position, older, newer):
        fresh = kit.make("alloc", size, dtype=F32)
        kit.add("check", kit.make("not_equal", position, bad), position, error="ValueError", message="{}")
        kit.add("free", older, size)
        return [newer, fresh]

    first, second = kit.make("alloc", size, dtype=F32), kit.make("alloc", size, dtype=F32)
    older, newer = kit.loop(kit.constant(0), turns, 1, body, first, second)
    kit.add("free", older, size)
    kit.add("result", newer, slot=0)


def test_carried_buffers_are_given_back():
    executable = compile_program(host(carrying))
    allocator = Allocator()
    assert list(allocator.live) == []
    kept = run(executable, [20, -1], 1, allocator)[0]
    assert (list(allocator.live), allocator.count) == ([kept], 22)
    for bad in (0, 1, 2, 7, 19):
        allocator = Allocator()
        with pytest.raises(Failed):
            run(executable, [20, bad], 1, allocator)
        assert not allocator.live
    for fail_at in range(12):
        allocator = Allocator(fail_at)
        with pytest.raises(Failed) as failure:
            run(executable, [20, -1], 1, allocator)
        assert failure.value.status == 2
        assert not allocator.live


def piling(kit):
    """Allocates in every turn and frees nothing, so that the ledger has to grow."""
    turns, bad = (kit.make("argument", slot=slot, types=[INDEX]) for slot in (0, 1))

    def body(position):
        kit.make("alloc", kit.constant(16), dtype=F32)
        kit.add("check", kit.make("not_equal", position, bad), error="ValueError", message="")
        return []

    kit.loop(kit.constant(0), turns, 1, body)


def test_the_ledger_grows():
    executable = compile_program(host(piling))
    allocator = Allocator()
    run(executable, [100, -1], 0, allocator)
    assert len(allocator.live) == 100  # and no ledger among them
    for bad in (7, 8, 9, 16, 17, 60):
        allocator = Allocator()
        with pytest.raises(Failed):
            run(executable, [100, bad], 0, allocator)
        assert not allocator.live
    for fail_at in range(40):
        allocator = Allocator(fail_at)
        with pytest.raises(Failed) as failure:
            run(executable, [100, -1], 0, allocator)
        assert failure.value.status == 2
        assert not allocator.live


def keeping(kit):
    """Keeps memory in every turn: until the end of the program, not of the turn."""
    turns, bad = (kit.make("argument", slot=slot, types=[INDEX]) for slot in (0, 1))

    def body(position):
        kit.make("alloc", kit.constant(16), dtype=F32, kept=True)
        kit.add("check", kit.make("not_equal", position, bad), error="ValueError", message="")
        return []

    kit.loop(kit.constant(0), turns, 1, body)


def test_what_is_kept_is_given_back_at_the_end():
    executable = compile_program(host(keeping))
    allocator = Allocator()
    run(executable, [100, -1], 0, allocator)
    assert allocator.count > 100
    assert not allocator.live
    for bad in (0, 7, 8, 60):
        allocator = Allocator()
        with pytest.raises(Failed):
            run(executable, [100, bad], 0, allocator)
        assert not allocator.live
    for fail_at in range(40):
        allocator = Allocator(fail_at)
        with pytest.raises(Failed):
            run(executable, [100, -1], 0, allocator)
        assert not allocator.live


def test_several_kernels():
    def fill(kit, target, value):
        kit.add("write", target, kit.constant(0), value)

    def build(kit):
        target = kit.make("argument", slot=0, types=[Buffer(I32)])
        for number, name in enumerate(["first", "second"]):
            shifted = kit.make("offset", target, kit.constant(4 * number))
            kit.add("launch", shifted, kit.constant(number + 5, Scalar(I32)), types=(), kernel=name)

    kernels = [kernel([Buffer(I32), Scalar(I32)], fill, name) for name in ("first", "second")]
    result = np.zeros(2, np.int32)
    run(compile_program(host(build, *kernels)), [result])
    assert result.tolist() == [5, 6]


def test_kernels_that_compute_the_same_are_written_once():
    def filling(value):
        return lambda kit, target: kit.add("write", target, kit.constant(0), kit.constant(value, Scalar(F32)))

    def build(kit):
        target = kit.make("argument", slot=0, types=[Buffer(F32)])
        for number, name in enumerate("abcde"):
            kit.add("launch", kit.make("offset", target, kit.constant(4 * number)), types=(), kernel=name)

    values = [0.0, 2.0, -0.0, 2.0, 0.0]
    kernels = [kernel([Buffer(F32)], filling(value), name) for name, value in zip("abcde", values, strict=True)]
    executable, result = compile_program(host(build, *kernels)), np.ones(5, np.float32)
    run(executable, [result])
    assert result.tobytes() == np.array(values, np.float32).tobytes()
    assert [f'define hidden i32 @"{name}"' in executable.text for name in "abcde"] == [True, True, True, False, False]


MATRIX_PRODUCTS = {"sgemm": F32, "dgemm": F64, "cgemm": C64, "zgemm": C128}


def numbers(dtype, *shape, seed=0):
    random = np.random.default_rng(seed)
    values = random.standard_normal(shape)
    return (values + 1j * random.standard_normal(shape) if dtype.is_complex else values).astype(dtype.numpy)


@pytest.mark.parametrize("symbol", MATRIX_PRODUCTS)
def test_matrix_products(symbol):
    dtype = MATRIX_PRODUCTS[symbol]
    m, n, k = 5, 7, 3

    def build(kit):
        slots = [kit.make("argument", slot=slot, types=[type]) for slot, type in enumerate([Buffer(dtype)] * 3)]
        a, b, c = slots
        flag_a, flag_b = (kit.make("argument", slot=slot, types=[INDEX]) for slot in (3, 4))
        sizes = [kit.constant(size) for size in (n, m, k)]
        leading = [kit.make("argument", slot=slot, types=[INDEX]) for slot in (5, 6)]
        part = Scalar(dtype.real)
        parts = 2 if dtype.is_complex else 1
        alpha = [kit.make("argument", slot=slot, types=[part]) for slot in (7, 8)[:parts]]
        beta = [kit.constant(0, part)] * parts
        kit.add("library", flag_b, flag_a, *sizes, *alpha, b, leading[1], a, leading[0],
                *beta, c, kit.constant(n), symbol=symbol)  # fmt: skip

    executable = compile_program(host(build))
    assert executable.symbols == (symbol,)
    alpha = dtype.numpy.type(2 - 1j) if dtype.is_complex else dtype.numpy.type(2)
    for flag_a, flag_b in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 2)]:
        left, right = numbers(dtype, m, k), numbers(dtype, k, n, seed=1)
        expected = alpha * (left @ right)
        turn = [lambda x: x, lambda x: np.ascontiguousarray(x.T), lambda x: np.ascontiguousarray(x.T.conj())]
        a, b = turn[flag_a](left), turn[flag_b](right)
        c = np.full((m, n), np.nan, dtype.numpy)
        numbers_of_alpha = [alpha.real, alpha.imag] if dtype.is_complex else [alpha]
        run(executable, [a, b, c, flag_a, flag_b, a.shape[1], b.shape[1], *numbers_of_alpha],
            symbols=link_symbols(executable.symbols, ()).addresses)  # fmt: skip
        np.testing.assert_allclose(c, expected, rtol=1e-5)


def test_inner_products_put_their_result_into_a_buffer():
    def build(kit):
        x, y, result = (kit.make("argument", slot=slot, types=[Buffer(F64)]) for slot in range(3))
        count, one = kit.make("argument", slot=3, types=[INDEX]), kit.constant(1)
        kit.add("library", count, x, one, y, one, result, symbol="ddot")

    executable = compile_program(host(build), extra_symbols=["before"])
    assert executable.symbols == ("before", "ddot")
    x, y, result = np.arange(5.0), np.arange(5.0) + 1, np.zeros(1)
    run(executable, [x, y, result, 5], symbols=[0, symbol_address("ddot")])
    assert result[0] == x @ y


def test_every_library_symbol_has_an_address():
    assert all(map(symbol_address, LIBRARY))


def test_mistakes_are_compiler_bugs():
    with pytest.raises(CompilerBug, match="expected a kernel of this program, got 'missing'"):
        compile_program(host(lambda kit: kit.add("launch", types=(), kernel="missing")))
    with pytest.raises(CompilerBug, match="expected one of"):
        compile_program(host(lambda kit: kit.add("library", symbol="missing")))
    with pytest.raises(CompilerBug, match="ddot: expected 6 operands, got 0"):
        compile_program(host(lambda kit: kit.add("library", symbol="ddot")))
    with pytest.raises(CompilerBug, match="expected a host program"):
        compile_program(kernel([], lambda kit: None))
    with pytest.raises(CompilerBug, match="LLVM refused the module"):
        compile_program(host(lambda kit: None), extra_text="define nonsense")
    with pytest.raises(CompilerBug, match="LLVM refused the module"):
        compile_program(
            host(lambda kit: None),
            extra_text="declare void @no.such.function()\ndefine void @calls() {\n  call void @no.such.function()\n"
            "  ret void\n}",
        )


def test_extra_text_joins_the_module():
    text = """define i32 @entry(ptr %context, ptr %arguments, ptr %results, ptr %error) {
  %status = call i32 @run(ptr %context, ptr %arguments, ptr %results, ptr %error)
  ret i32 %status
}"""

    def build(kit):
        kit.add("result", kit.make("argument", slot=0, types=[Scalar(I64)]), slot=0)

    executable = compile_program(host(build), extra_text=text)
    assert executable.address("entry") not in (0, executable.address("run"))
    with pytest.raises(KeyError):
        executable.address("absent")
    assert "entry:" in executable.asm()
    assert set(executable.times) == {"emit", "generate", "link"}


def test_threads_compile_at_the_same_time():
    def build(number, kit):
        size = kit.make("argument", slot=0, types=[INDEX])
        kit.add("result", kit.make("add", size, kit.constant(number)), slot=0)

    results = {}

    def work(number):
        for turn in range(5):
            executable = compile_program(host(partial(build, number + turn)))
            results[number, turn] = run(executable, [100], 1)[0]

    threads = [threading.Thread(target=work, args=(10 * number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {(10 * number, turn): 100 + 10 * number + turn for number in range(8) for turn in range(5)}
