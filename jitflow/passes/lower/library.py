"""Matrix products through BLAS.

BLAS is column-major: a row-major product ``c = a @ b`` is the column-major product ``c' = b' @ a'``, and a row-major
matrix is its own transpose there, so nothing is moved. An operand whose rows or columns are not contiguous is copied
first. Batches are a loop of products.
"""

from __future__ import annotations

from dataclasses import dataclass

from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.layout import Layout, contiguous
from jitflow.ir.types import Index, Scalar, Tensor, dims_of
from jitflow.passes.fusion.contract import BLAS_LETTERS
from jitflow.passes.lower.program import HostProgram, Storage
from jitflow.passes.plan.products import as_it_lies

__all__ = ["lower_matmul", "multiply_into"]


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A batch of matrices as BLAS takes them, in memory that may be temporary."""

    storage: Storage
    layout: Layout
    transposed: bool
    leading: Dim
    """The stride between rows (or columns if ``transposed``), in elements."""
    temporary: bool


def lower_matmul(host: HostProgram, op: Op) -> None:
    """The product in memory of its own."""
    type = op.result.type
    assert isinstance(type, Tensor)
    storage = host.allocate(type.dtype, type.dims)
    multiply_into(host, op, storage)
    host.give(op.result, storage)


def multiply_into(host: HostProgram, op: Op, storage: Storage) -> None:
    """Call ``gemm`` for each matrix of the batch; the result lies in C order."""
    left_value, right_value = op.operands
    type = op.result.type
    assert isinstance(type, Tensor)
    left, right = _matrix(host, left_value), _matrix(host, right_value)
    *batch, rows, columns = type.dims
    inner = dims_of(left_value.type)[-1]
    build = host.builder
    one, zero = (build.make("constant", value=number, type=Scalar(type.dtype)) for number in (1, 0))
    symbol = BLAS_LETTERS[type.dtype.name] + "gemm"
    flags = [host.dim(int(matrix.transposed)) for matrix in (right, left)]
    sizes = [host.dim(columns), host.dim(rows), host.dim(inner)]
    least = host.dim(1)
    leadings = [
        build.make("maximum", host.dim(leading), least) for leading in (right.leading, left.leading, columns)
    ]  # fmt: skip
    batch_layout = contiguous(tuple(batch), 1)
    count = product(batch)

    def multiply(builder: Builder, offsets: list[Value | None]) -> None:
        buffers = [
            matrix if offset is None else builder.make("offset", matrix, offset)
            for matrix, offset in zip((right.storage.buffer, left.storage.buffer, storage.buffer), offsets, strict=True)
        ]
        builder.add(
            "library", *flags, *sizes, one, buffers[0], leadings[0], buffers[1], leadings[1], zero, buffers[2],
            leadings[2], symbol=symbol,
        )  # fmt: skip

    if not batch:
        starts = [None if m.layout.offset == 0 else host.dim(m.layout.offset) for m in (right, left)]
        multiply(build, [*starts, None])
    else:
        strides = [
            [host.dim(stride) for stride in layout.strides[: len(batch)]]
            for layout in (right.layout, left.layout, storage.layout)
        ]
        starts_of = [host.dim(right.layout.offset), host.dim(left.layout.offset), host.dim(0)]
        divisors = [(host.dim(stride), host.dim(dim)) for stride, dim in zip(batch_layout.strides, batch, strict=True)]
        inside = Builder(loc=build.loc)
        number = Value(Index(), "matrix")
        offsets: list[Value | None] = []
        for start, steps in zip(starts_of, strides, strict=True):
            offset = start
            for step, (divisor, dim) in zip(steps, divisors, strict=True):
                position = inside.make("remainder", inside.make("floor_divide", number, divisor), dim)
                offset = inside.make("add", offset, inside.make("multiply", position, step))
            offsets.append(offset)
        multiply(inside, offsets)
        region: Region = inside.region((number,), ())
        build.add("for", host.dim(0), host.dim(count), least, types=(), regions=(region,))
    for matrix in (left, right):
        if matrix.temporary:
            host.free(matrix.storage)


def _matrix(host: HostProgram, value: Value) -> _Matrix:
    """An operand as BLAS can take it, copied if neither its rows nor its columns are contiguous."""
    type, layout = value.type, host.layouts[value]
    assert isinstance(type, Tensor)
    found = as_it_lies(type, layout)
    if found is not None:
        return _Matrix(host.storage[value], layout, *found, False)
    storage = host.contiguous_copy(value)
    return _Matrix(storage, storage.layout, False, dims_of(value.type)[-1], True)
