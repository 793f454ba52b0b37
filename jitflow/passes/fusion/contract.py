"""Products that neither a library nor blocks compute become a product and a sum, which fuse into one kernel.

BLAS has four dtypes; integers, bools and half floats go this way. So do contractions in which an operand has no axes of
its own, or that have another dtype than f32 and f64; on a GPU, for which there are no blocks, all of them. Bools
multiply with ``and`` and add with ``or``; half floats are summed in f32 and rounded once. Of a contraction that stays,
the left operand is what shows windows, since it is read where it lies; if none does, the right one is that whose last
axis is that of the result, since lanes are its columns: pixels, of a convolution of 1 x 1.

    %2: i64[n, m] = matmul %a, %b    ->    %0: i64[n, m, k] = broadcast %a {axes=[0, 2]}
                                           %1: i64[m, k] = transpose %b
                                           %2: i64[n, m, k] = broadcast %1 {axes=[1, 2]}
                                           %3: i64[n, m, k] = multiply %0, %2
                                           %4: i64[n, m] = reduce_add %3 {axes=[2]}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.dtypes import BOOL, F32, DType
from jitflow.ir.types import Scalar, Tensor, dims_of
from jitflow.passes.values.dce import dce

__all__ = ["BLAS_LETTERS", "contract", "contract_all"]

BLAS_LETTERS = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
"""The dtypes that BLAS multiplies, with the first letter of its functions' names."""
_BLOCKS = ("f32", "f64")
_HALVES = ("f16", "bf16")


def contract(function: Function) -> Function:
    """Write out the products that are for a processor, but not for BLAS or blocks."""
    found = _without(function, lambda op: _is_for_library(op) or _is_for_blocks(op) or "group" in op.attributes)
    if not any(op.name == "contract" for op in walk(found.region)):
        return found
    windows = {op.result for op in walk(found.region) if op.name == "window" and _shows_several(op)}
    for op in walk(found.region):
        if "view" in op.definition.traits and op.operands[0] in windows:
            windows.add(op.result)
    return replace(found, region=_turned(found.region, windows))


def _turned(region: Region, windows: set[Value]) -> Region:
    """The region with the operands of its contractions in the order in which blocks want them."""
    ops = []
    for op in region.ops:
        op = replace(op, regions=tuple(_turned(inner, windows) for inner in op.regions))
        if op.name == "contract" and _is_wrong_way_round(op, windows):
            of_left, of_right, kept = _labels(op)
            attributes = MappingProxyType({"left": of_right, "right": of_left, "kept": kept})
            op = replace(op, operands=op.operands[::-1], attributes=attributes)
        ops.append(op)
    return Region(region.parameters, tuple(ops))


def _shows_several(op: Op) -> bool:
    """Whether windows are more than each element by itself."""
    return any(number != 1 for name in ("sizes", "steps") for number in op.attributes[name])


def _is_wrong_way_round(op: Op, windows: set[Value]) -> bool:
    if "axes" in op.attributes:  # those of windows that it reads
        return False
    left, right = (operand in windows for operand in op.operands)
    if left or right:
        return right and not left
    of_left, _, kept = (_long(op.attributes[name], value) for name, value in zip(
        ("left", "right", "kept"), (*op.operands, op.result), strict=True))  # fmt: skip
    return bool(kept) and bool(of_left) and of_left[-1] == kept[-1] and kept[-1] not in op.attributes["right"]


def _long(labels: tuple[int, ...], value: Value) -> list[int]:
    """The labels of axes that may have more than one element."""
    return [label for label, dim in zip(labels, dims_of(value.type), strict=True) if dim != 1]


def contract_all(function: Function) -> Function:
    """Write out the products that are neither for a GPU's library nor for tiles, which take half floats as they are."""
    if any(op.name == "cast" and _is_half(op.operands[0]) for op in walk(function.region)):
        function = dce(replace(function, region=_of_halves(function.region, {})))
    return _without(function, lambda op: _is_for_library(op) or _is_for_tiles(op))


def _of_halves(region: Region, halves: dict[Value, Value]) -> Region:
    """The region with products of half floats that were made wide as products of the half floats themselves."""
    ops: list[Op] = []
    for op in region.ops:
        op = replace(op, regions=tuple(_of_halves(inner, halves) for inner in op.regions))
        known = [halves[operand] for operand in op.operands if operand in halves]
        if op.name == "cast" and _is_half(op.operands[0]) and op.attributes["dtype"] == F32:
            halves[op.result] = op.operands[0]
        elif known and "view" in op.definition.traits and isinstance(op.result.type, Tensor):
            narrow = Value(Tensor(_dtype(known[0]), op.result.type.dims), op.result.name)
            ops.append(replace(op, operands=(known[0], *op.operands[1:]), results=(narrow,)))
            halves[op.result] = narrow
        elif op.name == "matmul" and len(known) == 2 and all(map(_is_half, known)) and len({*map(_dtype, known)}) == 1:
            op = replace(op, operands=tuple(known), attributes=MappingProxyType({"dtype": F32}))
        ops.append(op)
    return Region(region.parameters, tuple(ops))


