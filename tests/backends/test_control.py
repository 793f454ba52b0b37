"""Loops, branches and checks, in kernels and in host programs."""

import numpy as np
import pytest

from jitflow.backends.llvm import compile_program
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, C128, F16, F32, F64, I32, U8
from jitflow.ir.types import Buffer, Scalar
from tests.backends.programs import INDEX, Allocator, Failed, host, kernel, launching, run


def on_sizes(build, count=1):
    """``build(kit, *sizes)`` returns sizes; runs it as a host program."""

    def add(kit):
        sizes = [kit.make("argument", slot=slot, types=[INDEX]) for slot in range(count)]
        for slot, size in enumerate(build(kit, *sizes)):
            kit.add("result", size, slot=slot)

    return compile_program(host(add))


LIMITS = [-(1 << 63), (1 << 63) - 1]


@pytest.mark.parametrize("step", [1, 3, -1, -4, None])
def test_for_is_range(step):
    def build(kit, start, stop, given):
        def body(position, total, turns):
            mixed = kit.make("add", kit.make("multiply", total, kit.constant(31)), position)
            return [kit.make("remainder", mixed, kit.constant(1_000_003)), kit.make("add", turns, kit.constant(1))]

        zero = kit.constant(0)
        return kit.loop(start, stop, given if step is None else step, body, zero, zero)

    executable = on_sizes(build, 3)
    largest, smallest = (1 << 63) - 1, -(1 << 63)
    cases = [(0, 10), (0, 0), (5, 2), (-3, 9), (10, 0), (largest - 4, largest), (smallest + 4, smallest)]
    for start, stop in cases:
        for given in [7, -2, 1, -1, largest, smallest] if step is None else [step]:
            total = turns = 0
            for position in range(start, stop, given):
                value = min(max(total * 31 + position, smallest), largest)
                total, turns = value % 1_000_003, turns + 1
            assert run(executable, [start, stop, given], 2).tolist() == [total, turns]


def test_while():
    def build(kit, start):
        number, count = Value(INDEX), Value(INDEX)
        inner, inner_count = Value(INDEX), Value(INDEX)
        more = kit.nested(lambda: [kit.make("greater", number, kit.constant(1))], number, count)

        def body():
            half = kit.make("floor_divide", inner, kit.constant(2))
            return [half, kit.make("add", inner_count, kit.constant(1))]

        step = kit.nested(body, inner, inner_count)
        return kit.add("while", start, kit.constant(0), types=[INDEX, INDEX], regions=(more, step))

    executable = on_sizes(build)
    for number in (0, 1, 2, 1000, 1 << 40):
        expected = max(number.bit_length() - 1, 0)
        assert run(executable, [number], 2)[1] == expected


def test_if_inside_for_inside_if():
    def build(kit, count, flag):
        def body(position, total):
            even = kit.make("equal", kit.make("remainder", position, kit.constant(2)), kit.constant(0))
            yes = kit.nested(lambda: [kit.make("add", total, position)])
            no = kit.nested(lambda: [kit.make("subtract", total, kit.constant(1))])
            return kit.add("if", even, types=[INDEX], regions=(yes, no))

        positive = kit.make("greater", flag, kit.constant(0))
        summed = kit.nested(lambda: kit.loop(kit.constant(0), count, 1, body, kit.constant(0)))
        other = kit.nested(lambda: [kit.constant(-7)])
        return kit.add("if", positive, types=[INDEX], regions=(summed, other))

    executable = on_sizes(build, 2)
    for count in (0, 1, 10, 11):
        expected = sum(position if position % 2 == 0 else -1 for position in range(count))
        assert run(executable, [count, 1], 1)[0] == expected
        assert run(executable, [count, 0], 1)[0] == -7


def test_loops_carry_numbers_and_buffers():
    def build(kit, first, second, turns):
        def body(position, a, b, value):
            kit.add("write", a, kit.constant(0), value)
            return [b, a, kit.make("add", value, kit.constant(1.0, Scalar(F32)))]

        kit.loop(kit.constant(0), turns, 1, body, first, second, kit.constant(0.0, Scalar(F32)))

    executable = compile_program(launching(kernel([Buffer(F32), Buffer(F32), INDEX], build)))
    first, second = np.zeros(1, np.float32), np.zeros(1, np.float32)
    run(executable, [first, second, 5])
    assert (first[0], second[0]) == (4, 3)


