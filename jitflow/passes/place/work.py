"""What ops cost: how much arithmetic they do and how much memory they move, and how long that takes a device.

The model of a kernel is that of a roof: it takes as long as its arithmetic or its memory, whichever is longer. Where
memory is found says how long ago it was used: the bytes that were moved since then have pushed it so far away.

Numbers outside of kernels, and the loops over elements that work on them, are counted in *steps*: instructions that a
processor starts several of at once. A turn of a loop takes all of its steps, or as long as the next turn waits for what
this one computes (`_recurrence`). Each side of a branch counts as often as it is likely to run.

The tables hold ratios, of which processors of one kind have much the same; what differs from one to the next is the
`Machine`'s, and measured.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import log2, prod
from typing import NamedTuple

from jitflow.ir.core import Op, Region, Value
from jitflow.ir.types import Index, Tensor, Type, dims_of
from jitflow.machines.machine import Processor
from jitflow.passes.analyses.order import reads_of
from jitflow.passes.place.sizes import Sizes

__all__ = ["NO_WORK", "WAIT", "Work", "arithmetic", "is_fusible", "is_kernel", "length", "seconds", "shares", "touched",
           "work_of", "work_of_region"]  # fmt: skip

_APART = 10.0
"""Reading a number that lies apart from its neighbours takes as long as so many additions."""

_APIECE = 0.3
"""Which part of the shorter of memory and arithmetic is not hidden behind the longer."""

WAIT = 15.0
"""How many steps a processor could start until an addition of floats is done."""

_TURN = 3.0
_LEAVE = {"for": 10.0, "while": 60.0, "if": 3.0}
"""Steps of a turn's bookkeeping; and of a loop's end or a branch, of which processors guess some wrong."""


class Work(NamedTuple):
    """Amounts: bytes in memory, operations by their kind, kernels, steps outside of kernels, calls of libraries."""

    bytes: float = 0.0
    reach: float = 0.0
    """Bytes times how many others were moved since they were used last."""
    single: float = 0.0
    double: float = 0.0
    integer: float = 0.0
    elementary: float = 0.0
    single_products: float = 0.0
    double_products: float = 0.0
    kernels: float = 0.0
    steps: float = 0.0
    routines: float = 0.0

    def plus(self, other: Work, times: float = 1.0) -> Work:
        """The sum with so many times the other."""
        return Work._make([one + times * two for one, two in zip(self, other, strict=True)])


NO_WORK = Work()


def seconds(work: Work, processor: Processor) -> float:
    """How long a device takes."""
    memory = work.bytes / processor.bandwidth_at(work.reach / work.bytes) if work.bytes else 0.0
    kernels = (
        work.single / processor.single
        + work.double / processor.double
        + work.integer / processor.integer
        + work.elementary / processor.elementary
    )
    products = work.single_products / processor.single_products + work.double_products / processor.double_products
    fixed = work.kernels * processor.launch + work.steps * processor.step + work.routines * processor.routine
    computing = kernels + products
    return max(memory, computing) + _APIECE * min(memory, computing) + fixed


def shares(op: Op, sizes: Sizes) -> tuple[float, float]:
    """How often each region of a branch runs."""
    rare = op.attributes.get("rare")
    first = sizes.likelihood(op.operands[0]) if rare is None else float(rare)
    return (first, 1.0 - first)


def work_of(op: Op, sizes: Sizes, made: Container[Value] = ()) -> Work:
    """What an op does that shares kernels with others, of which those have ``made`` some of what it reads."""
    if op.regions:
        return work_of_region(op, sizes)
    if is_kernel(op):
        ends = op.name in _MOVES or bool(op.definition.traits & {"reduction", "accumulation"})
        memory = sum(touched(op, operand, sizes) for operand in dict.fromkeys(op.operands) if operand not in made)
        amount = arithmetic(op, sizes)
        if ends:
            memory += sum(sizes.bytes(result.type) for result in op.results)
            amount = amount._replace(kernels=1.0)
        return amount._replace(bytes=memory, reach=memory * memory)
    return arithmetic(op, sizes)


def work_of_region(op: Op, sizes: Sizes) -> Work:
    """What an op with regions does in all, with each op inside for itself."""
    total = Work(steps=_LEAVE.get(op.name, 0.0))
    if op.name in ("for", "while"):
        turn = _work_inside(op.regions, (1.0,) * len(op.regions), sizes)
        waiting = WAIT * _recurrence(op.regions[-1], 1 if op.name == "for" else 0)
        return total.plus(turn._replace(steps=max(turn.steps + _TURN, waiting)), sizes.turns(op))
    times = shares(op, sizes) if op.name == "if" else (1.0,) * len(op.regions)
    return total.plus(_work_inside(op.regions, times, sizes))


def _work_inside(regions: Sequence[Region], times: Sequence[float], sizes: Sizes) -> Work:
    total = NO_WORK
    for region, often in zip(regions, times, strict=True):
        made: set[Value] = set()
        for op in region.body:
            total = total.plus(work_of(op, sizes, made), often)
            made.update(op.results if op.name != "load" and ("view" not in op.definition.traits) else ())
    return total


_MOST_SLOTS = 16
"""So many of what a loop carries are followed."""
_READ = 1.3
"""How long a number from memory is waited for, in additions of floats."""


def _recurrence(region: Region, first: int) -> float:
    """How many additions of floats a turn waits for the one before: the longest way from what is carried to itself.

    Ways from one slot to another count where there is one back, as half of both.
    """
    carried, yielded = region.parameters[first:], region.yielded
    reads = [(op, tuple(reads_of(op)) if op.regions else op.operands) for op in region.body]
    ways = []
    for slot in carried[:_MOST_SLOTS]:
        reached: dict[Value, float] = {slot: 0.0}
        for op, read in reads:
            sources = [reached[value] for value in read if value in reached]
            if sources:
                reached.update(dict.fromkeys(op.results, max(sources) + length(op)))
        ways.append([reached.get(value) for value in yielded])
    longest = 0.0
    for one, there in enumerate(ways):
        for other in range(one, len(ways)):
            forth, back = there[other], ways[other][one]
            if forth is not None and back is not None:
                longest = max(longest, (forth + back) / 2)
    return longest


def length(op: Op) -> float:
    """How long its result waits for an operand, in additions of floats."""
    if "view" in op.definition.traits:
        return _READ if _is_element(op) else 0.0
    if op.name in _ELEMENTARY:
        return 10.0
    kind = _kind(op.results[0].type) if op.results else "i"
    usual = 1.0 if kind in "fc" and op.name not in _QUICK else 0.3
    return _LENGTHS.get(op.name, usual) if op.name not in _FREE else 0.0


def touched(op: Op, operand: Value, sizes: Sizes) -> float:
    """The bytes that an op reads or writes of an operand."""
    if operand is op.operands[0] and op.name in ("gather", "scatter", "push", "pop"):
        return 2 * sizes.bytes((op.results or op.operands[-1:])[0].type)
    return sizes.bytes(operand.type) * sizes.spread(operand)


def is_kernel(op: Op) -> bool:
    """Whether an op walks over arrays, so that it may share a kernel with others like it."""
    if not (op.definition.traits & _SWEEPS or op.name in _MOVES):
        return False
    values = op.operands[-1:] if op.name == "scatter" else (*op.operands, *op.results)
    return any(dims_of(value.type) for value in values)


def is_fusible(op: Op) -> bool:
    """Whether an op may share a kernel, or computes nothing but numbers."""
    alone = op.regions or op.name in ("host_call", "print") or "contraction" in op.definition.traits
    return is_kernel(op) or not alone


def _is_element(op: Op) -> bool:
    """Whether a view is an element of an array, which is read there."""
    return isinstance(op.result.type, Tensor) and not op.result.type.dims


# -- tables

_SWEEPS = frozenset({"elementwise", "reduction", "gather", "accumulation"})
_MOVES = frozenset({"concatenate", "store", "scatter", "variable", "push", "pop"})

_FREE = frozenset({"constant", "size", "load", "yield", "empty", "tape", "mark", "iota", "stop_gradient", "cast",
                   "copy", "bitcast", "real", "imag", "to_index"})  # fmt: skip
_ELEMENTARY = {
    "exp": 0.75, "exp2": 0.7, "expm1": 1.1, "log": 1.5, "log1p": 1.6, "log2": 1.6, "log10": 1.6, "sin": 1.25,
    "cos": 1.2, "tan": 1.6, "sinh": 1.35, "cosh": 1.25, "tanh": 1.65, "arcsin": 1.0, "arccos": 1.1, "arctan": 1.5,
    "arcsinh": 4.0, "arccosh": 3.5, "arctanh": 2.5, "cbrt": 1.5, "power": 4.8, "hypot": 1.8, "arctan2": 2.8,
    "logaddexp": 4.8, "logaddexp2": 4.8, "erf": 1.5, "erfc": 2.0, "gcd": 10.0, "lcm": 10.0, "power_modulo": 100.0,
    "random_low": 2.5, "random_high": 2.5,
}  # fmt: skip
"""Functions that take as long as so many of exp and sin, on average of these two."""

_COMPLEX = {"absolute": 1.8, "divide": 1.2, "reciprocal": 2.0, "sqrt": 3.6, "sign": 2.4}
"""The same of complex numbers, where it is not five times as much as of real ones."""

_QUICK = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "select", "to_index",
                    "logical_and", "logical_or", "logical_not"})  # fmt: skip
_SLOW = {"divide": 4.0, "sqrt": 10.0, "floor_divide": 26.0, "remainder": 17.0, "fmod": 11.0, "accumulate_add": 12.0,
         "scatter": 16.0, "gather": 16.0, "reduce_argmax": 5.0, "reduce_argmin": 5.0, "reduce_m2": 7.0,
         "reduce_add": 3.6, "reduce_maximum": 3.0, "reduce_minimum": 3.0}  # fmt: skip
"""Operations of kernels that take as long as so many additions."""
_STEPS = {"divide": 20.0, "sqrt": 24.0, "floor_divide": 40.0, "remainder": 40.0, "fmod": 60.0, "check": 0.3}
"""The same of numbers outside of kernels, in steps."""
_LENGTHS = {"divide": 4.0, "sqrt": 6.0, "floor_divide": 6.0, "remainder": 6.0, "fmod": 10.0, "scatter": 1.0,
            "gather": 1.3}  # fmt: skip
"""How long the results of these are waited for, in additions of floats."""


def arithmetic(op: Op, sizes: Sizes) -> Work:
    """What an op computes, without what it moves."""
    name = op.name
    if "view" in op.definition.traits:
        return Work(steps=1.0) if _is_element(op) else NO_WORK
    if "contraction" in op.definition.traits:
        return _product(op, sizes)
    if name == "power" and (exponent := sizes.known(op.operands[1])) is not None and exponent in (-1, 0.5, 2, 3, 4):
        return _computed("divide" if exponent == -1 else "sqrt" if exponent == 0.5 else "multiply", op, sizes)
    if name == "host_call":
        return _routine(op, sizes)
    if name == "print":
        return Work(routines=1.0)
    return _computed(name, op, sizes)


def _computed(name: str, op: Op, sizes: Sizes) -> Work:
    """What an op of arithmetic costs that is as dear as ``name``."""
    traits = op.definition.traits
    typed = op.results[0].type if op.results else op.operands[-1].type if op.operands else None
    if typed is None or name in _FREE:
        return NO_WORK
    if not is_kernel(op):
        usual = 0.4 if name in _QUICK or isinstance(typed, Index) else 1.0
        return Work(steps=160.0 * _ELEMENTARY[name] if name in _ELEMENTARY else _STEPS.get(name, usual))
    if name == "check":
        return NO_WORK
    count = sizes.count(typed)
    if traits & {"reduction", "accumulation"}:
        count = max(count, sizes.count(op.operands[0].type))
    kind, width = _kind(typed), _width(typed)
    if any(_kind(value.type) == "c" for value in op.operands):
        width = 8
        if name in _COMPLEX or name in _ELEMENTARY:
            return Work(elementary=count * _COMPLEX.get(name, 5 * _ELEMENTARY.get(name, 0.0)))
        return Work(double=(6 if name == "multiply" else 2) * count)
    if name in _ELEMENTARY:
        return Work(elementary=_ELEMENTARY[name] * count * (0.45 if width <= 4 else 1.0))
    amount = count * _SLOW.get(name, 1.0)
    amount += _APART * sum(sizes.count(value.type) for value in op.operands if sizes.spread(value) > 1)
    if kind == "f":
        return Work(single=amount) if width <= 4 else Work(double=amount)
    return Work(integer=amount if name in ("floor_divide", "remainder") else amount * width / 8)


def _kind(kind: Type) -> str:
    dtype = getattr(kind, "dtype", None)
    return "i" if dtype is None or isinstance(kind, Index) else str(dtype.numpy.kind)


def _width(kind: Type) -> int:
    dtype = getattr(kind, "dtype", None)
    return 8 if dtype is None else int(dtype.numpy.itemsize)


def _product(op: Op, sizes: Sizes) -> Work:
    left, result = op.operands[0].type, op.result.type
    assert isinstance(left, Tensor)
    labels, kept = op.attributes.get("left", ()), op.attributes.get("kept", ())
    summed = [dim for label, dim in zip(labels, left.dims, strict=False) if label not in kept] or [left.dims[-1]]
    amount = 2.0 * sizes.count(result) * prod(map(sizes.number, summed))
    memory = sum(sizes.bytes(value.type) for value in (*op.operands, op.result))
    moved = Work(bytes=memory, reach=memory * memory, kernels=3.0)
    if left.dtype.is_complex:  # by a library
        amount, moved = 4 * amount, moved._replace(kernels=5.0)
    narrow = left.dtype.real.itemsize <= 4
    return moved._replace(single_products=amount) if narrow else moved._replace(double_products=amount)


def _routine(op: Op, sizes: Sizes) -> Work:
    """Library functions by the growth of what they do with their largest operand."""
    routine = str(op.attributes["routine"])
    arrays = [value.type for value in (*op.operands, *op.results)]
    memory = sum(map(sizes.bytes, arrays))
    count = max(map(sizes.count, arrays), default=1.0)
    called = Work(bytes=memory, reach=memory * memory, routines=1.0)
    if ".fft" in routine:
        return called._replace(double=2.5 * count * log2(count + 2))
    if ".linalg" in routine:
        cubes = max((_cube(kind, sizes) for kind in arrays), default=0.0)
        factor = 10.0 if any(word in routine for word in ("svd", "eig", "pinv")) else 1.0
        wide = 4.0 if any(_kind(kind) == "c" for kind in arrays) else 1.0
        return called._replace(double_products=4 * wide * factor * cubes, routines=2.0)
    if "sort" in routine or "unique" in routine or "partition" in routine:
        return called._replace(double=40 * count * log2(count + 2))
    return called._replace(double=30 * count)


def _cube(kind: Type, sizes: Sizes) -> float:
    dims = dims_of(kind)
    return sizes.count(kind) * min(map(sizes.number, dims[-2:])) if len(dims) >= 2 else 0.0
