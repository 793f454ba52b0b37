"""What exceptions and enumerations read, which programs use as they are.

Their methods run while tracing, as plain Python, so nobody records what these read. It is guarded by its value instead:
numbers and texts, what is made of them, arrays, and functions and classes with all that they read in turn. Of an object
of the user's, and of a module, only which one it is: what such a method reads of its attributes is what it was.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dis import get_instructions
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.entry.recorded_functions import function_guard
from jitflow.frontend.outside.made_objects import functions_in
from jitflow.frontend.outside.objects import is_frozen
from jitflow.frontend.outside.purity import is_foreign_impure, is_pure_module
from jitflow.runtime.entry.guard_tests import contents, has_contents
from jitflow.runtime.entry.plan import Attribute, Cell, EqualsConstant, Global, IsObject, Read, Satisfies

__all__ = ["Unseen"]

_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS"})


class Unseen:
    """Guards what methods read that run unseen, once for each class and function."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._known: dict[int, Any] = {}

    def of(self, thing: Any, register: int) -> None:
        """What the methods of an exception's class, or of an enumeration or a member of one, read."""
        if isinstance(thing, enum.Enum):
            path = f"{self._inputs.path(register)}.__class__"
            self.of_class(type(thing), self._inputs.register(Attribute(register, "__class__"), path))
        elif isinstance(thing, type):
            self.of_class(thing, register)

    def of_class(self, kind: type, register: int) -> None:
        """What the methods of a class in a register read, and the values that the class holds."""
        if self._is_known(kind):
            return
        path = self._inputs.path(register)
        for base in kind.__mro__:
            if is_pure_module(base.__module__) or is_foreign_impure(base.__module__):
                continue
            for name, member in vars(base).items():
                functions = functions_in(member)
                for function in functions:
                    self._of_function(function)
                if not functions and not name.startswith("_") and type(member) in (bool, int, float, complex, str):
                    self._guard(member, Attribute(register, name), f"{path}.{name}")

    def _is_known(self, thing: Any) -> bool:
        known = id(thing) in self._known
        self._known[id(thing)] = thing
        return known

    def _of_function(self, function: FunctionType) -> None:
        if is_pure_module(function.__module__ or "") or self._is_known(function):
            return
        namespace = function.__globals__
        for name in _globals_read(function.__code__):
            if name in namespace:
                self._guard(namespace[name], Global(namespace, name), name)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name != "__class__":
                self._guard(cell.cell_contents, Cell(cell), name)

    def _guard(self, thing: Any, read: Read, path: str) -> None:
        register = self._inputs.register(read, path)
        if isinstance(thing, FunctionType):
            self._inputs.guard(function_guard(thing, register))
            self._of_function(thing)
        elif isinstance(thing, list | dict | set | tuple | np.ndarray) and (found := contents(thing)) is not None:
            self._inputs.guard(Satisfies(register, partial(has_contents, found), "is as it was"))
        elif is_frozen(thing) and thing is not None and not isinstance(thing, type):
            self._inputs.guard(EqualsConstant(register, thing, type(thing)))
        else:
            self._inputs.guard(IsObject(register, thing))
            if isinstance(thing, type):
                self.of_class(thing, register)


def _globals_read(code: CodeType) -> Iterator[str]:
    yield from dict.fromkeys(one.argval for one in get_instructions(code) if one.opname in _READS)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_read(constant)
