"""What one specialisation expects of a call, and what it makes of the results.

A compiled `run` sees nothing but 64-bit slots. A `Plan` says how to get there and back: which
objects to read, what must hold of them, where their numbers go, and which Python objects the
result slots become. Two readers interpret the same plan: `entry_python` step by step, and
`entry_native`, which emits one function for it. This file fixes the meaning for both.

**Registers.** `reads[k]` yields register `k`. A register is read at the last moment: just before
the first check that names it (or, if no check does, after all checks), its parent first. So the
checks on a container stand before the checks on what is read from it, and a read may rely on them.

**Slots.** An array of rank r takes 1 + 2r slots: data pointer, r dims, r byte strides. A scalar
takes one slot with its bits in the low bytes (bool as 0 or 1, integers extended to 64 bits), a
c128 two. New arrays point to blocks of the pool (`pool.py`), never null, also when empty.

**Result leaves** are the leaves of the results tree (`plan_results.py`), depth first, followed by `Plan.bases`.
`ViewOfResult` and `SameResult` refer to a `NewArray` among them by its index in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from types import CellType, CodeType
from typing import Any, Literal

import numpy as np

from jitflow.records import dataclass
from jitflow.runtime.entry.plan_results import (
    ArrayResult,
    ConstantObject,
    Container,
    DictOf,
    ListOf,
    NewArray,
    NumpyScalar,
    OneOf,
    Option,
    PythonScalar,
    Remade,
    Result,
    SameObject,
    SameResult,
    Shared,
    StructOf,
    TupleOf,
    ViewOfArgument,
    ViewOfResult,
    container_count,
    leaves,
)

__all__ = [
    "ERROR_SLOTS",
    "Argument",
    "ArrayLeaf",
    "ArrayResult",
    "Attribute",
    "Cell",
    "Check",
    "ConstantObject",
    "Container",
    "Contents",
    "DictOf",
    "EqualsConstant",
    "FunctionIs",
    "Global",
    "Guard",
    "HasLength",
    "IsObject",
    "IsOther",
    "IsSame",
    "IsType",
    "Item",
    "KeysAre",
    "Layout",
    "Leaf",
    "ListOf",
    "Made",
    "NewArray",
    "NumpyScalar",
    "ObjectLeaf",
    "OneOf",
    "Option",
    "Plan",
    "PythonScalar",
    "Read",
    "Remade",
    "Result",
    "SameObject",
    "SameResult",
    "Satisfies",
    "ScalarLeaf",
    "Shared",
    "StructOf",
    "TupleOf",
    "Use",
    "ViewOfArgument",
    "ViewOfResult",
    "container_count",
    "layout_of",
    "leaves",
    "named_objects",
    "new_arrays",
]

ERROR_SLOTS = 16
"""Slots that `run` may fill when it fails: a code, a site index, then values."""

Layout = Literal["C", "F", "unit", "general"]


def layout_of(array: np.ndarray[Any, Any]) -> Layout:
    """The layout class of an array: the first of the four that holds.

    Contiguity is NumPy's flag, so an empty array, a 0-d array or one with a single element is
    "C" whatever its strides; "unit" means that neighbours along the last axis touch.
    """
    if array.flags.c_contiguous:
        return "C"
    if array.flags.f_contiguous:
        return "F"
    return "unit" if array.strides[-1] == array.itemsize else "general"


# -- reads: where the objects come from -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Argument:
    """The argument at a position of the flat argument list."""

    index: int


@dataclass(frozen=True, eq=False)
class Global:
    """A name looked up as Python does: in the namespace, then among its builtins."""

    namespace: dict[str, Any]
    name: str


@dataclass(frozen=True, eq=False)
class Cell:
    """What a closure cell holds."""

    cell: CellType


@dataclass(frozen=True, eq=False)
class Item:
    """An item of an exact tuple or list (by int) or dict (by key)."""

    parent: int
    key: Any


@dataclass(frozen=True, eq=False)
class Attribute:
    """`getattr(parent, name)`; an object without it does not match."""

    parent: int
    name: str


@dataclass(frozen=True, eq=False)
class Contents:
    """The array that a `Variable` holds, always the same one; a guard has fixed the type of the register."""

    parent: int


@dataclass(frozen=True, eq=False)
class Made:
    """What a function of the runtime's makes of the objects in registers; where it raises, the call does not fit."""

    function: Callable[..., Any]
    parents: tuple[int, ...]


Read = Argument | Global | Cell | Item | Attribute | Contents | Made


# -- guards: what must hold ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class IsObject:
    """The register holds this very object."""

    register: int
    object: Any


@dataclass(frozen=True, eq=False)
class IsSame:
    """The register holds the very object that another one holds, which was read before."""

    register: int
    other: int


@dataclass(frozen=True, eq=False)
class IsOther:
    """The register holds another object than another one, which was read before."""

    register: int
    other: int


