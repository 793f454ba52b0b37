"""Results of a plan (`plan.py`): which Python objects the slots that a program fills become."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from jitflow.records import dataclass

__all__ = [
    "ArrayResult",
    "ConstantObject",
    "Container",
    "DictOf",
    "ListOf",
    "NewArray",
    "NumpyScalar",
    "OneOf",
    "Option",
    "PythonScalar",
    "Remade",
    "Result",
    "SameObject",
    "SameResult",
    "Shared",
    "StructOf",
    "TupleOf",
    "ViewOfArgument",
    "ViewOfResult",
    "container_count",
    "leaves",
]


@dataclass(frozen=True, eq=False)
class NewArray:
    """An array that owns the pool block in its data slot."""

    slot: int
    dtype: str
    rank: int
    read_only: bool = False


@dataclass(frozen=True, eq=False)
class ViewOfArgument:
    """A view whose base is the array in a register; writeable as that array is."""

    slot: int
    dtype: str
    rank: int
    register: int
    read_only: bool = False


@dataclass(frozen=True, eq=False)
class ViewOfResult:
    """A view whose base is a new array of the same call."""

    slot: int
    dtype: str
    rank: int
    leaf: int
    read_only: bool = False


@dataclass(frozen=True, eq=False)
class Remade:
    """What a function makes of an array and of numbers: a view that compiled code has no layout for.

    A name instead of a function is that of the array's attribute (``real``). The array is no new one.
    """

    array: ViewOfArgument | ViewOfResult | SameResult | Remade
    make: Callable[..., Any] | str
    numbers: tuple[PythonScalar, ...] = ()
    read_only: bool = False


@dataclass(frozen=True, eq=False)
class SameResult:
    """The same object as a new array of the same call (`return a, a`)."""

    leaf: int


@dataclass(frozen=True, eq=False)
class SameObject:
    """The object in a register."""

    register: int


@dataclass(frozen=True, eq=False)
class NumpyScalar:
    """A NumPy scalar (`np.float32(...)`)."""

    slot: int
    dtype: str


@dataclass(frozen=True, eq=False)
class PythonScalar:
    """A Python bool, int, float or complex; the dtype is one of `PYTHON_SCALARS`."""

    slot: int
    dtype: str


@dataclass(frozen=True, eq=False)
class ConstantObject:
    """An object known when the code was compiled (`None`, a string)."""

    object: Any


@dataclass(frozen=True, eq=False)
class TupleOf:
    """A tuple."""

    children: tuple[Result, ...]


@dataclass(frozen=True, eq=False)
class ListOf:
    """A list."""

    children: tuple[Result, ...]


@dataclass(frozen=True, eq=False)
class DictOf:
    """A dict, in the order of its keys."""

    keys: tuple[Any, ...]
    children: tuple[Result, ...]


@dataclass(frozen=True, eq=False)
class StructOf:
    """`type(*children)` (a named tuple), or by keyword when field names are given (a dataclass)."""

    type: Callable[..., Any]
    children: tuple[Result, ...]
    field_names: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Shared:
    """What stands in several places, and is one object: it is made where a call first comes to it.

    It has no new array inside, for another alternative may be the one that is made.
    """

    number: int
    result: Container | ViewOfArgument | ViewOfResult | Remade | OneOf


@dataclass(frozen=True, eq=False)
class OneOf:
    """The alternative whose number stands in the slot: what array the program has ended up with, or what it returns.

    No alternative is a new array, nor has one inside, though it may be the same object as one; the last is taken where
    no number fits.
    """

    slot: int
    alternatives: tuple[tuple[int, Option], ...]


ArrayResult = NewArray | ViewOfArgument | ViewOfResult


Container = TupleOf | ListOf | DictOf | StructOf


Option = (
    ViewOfArgument | ViewOfResult | Remade | SameResult | SameObject | OneOf | Shared | NumpyScalar | PythonScalar
    | ConstantObject | Container
)  # fmt: skip


Result = (
    ArrayResult
    | Remade
    | SameResult
    | SameObject
    | OneOf
    | Shared
    | NumpyScalar
    | PythonScalar
    | ConstantObject
    | Container
)


def leaves(result: Result) -> Iterator[Result]:
    """The leaves of a results tree, depth first."""
    if isinstance(result, Container):
        for child in result.children:
            yield from leaves(child)
    else:
        yield result


def container_count(result: Result, made: Collection[int] = ()) -> int:
    """How many containers an entry makes at most, where the shared ones of numbers ``made`` are there already."""
    known = set(made)

    def count(node: Result) -> int:
        if isinstance(node, OneOf):
            return sum(container_count(alternative, known) for _, alternative in node.alternatives)
        if isinstance(node, Shared):
            inside = 0 if node.number in known else 1 + container_count(node.result, known)
            known.add(node.number)
            return inside
        if isinstance(node, Remade):
            return (not isinstance(node.make, str)) + count(node.array)
        return 1 + sum(map(count, node.children)) if isinstance(node, Container) else 0

    return count(result)
