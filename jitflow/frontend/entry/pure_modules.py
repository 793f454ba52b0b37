"""Members of modules of the pure set: what stands for them while tracing."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, CellType, ModuleType
from typing import Any

from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.outside.known_arrays import adopting, computes_arrays
from jitflow.frontend.outside.module_views import NO_MEMBER, ModuleView
from jitflow.frontend.outside.objects import C_METHODS, is_frozen
from jitflow.frontend.outside.purity import Impure, is_foreign_impure, is_pure_module, is_put_there
from jitflow.frontend.python.builtin_functions import replacement
from jitflow.frontend.python.written_queues import WRITTEN_QUEUES
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.runtime.entry.plan import Cell, Global, IsObject, Read

__all__ = ["PureModules"]

_MISSING = object()


class PureModules:
    """Gives what stands for members; ``take`` the counterpart of what a user has put in the place of one."""

    def __init__(self, inputs: Inputs, take: Callable[[Any, Read, str], Any]) -> None:
        self._inputs, self._take = inputs, take
        self._modules: dict[str, tuple[ModuleType, Any]] = {}
        """What stands for a module, the same thing by whatever name: ``numpy is np``."""

    def replace(self, thing: Any) -> Any:
        """What stands for a member of a pure module: most stand for themselves."""
        if thing is sys.modules:
            return ImportedModules(self._inputs, self._take)
        if isinstance(thing, ModuleType):
            return self._module(thing)
        found = replacement(thing)
        if found is not None:
            return found
        if computes_arrays(thing):
            return adopting(thing)
        if isinstance(thing, type):
            for kind, written in WRITTEN_QUEUES.items():
                if thing is kind:
                    return self._take(written, Cell(CellType(written)), f"{kind.__module__}.{kind.__qualname__}")
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

    def _module(self, thing: ModuleType) -> Any:
        known = self._modules.get(thing.__name__)
        if known is None or known[0] is not thing:
            make = ModuleView if is_pure_module(thing.__name__) else partial(Impure, thing.__name__)
            known = self._modules[thing.__name__] = (thing, make(thing, self.member))
        return known[1]

    def member(self, module: ModuleType, name: str, found: Any) -> Any:
        """What stands for a member of a pure module, which stays this very object for the calls that fit."""
        if found is NO_MEMBER:
            self._inputs.guard_absence(vars(module), name, module.__name__)
            return None
        if name not in vars(module):  # the module's own __getattr__ makes it
            return self.replace(found)
        read, path = Global(vars(module), name), f"{module.__name__}.{name}"
        if is_put_there(found, module):
            return self._take(found, read, path)
        self._inputs.guard(IsObject(self._inputs.register(read, path), found))
        return self.replace(found)


class ImportedModules(Impure):
    """`sys.modules`, of which a program may ask for one module: later calls ask again."""

    __slots__ = ("_inputs", "_take")

    def __init__(self, inputs: Inputs, take: Callable[[Any, Read, str], Any]) -> None:
        super().__init__("sys.modules", sys.modules)
        object.__setattr__(self, "_inputs", inputs)
        object.__setattr__(self, "_take", take)

    @raising_for_the_program
    def __getitem__(self, name: Any) -> Any:
        if type(name) is not str:
            self._refuse()
        if name not in sys.modules:
            self._inputs.guard_absence(sys.modules, name, "the modules that are imported")
            raise KeyError(name)
        return self._take(sys.modules[name], Global(sys.modules, name), f"sys.modules[{name!r}]")

    def get(self, name: Any, default: Any = None) -> Any:
        """The module, or ``default``."""
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:  # type: ignore[override]
        return self.get(name, _MISSING) is not _MISSING
