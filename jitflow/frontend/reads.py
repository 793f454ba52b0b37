"""Never stale: the user's function runs with globals, cells and objects that record what is read from them.

What the program reads decides what it computes, so each read becomes an access path that the entry walks again at
every call. Arrays and numbers found at its end are inputs of the compiled code; everything else is guarded:

====================================  ===================================================================
found                                 what the program gets, and what is guarded
====================================  ===================================================================
`Variable`                            its tracer, one wherever it is found; its class, and which ones are the same
array, number                         a tracer; its class (a number that Python needs itself: its value)
tuple, list, dict, named tuple        the same, of what is inside; type, length or keys
Python function, method, partial      the function with recording globals and cells; code, defaults, cells
function compiled by jitflow          the function that it wraps: it is inlined
module of the pure set                a view that replaces functions that must know tracers; identity
other module, object, class           a proxy that records attribute reads; identity or type
string, bytes, slice, range, dtype    itself; its value
None, class, function in C            itself; identity
argument that a part does not need    what has no value; identity
====================================  ===================================================================
"""

from __future__ import annotations

import builtins
import enum
import sys
from functools import partial
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from jitflow.errors import UserAttributeError, UserError, UserTypeError, as_user_error
from jitflow.frontend.absent import NOT_GIVEN, Absent
from jitflow.frontend.arguments import PYTHON_NUMBERS, Spec, array_class, number_class, too_long, unsupported
from jitflow.frontend.builtin_functions import BUILTIN_FUNCTIONS, replacement
from jitflow.frontend.callbacks import Callback
from jitflow.frontend.inputs import Inputs
from jitflow.frontend.objects import (
    C_METHODS,
    CACHED_FUNCTION,
    array_fields,
    is_compiled,
    is_frozen,
    is_numpy_function,
    is_plain_class,
)
from jitflow.frontend.proxies import ClassProxy, ModuleView, ObjectProxy, OutsideDict, OutsideList
from jitflow.frontend.purity import Impure, Unusable, impure_builtins, is_foreign_impure, is_pure_module
from jitflow.frontend.stores import refuse_stores
from jitflow.frontend.syntax import CELL, rewritten
from jitflow.frontend.tracers import NumberTracer, Tracer, VariableTracer, located
from jitflow.frontend.tracers.base import escaped
from jitflow.runtime.plan import (
    Attribute,
    Cell,
    EqualsConstant,
    FunctionIs,
    Global,
    HasLength,
    IsObject,
    IsSame,
    IsType,
    Item,
    KeysAre,
    Read,
    Satisfies,
)
from jitflow.runtime.variable import Variable

__all__ = ["Recorder"]

_BY_IDENTITY = (type(None), type(...), type(NotImplemented))
_BY_VALUE = (str, bytes, slice, range, np.dtype, frozenset)
_MISSING = object()
LARGEST_CONTAINER = 4096
"""Items of a tuple, list or dict that is read from outside."""


