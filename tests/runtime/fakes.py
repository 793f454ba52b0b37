"""Specialisations with hand-written kernels, for tests of the runtime alone."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.plan import ERROR_SLOTS, Plan
from jitflow.runtime.entry.specialisation import Specialisation
from jitflow.runtime.native.dtypes import NUMPY_NAMES, numpy_dtype
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.native_code import NativeCode

Body = Callable[[FunctionText], None]


@dataclass
class Missed:
    """What the tests' functions return when nothing matches."""

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]


class FailedError(Exception):
    """Raised by the tests' error handler."""


class Methods:
    """The smallest set of methods that a function type needs."""

    def __init__(self, function: FunctionType) -> None:
        self._prepare(function)  # type: ignore[attr-defined]

    def _miss(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Missed:
        return Missed(arguments, keywords)


def raise_error(status: int, address: int) -> None:
    words = (ctypes.c_int64 * ERROR_SLOTS).from_address(address)
    raise FailedError(status, *words[:3])


def specialise(plan: Plan, body: Body | None = None, *, guard: Body | None = None, **options: Any) -> Specialisation:
    """Compile a specialisation whose `run` and `guard` have the given bodies; `run` returns 0 after its body."""
    run = FunctionText("i32 @run(ptr %context, ptr %arguments, ptr %results, ptr %error)")
    if body is not None:
        body(run)
    run.give("i32", "0")
    texts = [run.text()]
    if guard is not None:
        check = FunctionText("i32 @guard(ptr %arguments)")
        guard(check)
        texts.append(check.text())
    declaration = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
    code = NativeCode(declaration + "\n".join(texts))
    options.setdefault("raise_error", raise_error)
    return Specialisation(
        plan,
        run=code.address("run"),
        guard=code.address("guard") if guard is not None else 0,
        keep_alive=code,
        **options,
    )


def copy_words(argument: int, result: int, count: int = 1) -> Body:
    """Copy argument slots to result slots."""

    def body(function: FunctionText) -> None:
        for word in range(count):
            value = function.load("i64", "%arguments", 8 * (argument + word))
            function.store("i64", value, "%results", 8 * (result + word))

    return body


def copy_array(argument: int, result: int, rank: int, itemsize: int) -> Body:
    """Make a new array with the bytes of a contiguous argument."""

    def body(function: FunctionText) -> None:
        nbytes = str(itemsize)
        for axis in range(rank):
            nbytes = function.let(f"mul i64 {nbytes}, {function.load('i64', '%arguments', 8 * (argument + 1 + axis))}")
        block = function.call("ptr", function.load("ptr", "%context"), f"i64 {nbytes}")
        source = function.load("ptr", "%arguments", 8 * argument)
        function.run("@llvm.memcpy.p0.p0.i64", f"ptr {block}", f"ptr {source}", f"i64 {nbytes}", "i1 false")
        function.store("ptr", block, "%results", 8 * result)
        copy_words(argument + 1, result + 1, 2 * rank)(function)

    return body


def multiply_add(function: FunctionText) -> None:
    """`a * b + a` on two f32 vectors."""
    loop, done = function.label("loop"), function.label("done")
    left, right = (function.load("ptr", "%arguments", offset) for offset in (0, 24))
    length = function.load("i64", "%arguments", 8)
    nbytes = function.let(f"mul i64 {length}, 4")
    block = function.call("ptr", function.load("ptr", "%context"), f"i64 {nbytes}")
    function.store("ptr", block, "%results")
    function.store("i64", length, "%results", 8)
    function.store("i64", "4", "%results", 16)
    place = function.stack(1)
    function.store("i64", "0", place)
    function.jump(loop)
    function.begin(loop)
    index = function.load("i64", place)
    function.require(function.let(f"icmp slt i64 {index}, {length}"), done)
    x, y = (
        function.load("float", function.let(f"getelementptr float, ptr {array}, i64 {index}"))
        for array in (left, right)
    )
    total = function.let(f"fadd float {function.let(f'fmul float {x}, {y}')}, {x}")
    function.store("float", total, function.let(f"getelementptr float, ptr {block}, i64 {index}"))
    function.store("i64", function.let(f"add i64 {index}, 1"), place)
    function.jump(loop)
    function.begin(done)


def in_sequence(*bodies: Body) -> Body:
    def body(function: FunctionText) -> None:
        for part in bodies:
            part(function)

    return body


def fail_with(status: int, *words: int) -> Body:
    """Report an error."""

    def body(function: FunctionText) -> None:
        for place, word in enumerate(words):
            function.store("i64", str(word), "%error", 8 * place)
        function.give("i32", str(status))
        function.begin(function.label("unreachable"))

    return body


def vector_leaf(register: int, slot: int, dtype: str = "f32", **changes: Any) -> p.ArrayLeaf:
    """A C-contiguous vector of a length other than 1."""
    options: dict[str, Any] = {"rank": 1, "layout": "C", "writeable": False, "ones": (False,)} | changes
    return p.ArrayLeaf(register, dtype, slot=slot, **options)


def leaf_of(array: np.ndarray[Any, Any], register: int = 0, slot: int = 0, *, writeable: bool = False) -> p.ArrayLeaf:
    """The leaf that an array matches."""
    names = {numpy_dtype(name): name for name in NUMPY_NAMES}
    ones = tuple(dim == 1 for dim in array.shape)
    return p.ArrayLeaf(register, names[array.dtype], array.ndim, p.layout_of(array), writeable, ones, slot)


def plan_of(
    parameters: str,
    checks: tuple[p.Check, ...] = (),
    results: p.Result | None = None,
    *,
    reads: tuple[p.Read, ...] | None = None,
    **options: Any,
) -> Plan:
    """A plan over simple parameters; its slots are generous."""
    names = tuple(parameters.split())
    arguments = tuple(p.Argument(index) for index in range(len(names)))
    return Plan(
        names,
        arguments if reads is None else (*arguments, *reads),
        checks,
        options.pop("argument_slots", 64),
        options.pop("result_slots", 64),
        p.ConstantObject("matched") if results is None else results,
        **options,
    )


MULTIPLY_ADD = plan_of("a b", (vector_leaf(0, 0), vector_leaf(1, 3)), p.NewArray(0, "f32", 1))
