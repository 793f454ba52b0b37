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
``object<Node>``   `Reference`         the number of an object of a class among those of its class
=================  ==================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from typing import Any

from jitflow.ir.dims import Dim, Expression, symbols
from jitflow.ir.dtypes import BOOL, C128, F64, I64, DType
from jitflow.ir.named_types import Named
from jitflow.records import cached, dataclass

__all__ = ["MADE_BY", "NONE", "TEXT", "Buffer", "Container", "Index", "Item", "Member", "NoneKind", "Place",
           "Reference", "Scalar", "Several", "Tag", "Tape", "Tensor", "Type", "Variable", "Vector", "containers_in",
           "dims_of", "leaves_of", "map_dims", "sizes_of_type", "with_dtype", "without_kinds", "words_of"]  # fmt: skip

MADE_BY = "by_"
"""How names begin that types of defaultdicts have for functions of the program's."""
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

    ``kind`` is ``list``, ``deque``, ``set`` or ``dict``, or a dict of another class: ``defaultdict``,
    ``Counter`` or ``OrderedDict``;
    nobody changes a ``tuple`` once it is made, nor a ``str``, a list of the numbers of its characters (`TEXT`); an
    ``array`` has as many numbers as it began with.
    Dicts have keys and items, a set has keys alone. A container of which nobody has told what is in it has neither.
    ``factory`` is the class of numbers of which a defaultdict makes its items, or a name for another function of the
    program's that does (`MADE_BY`), if there is one; ``most`` is the largest length of a deque, which drops what is too
    much.
    """

    dtype: DType = I64
    kind: str = "list"
    key: Item | None = None
    item: Item | None = None
    factory: str = ""
    most: int | None = None
    told: Any = field(default=None, init=False, repr=False, compare=False)
    """The types of the words of its keys, its items and its entries, once they have been asked for."""

    def __str__(self) -> str:
        inside = [_item_text(item) for item in (self.key, self.item) if item is not None]
        inside += [self.factory] if self.factory else [] if self.most is None else [str(self.most)]
        return f"{self.kind}<{', '.join(inside)}>"

    @property
    def family(self) -> str:
        """What it is in memory: ``list``, ``deque``, ``set`` or ``dict``."""
        if self.kind in ("str", "tuple", "array"):
            return "list"
        return self.kind if self.kind in ("list", "deque", "set") else "dict"

    @property
    def keys(self) -> tuple[Scalar, ...]:
        """The types of the words of a key."""
        return self._words()[0]

    @property
    def items(self) -> tuple[Scalar, ...]:
        """The types of the words of an item."""
        return self._words()[1]

    @property
    def words(self) -> tuple[Scalar, ...]:
        """The types of the words of an entry: those of the key, then those of the item."""
        return self._words()[2]

    def _words(self) -> tuple[tuple[Scalar, ...], ...]:
        found: Any = self.told
        if found is None:
            key, item = words_of(self.key), words_of(self.item)
            object.__setattr__(self, "told", found := (key, item, key + item))
        return found  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class NoneKind:
    """The kind of ``None``, which has no words."""

    @property
    def thing(self) -> Any:
        """What is of this kind."""
        return None

    def __str__(self) -> str:
        return "None"


NONE = NoneKind()


@dataclass(frozen=True, slots=True)
class Member(NoneKind):
    """The kind of a member of an enumeration, which has no words either. A text has a name for ``owner``, the class."""

    owner: Any
    name: str

    @property
    def thing(self) -> Any:
        """The member."""
        return self.owner[self.name]

    def __str__(self) -> str:
        return f"member<{self.owner if isinstance(self.owner, str) else self.owner.__name__}, {self.name}>"


@dataclass(frozen=True, slots=True)
class Tag(Scalar):
    """The word that says of which of several kinds an item is, by its place among them. Equality ignores it."""

    dtype: DType = I64

    def __str__(self) -> str:
        return "tag"


@dataclass(frozen=True, slots=True)
class Reference(Scalar):
    """An object of a class of the user's, as an item: its number among the objects of the class ``name``.

    ``is_key``: whether it is equal to itself alone, and so one key.
    """

    dtype: DType = I64
    name: str = ""
    is_key: bool = False

    def __str__(self) -> str:
        return f"{'identity' if self.is_key else 'object'}<{self.name}>"


@dataclass(frozen=True)
class Several:
    """What is of one of several ``kinds``: a `Tag`, and words that carry it.

    Numbers share a word where that is exact and no wider: Python's and NumPy's integers, and their floats. The words
    of other kinds than that of an item are 0. Kinds have one order: None, integers, floats, then all others.
    """

    kinds: tuple[Item, ...]

    def __str__(self) -> str:
        return f"either<{', '.join(map(_item_text, self.kinds))}>"

    @staticmethod
    def of(kinds: Iterable[Item]) -> Several:
        """Of these kinds, in their order."""
        return Several(tuple(sorted(set(kinds), key=lambda kind: (_RANKS.get(_letter(kind), 3), _item_text(kind)))))

    @property
    def carriers(self) -> tuple[Scalar, ...]:
        """The types of its words behind the tag."""
        return self._carriers_and_places[0]

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """For each kind, which of the carriers are its words."""
        return self._carriers_and_places[1]

    @cached
    def _carriers_and_places(self) -> tuple[tuple[Scalar, ...], tuple[tuple[int, ...], ...]]:
        carriers: list[Scalar] = []
        places: list[tuple[int, ...]] = []
        for kind in self.kinds:
            shared = {"i": Scalar(I64), "f": Scalar(F64)}.get(_letter(kind))
            if shared is not None and shared in carriers:
                places.append((carriers.index(shared),))
                continue
            words = words_of(kind) if shared is None else (shared,)
            places.append(tuple(range(len(carriers), len(carriers) + len(words))))
            carriers += words
        return tuple(carriers), tuple(places)


Item = Scalar | Several | NoneKind | tuple["Item", ...]
"""What a container holds: a number, a reference, a tuple of such, or one of several kinds of them."""

_RANKS = {"n": 0, "i": 1, "f": 2}


def _letter(kind: Item) -> str:
    """What numbers of a kind are carried as: ``i`` an i64, ``f`` an f64; ``n`` is None, ``o`` all else."""
    if not isinstance(kind, Scalar) or isinstance(kind, Container | Reference):
        return "n" if kind == NONE else "o"
    letter = kind.dtype.kind
    return "i" if letter in "bi" or (letter == "u" and kind.dtype.bits < 64) else "f" if letter == "f" else "o"


TEXT = Container(kind="str", item=Scalar(I64))
"""Text that the running program makes."""


def words_of(item: Item | None) -> tuple[Scalar, ...]:
    """The types of the words of an item: tuples are taken apart, and complex numbers into their parts."""
    if item is None or isinstance(item, NoneKind):
        return ()
    if isinstance(item, Several):
        return (Tag(), *item.carriers)
    if isinstance(item, tuple):
        return tuple(word for part in item for word in words_of(part))
    if item.dtype.is_complex:
        return (Scalar(item.dtype.real),) * 2
    return (item,)


def leaves_of(item: Item | None, first: int = 0) -> Iterator[tuple[int, Scalar | Several | NoneKind]]:
    """The parts of an item that are no tuples, and which is the first word of each."""
    if isinstance(item, tuple):
        for part in item:
            yield from leaves_of(part, first)
            first += len(words_of(part))
    elif item is not None:
        yield first, item


def containers_in(type: Type) -> Iterator[Container]:
    """The types of a container and of those that it holds."""
    if isinstance(type, Container):
        yield type
        for word in type.words:
            yield from containers_in(word)


def without_kinds(type: Any) -> Any:
    """A type, of a value or an item, as machine code has it, which knows no Python numbers."""
    if isinstance(type, tuple):
        return tuple(map(without_kinds, type))
    if isinstance(type, Several):
        return replace(type, kinds=tuple(map(without_kinds, type.kinds)))
    if isinstance(type, Container):
        return replace(type, key=without_kinds(type.key), item=without_kinds(type.item))
    return Scalar(type.dtype) if isinstance(type, Scalar) and (type.weak or isinstance(type, Reference)) else type


def _item_text(item: Item) -> str:
    if not isinstance(item, tuple):
        return str(item)
    return f"{item.name if isinstance(item, Named) else ''}({', '.join(map(_item_text, item))})"


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

_SHAPED = (Tensor, Variable, Place)  # a tuple: what is asked most often of all costs a tenth of what a union does


def dims_of(type: Type) -> tuple[Dim, ...]:
    """The dims of a type; rank 0 for scalars and everything else that has none."""
    return type.dims if isinstance(type, _SHAPED) else ()


def sizes_of_type(type: Type) -> tuple[str, ...]:
    """The sizes that a type mentions, each as often as it does."""
    dims = (type.dim,) if isinstance(type, Index) else dims_of(type)
    return tuple([name for dim in dims if isinstance(dim, Expression) for name in symbols(dim)])


def with_dtype(type: Tensor | Scalar | Vector, dtype: DType) -> Tensor | Scalar | Vector:
    """The same shape and lanes with another element type. A weak scalar stays weak only for the four Python types."""
    if isinstance(type, Tensor):
        return Tensor(dtype, type.dims)
    if isinstance(type, Vector):
        return Vector(dtype, type.lanes)
    return Scalar(dtype, type.weak and dtype in _PYTHON_NAMES)


def map_dims(type: Type, change: Callable[[Dim], Dim]) -> Type:
    """The type with ``change`` applied to each of its dims."""
    if isinstance(type, _SHAPED):
        dims = tuple([change(dim) for dim in type.dims])
        return type if dims == type.dims else _remake(type, dims)
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
