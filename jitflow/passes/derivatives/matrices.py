"""What the rules of linear algebra are written with: products, adjoints, triangles, diagonals, and calls of routines.

All of it acts on the last two axes; those before count matrices. Sizes that have to be equal (a square matrix of the
user's is ``f64[n, m]``) are given one name where they meet: the routine that was called before has compared them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Tensor, Type, dims_of
from jitflow.passes.derivatives.factors import where
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank

__all__ = ["Matrices"]


class Matrices:
    """Matrix notation over ``m``."""

    def __init__(self, m: Notation) -> None:
        self.m = m

    # -- products

    def product(self, *factors: Value) -> Value:
        """The product of matrices, from the left."""
        first, *rest = factors
        for factor in rest:
            dims = (*dims_of(first.type)[:-2], dims_of(first.type)[-1], dims_of(factor.type)[-1])
            first = self.m("matmul", first, self.m.named(factor, dims))
        return first

    def transposed(self, matrix: Value) -> Value:
        """The transpose."""
        return self.m("transpose", matrix, axes=(*range(rank(matrix) - 2), rank(matrix) - 1, rank(matrix) - 2))

    def adjoint(self, matrix: Value) -> Value:
        """The conjugate transpose."""
        transposed = self.transposed(matrix)
        return self.m("conjugate", transposed) if dtype_of(matrix).is_complex else transposed

    def total(self, *parts: Value | None) -> Value:
        """The sum of what there is of ``parts``, at least one."""
        first, *rest = [part for part in parts if part is not None]
        for part in rest:
            first = self.m("add", first, self.m.named(part, dims_of(first.type)))
        return first

    def times(self, first: Value, second: Value) -> Value:
        """The product element by element."""
        return self.m("multiply", first, self.m.named(second, dims_of(first.type)))

    def minus(self, first: Value, second: Value) -> Value:
        """The difference."""
        return self.m("subtract", first, self.m.named(second, dims_of(first.type)))

    def negative(self, matrix: Value) -> Value:
        """The matrix with the other sign."""
        return self.m("negative", matrix)

    # -- elements

    def _place(self, matrix: Value, axis: int) -> Value:
        dims = dims_of(matrix.type)
        return self.m("iota", dtype=I64, dims=dims, axis=len(dims) + axis)

    def where(self, relation: str, matrix: Value, otherwise: Value | complex = 0) -> Value:
        """The elements whose row stands in a relation to their column (``greater`` is below the diagonal)."""
        chosen = self.m(relation, self._place(matrix, -2), self._place(matrix, -1))
        return where(self.m, chosen, matrix, otherwise)

    def diagonal(self, matrix: Value) -> Value:
        """The diagonal of square matrices."""
        dims = dims_of(matrix.type)
        return self.m("diagonal", matrix, axes=(len(dims) - 2, len(dims) - 1), offset=0, size=dims[-1])

    def with_diagonal(self, matrix: Value, diagonal: Value) -> Value:
        """``matrix`` with another diagonal."""
        return self.where("not_equal", matrix, self.columns(diagonal, matrix))

    def of_diagonal(self, diagonal: Value) -> Value:
        """The matrix that has only a diagonal."""
        dims = dims_of(diagonal.type)
        square = Tensor(dtype_of(diagonal), (*dims, dims[-1]))
        return self.with_diagonal(self.m.zeros(square), diagonal)

    def columns(self, numbers: Value, like: Value) -> Value:
        """A number for each column, as a matrix like ``like``."""
        dims = dims_of(like.type)
        axes = (*range(len(dims) - 2), len(dims) - 1)
        return self.m("broadcast", self.m.cast(numbers, dtype_of(like)), dims=dims, axes=axes, assumed=True)

    def rows(self, numbers: Value, like: Value) -> Value:
        """A number for each row, as a matrix like ``like``."""
        dims = dims_of(like.type)
        given = self.m.cast(numbers, dtype_of(like))
        return self.m("broadcast", given, dims=dims, axes=tuple(range(len(dims) - 1)), assumed=True)

    def times_columns(self, matrix: Value, numbers: Value) -> Value:
        """The matrix times the diagonal matrix of ``numbers``."""
        return self.m("multiply", matrix, self.columns(numbers, matrix))

    def scaled(self, matrix: Value, numbers: Value) -> Value:
        """Each matrix times its number."""
        dims = dims_of(matrix.type)
        given = self.m.cast(numbers, dtype_of(matrix))
        if rank(given):
            given = self.m("broadcast", given, dims=dims, axes=tuple(range(len(dims) - 2)), assumed=True)
        return self.m("multiply", matrix, given)

    def trace(self, matrix: Value) -> Value:
        """The sum of the diagonal."""
        diagonal = self.diagonal(matrix)
        return self.m("reduce_add", diagonal, axes=(rank(diagonal) - 1,))

    def first_rows(self, matrix: Value, size: Dim) -> Value:
        """``size`` rows from the first on."""
        dims = dims_of(matrix.type)
        sizes = (*dims[:-2], size, dims[-1])
        return self.m("slice", matrix, starts=(0,) * len(dims), sizes=sizes, steps=(1,) * len(dims))

    def part(self, matrix: Value, start: Dim, size: Dim) -> Value:
        """``size`` columns from ``start`` on."""
        dims = dims_of(matrix.type)
        starts = (*(0 for _ in dims[:-1]), start)
        return self.m("slice", matrix, starts=starts, sizes=(*dims[:-1], size), steps=(1,) * len(dims))

    # -- routines

    def singular(self, matrix: Value, size: Dim) -> tuple[Value, Value, Value]:
        """The thin factors of a singular value decomposition with ``size`` values."""
        dims, dtype = dims_of(matrix.type), dtype_of(matrix)
        types = (
            Tensor(dtype, (*dims[:-1], size)),
            Tensor(dtype.real, (*dims[:-2], size)),
            Tensor(dtype, (*dims[:-2], size, dims[-1])),
        )
        left, sizes, right = self.call(
            "linalg.svd", (matrix,), types, full_matrices=False, compute_uv=True, hermitian=False
        )
        return left, sizes, right

    def call(self, routine: str, operands: Sequence[Value], types: Sequence[Type], **options: Any) -> tuple[Value, ...]:
        """A call of a routine of NumPy's, with the operands by position."""
        return self.m.add(
            "host_call", *operands, types=tuple(types), routine=f"numpy.{routine}", keywords=(),
            options=tuple(options.items()), effect="check",
        )  # fmt: skip

    def solve(self, matrix: Value, right: Value) -> Value:
        """The solution of equations with a square matrix and matrices on the right."""
        (found,) = self.call("linalg.solve", (matrix, right), (right.type,))
        return found

    def divided(self, left: Value, matrix: Value) -> Value:
        """``left`` times the inverse of the adjoint of a square matrix."""
        return self.adjoint(self.solve(matrix, self.adjoint(left)))

    def inverse(self, matrix: Value) -> Value:
        """The inverse."""
        (found,) = self.call("linalg.inv", (matrix,), (matrix.type,))
        return found