@dataclass(frozen=True, eq=False)
class IsType:
    """The register's type is exactly this one."""

    register: int
    type: type


@dataclass(frozen=True, eq=False)
class HasLength:
    """`len(register) == length`."""

    register: int
    length: int


@dataclass(frozen=True, eq=False)
class KeysAre:
    """A dict with exactly these keys, of equal type, in this order."""

    register: int
    keys: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Satisfies:
    """`test(register)` is true, and says ``text`` of it. For questions that are asked rarely: Python answers."""

    register: int
    test: Callable[[Any], bool]
    text: str


@dataclass(frozen=True, eq=False)
class EqualsConstant:
    """Exactly this type and equal; floats and complex numbers by their bits (-0.0, nan)."""

    register: int
    value: Any
    type: type


@dataclass(frozen=True, eq=False)
class FunctionIs:
    """A Python function with this code, whose defaults and cells are these objects.

    The function object itself may be another one (a `def` that ran again), and with `any_closure` so may its cells be.
    Defaults are compared item by item, because the dict of keyword defaults can be changed in place.
    """

    register: int
    code: CodeType
    defaults: tuple[Any, ...] | None = None
    keyword_defaults: tuple[tuple[str, Any], ...] | None = None
    closure: tuple[CellType, ...] | None = None
    any_closure: bool = False


Guard = IsObject | IsSame | IsOther | IsType | HasLength | KeysAre | Satisfies | EqualsConstant | FunctionIs


# -- leaves: guards that also fill slots -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrayLeaf:
    """An exact `numpy.ndarray`, aligned and of native byte order, of just this class.

    `writeable` asks for a writeable array (False accepts both); `ones[i]` says that dim i is 1,
    and otherwise it must be different from 1; None accepts both, as exported code does. `lives` names the GPU on
    which it is, if it is an array of one.
    """

    register: int
    dtype: str
    rank: int
    layout: Layout
    writeable: bool
    ones: tuple[bool | None, ...]
    slot: int
    lives: str = ""


@dataclass(frozen=True, eq=False)
class ScalarLeaf:
    """A scalar of the exact Python or NumPy type; a Python int beyond 64 bits does not match."""

    register: int
    dtype: str
    kind: Literal["python", "numpy"]
    slot: int


@dataclass(frozen=True, eq=False)
class ObjectLeaf:
    """The address of the object in a register: a generator, whose type a guard has fixed.

    One that is not ``locked`` has no lock of its own: who draws from it keeps the GIL.
    """

    register: int
    slot: int
    locked: bool = True


Leaf = ArrayLeaf | ScalarLeaf | ObjectLeaf
Check = Guard | Leaf


@dataclass(frozen=True, eq=False)
class Use:
    """The variable whose array is in a slot is read, or written as well: the call waits until it may do that.

    A variable that is written is no other of the plan's, else the arguments do not fit.
    """

    slot: int
    writes: bool


@dataclass(frozen=True, eq=False)
class Plan:
    """The whole agreement of one specialisation.

    `checks` are in the order in which they must be made. `bases` are new arrays that are no
    results themselves but own the memory of a returned view. `uses` are the variables that are taken for
    `run` and given back behind it. When the argument arrays hold more
    than `releases_gil_bytes` bytes together, `run` runs without the GIL (None: it never does; -1: it always does, as a
    program that is split over devices must).

    A program that draws from generators of NumPy's takes the locks of those in its arguments (`ObjectLeaf`), and keeps
    those that it makes until its results are there; `draws` says so.

    A program that uses GPUs has their names in `gpus`. It wants the arrays of the argument slots in `wanted` on the GPU
    named there, which makes those of the result slots in `made`. Only the Python entry knows such plans.
    """

    parameter_names: tuple[str, ...]
    reads: tuple[Read, ...]
    checks: tuple[Check, ...]
    argument_slots: int
    result_slots: int
    results: Result
    bases: tuple[NewArray, ...] = ()
    uses: tuple[Use, ...] = ()
    releases_gil_bytes: int | None = 64 * 1024
    draws: bool = False
    gpus: tuple[str, ...] = ()
    wanted: Mapping[int, str] = field(default_factory=dict)
    made: Mapping[int, str] = field(default_factory=dict)


def named_objects(plan: Plan) -> dict[int, IsObject]:
    """The registers of names that are first of all asked whether they stand for a certain object."""
    first: dict[int, Check] = {}
    for check in plan.checks:
        first.setdefault(check.register, check)
    return {
        register: check
        for register, check in first.items()
        if isinstance(check, IsObject) and isinstance(plan.reads[register], Global)
    }


def new_arrays(plan: Plan) -> dict[int, NewArray]:
    """The new arrays of a plan by their index among the result leaves."""
    everything = (*leaves(plan.results), *plan.bases)
    return {index: leaf for index, leaf in enumerate(everything) if isinstance(leaf, NewArray)}
