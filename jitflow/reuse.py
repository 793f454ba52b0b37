"""Functions that are made of functions, such as gradients: one that is asked for again is compiled once.

    for batch in batches:
        w -= 0.1 * jitflow.grad(lambda w: loss(w, batch))(w)

Each turn asks for the gradient of another lambda. If its cells are those of the one before, as here, it gets the same
compiled function. If they are not, since the loop calls a function in which the lambda stands, it gets the compiled
function of one that nobody uses any more, which is given the new lambda: what the code reads is found by way of it at
each call (`frontend/entry/recorded_functions.py`), and so the code fits.

Whether anybody uses a function is what its count of references says: whoever could still call it adds one, and one too
many does no harm but that something is compiled once more.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from types import CellType, FunctionType, MethodType
from typing import Any

__all__ = ["made_of", "token"]

_MOST_KINDS = 128
_MOST_OF_A_KIND = 8


class _Made:
    """A compiled function, and the cell that holds what it is made of."""

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled
        function = compiled.__wrapped__
        self.cell: CellType = function.__closure__[function.__code__.co_freevars.index("fun")]
        self._unused: int | None = None

    def references(self) -> int:
        """How many there are to the compiled function and to what it runs, which others may have got hold of."""
        return sys.getrefcount(self.compiled) + sys.getrefcount(self.compiled.__wrapped__)

    def settle(self) -> None:
        """Count the references as long as nobody else has any."""
        self._unused = self.references()

    def is_unused(self) -> bool:
        """Whether nobody else can call the function."""
        return _counts_references() and self.references() == self._unused


class _Same:
    """An object as a key: equal to itself alone."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing


_made: OrderedDict[Hashable, list[_Made]] = OrderedDict()
_lock = threading.Lock()


def made_of(fun: Any, kind: Hashable, make: Callable[[], FunctionType], compile: Callable[[FunctionType], Any]) -> Any:
    """What ``compile`` makes of the function that ``make`` gives, or of an equal one that was made before.

    Functions of one ``kind`` differ in nothing but ``fun``, which they have in a cell of this name.
    """
    key = (kind, _likeness(fun))
    with _lock:
        known = _made.setdefault(key, [])
        _made.move_to_end(key)
        for one in known:
            if _is_same(one.cell.cell_contents, fun):
                return one.compiled
        for one in known:
            if one.is_unused():
                one.cell.cell_contents = fun
                return one.compiled
    made = _Made(compile(_marked(make())))
    made.settle()
    with _lock:
        known.append(made)
        del known[:-_MOST_OF_A_KIND]
        while len(_made) > _MOST_KINDS:
            _made.popitem(last=False)
    return made.compiled


def _marked(function: FunctionType) -> FunctionType:
    function.__jitflow_made__ = True  # type: ignore[attr-defined]
    return function


def token(structure: Any) -> Hashable:
    """A key for a structure: equal for one of the same shape with the very same objects."""
    if isinstance(structure, dict):
        return (dict, *((key, token(item)) for key, item in structure.items()))
    if isinstance(structure, list | tuple):
        return (type(structure), *map(token, structure))
    if dataclasses.is_dataclass(structure):
        return (type(structure), *(token(getattr(structure, field.name)) for field in dataclasses.fields(structure)))
    return _Same(structure)


def _likeness(fun: Any) -> Hashable:
    """Equal for functions of one code, which differ at most in their cells and in the objects they are methods of."""
    if isinstance(fun, MethodType):
        return (MethodType, _likeness(fun.__func__))
    if not isinstance(fun, FunctionType):
        return _Same(fun)
    keywords = fun.__kwdefaults__ or {}
    return (
        _Same(fun.__code__), _Same(fun.__globals__), *map(_Same, fun.__defaults__ or ()), *keywords,
        *map(_Same, keywords.values()),
    )  # fmt: skip


def _is_same(one: Any, other: Any) -> bool:
    """Whether two functions of one likeness are the same in all but name."""
    if isinstance(one, MethodType):
        return one.__self__ is other.__self__ and _is_same(one.__func__, other.__func__)
    if one is other or not isinstance(one, FunctionType):
        return one is other
    cells = zip(one.__closure__ or (), other.__closure__ or (), strict=True)
    return all(mine is theirs for mine, theirs in cells)


def _counts_references() -> bool:
    """Whether the interpreter counts them all; without its lock, it leaves some out."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()
