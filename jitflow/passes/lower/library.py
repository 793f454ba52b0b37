"""Matrix products through BLAS.

BLAS is column-major: a row-major product ``c = a @ b`` is the column-major product ``c' = b' @ a'``, and a row-major
matrix is its own transpose there, so nothing is moved. An operand whose rows or columns are not contiguous is copied
first. Batches are a loop of products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.layout import Layout, contiguous
from jitflow.ir.types import Index, Scalar, Tensor, dims_of
from jitflow.passes.fusion.contract import BLAS_LETTERS
from jitflow.passes.lower.program import HostProgram, Storage
from jitflow.passes.plan.products import as_it_lies
from jitflow.records import dataclass

__all__ = ["each_matrix", "multiply_into"]


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A batch of matrices as BLAS takes them, in memory that may be temporary."""

    storage: Storage
    layout: Layout
    transposed: bool
    leading: Dim
    """The stride between rows (or columns if ``transposed``), in elements."""
    temporary: bool


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

    def multiply(offsets: Sequence[Value | None]) -> None:
        builder = host.builder
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
        multiply([*starts, None])
    else:
        each_matrix(host, tuple(batch), (right.layout, left.layout, storage.layout), multiply)
    for matrix in (left, right):
        if matrix.temporary:
            host.free(matrix.storage)


def each_matrix(
    host: HostProgram, batch: tuple[Dim, ...], layouts: Sequence[Layout], body: Callable[[Sequence[Value]], None]
) -> None:
    """Run ``body`` for each matrix of batches that lie so, on the byte offsets at which its matrices begin."""
    places = [
        (host.dim(layout.offset), [host.dim(stride) for stride in layout.strides[: len(batch)]]) for layout in layouts
    ]
    turns = contiguous(batch, 1).strides
    divisors = [(host.dim(stride), host.dim(dim)) for stride, dim in zip(turns, batch, strict=True)]
    first, count, step = host.dim(0), host.dim(product(batch)), host.dim(1)
    number = Value(Index(), "matrix")
    host.scopes.enter(host.builder.loc)
    inside, offsets = host.builder, list[Value]()
    for offset, strides in places:
        for stride, (divisor, dim) in zip(strides, divisors, strict=True):
            position = inside.make("remainder", inside.make("floor_divide", number, divisor), dim)
            offset = inside.make("add", offset, inside.make("multiply", position, stride))
        offsets.append(offset)
    body(offsets)
    region = host.scopes.leave().builder.region((number,), ())
    host.builder.add("for", first, count, step, types=(), regions=(region,))


def _matrix(host: HostProgram, value: Value) -> _Matrix:
    """An operand as BLAS can take it, copied if neither its rows nor its columns are contiguous."""
    type, layout = value.type, host.layouts[value]
    assert isinstance(type, Tensor)
    found = as_it_lies(type, layout)
    if found is not None:
        return _Matrix(host.storage[value], layout, *found, False)
    storage = host.contiguous_copy(value)
    return _Matrix(storage, storage.layout, False, dims_of(value.type)[-1], True)
