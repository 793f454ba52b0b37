"""Functions that record what they read: the user's, with globals, cells and defaults that are counterparts.

A function is made anew from the code of the user's, rewritten if it has control flow. Its namespaces ask the recorder
(`reads.py`) for the counterpart of whatever they find, and so every read is known.

The closure cells of most functions are those that they had when they were traced. A function that comes as an argument,
or of which jitflow has made another one (`jitflow.reuse`), is often written where it is handed over: the next call has
another one of the same code. So its cells are found by way of it.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from dis import get_instructions
from functools import partial
from inspect import CO_OPTIMIZED
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from jitflow.errors import UserImportError, as_user_error
from jitflow.frontend.control.plain_tries import watch
from jitflow.frontend.control.retracing import retraced
from jitflow.frontend.control.sharing import sharable
from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.entry.outer_assignments import refuse_stores
from jitflow.frontend.outside.objects import is_frozen, is_made
from jitflow.frontend.outside.purity import impure_builtins
from jitflow.frontend.python.builtin_functions import BUILTIN_FUNCTIONS
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.syntax import CELL, rewritten
from jitflow.frontend.tracers import located
from jitflow.frontend.tracers.surface import surface
from jitflow.runtime.entry.guard_tests import is_unbound
from jitflow.runtime.entry.plan import (
    Argument,
    Attribute,
    Cell,
    FunctionIs,
    Global,
    IsObject,
    IsSame,
    IsType,
    Item,
    Read,
    Satisfies,
)

__all__ = ["RecordedFunctions", "function_guard"]


class RecordedFunctions:
    """Makes them; one for each recorder, since functions share globals and cells."""

    def __init__(self, inputs: Inputs, take: Callable[[Any, Read, str], Any]) -> None:
        self.inputs, self._take = inputs, take
        self._globals: dict[int, _Globals] = {}
        self._cells: dict[int, CellType] = {}
        self._cell_registers: dict[int, int] = {}
        """The registers of the cells that are found by way of a function."""
        self._made_of: set[int] = set()
        """The cells of a function of jitflow's."""
        self._open: dict[int, tuple[int, FunctionType]] = {}
        """The functions whose defaults are being read, which may lead to them: their registers and counterparts."""
        self.made_anew: set[int] = set()
        """The registers of functions that a property or another descriptor makes at each read."""
        self.builtins = {**vars(builtins), **impure_builtins(), **BUILTIN_FUNCTIONS, "__import__": self._import}

    def root(self, function: FunctionType, path: str) -> FunctionType:
        """The user's function with recording globals and cells. Its defaults are arguments of each call."""
        if is_made(function):  # which stays as it is, and nobody is to keep
            self._made_of.update(map(id, function.__closure__ or ()))
            return self._recording(function, self.inputs.register(Cell(CellType(None)), path), defaults=False)
        register = self.inputs.register(Cell(CellType(function)), path)
        self.inputs.guard(function_guard(function, register))
        return self._recording(function, register, defaults=False)

    def helper(self, function: FunctionType, register: int) -> Any:
        """A function that the program calls, with its defaults."""
        if id(function) in self._open:
            first, recorded = self._open[id(function)]
            self.inputs.guard_same(register, first)
            return recorded
        self.inputs.guard(function_guard(function, register, any_closure=self._is_another_each_time(register)))
        return sharable(retraced(self._recording(function, register, defaults=True)))

    def _is_another_each_time(self, register: int) -> bool:
        """Whether the next call may well find another function of the same code, with cells of its own."""
        origin = self.inputs.origin(register)
        if register in self.made_anew or isinstance(origin, Argument):
            return True
        return isinstance(origin, Cell) and id(origin.cell) in self._made_of

    def method(self, method: MethodType, register: int) -> Any:
        """A method, bound to the counterpart of its object."""
        path = self.inputs.path(register)
        self.inputs.guard(IsType(register, MethodType))
        function = self._take(method.__func__, Attribute(register, "__func__"), path)
        owner = self._take(method.__self__, Attribute(register, "__self__"), path.rpartition(".")[0] or path)
        return MethodType(function, owner) if callable(function) else partial(function, owner)

    def _recording(self, function: FunctionType, register: int, *, defaults: bool) -> FunctionType:
        code, path = function.__code__, self.inputs.path(register)
        refuse_stores(code)
        cells = {
            name: self._cell(cell, name, self._read_of_cell(register, position))
            for position, (name, cell) in enumerate(zip(code.co_freevars, function.__closure__ or (), strict=True))
        }
        site = Site(Choice.REWRITTEN, code.co_filename, code.co_firstlineno)
        found = rewritten(function, bool(self.inputs.trace.choices.answer(site)))
        if found is not None:
            self.inputs.trace.rewritten.add(code)
            code = found.code
            cells[CELL] = CellType(_hooks())
        else:
            watch(self.inputs.trace, function)
            self.inputs.trace.straight[code] = None
        closure = tuple(cells[name] for name in code.co_freevars)
        # A fresh copy of the code: the interpreter caches what it found in plain globals inside the old one.
        namespace = self._globals_of(function)
        for name in _read_by_classes(code):
            namespace.fill(name)
        recorded = FunctionType(code.replace(), namespace, function.__name__, None, closure or None)
        recorded.__qualname__, recorded.__module__ = function.__qualname__, function.__module__
        if defaults:
            self._open[id(function)] = register, recorded
            try:
                recorded.__defaults__ = self._defaults(function.__defaults__, register, "__defaults__", path)
                recorded.__kwdefaults__ = self._defaults(function.__kwdefaults__, register, "__kwdefaults__", path)
            finally:
                del self._open[id(function)]
        return recorded

    def _defaults(self, values: Any, register: int, name: str, path: str) -> Any:
        """A helper's defaults: numbers are constants, because the guard holds the very objects; arrays are read."""
        if not values:
            return values
        items = list(values.items() if isinstance(values, dict) else enumerate(values))
        parent = self.inputs.register(Attribute(register, name), f"{path}.{name}")
        if not all(map(is_frozen, dict(items).values())):
            self.inputs.guard(IsType(parent, type(values)))
        taken = {
            key: value if is_frozen(value) else self._take(value, Item(parent, key), f"{path}.{name}[{key!r}]")
            for key, value in items
        }
        return taken if isinstance(values, dict) else tuple(taken.values())

    def _read_of_cell(self, register: int, position: int) -> Read | None:
        """How a cell of the function in a register is found at each call, None if it is always the same one."""
        if not self._is_another_each_time(register):
            return None
        path = f"{self.inputs.path(register)}.__closure__"
        closure = self.inputs.register(Attribute(register, "__closure__"), path)
        self.inputs.guard(IsType(closure, tuple))
        return Item(closure, position)

    def _cell(self, cell: CellType, name: str, read: Read | None) -> CellType:
        known, found = self._cells.get(id(cell)), self._cell_registers.get(id(cell))
        itself = Cell(CellType(cell))
        if read is None and found is None:
            return known or self._new_cell(cell, name, itself, Cell(cell))
        register = self.inputs.register(read or itself, name)
        if known is None:
            self._cell_registers[id(cell)] = register
            return self._new_cell(cell, name, read or itself, Attribute(register, "cell_contents"))
        self.inputs.guard(IsObject(register, cell) if found is None else IsSame(register, found))
        return known

    def _new_cell(self, cell: CellType, name: str, read: Read, read_contents: Read) -> CellType:
        self._cells[id(cell)] = fresh = CellType()  # before it is filled: a function may close over itself
        try:
            contents = cell.cell_contents
        except ValueError:  # still unbound, for the program as well
            self.inputs.guard(Satisfies(self.inputs.register(read, name), is_unbound, "is unbound"))
            return fresh
        if name == "__class__":
            self.inputs.guard(IsObject(self.inputs.register(read_contents, name), contents))
            fresh.cell_contents = contents
        else:
            fresh.cell_contents = self._take(contents, read_contents, name)
        return fresh

    # -- globals ----------------------------------------------------------------------------------

    def _globals_of(self, function: FunctionType) -> _Globals:
        namespace = function.__globals__
        if id(namespace) not in self._globals:
            self._globals[id(namespace)] = _Globals(namespace, self)
        return self._globals[id(namespace)]

    def read_global(self, namespace: dict[str, Any], name: str) -> Any:
        """What a global name means to the program. Raises KeyError where Python would go on to raise NameError."""
        if name in namespace:
            return self._take(namespace[name], Global(namespace, name), name)
        if name not in self.builtins:
            self.inputs.guard_absence(namespace, name, f"the globals of {namespace.get('__name__')}")
        found = self.builtins[name]
        if hasattr(builtins, name):  # the read guards that no global comes to hide it
            register = self.inputs.register(Global(namespace, name), name)
            self.inputs.guard(IsObject(register, getattr(builtins, name)))
        return found

    @raising_for_the_program
    def _import(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """``import`` inside the program: modules are read from `sys.modules`."""
        try:
            module = builtins.__import__(name, *args, **kwargs)
        except ImportError as error:
            self.inputs.guard_absence(sys.modules, error.name or name, "the modules that are imported")
            raise located(as_user_error(error)) from error
        from_list = args[2] if len(args) > 2 else kwargs.get("fromlist")
        found = self._take(module, Global(sys.modules, module.__name__), module.__name__)
        return _Namespace(found, from_list) if from_list else found


class _Globals(dict[str, Any]):
    """The globals of a function while it is traced.

    The interpreter asks a dict *subclass* through ``__getitem__``, and so every read of a global comes by here. What it
    stores goes to the dict itself, where nobody looks; `refuse_stores` has seen to it that there are no stores.
    """

    def __init__(self, namespace: dict[str, Any], functions: RecordedFunctions) -> None:
        super().__init__({"__builtins__": functions.builtins, "__name__": namespace.get("__name__", "")})
        self._namespace = namespace
        self._functions = functions

    def __getitem__(self, name: str) -> Any:
        return self._functions.read_global(self._namespace, name)

    def fill(self, name: str) -> None:
        """Read a global for the bodies of classes, for which the interpreter looks into the dict itself."""
        if name in self._namespace and not dict.__contains__(self, name):
            self[name] = self[name]


def _program(function: FunctionType) -> FunctionType:
    """A function of jitflow's that is written as a program is: it has nothing that a guard would have to watch."""
    found = rewritten(function, True)
    code = function.__code__ if found is None else found.code
    namespace = {**function.__globals__, "__builtins__": {**vars(builtins), **BUILTIN_FUNCTIONS}}
    cells = tuple(CellType(_hooks()) for name in code.co_freevars if name == CELL)
    return FunctionType(code, namespace, function.__name__, function.__defaults__, cells)


surface.install(program=_program)


def _read_by_classes(code: CodeType) -> Iterator[str]:
    """The names that the bodies of classes read which code defines."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _read_by_classes(constant)
            if not constant.co_flags & CO_OPTIMIZED:
                yield from (each.argval for each in get_instructions(constant) if each.opname == "LOAD_NAME")


class _Namespace:
    """What ``from module import names`` reads its names from."""

    def __init__(self, module: Any, names: Any) -> None:
        for name in names:
            if name != "*":
                setattr(self, name, self._member(module, name))

    @raising_for_the_program
    def _member(self, module: Any, name: str) -> Any:
        try:
            return getattr(module, name)
        except AttributeError:
            home, place = module.__name__, getattr(module, "__file__", "unknown location")
            raise located(UserImportError(f"cannot import name {name!r} from {home!r} ({place})")) from None


def _hooks() -> ModuleType:
    """What rewritten control flow calls. Loaded when first needed: straight programs do without."""
    from jitflow.frontend.entry import hooks

    return hooks


def function_guard(function: FunctionType, register: int, *, any_closure: bool = False) -> FunctionIs:
    """The guard for a function of this code, these defaults and, unless any will do, these cells."""
    keyword_defaults = tuple((function.__kwdefaults__ or {}).items()) or None
    closure = None if any_closure else function.__closure__
    return FunctionIs(register, function.__code__, function.__defaults__, keyword_defaults, closure, any_closure)
