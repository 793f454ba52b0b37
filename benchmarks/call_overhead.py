"""What a call costs, beside NumPy and numba: `python -m benchmarks.call_overhead`.

The kernels are so small that the time is that of the call: finding the code, checking the
arguments, taking and wrapping the results. They are written by hand in LLVM's language, so that
nothing of the compiler but its runtime is measured. Each figure is the best of several rounds, in
nanoseconds, with the cost of the loop around the call taken off. In the case of the dict, numba only
passes a tuple of the arrays through: it takes no plain dict.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import CellType
from typing import Any

import numpy as np

from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.dispatcher import make_function_type
from jitflow.runtime.entry.specialisation import Specialisation
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.native_code import NativeCode

LENGTH = 1024
ARRAYS = 20
ROUNDS = 9


class _Methods:
    def __init__(self, function: Any) -> None:
        self._prepare(function)  # type: ignore[attr-defined]

    def _miss(self, arguments: Any, keywords: Any) -> Any:
        raise TypeError("no specialisation matches")


def nanoseconds(call: Callable[[], Any], number: int = 20_000) -> float:
    """The time of a call without arguments, less that of a call that does nothing."""

    def best(function: Callable[[], Any]) -> float:
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter_ns()
            for _ in range(number):
                function()
            times.append(time.perf_counter_ns() - start)
        return min(times) / number

    return best(call) - best(lambda: None)


# -- kernels ---------------------------------------------------------------------------------------


def _multiply_add(function: FunctionText, left: int, right: str, result: int) -> None:
    """`x * y + x` over LENGTH elements; `x` at an argument slot, `y` a vector value or an array's slot."""
    loop, done = function.label("loop"), function.label("done")
    source = function.load("ptr", "%arguments", 8 * left)
    length = function.load("i64", "%arguments", 8 * (left + 1))
    block = function.call("ptr", function.load("ptr", "%context"), f"i64 {function.let(f'mul i64 {length}, 4')}")
    for word, value in enumerate((function.let(f"ptrtoint ptr {block} to i64"), length, "4")):
        function.store("i64", value, "%results", 8 * (result + word))
    before = function.label("before")
    function.jump(before)
    function.begin(before)
    function.jump(loop)
    function.begin(loop)
    following = f"%following.{result}"
    index = function.let(f"phi i64 [0, %{before}], [{following}, %{loop}]")
    x = _vector(function, source, index)
    y = _vector(function, right, index) if right.startswith("%v") else right
    total = function.let(f"fadd <16 x float> {function.let(f'fmul <16 x float> {x}, {y}')}, {x}")
    function.do(f"store <16 x float> {total}, ptr {function.let(f'getelementptr float, ptr {block}, i64 {index}')}")
    function.do(f"{following} = add i64 {index}, 16")
    function.branch(function.let(f"icmp slt i64 {following}, {length}"), loop, done)
    function.begin(done)


def _vector(function: FunctionText, array: str, index: str) -> str:
    address = function.let(f"getelementptr float, ptr {array}, i64 {index}")
    return function.let(f"load <16 x float>, ptr {address}, align 4")


def _compile(write: Callable[[FunctionText], None]) -> NativeCode:
    function = FunctionText("i32 @run(ptr %context, ptr %arguments, ptr %results, ptr %error)")
    write(function)
    function.give("i32", "0")
    return NativeCode(function.text(), optimisation=2, for_host=True)


def _function(python_function: Any, plan: p.Plan, code: NativeCode) -> Any:
    function = make_function_type(_Methods)(python_function)
    function._link(
        Specialisation(plan, run=code.address("run"), raise_error=lambda status, address: None, keep_alive=code)
    )
    return function


# -- cases -----------------------------------------------------------------------------------------


def _leaf(register: int, slot: int) -> p.ArrayLeaf:
    return p.ArrayLeaf(register, "f32", 1, "C", False, (False,), slot)


def two_arrays() -> Any:
    """`a * b + a`."""
    arguments = (p.Argument(0), p.Argument(1))
    plan = p.Plan(("a", "b"), arguments, (_leaf(0, 0), _leaf(1, 3)), 6, 3, p.NewArray(0, "f32", 1))
    code = _compile(lambda function: _multiply_add(function, 0, function.load("ptr", "%arguments", 24), 0))
    return _function(lambda a, b: a * b + a, plan, code)