class Recorder:
    """Gives the program a counterpart of every object that it reads, the same one for the same path."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._taken: dict[int, Any] = {}
        self._globals: dict[int, RecordingGlobals] = {}
        self._cells: dict[int, CellType] = {}
        self._classes: dict[int, ClassProxy] = {}
        self._builtins = self._make_builtins()
        self.origins: dict[int, int] = {}
        """From the id of the tracer of an array or number that was read to its register."""

    # -- what the program gets --------------------------------------------------------------------

    def take(self, thing: Any, read: Read, path: str) -> Any:
        """The counterpart of ``thing``, which ``read`` finds and the program spells ``path``."""
        register = self.inputs.register(read, path)
        if register not in self._taken:
            taken = self._taken[register] = self._adopt(thing, register)
            if isinstance(taken, Tracer):
                self.origins.setdefault(id(taken), register)
        return self._taken[register]

    def constant(self, thing: Any, read: Read, path: str) -> Any:
        """``thing`` itself, guarded by its value: an argument named in ``static=``."""
        register = self.inputs.register(read, path)
        try:
            hash(thing)
        except TypeError:
            raise UserTypeError(
                f"the static argument {path} is {type(thing).__name__}, which has no hash",
                expected="values that cannot change: numbers, strings, tuples, functions",
                mend="pass a tuple in place of a list, and arrays without static=",
            ) from None
        if isinstance(thing, FunctionType | MethodType | partial) or is_compiled(thing):
            return self._adopt(thing, register)
        if type(thing) is Variable:
            self.inputs.guard(IsObject(register, thing))
            return self.take(thing, read, path)
        if isinstance(thing, type | ModuleType) or thing is None:
            self.inputs.guard(IsObject(register, thing))
        else:
            self.inputs.guard(EqualsConstant(register, thing, type(thing)))
        return thing

    def _adopt(self, thing: Any, register: int) -> Any:
        inputs, kind, path = self.inputs, type(thing), self.inputs.path(register)
        if isinstance(thing, Tracer):
            raise escaped(thing, thing._trace)
        if kind is Variable:
            return self._variable(thing, register)
        if thing is NOT_GIVEN:
            inputs.guard(IsObject(register, thing))
            return Absent(path)
        if isinstance(thing, Spec) and not inputs.comes_from_argument(register):
            inputs.guard(EqualsConstant(register, thing, kind))
            return thing
        if isinstance(thing, Spec):
            if thing.kind == "array":
                return inputs.array(register, array_class(thing, path))
            return inputs.number(register, number_class(thing, path))
        if kind in PYTHON_NUMBERS:
            return self._number(thing, register)
        if isinstance(thing, np.ndarray):
            return inputs.array(register, array_class(thing, path))
        if isinstance(thing, np.generic) and not isinstance(thing, str | bytes):
            return inputs.number(register, number_class(thing, path))
        if kind in _BY_IDENTITY:
            inputs.guard(IsObject(register, thing))
            return thing
        if isinstance(thing, _BY_VALUE) and not isinstance(thing, enum.Enum):
            inputs.guard(EqualsConstant(register, thing, kind))
            return thing
        if isinstance(thing, tuple | list | dict):
            return self._container(thing, register)
        return self._adopt_object(thing, register)

    def _variable(self, variable: Variable, register: int) -> Any:
        """The tracer of a variable, the same one wherever the program finds that variable."""
        known = self.inputs.trace.variables
        self.inputs.guard(IsType(register, Variable))
        if id(variable) not in known:
            read = partial(self._fixed_attribute, variable, register)
            known[id(variable)] = tracer = self.inputs.variable(register, variable, read)
            self.origins[id(tracer)] = register
        elif (first := self.origins[id(known[id(variable)])]) != register:
            self.inputs.guard(IsSame(register, first))
        return known[id(variable)]

    def _fixed_attribute(self, variable: Variable, register: int, name: str) -> Any:
        path = f"{self.inputs.path(register)}.{name}"
        return self.constant(getattr(variable, name), Attribute(register, name), path)

    def adopt_variable(self, variable: Variable) -> Any:
        """The tracer of a variable that the program got hold of in another way than by reading it."""
        return self.take(variable, Cell(CellType(variable)), variable.name or "variable")

    def pin(self, thing: Any) -> Any:
        """The very object outside that a proxy or the tracer of a variable stands for; calls with others do not fit."""
        if type(thing) is VariableTracer:
            register, found = self.origins[id(thing)], thing._variable
        elif type(thing) is ObjectProxy:
            register, found = thing._jitflow_register, thing._jitflow_object
        else:
            return thing
        self.inputs.guard(IsObject(register, found))
        return found

    def _adopt_object(self, thing: Any, register: int) -> Any:
        inputs, path = self.inputs, self.inputs.path(register)
        if is_compiled(thing) or isinstance(thing, CACHED_FUNCTION):
            inputs.guard(IsObject(register, thing))
            return self.take(thing.__wrapped__, Attribute(register, "__wrapped__"), path)
        if isinstance(thing, Callback):
            inputs.guard(IsObject(register, thing))
            return thing
        if array_fields(type(thing)):
            return self._around_arrays(thing, register)
        if isinstance(thing, FunctionType) and not is_pure_module(thing.__module__ or ""):
            return self._function(thing, register)
        if isinstance(thing, MethodType):
            return self._method(thing, register)
        if isinstance(thing, partial):
            inputs.guard(IsType(register, partial))
            parts = [self.take(getattr(thing, name), Attribute(register, name), f"{path}.{name}")
                     for name in ("func", "args", "keywords")]  # fmt: skip
            return partial(parts[0], *parts[1], **parts[2])
        if isinstance(thing, ModuleType):
            return self._module(thing, register)
        if isinstance(thing, enum.Enum | np.ufunc) or (isinstance(thing, type) and is_plain_class(thing)):
            inputs.guard(IsObject(register, thing))
            return self.replace(thing)
        if isinstance(thing, type):
            inputs.guard(IsObject(register, thing))
            if id(thing) not in self._classes:  # one for each class, so that `type(x) is C` holds
                self._classes[id(thing)] = ClassProxy(thing, register, path, partial(self._attribute, thing, register))
            return self._classes[id(thing)]
        if isinstance(thing, (FunctionType, *C_METHODS)) or (callable(thing) and is_numpy_function(thing)):
            inputs.guard(IsObject(register, thing))
            return self.replace(thing)
        if replacement(thing) is not None:
            inputs.guard(IsObject(register, thing))
            return replacement(thing)
        if type(thing).__module__.startswith("numpy.random"):
            inputs.guard(IsType(register, type(thing)))
            return Impure(f"numpy.random.{type(thing).__name__}", thing)
        if hasattr(thing, "__next__") or isinstance(thing, set) or hasattr(thing, "readline"):
            raise located(unsupported(thing, path))
        inputs.guard(IsType(register, type(thing)))
        return ObjectProxy(thing, register, path, partial(self._attribute, thing, register))

    def _number(self, thing: Any, register: int) -> Any:
        tracer = self.inputs.number(register, number_class(thing, self.inputs.path(register)))
        if type(thing) is int and self.inputs.comes_from_argument(register):
            assert isinstance(tracer, NumberTracer)
            tracer.allow_size(partial(self.inputs.size, tracer, thing))
        if type(thing) in (bool, int) and not self.inputs.comes_from_argument(register):
            assert isinstance(tracer, NumberTracer)
            tracer.allow_pinning(thing, partial(self.inputs.pin, register, thing))
        return tracer

    def _container(self, thing: Any, register: int) -> Any:
        inputs, kind, path = self.inputs, type(thing), self.inputs.path(register)
        inputs.guard(IsType(register, kind))
        if len(thing) > LARGEST_CONTAINER:
            raise located(too_long(thing, path, LARGEST_CONTAINER))
        if isinstance(thing, dict):
            if kind is not dict:
                raise located(unsupported(thing, path))
            inputs.guard(KeysAre(register, tuple(thing)))
            if variables := frozenset(id(key) for key in thing if type(key) is Variable):
                test = partial(_has_keys, variables)  # the dict's own comparison is by value
                inputs.guard(Satisfies(register, test, "has these variables as keys"))
            entries = {self._key(key): self._item(item, register, key) for key, item in thing.items()}
            return OutsideDict(entries, register, path)
        if hasattr(kind, "_fields"):
            fields = (self.take(getattr(thing, name), Attribute(register, name), f"{path}.{name}")
                      for name in kind._fields)  # fmt: skip
            return tuple.__new__(kind, fields)
        if kind not in (tuple, list):
            raise located(unsupported(thing, path))
        inputs.guard(HasLength(register, len(thing)))
        taken = [self._item(item, register, index) for index, item in enumerate(thing)]
        return OutsideList(taken, register, path) if kind is list else tuple(taken)

    def _around_arrays(self, thing: Any, register: int) -> Any:
        self.inputs.guard(IsType(register, type(thing)))
        path = self.inputs.path(register)
        arrays = {
            name: self.take(getattr(thing, name), Attribute(register, name), f"{path}.{name}")
            for name in array_fields(type(thing))
        }
        made = type(thing)(**arrays)
        self.origins[id(made)] = register
        return made

    def _item(self, item: Any, register: int, key: Any) -> Any:
        """An item of a container; one that cannot be read is an error in an argument, elsewhere when it is used."""
        spelled = (key.name or "variable") if type(key) is Variable else repr(key)
        try:
            return self.take(item, Item(register, key), f"{self.inputs.path(register)}[{spelled}]")
        except UserError as error:
            if self.inputs.comes_from_argument(register):
                raise
            self.inputs.trace.forget(error)
            return Unusable(error)

    def _key(self, key: Any) -> Any:
        """What the program knows a key as. The guard of the dict holds its keys, so a variable is this very one."""
        return self.adopt_variable(key) if type(key) is Variable else key

    def _module(self, thing: ModuleType, register: int) -> Any:
        self.inputs.guard(IsObject(register, thing))
        if is_foreign_impure(thing.__name__) or thing.__name__.startswith("numpy.random"):
            return Impure(thing.__name__, thing)
        if is_pure_module(thing.__name__):
            return self.replace(thing)
        path = self.inputs.path(register)
        return ObjectProxy(thing, register, path, partial(self._attribute, thing, register))

    def replace(self, thing: Any) -> Any:
        """What stands for a member of a pure module: most stand for themselves."""
        if isinstance(thing, ModuleType):
            pure = is_pure_module(thing.__name__)
            return ModuleView(thing, self.replace) if pure else Impure(thing.__name__, thing)
        found = replacement(thing)
        if found is not None:
            return found
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

    def _attribute(self, thing: Any, register: int, name: str) -> Any:
        found = getattr(thing, name, _MISSING)
        if found is _MISSING:
            self.inputs.guard(Satisfies(register, partial(_lacks_attribute, name), f"has no attribute {name}"))
            kind = "module" if isinstance(thing, ModuleType) else f"'{type(thing).__name__}' object"
            raise located(UserAttributeError(f"{kind} {self.inputs.path(register)} has no attribute '{name}'"))
        path = f"{self.inputs.path(register)}.{name}"
        if name == "__dataclass_fields__":  # written once, with the class
            self.inputs.guard(IsObject(self.inputs.register(Attribute(register, name), path), found))
            return found
        if isinstance(thing, ModuleType) and thing.__name__ == "builtins":
            return self.replace(found)
        return self.take(found, Attribute(register, name), path)

    # -- functions --------------------------------------------------------------------------------

    def root(self, function: FunctionType, path: str) -> FunctionType:
        """The user's function with recording globals and cells. Its defaults are arguments of each call."""
        register = self.inputs.register(Cell(CellType(function)), path)
        self.inputs.guard(_function_guard(function, register))
        return self._recording(function, register, defaults=False)

    def _function(self, function: FunctionType, register: int) -> FunctionType:
        self.inputs.guard(_function_guard(function, register))
        return self._recording(function, register, defaults=True)

    def _method(self, method: MethodType, register: int) -> Any:
        path = self.inputs.path(register)
        self.inputs.guard(IsType(register, MethodType))
        function = self.take(method.__func__, Attribute(register, "__func__"), path)
        owner = self.take(method.__self__, Attribute(register, "__self__"), path.rpartition(".")[0] or path)
        return MethodType(function, owner) if callable(function) else partial(function, owner)

    def _recording(self, function: FunctionType, register: int, *, defaults: bool) -> FunctionType:
        code, path = function.__code__, self.inputs.path(register)
        refuse_stores(code)
        cells = {
            name: self._cell(cell, name)
            for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
        }  # fmt: skip
        found = rewritten(function)
        if found is not None:
            code = found.code
            cells[CELL] = CellType(_hooks())
        closure = tuple(cells[name] for name in code.co_freevars)
        # A fresh copy of the code: the interpreter caches what it found in plain globals inside the old one.
        recorded = FunctionType(code.replace(), self._globals_of(function), function.__name__, None, closure or None)
        recorded.__qualname__, recorded.__module__ = function.__qualname__, function.__module__
        recorded.__jitflow_original__ = partial(self._original, function, register)  # type: ignore[attr-defined]
        if defaults:
            recorded.__defaults__ = self._defaults(function.__defaults__, register, "__defaults__", path)
            recorded.__kwdefaults__ = self._defaults(function.__kwdefaults__, register, "__kwdefaults__", path)
        return recorded

    def _original(self, function: FunctionType, register: int) -> FunctionType:
        """The function itself, which from now on must be this very object: a callback calls it."""
        self.inputs.guard(IsObject(register, function))
        return function

    def _defaults(self, values: Any, register: int, name: str, path: str) -> Any:
        """A helper's defaults: numbers are constants, because the guard holds the very objects; arrays are read."""
        if not values:
            return values
        items = list(values.items() if isinstance(values, dict) else enumerate(values))
        parent = self.inputs.register(Attribute(register, name), f"{path}.{name}")
        if not all(map(is_frozen, dict(items).values())):
            self.inputs.guard(IsType(parent, type(values)))
        taken = {
            key: value if is_frozen(value) else self.take(value, Item(parent, key), f"{path}.{name}[{key!r}]")
            for key, value in items
        }
        return taken if isinstance(values, dict) else tuple(taken.values())

    def _cell(self, cell: CellType, name: str) -> CellType:
        if id(cell) not in self._cells:
            self._cells[id(cell)] = fresh = CellType()  # before it is filled: a function may close over itself
            try:
                contents = cell.cell_contents
            except ValueError:  # still unbound, for the program as well
                register = self.inputs.register(Cell(CellType(cell)), name)
                self.inputs.guard(Satisfies(register, _is_empty, "is unbound"))
                return fresh
            if name == "__class__":
                fresh.cell_contents = contents
            else:
                fresh.cell_contents = self.take(contents, Cell(cell), name)
        return self._cells[id(cell)]

    # -- globals ----------------------------------------------------------------------------------

    def _globals_of(self, function: FunctionType) -> RecordingGlobals:
        namespace = function.__globals__
        if id(namespace) not in self._globals:
            self._globals[id(namespace)] = RecordingGlobals(namespace, self)
        return self._globals[id(namespace)]

    def read_global(self, namespace: dict[str, Any], name: str) -> Any:
        """What a global name means to the program. Raises KeyError where Python would go on to raise NameError."""
        if name in namespace:
            return self.take(namespace[name], Global(namespace, name), name)
        if name not in self._builtins:
            register = self.inputs.register(Cell(CellType(namespace)), f"the globals of {namespace.get('__name__')}")
            self.inputs.guard(Satisfies(register, partial(_lacks_key, name), f"have no {name}"))
        found = self._builtins[name]
        if hasattr(builtins, name):  # the read guards that no global comes to hide it
            register = self.inputs.register(Global(namespace, name), name)
            self.inputs.guard(IsObject(register, getattr(builtins, name)))
        return found

    def _make_builtins(self) -> dict[str, Any]:
        return {**vars(builtins), **impure_builtins(), **BUILTIN_FUNCTIONS, "__import__": self._import}

    def _import(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """``import`` inside the program: modules are read from `sys.modules`."""
        try:
            module = builtins.__import__(name, *args, **kwargs)
        except ImportError as error:
            raise located(as_user_error(error)) from error
        from_list = args[2] if len(args) > 2 else kwargs.get("fromlist")
        found = self.take(module, Global(sys.modules, module.__name__), module.__name__)
        return _Namespace(found, from_list) if from_list else found


class RecordingGlobals(dict[str, Any]):
    """The globals of a function while it is traced.

    The interpreter asks a dict *subclass* through ``__getitem__``, and so every read of a global comes by here. What it
    stores goes to the dict itself, where nobody looks; `refuse_stores` has seen to it that there are no stores.
    """

    def __init__(self, namespace: dict[str, Any], recorder: Recorder) -> None:
        super().__init__({"__builtins__": recorder._builtins, "__name__": namespace.get("__name__", "")})
        self._namespace = namespace
        self._recorder = recorder

    def __getitem__(self, name: str) -> Any:
        return self._recorder.read_global(self._namespace, name)


class _Namespace:
    """What ``from module import names`` reads its names from."""

    def __init__(self, module: Any, names: Any) -> None:
        for name in names:
            if name != "*":
                setattr(self, name, getattr(module, name))


def _hooks() -> ModuleType:
    """What rewritten control flow calls. Loaded when first needed: straight programs do without."""
    from jitflow.frontend import control

    return control


def _function_guard(function: FunctionType, register: int) -> FunctionIs:
    keyword_defaults = tuple((function.__kwdefaults__ or {}).items()) or None
    return FunctionIs(register, function.__code__, function.__defaults__, keyword_defaults, function.__closure__)


def _lacks_attribute(name: str, thing: Any) -> bool:
    return not hasattr(thing, name)


def _has_keys(identities: frozenset[int], thing: dict[Any, Any]) -> bool:
    return identities <= {id(key) for key in thing}


def _lacks_key(name: str, namespace: dict[str, Any]) -> bool:
    return name not in namespace


def _is_empty(cell: CellType) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True