def nested_check(kit, source, count):
    """Fails at the first negative number, from inside two loops and a branch."""

    def outer(position):
        def inner(column):
            offset = kit.make("add", kit.make("multiply", position, kit.constant(40)),
                              kit.make("multiply", column, kit.constant(4)))  # fmt: skip
            number = kit.make("read", source, offset, lanes=0)
            odd = kit.make("equal", kit.make("remainder", column, kit.constant(2)), kit.constant(1))

            def checked():
                fine = kit.make("greater_equal", number, kit.constant(0, Scalar(I32)))
                kit.add("check", fine, position, column, number, error="ValueError", message="{} {} {}")
                return []

            kit.add("if", odd, types=[], regions=(kit.nested(checked), kit.nested(list)))
            return []

        kit.loop(kit.constant(0), kit.constant(10), 1, inner)
        return []

    kit.loop(kit.constant(0), count, 1, outer)


def test_a_check_fails_inside_nested_loops_of_a_kernel():
    inner = kernel([Buffer(I32), INDEX], nested_check)

    def build(kit):
        source, count = (kit.make("argument", slot=0, types=[Buffer(I32)]), kit.make("argument", slot=1, types=[INDEX]))
        kept = kit.make("alloc", kit.constant(100), dtype=I32)
        freed = kit.make("alloc", kit.constant(50), dtype=I32)
        kit.add("result", kept, slot=0)
        kit.add("free", freed, kit.constant(50))
        kit.add("launch", source, count, types=(), kernel="kernel")

    executable = compile_program(host(build, inner))
    numbers = np.zeros((6, 10), np.int32)
    allocator = Allocator()
    address = run(executable, [numbers, 6], 1, allocator)[0]
    assert list(allocator.live) == [address]
    numbers[3, 4] = -5  # in an even column, which is not checked
    numbers[4, 7] = -9
    allocator = Allocator()
    with pytest.raises(Failed) as failure:
        run(executable, [numbers, 6], 1, allocator)
    assert failure.value.error[:5].tolist() == [1, failure.value.error[1], 4, 7, -9]
    assert executable.sites[failure.value.error[1]].attributes["error"] == "ValueError"
    assert not allocator.live
    assert allocator.count == 2


def test_checks_of_host_programs_report_their_values():
    types = [INDEX, Scalar(BOOL), Scalar(F16), Scalar(F32), Scalar(F64), Scalar(U8), Scalar(I32), Scalar(C128)]
    values = [12, np.bool_(True), np.float16(1.5), np.float32(-2), np.float64(3), np.uint8(255), np.int32(-4),
              np.complex128(5 - 6j)]  # fmt: skip

    def build(kit):
        arguments = [kit.make("argument", slot=slot, types=[type]) for slot, type in enumerate(types)]
        less = kit.make("less", arguments[0], kit.constant(10))
        kit.add("check", less, *arguments, error="IndexError", message="")

    executable = compile_program(host(build))
    run(executable, [9, *values[1:]])
    with pytest.raises(Failed) as failure:
        run(executable, values)
    error = failure.value.error[2:]
    assert error[:2].tolist() == [12, 1]
    assert error[2:3].view(np.float16)[0] == 1.5
    assert error[3:4].view(np.float32)[0] == -2
    assert error[4:5].view(np.float64)[0] == 3
    assert error[5:7].tolist() == [255, -4]
    assert error[7:9].view(np.complex128)[0] == 5 - 6j


def test_values_beyond_the_error_slots_are_left_out():
    def build(kit):
        size = kit.make("argument", slot=0, types=[INDEX])
        kit.add("check", kit.make("less", size, kit.constant(0)), *[size] * 20, error="ValueError", message="")

    with pytest.raises(Failed) as failure:
        run(compile_program(host(build)), [3])
    assert failure.value.error.tolist() == [1, 0, *[3] * 14]


def test_broadcast_dims():
    executable = on_sizes(lambda kit, *sizes: [kit.make("broadcast_dims", *sizes, binds="n", message="")], 3)
    for sizes in [(1, 1, 1), (5, 1, 5), (1, 0, 1), (1, 1, 7), (0, 0, 1)]:
        assert run(executable, sizes, 1)[0] == np.broadcast_shapes(*((size,) for size in sizes))[0]
    for sizes in [(2, 3, 1), (5, 1, 4), (0, 2, 1)]:
        with pytest.raises(Failed) as failure:
            run(executable, sizes, 1)
        assert failure.value.error[2:5].tolist() == list(sizes)


def test_division_of_sizes_rounds_down():
    executable = on_sizes(
        lambda kit, a, b: [kit.make("floor_divide", a, b), kit.make("remainder", a, b), kit.make("minimum", a, b)], 2
    )
    for a, b in [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (0, 5), (5, 0), (LIMITS[0], -1), (LIMITS[0], 3)]:
        with np.errstate(all="ignore"):
            expected = [np.int64(a) // np.int64(b), np.int64(a) % np.int64(b), min(a, b)]
        assert run(executable, [a, b], 3).tolist() == expected
