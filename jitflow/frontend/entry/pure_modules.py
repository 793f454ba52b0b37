"""Members of modules of the pure set: what stands for them while tracing."""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, CellType, ModuleType
from typing import Any

from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.outside.known_arrays import adopting, computes_arrays
from jitflow.frontend.outside.objects import C_METHODS, is_frozen
from jitflow.frontend.outside.proxies import NO_MEMBER, ModuleView
from jitflow.frontend.outside.purity import Impure, is_foreign_impure, is_pure_module, is_put_there
from jitflow.frontend.python.builtin_functions import replacement
from jitflow.runtime.guard_tests import lacks_key
from jitflow.runtime.plan import Cell, Global, IsObject, Read, Satisfies

__all__ = ["PureModules"]


class PureModules:
    """Gives what stands for members; ``take`` the counterpart of what a user has put in the place of one."""

    def __init__(self, inputs: Inputs, take: Callable[[Any, Read, str], Any]) -> None:
        self._inputs, self._take = inputs, take

    def replace(self, thing: Any) -> Any:
        """What stands for a member of a pure module: most stand for themselves."""
        if isinstance(thing, ModuleType):
            pure = is_pure_module(thing.__name__)
            return (ModuleView if pure else partial(Impure, thing.__name__))(thing, self.member)
        found = replacement(thing)
        if found is not None:
            return found
        if computes_arrays(thing):
            return adopting(thing)
        if isinstance(thing, type):
            harmless = not is_foreign_impure(thing.__module__) or issubclass(thing, BaseException | enum.Enum)
            return thing if harmless else Impure(f"{thing.__module__}.{thing.__qualname__}", thing)
        if isinstance(thing, BuiltinFunctionType):
            owner = thing.__self__
            if isinstance(owner, ModuleType) or owner is None:
                module = thing.__module__ or "builtins"
                return thing if is_pure_module(module) else Impure(f"{module}.{thing.__qualname__}", thing)
            # A method of an object in C: what it does is known for values that cannot change.
            return thing if is_frozen(owner) else Impure(thing.__qualname__, thing)
        return Impure(thing.__qualname__, thing) if isinstance(thing, C_METHODS) else thing

    def member(self, module: ModuleType, name: str, found: Any) -> Any:
        """What stands for a member of a pure module, which stays this very object for the calls that fit."""
        if found is NO_MEMBER:
            register = self._inputs.register(Cell(CellType(vars(module))), module.__name__)
            self._inputs.guard(Satisfies(register, partial(lacks_key, name), f"has no {name}"))
            return None
        if name not in vars(module):  # the module's own __getattr__ makes it
            return self.replace(found)
        read, path = Global(vars(module), name), f"{module.__name__}.{name}"
        if is_put_there(found, module):
            return self._take(found, read, path)
        self._inputs.guard(IsObject(self._inputs.register(read, path), found))
        return self.replace(found)
