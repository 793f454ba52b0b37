"""Types of values.

=================  ==================  =====================================================================
text               record              what it is
=================  ==================  =====================================================================
``f32[n, 784]``    `Tensor`            an immutable array; ``f32[]`` is a 0-d array
``f32``            `Scalar`            a NumPy scalar: promotes strongly
``float``          `Scalar` (weak)     a Python number (``float``, ``int``, ``complex``, ``pybool``): weak (NEP 50)
``index[n + 1]``   `Index`             a size, with the dim that it is known to equal; plain ``index`` if unknown
``var f32[n]``     `Variable`          mutable storage of that element type and dims
``place f32[n]``   `Place`             a view on one or several variables: what view ops on a variable give
``tape f32``       `Tape`              a stack of values saved for a reverse pass
``f32x16``         `Vector`            lanes of one dtype in a register (loop ops)
``buffer f32``     `Buffer`            memory on a device (loop and host ops)
``list<int>``      `Container`         a reference to a list, deque, dict or set of the running program
=================  ==================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL, C128, F64, I64, DType

__all__ = ["TEXT", "Buffer", "Container", "Index", "Item", "Place", "Scalar", "Tape", "Tensor", "Type", "Variable",
           "Vector", "dims_of", "map_dims", "with_dtype", "words_of"]  # fmt: skip

_PYTHON_NAMES = {F64: "float", I64: "int", C128: "complex", BOOL: "pybool"}


@dataclass(frozen=True, slots=True)
class Tensor:
    """An array value. ``dims`` are ints or expressions over the function's sizes."""

    dtype: DType
    dims: tuple[Dim, ...]

    @property
    def rank(self) -> int:
        return len(self.dims)

    def __str__(self) -> str:
        return f"{self.dtype.name}{_dims(self.dims)}"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number. ``weak``: a Python number, which adopts the dtype of what it meets (its own: f64, i64, c128, bool)."""

    dtype: DType
    weak: bool = False

    def __str__(self) -> str:
        return _PYTHON_NAMES[self.dtype] if self.weak else self.dtype.name


@dataclass(frozen=True, slots=True)
class Container(Scalar):
    """A reference to what holds items: it flows as a number does, and whoever has it sees every change.

    ``kind`` is ``list``, ``deque``, ``set`` or ``dict``, or a dict of another class, ``defaultdict`` or ``Counter``;
    a ``str`` is a list of the numbers of its characters that nobody changes once it is made (`TEXT`).
    Dicts have keys and items, a set has keys alone. A container of which nobody has told what is in it has neither.
    """

    dtype: DType = I64
    kind: str = "list"
    key: Item | None = None
    item: Item | None = None

    def __str__(self) -> str:
        inside = (item for item in (self.key, self.item) if item is not None)
        return f"{self.kind}<{', '.join(map(_item_text, inside))}>"

    @property
    def family(self) -> str:
        """What it is in memory: ``list``, ``deque``, ``set`` or ``dict``."""
        if self.kind == "str":
            return "list"
        return self.kind if self.kind in ("list", "deque", "set") else "dict"

    @property
    def keys(self) -> tuple[Scalar, ...]:
        """The types of the words of a key."""
        return words_of(self.key)

    @property
    def items(self) -> tuple[Scalar, ...]:
        """The types of the words of an item."""
        return words_of(self.item)

    @property
    def words(self) -> tuple[Scalar, ...]:
        """The types of the words of an entry: those of the key, then those of the item."""
        return self.keys + self.items


Item = Scalar | tuple["Item", ...]
"""What a container holds: a number, a reference, or a tuple of such."""

TEXT = Container(kind="str", item=Scalar(I64))
"""Text that the running program makes."""


def words_of(item: Item | None) -> tuple[Scalar, ...]:
    """The types of the words of an item: tuples are taken apart."""
    if item is None:
        return ()
    return tuple(word for part in item for word in words_of(part)) if isinstance(item, tuple) else (item,)


def _item_text(item: Item) -> str:
    if not isinstance(item, tuple):
        return str(item)
    return f"({', '.join(map(_item_text, item))})"


@dataclass(frozen=True, slots=True)
class Index:
    """A size or an offset, 64 bits. ``dim`` is what it is known to equal, None if unknown."""

    dim: Dim | None = None

    def __str__(self) -> str:
        return "index" if self.dim is None else f"index[{self.dim}]"


@dataclass(frozen=True, slots=True)
class Variable:
    """Mutable storage: a user's variable, a mutated argument, a captured array, a local that is written to."""

    dtype: DType
    dims: tuple[Dim, ...]

    def __str__(self) -> str:
        return f"var {self.dtype.name}{_dims(self.dims)}"


@dataclass(frozen=True, slots=True)
class Place:
    """A strided view on one or several variables; only ``load`` and the storing ops touch what it shows."""

    dtype: DType
    dims: tuple[Dim, ...]

    def __str__(self) -> str:
        return f"place {self.dtype.name}{_dims(self.dims)}"


@dataclass(frozen=True, slots=True)
class Tape:
    """A stack for values of one element type; every push has its own dims."""

    dtype: DType

    def __str__(self) -> str:
        return f"tape {self.dtype.name}"


@dataclass(frozen=True, slots=True)
class Vector:
    """``lanes`` numbers of one dtype. Masks are vectors of bool."""

    dtype: DType
    lanes: int

    def __str__(self) -> str:
        return f"{self.dtype.name}x{self.lanes}"


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that holds numbers of one dtype on ``device``."""

    dtype: DType
    device: str = "cpu"

    def __str__(self) -> str:
        return f"buffer {self.dtype.name}" + ("" if self.device == "cpu" else f" on {self.device}")


Type = Tensor | Scalar | Index | Variable | Place | Tape | Vector | Buffer


def dims_of(type: Type) -> tuple[Dim, ...]:
    """The dims of a type; rank 0 for scalars and everything else that has none."""
    return type.dims if isinstance(type, Tensor | Variable | Place) else ()


def with_dtype(type: Tensor | Scalar | Vector, dtype: DType) -> Tensor | Scalar | Vector:
    """The same shape and lanes with another element type. A weak scalar stays weak only for the four Python types."""
    if isinstance(type, Tensor):
        return Tensor(dtype, type.dims)
    if isinstance(type, Vector):
        return Vector(dtype, type.lanes)
    return Scalar(dtype, type.weak and dtype in _PYTHON_NAMES)


def map_dims(type: Type, change: Callable[[Dim], Dim]) -> Type:
    """The type with ``change`` applied to each of its dims."""
    if isinstance(type, Tensor | Variable | Place):
        return _remake(type, tuple(change(dim) for dim in type.dims))
    if isinstance(type, Index) and type.dim is not None:
        return Index(change(type.dim))
    return type


def _remake(type: Tensor | Variable | Place, dims: tuple[Dim, ...]) -> Tensor | Variable | Place:
    if isinstance(type, Tensor):
        return Tensor(type.dtype, dims)
    if isinstance(type, Variable):
        return Variable(type.dtype, dims)
    return Place(type.dtype, dims)


def _dims(dims: tuple[Dim, ...]) -> str:
    return f"[{', '.join(map(str, dims))}]"
