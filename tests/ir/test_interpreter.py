"""The reference interpreter: kinds of scalars, sizes, state, control flow, tapes, errors, and kernels on bytes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from jitflow.errors import CompilerBug
from jitflow.ir.dtypes import F32
from jitflow.ir.interpreter import interpret
from jitflow.ir.ops import OPS
from jitflow.ir.parser import parse
from jitflow.ir.verifier import verify
from tests.compare import assert_all_same, assert_same


def run(text: str, *arguments: Any) -> tuple[Any, ...]:
    function = parse(text)
    verify(function)
    return interpret(function, *arguments)


# Scalars


def test_scalars_keep_their_kind() -> None:
    results = run(
        """func @f(%i: int, %x: float, %s: f32, %t: f64[]) {
          %0: int = add %i, %i
          %1: pybool = less %x, %x
          %2: f32 = add %s, %s
          %3: f64 = add %t, %t
          %4: f32 = cast %x {dtype=f32}
          yield %0, %1, %2, %3, %4, %t
        }""",
        20, 0.1, np.float32(1.5), np.array(2.0),
    )  # fmt: skip
    expected = (40, False, np.float32(3.0), np.float64(4.0), np.float32(0.1), np.array(2.0))
    assert_all_same(results, expected)


LIMIT = 2**63 - 1


@pytest.mark.parametrize(
    ("op", "operands", "error"),
    [
        ("add", (LIMIT, 1), OverflowError),
        ("multiply", (LIMIT, LIMIT), OverflowError),
        ("power", (10, 40), OverflowError),
        ("power", (2, -1), ValueError),
        ("left_shift", (1, 1000), OverflowError),
        ("left_shift", (1, -1), ValueError),
        ("floor_divide", (1, 0), ZeroDivisionError),
        ("floor_divide", (-LIMIT - 1, -1), OverflowError),
        ("remainder", (1, 0), ZeroDivisionError),
    ],
)
def test_checked_arithmetic_raises_as_python_does(op: str, operands: tuple[int, int], error: type[Exception]) -> None:
    text = f"func @f(%a: int, %b: int) {{\n %0: int = {op} %a, %b {{checked=true}}\n yield %0\n}}"
    with pytest.raises(error):
        run(text, *operands)


def test_unchecked_arithmetic_wraps_as_numpy_does() -> None:
    text = "func @f(%a: i64, %b: i64) {\n %0: i64 = add %a, %b\n yield %0\n}"
    assert run(text, LIMIT, 1) == (np.int64(-LIMIT - 1),)


def test_checked_floats() -> None:
    text = "func @f(%a: float, %b: float) {\n %0: float = divide %a, %b {checked=true}\n yield %0\n}"
    assert run(text, 1.0, 4.0) == (0.25,)
    with pytest.raises(ZeroDivisionError):
        run(text, 1.0, 0.0)


# Sizes


def test_sizes_are_bound_by_shapes_and_facts_are_checked() -> None:
    text = """func @f(%y: f32[n - 1], %x: f32[n]) where n >= 3 {
      %0: index[2*n] = size {dim=2*n}
      yield %0
    }"""
    assert run(text, np.zeros(3, np.float32), np.zeros(4, np.float32)) == (8,)
    with pytest.raises(ValueError, match="expected sizes with n >= 3"):
        run(text, np.zeros(1, np.float32), np.zeros(2, np.float32))
    with pytest.raises(ValueError, match=r"expected f32\[n - 1\] with n - 1 = 3, got 2"):
        run(text, np.zeros(2, np.float32), np.zeros(4, np.float32))


def test_arguments_must_fit() -> None:
    text = "func @f(%x: f32[n, 3]) {\n yield %x\n}"
    with pytest.raises(ValueError, match="expected 1 arguments, got 2"):
        run(text, 1, 2)
    with pytest.raises(ValueError, match=r"got an array of shape \(3,\)"):
        run(text, np.zeros(3, np.float32))


def test_sizes_that_meet_at_run_time() -> None:
    text = """func @f(%x: f32[n], %y: f32[m]) {
      %0: index[n] = size {dim=n}
      %1: index[m] = size {dim=m}
      %2: index[k] = broadcast_dims %0, %1 {binds="k"}
      %3: f32[k] = broadcast %x {dims=[k], axes=[0], assumed=true}
      %4: f32[k] = broadcast %y {dims=[k], axes=[0], assumed=true}
      %5: f32[k] = add %3, %4
      yield %5
    }"""
    one, three = np.ones(1, np.float32), np.arange(3, dtype=np.float32)
    assert_same(run(text, one, three)[0], one + three)
    with pytest.raises(ValueError, match="shape mismatch"):
        run(text, np.ones(2, np.float32), three)


def test_each_turn_of_a_loop_has_its_own_sizes() -> None:
    results = run(
        """func @f(%x: f32[n], %s: f32) {
          %0: index[0] = size {dim=0}
          %1: index[n] = size {dim=n}
          %2: index[1] = size {dim=1}
          %3: f32 = for %0, %1, %2, %s (%i: index[i], %t: f32) {
            %4: f32[n - i] = slice %x {starts=[i], sizes=[n - i], steps=[1]}
            %5: f32 = reduce_add %4 {axes=[0]}
            %6: f32 = add %t, %5
            yield %6
          }
          yield %3
        }""",
        np.array([1.0, 2.0, 3.0], np.float32), np.float32(0.5),
    )  # fmt: skip
    assert results == (np.float32(14.5),)


def test_ir_that_contradicts_itself_is_a_bug() -> None:
    text = """func @f(%x: f32[n]) {
      %0: f32[n + 1] = reshape %x {dims=[n + 1], assumed=true}
      yield %0
    }"""
    with pytest.raises(ValueError, match="cannot reshape"):
        run(text, np.zeros(3, np.float32))
    function = parse("func @f(%x: f32[n], %y: f32[m]) {\n %0: f32[m] = exp %x\n yield %0\n}")
    with pytest.raises(CompilerBug, match=r"expected f32\[m\] with m = 2, got 3"):
        interpret(function, np.zeros(3, np.float32), np.zeros(2, np.float32))


# State


def test_stores_show_through_views() -> None:
    matrix = np.arange(12.0).reshape(3, 4)
    before = matrix.copy()
    results = run(
        """func @f(%v: var f64[n, 4], %a: float) {
          %0: place f64[n - 1, 4] = slice %v {starts=[1, 0], sizes=[n - 1, 4], steps=[1, 1]}
          %1: place f64[4, n - 1] = transpose %0 {axes=[1, 0]}
          %2: f64[4, n - 1] = load %1
          %3: f64[4, n - 1] = multiply %2, %a
          store %1, %3
          %4: f64[n, 4] = load %v
          yield %2, %4, %1
        }""",
        matrix, 2.0,
    )  # fmt: skip
    before[1:] *= 2
    assert_same(matrix, before)
    assert_same(results[1], before)
    assert np.shares_memory(results[2], matrix)
    assert not np.shares_memory(results[0], matrix)


def test_places_can_be_swapped_in_a_loop() -> None:
    first, second = np.zeros(2), np.ones(2)
    run(
        """func @f(%u: var f64[2], %v: var f64[2], %one: f64) {
          %0: index[0] = size {dim=0}
          %1: index[3] = size {dim=3}
          %2: index[1] = size {dim=1}
          %3: place f64[2], %4: place f64[2] = for %0, %1, %2, %u, %v (%i: index, %p: place f64[2], %q: place f64[2]) {
            %5: f64[2] = load %q
            %6: f64[2] = add %5, %one
            store %p, %6
            yield %q, %p
          }
          yield
        }""",
        first, second, 1.0,
    )  # fmt: skip
    u, v = np.zeros(2), np.ones(2)
    for _ in range(3):
        u[...] = v + 1.0
        u, v = v, u
    assert sorted([*first, *second]) == sorted([*u, *v])
    assert_same(first, np.full(2, 4.0))


def test_a_reshape_that_would_copy_is_no_place() -> None:
    text = """func @f(%v: var f64[2, 3]) {
      %0: place f64[3, 2] = transpose %v {axes=[1, 0]}
      %1: place f64[6] = reshape %0 {dims=[6]}
      yield
    }"""
    with pytest.raises(CompilerBug, match="expected a view of the place, got a copy"):
        run(text, np.zeros((2, 3)))


def test_scatter_and_gather() -> None:
    target = np.zeros(4)
    text = """func @f(%v: var f64[n], %i: i64[m], %x: f64[m]) {
      scatter %v, %i, %x {axis=0, combine="add"}
      %0: f64[n] = load %v
      %1: f64[m] = gather %0, %i {axis=0, mode="raise"}
      yield %1
    }"""
    positions = np.array([1, 1, -1])
    (gathered,) = run(text, target, positions, np.array([1.0, 2.0, 5.0]))
    assert_same(target, np.array([0.0, 3.0, 0.0, 5.0]))
    assert_same(gathered, target[positions])
    with pytest.raises(IndexError):
        run(text, target, np.array([4]), np.array([1.0]))


def test_tapes_give_back_in_reverse() -> None:
    results = run(
        """func @f(%x: f32[n], %y: f32[m]) {
          %0: tape f32 = tape {dtype=f32}
          push %0, %x
          push %0, %y
          %1: f32[m] = pop %0
          %2: f32[n] = pop %0
          yield %1, %2
        }""",
        np.zeros(3, np.float32), np.ones(2, np.float32),
    )  # fmt: skip
    assert_all_same(results, (np.ones(2, np.float32), np.zeros(3, np.float32)))


def test_checks_raise_what_they_say() -> None:
    text = """func @f(%c: bool, %n: int) {
      check %c, %n {error="IndexError", message="index {} is out of range"}
      yield
    }"""
    assert run(text, True, 3) == ()
    with pytest.raises(IndexError, match="index 3 is out of range"):
        run(text, False, 3)


def test_messages_between_devices_and_output(capsys: pytest.CaptureFixture[str]) -> None:
    text = """func @f(%x: f32) {
      send %x {channel=0, to="cpu:0"}
      %0: f32 = recv {channel=0, source="cpu:0"}
      print %0 {message="x is {}"}
      yield %0
    }"""
    assert run(text, 2.0) == (np.float32(2.0),)
    assert capsys.readouterr().out == "x is 2.0\n"


# Control flow


def test_while_loops_and_calls() -> None:
    text = """func @collatz(%n: int) {
      %zero: int = constant {value=0, type=<int>}
      %one: int = constant {value=1, type=<int>}
      %two: int = constant {value=2, type=<int>}
      %last: int, %steps: int = while %n, %zero (%0: int, %1: int) {
        %2: pybool = greater %0, %one
        yield %2
      } (%m: int, %s: int) {
        %half: int = floor_divide %m, %two
        %odd: int = remainder %m, %two
        %is: pybool = equal %odd, %one
        %next: int = if %is () {
          %3: int = call %m {function="triple"}
          yield %3
        } () {
          yield %half
        }
        %more: int = add %s, %one
        yield %next, %more
      }
      yield %steps
    }
    func @triple(%m: int) {
      %0: int = constant {value=3, type=<int>}
      %1: int = constant {value=1, type=<int>}
      %2: int = multiply %m, %0
      %3: int = add %2, %1
      yield %3
    }"""
    assert run(text, 27) == (111,)


# Loop and host layers


def test_kernels_run_on_bytes_and_stay_inside() -> None:
    text = """kernel @k(%a: buffer f32, %b: buffer f32, %n: index[n]) {
      %zero: index = size {dim=0}
      %end: index = size {dim=4*n}
      %step: index = size {dim=16}
      %four: index = size {dim=4}
      for %zero, %end, %step (%i: index) {
        %at: index = floor_divide %i, %four
        %left: index = subtract %n, %at
        %mask: boolx4 = lanes_below %left {lanes=4}
        %x: f32x4 = read %a, %i, %mask {lanes=4}
        %y: f32x4 = multiply %x, %x
        write %b, %i, %y, %mask
        yield
      }
      yield
    }"""
    source, target = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    run(text, source, target, 6)
    assert_same(target, source * source)
    with pytest.raises(CompilerBug, match="expected offsets within 24 bytes"):
        run(text, source, target, 7)


def test_buffers_of_strided_arrays() -> None:
    text = """kernel @k(%a: buffer f64, %stride: index) {
      %zero: index = size {dim=0}
      %x: f64x4 = read_strided %a, %zero, %stride {lanes=4}
      %y: f64x4 = negative %x
      write_strided %a, %zero, %stride, %y
      %z: f64 = fold_lanes %x {combine="subtract"}
      yield %z
    }"""
    array = np.arange(8.0)
    (folded,) = run(text, array[::-2], -16)
    assert_same(array, np.array([0.0, -1, 2, -3, 4, -5, 6, -7]))
    assert folded == (7.0 - 3.0) - (5.0 - 1.0)


def test_pairs_masks_and_lanes() -> None:
    text = """kernel @k(%a: buffer f32, %b: buffer f32) {
      %zero: index = size {dim=0}
      %two: index = size {dim=2}
      %re: f32x4, %im: f32x4 = read_pair %a, %zero {lanes=4}
      write_pair %b, %zero, %im, %re
      %mask: boolx4 = lanes_below %two {lanes=4}
      %not: boolx4 = logical_not %mask
      %any: bool = any_lane %mask
      %first: index = first_lane %not
      %lane: f32 = extract_lane %re, %two
      %picked: f32x4 = select %mask, %re, %im
      yield %any, %first, %lane, %picked
    }"""
    numbers = (np.arange(4) + 1j * np.arange(4)[::-1]).astype(np.complex64)
    swapped = np.zeros(4, np.complex64)
    results = run(text, numbers, swapped)
    assert_same(swapped, (numbers.imag + 1j * numbers.real).astype(np.complex64))
    assert_all_same(results, (np.True_, 2, np.float32(2.0), np.array([0, 1, 1, 0], np.float32)))


def test_a_host_program_launches_kernels() -> None:
    text = """host @h() {
      %a: buffer f32 = argument {slot=0}
      %n: index[n] = argument {slot=1}
      %bytes: index = size {dim=4*n}
      %t: buffer f32 = alloc %bytes {dtype=f32}
      launch %a, %t, %n {kernel="double"}
      launch %t, %a, %n {kernel="double"}
      library %a, %n {symbol="negate"}
      free %t, %bytes
      result %n {slot=0}
      yield
    }
    kernel @double(%a: buffer f32, %b: buffer f32, %n: index[n]) {
      %zero: index = size {dim=0}
      %end: index = size {dim=4*n}
      %step: index = size {dim=4}
      for %zero, %end, %step (%i: index) {
        %x: f32 = read %a, %i
        %y: f32 = add %x, %x
        write %b, %i, %y
        yield
      }
      yield
    }"""
    array = np.arange(5, dtype=np.float32)
    function = parse(text)
    verify(function)

    def negate(memory: Any, count: int) -> None:
        numbers = memory.array(F32, count)
        np.negative(numbers, out=numbers)

    assert interpret(function, array, 5, libraries={"negate": negate}) == (5,)
    assert_same(array, -4 * np.arange(5, dtype=np.float32))


@pytest.mark.parametrize("case", ["any", "cancelling", "halfway", "bits"])
def test_a_product_and_sum_is_rounded_once(case):
    random = np.random.default_rng(3)
    a, b, c = random.standard_normal((3, 1500)) * 2.0 ** random.integers(-60, 60, (3, 1500))
    if case == "cancelling":
        c = -np.nextafter(a * b, np.inf)
    if case == "halfway":
        c = a * b * 2.0 ** random.choice([-107, -106, -54, -53, -52, 52, 53, 54], 1500)
    if case == "bits":
        a, b, c = random.integers(-(2**62), 2**62, (3, 1500)).view(np.float64)
        a[:4], b[:4], c[:4] = [0.0, -0.0, np.inf, 1e300], [5.0, 5.0, 0.0, 1e300], [0.0, -0.0, 1.0, -np.inf]
    with np.errstate(all="ignore"):
        got = OPS["fma"].evaluate([a, b, c], {}, ())
        for x, y, z, result in zip(a, b, c, got, strict=True):
            if not np.isfinite([x, y, z]).all():
                np.testing.assert_array_equal(result, x * y + z)
                continue
            exact = Fraction(x) * Fraction(y) + Fraction(z)
            try:
                expected = float(exact)
            except OverflowError:
                expected = np.inf if exact > 0 else -np.inf
            assert result == expected
            assert exact or np.signbit(result) == np.signbit(x * y + z)
