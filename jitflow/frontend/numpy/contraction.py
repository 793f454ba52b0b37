"""Sums of products over shared axes: the one function behind ``matmul``, ``dot``, ``tensordot`` and ``einsum``.

`contract` takes two arrays whose axes have labels and says which labels survive. A label that only one operand has and
that does not survive is summed at once. A shared label that survives is a batch axis. What is left is a matrix product,
or, where a side has no axes of its own, a product of elements and a sum, which fuse with their surroundings. In an
example of a `jitflow.vmap` a vector is a matrix of one row, since all examples of it are the rows of one matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.windows import shows_windows, without_transposes
from jitflow.frontend.numpy.byte_products import is_weight, product_of_bytes
from jitflow.frontend.outside.scopes import dtype_of_products, layers, lines_inside
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import BOOL, F32, DType

__all__ = ["Labels", "contract", "multiply", "sum_axes", "transposed_to"]

Labels = tuple[object, ...]


def multiply(left: Value, right: Value) -> Value:
    """The product of elements; of bools it is ``and``."""
    (left, right), _ = broadcasting.align([left, right])
    return emit("logical_and" if values.dtype_of_value(left) == BOOL else "multiply", left, right)


def sum_axes(value: Value, axes: Sequence[int]) -> Value:
    """The sum over axes in the dtype of the operand; of bools it is ``or``. A result of rank 0 is a scalar."""
    if not axes:
        return value
    name = "reduce_logical_or" if values.dtype_of_value(value) == BOOL else "reduce_add"
    return emit(name, value, axes=tuple(sorted(axes)))


def transposed_to(value: Value, labels: Labels, order: Labels) -> Value:
    """The axes in the order of their labels in ``order``."""
    return values.transpose(value, [labels.index(label) for label in order])


def contract(
    left: Value, left_labels: Labels, right: Value, right_labels: Labels, kept: Labels
) -> tuple[Value, Labels]:
    """The sum of products over the labels that are not in ``kept``, and the labels of its axes.

    Operands have one dtype, and equal dims where they share a label.
    """
    left, left_labels = _summed_alone(left, left_labels, right_labels, kept)
    right, right_labels = _summed_alone(right, right_labels, left_labels, kept)
    is_quantised = layers() is not None and values.dtype_of_value(left).is_float
    if is_quantised and is_weight(left) and not is_weight(right):
        left, left_labels, right, right_labels = right, right_labels, left, left_labels
    if shows_windows(left) or shows_windows(right):
        if is_quantised and (found := layers()) is not None:
            found.left_alone(lines_inside(), "it is a convolution")
        return _windows_and_others(left, left_labels, right, right_labels, kept)
    shared = tuple(label for label in left_labels if label in right_labels)
    batch = tuple(label for label in shared if label in kept)
    summed = tuple(label for label in shared if label not in kept)
    rows = tuple(label for label in left_labels if label not in shared)
    columns = tuple(label for label in right_labels if label not in shared)
    sizes = dict(zip(left_labels + right_labels, values.dims(left) + values.dims(right), strict=True))
    some = bool(rows or columns) and (current_trace().is_batched or is_quantised)
    if summed and ((rows and columns) or some):
        return _matrix_product(left, left_labels, right, right_labels, batch, rows, summed, columns, sizes)
    return _product_and_sum(left, left_labels, right, right_labels, batch + rows + columns, summed)


def _summed_alone(value: Value, labels: Labels, others: Labels, kept: Labels) -> tuple[Value, Labels]:
    alone = [axis for axis, label in enumerate(labels) if label not in others and label not in kept]
    summed = values.as_array(sum_axes(value, alone)) if alone else value
    return summed, tuple(label for axis, label in enumerate(labels) if axis not in alone)


def _windows_and_others(
    left: Value, left_labels: Labels, right: Value, right_labels: Labels, kept: Labels
) -> tuple[Value, Labels]:  # fmt: skip
    """A contraction whose axes stay apart: as a matrix, windows would be copied, each element several times."""
    left, left_labels = without_transposes(left, left_labels)
    right, right_labels = without_transposes(right, right_labels)
    sizes = dict(zip(left_labels, values.dims(left), strict=True))
    dims = tuple(sizes.get(label, dim) for label, dim in zip(right_labels, values.dims(right), strict=True))
    right = values.broadcast_in(right, dims, range(len(dims)), assumed=True)
    found = tuple(label for label in kept if label in left_labels + right_labels)
    number = {label: place for place, label in enumerate(dict.fromkeys(left_labels + right_labels))}
    attributes = {"left": left_labels, "right": right_labels, "kept": found}
    numbered = {name: tuple(number[label] for label in labels) for name, labels in attributes.items()}
    return emit("contract", left, right, **numbered), found


def _matrix_product(
    left: Value, left_labels: Labels, right: Value, right_labels: Labels,
    batch: Labels, rows: Labels, summed: Labels, columns: Labels, sizes: Mapping[object, Dim],
) -> tuple[Value, Labels]:  # fmt: skip
    def shape(*groups: Labels) -> tuple[Dim, ...]:
        return (*(sizes[label] for label in batch), *(product([sizes[label] for label in group]) for group in groups))

    first = values.reshape(transposed_to(left, left_labels, batch + rows + summed), shape(rows, summed), assumed=True)
    second = values.reshape(
        transposed_to(right, right_labels, batch + summed + columns), shape(summed, columns), assumed=True
    )
    result = _product(first, second)
    labels = batch + rows + columns
    return values.reshape(result, tuple(sizes[label] for label in labels), assumed=True), labels


def _product(first: Value, second: Value) -> Value:
    """The product of matrices, of the numbers that the program asks for."""
    dtype, found = values.dtype_of_value(first), layers()
    if found is not None and dtype.is_float and (quantised := product_of_bytes(first, second, found)) is not None:
        return quantised
    half = dtype_of_products() if dtype == F32 else None
    return emit("matmul", first, second) if half is None else _product_of_halves(first, second, half)


def _product_of_halves(first: Value, second: Value, half: DType) -> Value:
    """The product of rounded operands, rounded: so the cotangent that it gets is, and so are those that it gives."""

    def rounded(value: Value) -> Value:
        return values.as_array(values.cast(values.cast(value, half), F32))

    return rounded(emit("matmul", rounded(first), rounded(second)))


def _product_and_sum(
    left: Value, left_labels: Labels, right: Value, right_labels: Labels, kept: Labels, summed: Labels
) -> tuple[Value, Labels]:
    dtype = values.dtype_of_value(left)
    if summed and dtype.is_float and dtype.bits == 16:  # NumPy accumulates the products in float32
        left, right = values.as_array(values.cast(left, F32)), values.as_array(values.cast(right, F32))
    labels = kept + summed

    def spread(value: Value, own: Labels) -> Value:
        present = tuple(label for label in labels if label in own)
        dims = dict(zip(own, values.dims(value), strict=True))
        return values.reshape(transposed_to(value, own, present), tuple(dims.get(label, 1) for label in labels))

    products = values.as_array(multiply(spread(left, left_labels), spread(right, right_labels)))
    result = sum_axes(products, range(len(kept), len(labels)))
    return values.cast(result, dtype) if summed else result, kept