def global_and_cell(namespace: dict[str, Any], cell: CellType) -> Any:
    """`a * b + a`, plus reading a number from a global and an array from a closure."""
    reads = (p.Argument(0), p.Argument(1), p.Global(namespace, "scale"), p.Cell(cell))
    checks = (_leaf(0, 0), _leaf(1, 3), p.ScalarLeaf(2, "f64", "python", 6), _leaf(3, 7))
    plan = p.Plan(("a", "b"), reads, checks, 10, 3, p.NewArray(0, "f32", 1))
    code = _compile(lambda function: _multiply_add(function, 0, function.load("ptr", "%arguments", 24), 0))
    return _function(lambda a, b: a * b + a, plan, code)


def dict_of_arrays(names: tuple[str, ...]) -> Any:
    """`{name: a * 2 + a for name, a in arrays.items()}`, one array after the other."""
    reads = (p.Argument(0), *(p.Item(0, name) for name in names))
    leaves = tuple(_leaf(1 + number, 3 * number) for number in range(len(names)))
    results = p.DictOf(names, tuple(p.NewArray(3 * number, "f32", 1) for number in range(len(names))))
    slots = 3 * len(names)
    plan = p.Plan(("arrays",), reads, (p.KeysAre(0, names), *leaves), slots, slots, results)

    def write(function: FunctionText) -> None:
        for number in range(len(names)):
            _multiply_add(function, 3 * number, "splat (float 2.0)", 3 * number)

    return _function(lambda arrays: None, plan, _compile(write))


def numba_cases(namespace: dict[str, Any], held: Any) -> tuple[Any, Any, Any]:
    """The same for numba: globals and closures are constants there, and a tuple takes the dict's place."""
    import numba

    @numba.njit
    def plain(a: Any, b: Any) -> Any:
        return a * b + a

    @numba.njit
    def with_captured(a: Any, b: Any, scale: Any, held: Any) -> Any:
        return a * b + a

    @numba.njit
    def over_tuple(arrays: Any) -> Any:
        return arrays

    return plain, lambda a, b: with_captured(a, b, namespace["scale"], held), over_tuple


def main() -> None:
    """Print nanoseconds for each case."""
    a, b, held = (np.arange(LENGTH, dtype="f4") for _ in range(3))
    namespace, cell = {"scale": 2.0}, CellType(held)
    names = tuple(f"weight_{number}" for number in range(ARRAYS))
    small = {name: np.arange(64, dtype="f4") for name in names}
    plain, captured, dicts = two_arrays(), global_and_cell(namespace, cell), dict_of_arrays(names)
    assert np.array_equal(plain(a, b), a * b + a)
    assert np.array_equal(captured(a, b), a * b + a)
    assert all(np.array_equal(dicts(small)[name], small[name] * 3) for name in names)
    rows = {
        "two arrays in, one out": [lambda: plain(a, b), lambda: a * b + a],
        "the same by keyword": [lambda: plain(a, b=b), None],
        "plus a global number and a cell's array": [lambda: captured(a, b), None],
        f"a dict of {ARRAYS} arrays in and out": [
            lambda: dicts(small),
            lambda: {name: array * 2 + array for name, array in small.items()},
        ],
    }
    try:
        peers = numba_cases(namespace, held)
    except ImportError:
        print("numba is not installed")
    else:
        many = tuple(small.values())
        by_numba = (lambda: peers[0](a, b), lambda: peers[0](a, b=b), lambda: peers[1](a, b), lambda: peers[2](many))
        for row, call in zip(rows.values(), by_numba, strict=True):
            call()
            row.append(call)
    print(f"{'ns per call':42}{'jitflow':>10}{'numpy':>10}{'numba':>10}")
    for title, calls in rows.items():
        figures = "".join(f"{nanoseconds(call):10.0f}" if call else f"{'':10}" for call in calls)
        print(f"{title:42}{figures}")


if __name__ == "__main__":
    main()