def _is_half(value: Value) -> bool:
    return isinstance(value.type, Tensor) and value.type.rank >= 2 and value.type.dtype.name in _HALVES


def _dtype(value: Value) -> DType:
    assert isinstance(value.type, Tensor)
    return value.type.dtype


def _without(function: Function, stays: Callable[[Op], bool]) -> Function:
    if all(stays(op) for op in walk(function.region) if "contraction" in op.definition.traits):
        return function
    return replace(function, region=_written_out(function.region, {}, stays))


def _written_out(region: Region, renamed: dict[Value, Value], stays: Callable[[Op], bool]) -> Region:
    builder = Builder()
    for op in region.ops:
        operands = tuple(renamed.get(operand, operand) for operand in op.operands)
        if "contraction" in op.definition.traits and not stays(op):
            builder.loc = op.loc
            renamed[op.result] = _product(builder, op, operands)
        else:
            regions = tuple(_written_out(inner, renamed, stays) for inner in op.regions)
            builder.ops.append(replace(op, operands=operands, regions=regions))
    return Region(region.parameters, tuple(builder.ops))


def _is_for_library(op: Op) -> bool:
    assert isinstance(op.result.type, Tensor)
    return op.name == "matmul" and op.result.type.dtype.name in BLAS_LETTERS and "dtype" not in op.attributes


def _is_for_tiles(op: Op) -> bool:
    """Whether tensor cores take the matrices."""
    return op.name == "matmul" and all(map(_is_half, op.operands))


def _is_for_blocks(op: Op) -> bool:
    """Whether a contraction has rows, columns and an inner axis."""
    if op.name != "contract":
        return False
    assert isinstance(op.result.type, Tensor)
    left, right, kept = map(set, _labels(op))
    return op.result.type.dtype.name in _BLOCKS and bool(left - right and right - left and (left & right) - kept)


def _labels(op: Op) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The labels of a contraction's axes: of the left operand, the right one, and the result."""
    if op.name == "contract":
        return op.attributes["left"], op.attributes["right"], op.attributes["kept"]
    rank = len(dims_of(op.result.type))
    batch = tuple(range(rank - 2))
    return (*batch, rank - 2, rank), (*batch, rank, rank - 1), tuple(range(rank))


def _product(builder: Builder, op: Op, operands: tuple[Value, ...]) -> Value:
    left, right = operands
    if "group" in op.attributes:
        left, right = builder.make("cast", left, dtype=op.attributes["dtype"]), _ungrouped(builder, right, op)
    assert isinstance(left.type, Tensor)
    dtype = left.type.dtype
    if dtype.name in _HALVES:
        wide = tuple(builder.make("cast", operand, dtype=F32) for operand in operands)
        return builder.make("cast", _product(builder, op, wide), dtype=dtype)
    of_left, of_right, kept = _labels(op)
    summed = tuple(label for label in of_left if label not in kept)
    order = (*kept, *summed)
    sizes = dict(zip((*of_left, *of_right), (*dims_of(left.type), *dims_of(right.type)), strict=True))
    dims = tuple(sizes[label] for label in order)
    spread = [
        _spread(builder, value, labels, order, dims) for value, labels in ((left, of_left), (right, of_right))
    ]  # fmt: skip
    multiply, add = ("logical_and", "reduce_logical_or") if dtype == BOOL else ("multiply", "reduce_add")
    axes = tuple(range(len(kept), len(order)))
    return builder.make(add, builder.make(multiply, *spread), axes=axes)


def _ungrouped(builder: Builder, right: Value, op: Op) -> Value:
    """The bytes of a matrix of groups of them, as rows of i32: shifted to the top and down again, with their sign."""
    m, (groups, columns) = builder.make, dims_of(right.type)
    dtype, number = op.attributes["dtype"], op.attributes["group"]
    dims = groups, number, columns
    top, width = (m("constant", value=bits, type=Scalar(dtype)) for bits in (8 * (number - 1), 8))
    shift = m("subtract", top, m("multiply", m("iota", dtype=dtype, dims=dims, axis=1), width))
    found = m("right_shift", m("left_shift", m("broadcast", right, dims=dims, axes=(0, 2)), shift), top)
    return m("reshape", found, dims=(groups * number, columns))


def _spread(
    builder: Builder, value: Value, labels: tuple[int, ...], order: tuple[int, ...], dims: tuple[object, ...]
) -> Value:
    """A factor with the axes of all products."""
    present = [label for label in order if label in labels]
    axes = tuple(labels.index(label) for label in present)
    if axes != tuple(range(len(axes))):
        value = builder.make("transpose", value, axes=axes)
    return builder.make("broadcast", value, dims=dims, axes=tuple(map(order.index, present)))
