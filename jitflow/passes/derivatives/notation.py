"""What derivative rules are written with: ops by name, numbers beside values, zeros of a type.

``m("multiply", 2, x)`` appends a ``multiply``; a Python number becomes a constant of the dtype of the values beside it,
and a rank-0 value may stand beside arrays, as the elementwise ops have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import DType
from jitflow.ir.types import Place, Scalar, Tensor, Type, Variable, dims_of

__all__ = ["Notation", "dtype_of", "is_differentiable", "options_of", "plain", "rank"]


def dtype_of(value: Value) -> DType:
    """The dtype of a number, an array or storage."""
    kind = value.type
    assert isinstance(kind, Scalar | Tensor | Variable | Place)
    return kind.dtype


def is_differentiable(kind: Type) -> bool:
    """Whether values of a type can have a derivative: floats and complex numbers."""
    return isinstance(kind, Scalar | Tensor | Variable | Place) and kind.dtype.kind in "fc"


def rank(value: Value) -> int:
    """How many axes a value has."""
    return len(dims_of(value.type))


def options_of(op: Op) -> dict[str, Any]:
    """What a call of a routine gets beside its arrays."""
    return dict(op.attributes["options"])


def plain(kind: Type) -> Type:
    """The type of the tangent or cotangent of something of a type: a number or an array of its dtype and dims."""
    assert isinstance(kind, Scalar | Tensor | Variable | Place)
    return Tensor(kind.dtype, dims_of(kind)) if dims_of(kind) else Scalar(kind.dtype)


class Notation:
    """Appends ops to a builder."""

    def __init__(self, builder: Builder | None = None, fresh: Callable[[str], str] | None = None) -> None:
        self.builder = Builder() if builder is None else builder
        self._fresh = fresh

    def fresh(self, name: str) -> str:
        """A size name that is not taken, like ``name``."""
        assert self._fresh is not None, "expected a notation that can name sizes"
        return self._fresh(name)

    def inside(self) -> Notation:
        """What writes a region of an op that comes next."""
        return Notation(Builder(loc=self.builder.loc), self._fresh)

    def __call__(self, name: str, *operands: Value | complex, **attributes: Any) -> Value:
        """An op with one result."""
        like = next((operand for operand in operands if isinstance(operand, Value)), None)
        values = [
            operand if isinstance(operand, Value) else self.number(operand, dtype_of(_given(like)))
            for operand in operands
        ]
        return self.builder.make(name, *values, **attributes)

    def add(
        self, name: str, *operands: Value, types: Sequence[Type] | None = None, regions: tuple[Region, ...] = (),
        **attributes: Any,
    ) -> tuple[Value, ...]:  # fmt: skip
        """An op with any number of results."""
        return self.builder.add(name, *operands, types=types, regions=regions, **attributes)

    # -- numbers and arrays of one number

    def number(self, value: complex, dtype: DType) -> Value:
        """A number of a dtype."""
        exact = dtype.numpy.type(value).item()
        return self.builder.make("constant", value=exact, type=Scalar(dtype))

    def size(self, dim: Dim) -> Value:
        """A size as a value."""
        return self.builder.make("size", dim=dim)

    def filled(self, value: complex, kind: Type) -> Value:
        """``value`` in every element of a number or array of a type."""
        assert isinstance(kind, Scalar | Tensor | Variable | Place)
        number = self.number(value, kind.dtype)
        return self.builder.make("broadcast", number, dims=dims_of(kind), axes=()) if dims_of(kind) else number

    def zeros(self, kind: Type) -> Value:
        """Zeros of a type."""
        return self.filled(0, kind)

    # -- shapes and types

    def converted(self, value: Value, kind: Type) -> Value:
        """``value`` as exactly a type of the same dims: dtype, kind of scalar."""
        if value.type == kind:
            return value
        if isinstance(kind, Scalar):
            return self("cast", value, dtype=kind.dtype, **({"weak": True} if kind.weak else {}))
        assert isinstance(kind, Tensor)
        if dtype_of(value) != kind.dtype:
            value = self("cast", value, dtype=kind.dtype)
        return self.named(value, kind.dims)

    def fitted(self, value: Value, kind: Type) -> Value:
        """A cotangent for something of a type: summed over the axes along which a number was repeated, or repeated."""
        dims = dims_of(kind)
        if not dims and rank(value):
            value = self("reduce_add", value, axes=tuple(range(rank(value))))
        assert isinstance(kind, Scalar | Tensor | Variable | Place)
        if dims:
            return self.named(self.cast(value, kind.dtype), dims)
        if isinstance(value.type, Tensor):  # a 0-d array as the number in it
            value = self("cast", value, dtype=dtype_of(value))
        return self.cast(value, kind.dtype)

    def named(self, value: Value, dims: tuple[Dim, ...]) -> Value:
        """``value`` with dims that are known to be its own by other names; a number is repeated."""
        if dims_of(value.type) == dims and isinstance(value.type, Tensor):
            return value
        if not rank(value):
            return self("broadcast", value, dims=dims, axes=())
        return self("broadcast", value, dims=dims, axes=tuple(range(len(dims))), assumed=True)

    def cast(self, value: Value, dtype: DType) -> Value:
        """``value`` in another dtype; of a complex number that becomes real, its real part."""
        if dtype_of(value) == dtype:
            return value
        if dtype_of(value).is_complex and not dtype.is_complex:
            value = self("real", value)
        return value if dtype_of(value) == dtype else self("cast", value, dtype=dtype)

    # -- storage

    def increase(self, place: Value, value: Value) -> None:
        """Add ``value`` to what ``place`` shows."""
        place, value = self._element(place, value)
        shown = self("load", place)
        self.add("store", place, self("add", shown, self.fitted(value, shown.type)))

    def replace(self, place: Value, value: Value) -> None:
        """Store ``value``, which becomes what ``place`` shows."""
        place, value = self._element(place, value)
        self.add("store", place, self.fitted(value, plain(place.type)))

    def _element(self, place: Value, value: Value) -> tuple[Value, Value]:
        """One element and what goes there are a number, which no kernel is needed for."""
        dims = dims_of(place.type)
        if not dims or any(dim != 1 for dim in dims):
            return place, value
        return self("reshape", place, dims=()), self("reshape", value, dims=()) if rank(value) else value


def _given(value: Value | None) -> Value:
    assert value is not None, "expected a value beside the numbers"
    return value
