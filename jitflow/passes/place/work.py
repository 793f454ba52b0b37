"""What ops cost: how much arithmetic they do and how much memory they move, and how long that takes a device.

The model is that of a roof: a kernel takes as long as its arithmetic or its memory, whichever is longer. Of the two
sides of a branch each counts half, unless one is known to be rare.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import NamedTuple

from jitflow.ir.core import Op, Region, Value
from jitflow.ir.types import Tensor, Type, dims_of
from jitflow.machine import Processor
from jitflow.passes.place.sizes import Sizes

__all__ = ["NO_WORK", "Work", "arithmetic", "is_kernel", "seconds", "shares", "touched",
           "work_of", "work_of_region"]  # fmt: skip


class Work(NamedTuple):
    """Amounts: bytes in memory, operations by their kind, kernels, numbers outside of kernels, calls of libraries."""

    bytes: float = 0.0
    single: float = 0.0
    double: float = 0.0
    integer: float = 0.0
    elementary: float = 0.0
    single_products: float = 0.0
    double_products: float = 0.0
    kernels: float = 0.0
    steps: float = 0.0
    routines: float = 0.0
    footprint: float = 0.0
    """The largest memory that one kernel goes through: what tells whether it stays in the cache."""

    def plus(self, other: Work, times: float = 1.0) -> Work:
        """The sum with so many times the other."""
        sums = [one + times * two for one, two in zip(self, other, strict=True)]
        return Work._make((*sums[:-1], max(self.footprint, other.footprint)))


NO_WORK = Work()


def seconds(work: Work, processor: Processor) -> float:
    """How long a device takes."""
    inside = work.footprint <= processor.cache
    memory = work.bytes / (processor.cache_bandwidth if inside else processor.bandwidth)
    kernels = (
        work.single / processor.single
        + work.double / processor.double
        + work.integer / processor.integer
        + work.elementary / processor.elementary
    )
    products = work.single_products / processor.single_products + work.double_products / processor.double_products
    fixed = work.kernels * processor.launch + work.steps * processor.step + work.routines * processor.routine
    return max(memory, kernels + products) + fixed


def shares(op: Op) -> tuple[float, ...]:
    """How often each region of a branch runs."""
    rare = op.attributes.get("rare")
    return (0.5, 0.5) if rare is None else tuple(0.0 if number == rare else 1.0 for number in (0, 1))


def work_of(op: Op, sizes: Sizes) -> Work:
    """What an op does if it is a kernel of its own."""
    if op.regions:
        return work_of_region(op, sizes)
    if is_kernel(op):
        read = sum(touched(op, operand, sizes) for operand in dict.fromkeys(op.operands))
        memory = read + sum(sizes.bytes(result.type) for result in op.results)
        return arithmetic(op, sizes)._replace(bytes=memory, footprint=memory, kernels=1.0)
    return arithmetic(op, sizes)


def work_of_region(op: Op, sizes: Sizes) -> Work:
    """What an op with regions does in all, with each op inside for itself."""
    if op.name == "if":
        times: Sequence[float] = shares(op)
    elif op.name in ("for", "while"):
        times = (sizes.turns(op),) * len(op.regions)
    else:
        times = (1.0,) * len(op.regions)
    total = Work(steps=2.0)
    for region, often in zip(op.regions, times, strict=True):
        total = total.plus(_work_inside(region, sizes), often)
    return total


def _work_inside(region: Region, sizes: Sizes) -> Work:
    total = NO_WORK
    for op in region.body:
        total = total.plus(work_of(op, sizes))
    return total


def touched(op: Op, operand: Value, sizes: Sizes) -> float:
    """The bytes that an op reads or writes of an operand."""
    if operand is op.operands[0] and op.name in ("gather", "scatter", "push", "pop"):
        return 2 * sizes.bytes((op.results or op.operands[-1:])[0].type)
    return sizes.bytes(operand.type)


def is_kernel(op: Op) -> bool:
    """Whether an op walks over arrays, so that it may share a kernel with others like it."""
    if not (op.definition.traits & _SWEEPS or op.name in _MOVES):
        return False
    values = op.operands[-1:] if op.name == "scatter" else (*op.operands, *op.results)
    return any(dims_of(value.type) for value in values)


# -- tables

_SWEEPS = frozenset({"elementwise", "reduction", "gather", "accumulation"})
_MOVES = frozenset({"concatenate", "store", "scatter", "variable", "push", "pop"})

_FREE = frozenset({"constant", "size", "load", "yield", "empty", "tape", "mark", "iota", "stop_gradient", "cast",
                   "copy", "bitcast", "real", "imag", "check"})  # fmt: skip
_ELEMENTARY = frozenset({
    "power", "cbrt", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "sin", "cos",
    "tan", "arcsin", "arccos", "arctan", "arctan2", "hypot", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
    "erf", "erfc", "gcd", "lcm",
})  # fmt: skip
_QUICK = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "select", "to_index",
                    "logical_and", "logical_or", "logical_not", "maximum", "minimum"})  # fmt: skip
"""What a number costs next to nothing: a processor does several of them at once."""
_SLOW = {"divide": 6.0, "sqrt": 6.0, "floor_divide": 10.0, "remainder": 10.0, "fmod": 10.0, "random_low": 12.0,
         "random_high": 12.0, "accumulate_add": 6.0, "scatter": 6.0, "gather": 3.0, "reduce_argmax": 3.0,
         "reduce_argmin": 3.0}  # fmt: skip
"""Operations that take as long as so many additions."""


def arithmetic(op: Op, sizes: Sizes) -> Work:
    """What an op computes, without what it moves."""
    name, traits = op.name, op.definition.traits
    if "view" in traits:
        return NO_WORK
    if name == "matmul":
        return _product(op, sizes)
    if name == "host_call":
        return _routine(op, sizes)
    if name == "print":
        return Work(routines=1.0)
    typed = op.results[0].type if op.results else op.operands[-1].type if op.operands else None
    if typed is None or name in _FREE:
        return NO_WORK
    count = sizes.count(typed)
    if traits & {"reduction", "accumulation"}:
        count = max(count, sizes.count(op.operands[0].type))
    if not is_kernel(op):
        return Work(steps=20.0 if name in _ELEMENTARY else 0.25 if name in _QUICK else 1.0)
    dtype = getattr(typed, "dtype", None)
    kind = "i" if dtype is None else dtype.numpy.kind
    width = 8 if dtype is None else dtype.numpy.itemsize
    if name in _ELEMENTARY:
        return Work(elementary=count * (0.5 if width <= 4 else 1.0 if width == 8 else 3.0))
    amount = count * _SLOW.get(name, 1.0)
    if kind == "c":
        return Work(double=3 * amount)
    if kind == "f":
        return Work(single=amount) if width <= 4 else Work(double=amount)
    return Work(integer=amount * width / 8)


def _product(op: Op, sizes: Sizes) -> Work:
    left, result = op.operands[0].type, op.result.type
    assert isinstance(left, Tensor)
    amount = 2.0 * sizes.count(result) * sizes.number(left.dims[-1])
    memory = sum(sizes.bytes(value.type) for value in (*op.operands, op.result))
    narrow = left.dtype.numpy.itemsize <= 4
    moved = Work(bytes=memory, footprint=memory, kernels=4.0)
    return moved._replace(single_products=amount) if narrow else moved._replace(double_products=amount)


def _routine(op: Op, sizes: Sizes) -> Work:
    """Library functions by the growth of what they do with their largest operand."""
    routine = str(op.attributes["routine"])
    arrays = [value.type for value in (*op.operands, *op.results)]
    memory = sum(map(sizes.bytes, arrays))
    count = max(map(sizes.count, arrays), default=1.0)
    called = Work(bytes=memory, footprint=memory, routines=1.0)
    if ".fft" in routine:
        return called._replace(double=2.5 * count * log2(count + 2))
    if ".linalg" in routine:
        cubes = max((_cube(kind, sizes) for kind in arrays), default=0.0)
        factor = 10.0 if any(word in routine for word in ("svd", "eig", "pinv")) else 1.0
        return called._replace(double_products=factor * cubes, steps=200.0)
    if "sort" in routine or "unique" in routine or "partition" in routine:
        return called._replace(double=6 * count * log2(count + 2))
    return called._replace(double=10 * count)


def _cube(kind: Type, sizes: Sizes) -> float:
    dims = dims_of(kind)
    return sizes.count(kind) * min(map(sizes.number, dims[-2:])) if len(dims) >= 2 else 0.0
