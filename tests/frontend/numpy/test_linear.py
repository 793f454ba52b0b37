"""Products, einsum, diagonals and norms against NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import REDUCTION
from tests.frontend.numpy.oracle import check, check_sizes, sample

SHAPES = [(3,), (4,), (3, 4), (4, 3), (2, 3, 4), (4, 5), (1, 4, 3), (5, 1, 3, 4), (2, 4, 2), (1,), (1, 3), (0,), (3, 0),
          (0, 4), ()]  # fmt: skip


@pytest.mark.parametrize("function", [np.matmul, np.dot, np.inner, np.vdot, np.outer, np.vecdot, np.matvec, np.vecmat],
                         ids=lambda function: function.__name__)  # fmt: skip
def test_products(function: Any):
    for left, right in itertools.product(SHAPES, SHAPES):
        check(lambda x, y: function(x, y), sample("f8", *left), sample("f8", *right, seed=1),
              message="remapped" not in _message(function, left, right))  # fmt: skip


def _message(function: Any, left: Any, right: Any) -> str:
    try:
        function(np.zeros(left), np.zeros(right))
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kind", ["?", "i1", "u8", "f2", "f4", "c8", "c16"])
def test_dtypes_of_products(kind: str):
    matrix, other, line = sample(kind, 3, 4), sample(kind, 4, 3, seed=1), sample(kind, 4, seed=2)
    for function in (np.matmul, np.dot, np.tensordot):
        if function is not np.tensordot:
            check(lambda x, y: function(x, y), matrix, other)
            check(lambda x, y: function(x, y), matrix, line)
            check(lambda x, y: function(x, y), line, line)
            check(lambda x, y: function(x, y), matrix, sample("f4", 4, 2))
    for function in (np.vdot, np.inner, np.vecdot, np.outer):
        check(lambda x, y: function(x, y), line, sample(kind, 4, seed=3))
    check(lambda x, y: x @ y, matrix, other)
    check(lambda x, y: x.dot(y), matrix, line)
    check(lambda x: np.dot(x, 2), matrix)
    check(lambda x: np.dot(2.5, x), matrix)
    check(lambda x: np.einsum("ij,kj->ik", x, x), matrix)
    check(lambda x: np.einsum("ij,kj->ik", x, x, dtype="i1"), matrix)


def test_products_in_place():
    def product(x, y):
        x @= y
        return x

    check(product, sample("f8", 3, 3), sample("f8", 3, 3, seed=1))
    check(product, sample("f8", 3), sample("f8", 3, 3, seed=1))
    with pytest.raises(ValueError, match="inplace matrix multiplication requires the first operand"):
        jitflow.function(product)(sample("f8", 3), sample("f8", 3))


def test_products_of_many_sizes():
    check_sizes(lambda x, y: x @ y, lambda n: (sample("f4", n, 3), sample("f4", 3, 2)))
    check_sizes(lambda x, y: x @ y, lambda n: (sample("f4", 2, n), sample("f4", 3, 2)))
    check_sizes(lambda x, y: x @ y, lambda n: (sample("f4", 2, n), sample("f4", n, 2)))
    check_sizes(lambda x: x.T @ x, lambda n: (sample("f8", n, 2),))
    check_sizes(lambda x: x @ x, lambda n: (sample("f8", n),))
    check_sizes(lambda x, y: np.dot(x, y), lambda n: (sample("f8", n), sample("f8", 3)))


def test_options_of_products():
    matrix, other = sample("f4", 3, 4), sample("f4", 4, 3)
    check(lambda x, y: np.matmul(x, y, out=np.zeros_like(x[:, :3])), matrix, other)
    check(lambda x, y: np.dot(x, y, out=np.zeros_like(x[:, :3])), matrix, other)
    check(lambda x, y: np.matmul(x, y, dtype="f8"), matrix, other)
    check(lambda x, y: np.matmul(x, y, axes=[(1, 2), (2, 0), (0, -1)]), sample("f4", 2, 3, 4), sample("i1", 5, 2, 4))
    check(lambda x: np.vecdot(x, x[0] + 1j, axis=0), sample("c8", 3, 4))
    check(lambda x: np.linalg.vecdot(x, x[0] + 1j, axis=0), sample("c8", 3, 4))
    for axis in (0, 1, -1):
        check(lambda x, axis=axis: np.vecdot(x, x, axis=axis, keepdims=True), sample("f8", 3, 4))
    check(lambda x: (np.vecdot(x[0], x[0], keepdims=True), np.vecdot(x, x, keepdims=True)), sample("f8", 3, 4))
    check(lambda x: np.matvec(x, x[0], keepdims=True), sample("f8", 3, 4), message=False)
    check(lambda x, y: np.linalg.matmul(x, y), matrix, other)
    check(lambda x: np.linalg.outer(x[0], x[1]), matrix)
    check(lambda x: np.linalg.outer(x, x[1]), matrix)
    check(lambda x, y: np.linalg.multi_dot([x, y, x]), matrix, other)


AXES = [0, 1, 2, ([1], [0]), ([0, 1], [1, 0]), (1, 0), ([-1, 0], [0, -1]), ([0], [0])]


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_tensordot(axes: Any):
    check(lambda x, y: np.tensordot(x, y, axes), sample("f8", 3, 4), sample("f8", 4, 3, seed=1))
    check(lambda x, y: np.tensordot(x, y, axes=axes), sample("f8", 2, 3, 4), sample("i4", 4, 3, 2, seed=1),
          message=False, tolerance=REDUCTION)  # fmt: skip
    check(lambda x, y: np.linalg.tensordot(x, y, axes=axes), sample("f8", 3, 4), sample("f8", 4, 3, seed=1))


ONE = "ij->ji ij->i ij-> ij ji ii ii->i i...->... ...j->j... ij->ij iij->j ...ii->...i".split()
TWO = (
    "ij,jk ij,jk->ik ij,jk->ki ij,jk-> ij,kj->ik ij,ij-> ij,ij->ij ij,ij->i ij,j->i ij,k->ijk ij,jk->j ij,jk->ijk "
    "...j,jk->...k i...,i...->... ij,ji-> ii,ij->j ij,kl->ik"
).split()


@pytest.mark.parametrize("subscripts", ONE)
def test_einsum_of_one(subscripts: str):
    for shape in ((3, 3), (3, 3, 4)):
        check(lambda x: np.einsum(subscripts, x), sample("f8", *shape), message=False)
        check(lambda x: np.einsum(subscripts, x), sample("i4", *shape), message=False)


@pytest.mark.parametrize("subscripts", [*TWO, "i j , j k -> i k"])
def test_einsum_of_two(subscripts: str):
    for kind in ("f8", "i4", "?", "c8"):
        x, y = sample(kind, 3, 3), sample(kind, 3, 3, seed=1)
        check(lambda x, y: np.einsum(subscripts, x, y), x, y, tolerance=REDUCTION)
    check(lambda x, y: np.einsum(subscripts, x, y), sample("f4", 3, 1), sample("f8", 3, 3, seed=1), message=False)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("bhqd,bhkd->bhqk", [(2, 1, 3, 4), (2, 1, 5, 4)]),
        ("i,j,k->ijk", [(2,), (3,), (4,)]),
        ("ij,ij,ij->j", [(2, 3), (2, 3), (2, 3)]),
        ("...ij,...jk->...ik", [(5, 1, 2, 3), (4, 3, 2)]),
        ("ijk,jil->kl", [(2, 3, 4), (3, 2, 5)]),
        (",ij->ij", [(), (2, 3)]),
        ("i,i->", [(4,), (4,)]),
        ("ij,jk,kl,lm->im", [(2, 3), (3, 4), (4, 5), (5, 2)]),
    ],
)
def test_einsum_of_many(subscripts: str, shapes: list[tuple[int, ...]]):
    operands = [sample("f8", *shape, seed=place) for place, shape in enumerate(shapes)]
    check(lambda *operands: np.einsum(subscripts, *operands), *operands)


@pytest.mark.parametrize("subscripts", ["i,i->", "i,i", "i,j->", "i,i,i->", "ij,ij->i", "ij,jk->", "i->"])
@pytest.mark.parametrize("size", [3, 1])
def test_einsum_by_products_gives_numbers_as_arrays(subscripts: str, size: int):
    operands = [sample("f8", *(size,) * len(term)) for term in subscripts.split("->")[0].split(",")]
    for optimize in (True, "optimal"):
        check(lambda *given: np.einsum(subscripts, *given, optimize=optimize), *operands)


@pytest.mark.parametrize("order", [np.inf, -np.inf, 1, 2, -2, 0, 3, None, "nuc"])
def test_norms_of_nothing(order: Any):
    for shape in ((0,), (0, 3), (3, 0)):
        check(lambda x: np.linalg.norm(x, order), np.zeros(shape))
    check(lambda x: np.vander(x), np.zeros(0))


def test_einsum_in_its_other_forms():
    matrix = sample("f8", 3, 4)
    check(lambda x: np.einsum(x, [0, 1], x, [2, 1], [0, 2]), matrix)
    check(lambda x: np.einsum(x, [0, 1], x, [2, 1]), matrix)
    check(lambda x: np.einsum(x, [Ellipsis, 1], [1, Ellipsis]), matrix)
    check(lambda x: np.einsum("ij,kj->ik", x, x, optimize=True), matrix)
    check(lambda x: np.einsum("ij,kj->ik", x, x, dtype="c16"), matrix)
    check(lambda x: np.einsum("ij->i", x, out=np.zeros_like(x[:, 0])), matrix)
    for kind, wider in (("?", "i4"), ("i1", "i4"), ("f4", "f8"), ("i8", "i4")):
        check(lambda x: np.einsum("ij->i", x, out=np.zeros_like(x[:, 0], wider)), sample(kind, 3, 40))
    check_sizes(lambda x, y: np.einsum("ij,jk->ik", x, y), lambda n: (sample("f4", n, 3), sample("f4", 3, 2)))


@pytest.mark.parametrize("subscripts", ["ij,j", "ijk", "ij->ik", "ij->ii", "i1", "ij,ij", "i->i", "ij->i->j", "ii"])
def test_wrong_einsum(subscripts: str):
    check(lambda x: np.einsum(subscripts, x), sample("f8", 3, 4), message=False)


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


MATRIX, CUBE, LINE = sample("f4", 3, 4), sample("i4", 2, 3, 4), sample("f8", 3)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        *[f(lambda x, k=k: np.diagonal(x, k), MATRIX) for k in (0, 1, -1, 3, 5, -4)],
        *[f(lambda x, k=k: np.trace(x, k), MATRIX) for k in (0, 2, -2, 7)],
        *[f(lambda x, k=k: np.diag(x, k), MATRIX) for k in (0, 2, -2)],
        *[f(lambda x, k=k: np.diag(x, k), LINE) for k in (0, 2, -2)],
        *[f(lambda x, k=k: np.tril(x, k), MATRIX) for k in (0, 2, -2)],
        *[f(lambda x, k=k: np.triu(x, k), CUBE) for k in (0, 2, -2)],
        f(lambda x: x.diagonal(), CUBE),
        f(lambda x: x.diagonal(1, 2, 0), CUBE),
        f(lambda x: x.diagonal(), LINE),
        f(lambda x: x.diagonal(0, 1, 1), CUBE),
        f(lambda x: x.diagonal(0, 0, 5), CUBE),
        f(lambda x: x.trace(), CUBE),
        f(lambda x: np.trace(x, axis1=1, axis2=2, dtype="f4"), CUBE),
        f(lambda x: np.trace(x), CUBE.astype("i1")),
        f(lambda x: np.linalg.diagonal(x, offset=1), CUBE),
        f(lambda x: np.linalg.trace(x), CUBE),
        f(lambda x: np.diag(x), CUBE),
        f(lambda x: np.diag(x), LINE[:1]),
        f(lambda x: np.diag(x), LINE[:0]),
        f(lambda x: np.diagflat(x), MATRIX),
        f(lambda x: np.diagflat(x, 1), LINE),
        f(lambda x: np.tril(x), LINE),
        f(lambda x: np.kron(x, x[0]), MATRIX),
        f(lambda x, y: np.kron(x, y), MATRIX, CUBE),
        f(lambda x: np.kron(x, 2), MATRIX),
        f(lambda x: np.vander(x), LINE),
        f(lambda x: np.vander(x, 5, increasing=True), LINE.astype("i4")),
        f(lambda x: np.vander(x, 1), LINE),
        f(lambda x: np.vander(x, 2), MATRIX),
        f(lambda x, y: np.cross(x, y), LINE, sample("i4", 3)),
        f(lambda x, y: np.cross(x, y, axis=0), MATRIX, MATRIX[:, :1]),
        f(lambda x: np.cross(x, x[::-1], axisa=0, axisb=0, axisc=0), MATRIX),
        f(lambda x: np.cross(x, x), MATRIX),
        f(lambda x: np.cross(x, x[::-1]), sample("f8", 3, 2)),
        f(lambda x: np.cross(x[0, :2], x[1, :2]), sample("f8", 3, 3)),
        f(lambda x: np.cross(x[:, :2], x), sample("f8", 3, 3)),
        f(lambda x: np.cross(x, x[0, :2]), sample("i4", 4, 3)),
        f(lambda x: np.linalg.cross(x, x), sample("f8", 3, 2)),
        f(lambda x: np.linalg.cross(x, x + 1), sample("f4", 2, 3)),
        *[f(lambda x, o=o: np.linalg.norm(x, o), LINE) for o in (None, 1, 2, 3, 0.5, 0, np.inf, -np.inf)],
        *[f(lambda x, o=o: np.linalg.norm(x, o), MATRIX) for o in (None, "fro", 1, -1, np.inf, -np.inf)],
        *[f(lambda x, o=o: np.linalg.norm(x, o, axis=1, keepdims=True), MATRIX) for o in (None, 1, 3, np.inf)],
        *[f(lambda x, o=o: np.linalg.norm(x, o, axis=(2, 0)), CUBE) for o in (None, 1, np.inf)],
        f(lambda x: np.linalg.norm(x), CUBE),
        f(lambda x: np.linalg.norm(x, axis=(0, 1), keepdims=True), CUBE),
        f(lambda x: np.linalg.norm(x), sample("c8", 3, 4)),
        f(lambda x: np.linalg.norm(x, "fro"), LINE),
        f(lambda x: np.linalg.vector_norm(x), MATRIX),
        f(lambda x: np.linalg.vector_norm(x, axis=(0, 2), ord=1, keepdims=True), CUBE),
        f(lambda x: np.linalg.vector_norm(x, axis=0, ord=np.inf), CUBE),
        f(lambda x: np.linalg.vector_norm(x, keepdims=True), CUBE),
        f(lambda x: np.linalg.matrix_norm(x), CUBE),
        f(lambda x: np.linalg.matrix_norm(x, ord=1, keepdims=True), CUBE),
        f(lambda x: np.linalg.matrix_transpose(x), CUBE),
    ],
)
def test_matrices(program: Any, arguments: tuple[Any, ...]):
    check(program, *arguments)


def test_matrices_of_many_sizes():
    check_sizes(lambda x: np.diagonal(x, 1), lambda n: (sample("f4", n, 4),))
    check_sizes(lambda x: np.trace(x), lambda n: (sample("f4", 3, n),))
    check_sizes(lambda x: np.diag(x), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.tril(x), lambda n: (sample("f4", n, n),))
    check_sizes(lambda x: np.linalg.norm(x), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.linalg.norm(x, axis=1), lambda n: (sample("f4", 3, n),))


@pytest.mark.parametrize("power", [0, 1, 2, 3, 7])
def test_matrix_power(power: int):
    check(lambda x: np.linalg.matrix_power(x, power), np.sign(sample("i4", 3, 3)))
    check(lambda x: np.linalg.matrix_power(x, power), sample("f8", 2, 3, 3))
    for array in (sample("f8", 2, 3), sample("f8", 2, 1), sample("f8", 3)):
        check(lambda x: np.linalg.matrix_power(x, power), array)


SQUARE = sample("f8", 3, 3)


@pytest.mark.parametrize("ord", [2, -2, "nuc", "odd"])
def test_spectral_norms(ord: Any):
    for array in (SQUARE, MATRIX.astype("f8"), sample("f4", 2, 3, 4), sample("c16", 3, 4), sample("i4", 3, 3)):
        check(lambda x: np.linalg.norm(x, ord, axis=(-2, -1)), array, tolerance=REDUCTION)
        check(lambda x: np.linalg.matrix_norm(x, ord=ord, keepdims=True), array, tolerance=REDUCTION)
    check(lambda x: np.linalg.norm(x, ord, axis=(0, 2)), sample("f8", 2, 3, 4), tolerance=REDUCTION)


def test_powers_of_the_inverse():
    for power in (-1, -3):
        check(lambda x: np.linalg.matrix_power(x, power), SQUARE, tolerance=REDUCTION)


def test_covariance_of_repeated_observations():
    rows, times, weights = sample("f8", 3, 4), np.array([1, 2, 0, 3]), np.array([0.5, 1.0, 2.0, 1.5])
    check(lambda x, f: np.cov(x, fweights=f), rows, times, tolerance=REDUCTION)
    check(lambda x, f, a: np.cov(x, fweights=f, aweights=a), rows, times, weights, tolerance=REDUCTION)
    check(lambda x, f, a: np.cov(x, fweights=f, aweights=a, ddof=0), rows, times, weights, tolerance=REDUCTION)
    check(lambda x, f: np.cov(x, fweights=f), rows, times - 1)
    check(lambda x, f: np.cov(x, fweights=f), rows, times + 0.5)
    for wrong in (times[:3], np.array([times]), weights - 1, times * np.nan):
        check(lambda x, w: np.cov(x, fweights=w), rows, wrong)
        check(lambda x, w: np.cov(x, aweights=w), rows, wrong)
        check(lambda x, f, w: np.cov(x, fweights=f, aweights=w), rows, times, wrong)
