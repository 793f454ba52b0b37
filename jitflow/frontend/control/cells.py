"""The locals that a rewritten construct shares with its nested functions: cells, read and written by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import CellType
from typing import Any

__all__ = ["UNBOUND", "Cells", "Containers"]


class _Unbound:
    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND: Any = _Unbound()
"""Stands for the contents of an empty cell."""


class Cells:
    """The cells of the functions that a construct was made of."""

    def __init__(self, *functions: Callable[..., Any] | None) -> None:
        self._cells: dict[str, CellType] = {}
        for function in functions:
            if function is not None:
                names = function.__code__.co_freevars
                self._cells.update(zip(names, function.__closure__ or (), strict=True))

    def get(self, name: str) -> Any:
        """What a local is, `UNBOUND` if it is not bound."""
        try:
            return self._cells[name].cell_contents
        except ValueError:
            return UNBOUND

    def set(self, name: str, thing: Any) -> None:
        """Bind a local, or unbind it."""
        cell = self._cells[name]
        if thing is not UNBOUND:
            cell.cell_contents = thing
        elif self.get(name) is not UNBOUND:
            del cell.cell_contents

    def read(self, names: Sequence[str]) -> dict[str, Any]:
        """Several locals by name."""
        return {name: self.get(name) for name in names}

    def write(self, values: dict[str, Any]) -> None:
        """Bind several locals."""
        for name, thing in values.items():
            self.set(name, thing)

    def contents(self) -> Iterator[Any]:
        """Everything that the functions can reach by a name."""
        for name in self._cells:
            yield self.get(name)


class Containers:
    """What the lists and dicts within reach held at some moment.

    Python changes them while the program is traced, and no region records that: who traces a region compares, and gives
    back what was there.
    """

    def __init__(self, cells: Cells) -> None:
        self._copies: dict[int, tuple[Any, Any]] = {}
        for thing in cells.contents():
            self._visit(thing, depth=4)

    def _visit(self, thing: Any, depth: int) -> None:
        kind = type(thing)
        if depth == 0 or kind not in (list, dict, tuple) or id(thing) in self._copies:
            return
        if kind is not tuple:
            self._copies[id(thing)] = (thing, kind(thing))
        for item in thing.values() if kind is dict else thing:
            self._visit(item, depth - 1)

    def changed(self) -> bool:
        """Whether any of them holds something else by now."""
        return any(not _same(now, before) for now, before in self._copies.values())

    def restore(self) -> None:
        """Give back what they held."""
        for now, before in self._copies.values():
            if isinstance(now, list):
                now[:] = before
            else:
                now.clear()
                now.update(before)


def _same(now: Any, before: Any) -> bool:
    if len(now) != len(before):
        return False
    if isinstance(now, dict):
        return all(key in before and before[key] is item for key, item in now.items())
    return all(one is other for one, other in zip(now, before, strict=True))
