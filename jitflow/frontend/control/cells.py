"""The locals that a rewritten construct shares with its nested functions: cells, read and written by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dis import get_instructions
from functools import cache
from types import CellType, CodeType, FunctionType
from typing import Any, NoReturn, Protocol

from jitflow.errors import CompilerBug
from jitflow.frontend.tracers.absent import UNBOUND
from jitflow.ir.core import Value
from jitflow.records import dataclass

__all__ = ["UNBOUND", "Cells", "Item", "MaybeUnbound", "assigned_cells", "content_of", "put", "resolved",
           "statement_of", "within"]  # fmt: skip


@dataclass(frozen=True, eq=False)
class MaybeUnbound:
    """A local that is bound only if ``condition`` holds, and then is ``thing``.

    The program never sees it: the rewriting asks for names that may be unbound (`syntax.bound`).
    """

    thing: Any
    condition: Value

    def _seen(self, other: object = None) -> NoReturn:
        raise CompilerBug("a read of a name that may be unbound was not rewritten")

    __bool__ = __eq__ = __ne__ = __str__ = _seen


def resolved(thing: Any) -> Any:
    """What a local is where it is bound."""
    return thing.thing if isinstance(thing, MaybeUnbound) else thing


class Item(Protocol):
    """What an object holds under a key, as a cell."""

    @property
    def name(self) -> str: ...
    @property
    def cell_contents(self) -> Any: ...
    @cell_contents.setter
    def cell_contents(self, thing: Any) -> None: ...


_EMPTY = CellType()
"""Equal to cells that are empty as well, and to no other."""


def content_of(cell: CellType | Item) -> Any:
    """What is in a cell, `UNBOUND` if it is empty. Nothing is caught, which a signal's handler might have raised."""
    return UNBOUND if type(cell) is CellType and cell == _EMPTY else cell.cell_contents


def put(cell: CellType | Item, thing: Any) -> None:
    """Put something into a cell, or empty it."""
    if thing is not UNBOUND:
        cell.cell_contents = thing
    elif content_of(cell) is not UNBOUND:
        del cell.cell_contents


def assigned_cells(function: FunctionType) -> Iterator[CellType]:
    """The locals of functions around one that it assigns to."""
    names = _assigned(function.__code__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name in names:
            yield cell


@cache
def _assigned(code: CodeType) -> frozenset[str]:
    own = frozenset(one.argval for one in get_instructions(code) if one.opname in ("STORE_DEREF", "DELETE_DEREF"))
    inside = (_assigned(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return own.union(*inside) & frozenset(code.co_freevars)


def within(function: Any, statement: Callable[..., Any]) -> Any:
    """A function of jitflow's that runs a block of the program's, and has to do with its locals."""
    function.statement = statement
    return function


def statement_of(function: Any) -> Any:
    """The program's block that a function runs."""
    return getattr(function, "statement", function)


class Cells:
    """The cells of the functions that a construct was made of."""

    def __init__(self, *functions: Callable[..., Any] | None) -> None:
        self._cells: dict[str, CellType] = {}
        self._items: dict[str, Item] = {}
        for function in functions:
            if function is not None:
                for one in (function, statement_of(function)):  # whose locals may have the names of ours
                    self._cells.update(zip(one.__code__.co_freevars, one.__closure__ or (), strict=True))

    def get(self, name: str) -> Any:
        """What a local is, `UNBOUND` if it is not bound."""
        return content_of(self._cell(name))

    def set(self, name: str, thing: Any) -> None:
        """Bind a local, or unbind it. What stands for an object without an attribute says so by holding `UNBOUND`."""
        cell = self._cell(name)
        if thing is not UNBOUND or name in self._items:
            cell.cell_contents = thing
        elif self.get(name) is not UNBOUND:
            del self._cells[name].cell_contents

    def _cell(self, name: str) -> CellType | Item:
        return self._items[name] if name in self._items else self._cells[name]

    def add(self, item: Item) -> None:
        """Let an item of an object be read and written like a local."""
        self._items[item.name] = item

    @property
    def items(self) -> tuple[str, ...]:
        """The names of the items of objects."""
        return tuple(self._items)

    def read(self, names: Sequence[str]) -> dict[str, Any]:
        """Several locals by name."""
        return {name: self.get(name) for name in names}

    def write(self, values: dict[str, Any]) -> None:
        """Bind several locals."""
        for name, thing in values.items():
            self.set(name, thing)

    def names(self) -> Iterator[str]:
        """The names of all locals."""
        return iter(self._cells)

    def own(self) -> Iterator[CellType]:
        """The cells themselves."""
        return iter(self._cells.values())

    def contents(self) -> Iterator[Any]:
        """Everything that the functions can reach by a name."""
        for name in self._cells:
            yield self.get(name)
