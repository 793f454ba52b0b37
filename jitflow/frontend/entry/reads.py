"""Never stale: the user's function runs with globals, cells and objects that record what is read from them.

What the program reads decides what it computes, so each read becomes an access path that the entry walks again at
every call. Arrays and numbers found at its end are inputs of the compiled code; everything else is guarded:

====================================  ===================================================================
found                                 what the program gets, and what is guarded
====================================  ===================================================================
`Variable`                            its tracer, one wherever it is found; its class, and which ones are the same
array, number                         a tracer; its class (a number that Python needs itself: its value)
tuple, list, dict, named tuple        the same, of what is inside; type, length or keys
set, frozenset                        what knows its items; type, items, their order where it shows
list of many numbers of one type      an array of them; type, of the items as well
nested list, deque, set, dict by      a container of the running program; type, of the items as well
numbers
Python function, method, partial      a proxy that records attribute reads, and runs the function with recording
                                      globals and cells; code, defaults, cells
function compiled by jitflow          the same, of the function that it wraps: it is inlined
module of the pure set                a view that replaces functions that must know tracers; identity
other module, object, class           a proxy that records attribute reads; identity or type
string, bytes, slice, range, dtype    itself; its value
None, class, function in C            itself; identity
argument that a part does not need    what has no value; identity
====================================  ===================================================================
"""

from __future__ import annotations

import enum
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from jitflow.errors import UserAttributeError, UserError, UserTypeError
from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.entry.known_keys import KnownKeys
from jitflow.frontend.entry.members import MISSING, Members
from jitflow.frontend.entry.passed_containers import PASSED, may_be_passed, outside_dict, outside_list, passed_container
from jitflow.frontend.entry.passed_numbers import passed_numbers
from jitflow.frontend.entry.pure_modules import PureModules
from jitflow.frontend.entry.random_reads import RandomReads
from jitflow.frontend.entry.recorded_functions import RecordedFunctions
from jitflow.frontend.entry.unseen import Unseen
from jitflow.frontend.numpy.mapping import Vectorized
from jitflow.frontend.outside.arguments import PYTHON_NUMBERS, Spec, array_class, number_class, too_long, unsupported
from jitflow.frontend.outside.made_objects import Classes, runs_unseen
from jitflow.frontend.outside.objects import (
    C_METHODS,
    CACHED_FUNCTION,
    MARKS,
    array_fields,
    is_compiled,
    is_numpy_function,
    is_plain_class,
)
from jitflow.frontend.outside.proxies import (
    OBJECT_PROXIES,
    ClassProxy,
    FunctionProxy,
    ObjectProxy,
    counterpart,
    object_proxy,
)
from jitflow.frontend.outside.purity import Impure, Unusable, announces, is_foreign_impure, is_pure_module
from jitflow.frontend.outside.scopes import device, on_device
from jitflow.frontend.outside.stores import Stores, active_stores, refusal
from jitflow.frontend.python.builtin_functions import replacement
from jitflow.frontend.python.callbacks import Callback
from jitflow.frontend.python.remembered import remembering
from jitflow.frontend.tracers import NumberTracer, Tracer, VariableTracer, located
from jitflow.frontend.tracers.absent import NOT_GIVEN, Absent
from jitflow.frontend.tracers.base import escaped
from jitflow.remote import Remote
from jitflow.runtime.entry.device_arrays import gpu_of, header_of
from jitflow.runtime.entry.guard_tests import has_keys, lacks_attribute
from jitflow.runtime.entry.plan import (
    Attribute,
    Cell,
    EqualsConstant,
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

_BY_IDENTITY = (type(None), type(...), type(NotImplemented), CodeType, *MARKS)
_BY_VALUE = (str, bytes, slice, range, np.dtype)
LARGEST_CONTAINER = 4096
"""Items of a tuple, list or dict that is read from outside."""


class Recorder:
    """Gives the program a counterpart of every object that it reads, the same one for the same path."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._taken: dict[int, Any] = {}
        self._classes = inputs.trace.state(Classes)
        self.functions = RecordedFunctions(inputs, self.take)
        self.stores = inputs.trace.state(Stores)
        self.origins: dict[int, int] = {}
        """From the id of the tracer of an array or number that was read to its register."""
        self.modules = PureModules(inputs, self.take)
        self._keys = KnownKeys(inputs, self.take, self.adopt_variable)
        self._members = Members(inputs, self.take, self.stores)
        self._random, self._unseen = RandomReads(inputs, self.take, self.origins), Unseen(inputs)

    # -- what the program gets --------------------------------------------------------------------

    def take(self, thing: Any, read: Read, path: str) -> Any:
        """The counterpart of ``thing``, which ``read`` finds and the program spells ``path``."""
        register = self.inputs.register(read, path)
        if register not in self._taken:
            self.inputs.found[register] = thing
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
            return inputs.number(register, number_class(thing, path), thing)
        if kind in _BY_IDENTITY:
            inputs.guard(IsObject(register, thing))
            return thing
        if isinstance(thing, _BY_VALUE) and not isinstance(thing, enum.Enum):
            inputs.guard(EqualsConstant(register, thing, kind))
            return thing
        if kind in PASSED and (passed := passed_container(inputs, thing, register)) is not None:
            return passed
        if kind in (set, frozenset):
            return self._keys.set(thing, register)
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
        elif type(thing) in (*OBJECT_PROXIES, ClassProxy, FunctionProxy):
            register, found = thing._jitflow_register, thing._jitflow_object
        else:
            return thing
        self.inputs.guard(IsObject(register, found))
        return found

    def _adopt_object(self, thing: Any, register: int) -> Any:
        inputs, path = self.inputs, self.inputs.path(register)
        if is_compiled(thing) or isinstance(thing, CACHED_FUNCTION):
            inputs.guard(IsObject(register, thing))
            inner = counterpart(self.take(thing.__wrapped__, Attribute(register, "__wrapped__"), path))
            wanted = getattr(thing, "__jitflow_device__", "")
            made = partial(on_device, wanted, inner) if wanted else remembering(inner, thing, anywhere=True)
            return self._function(thing, register, made)
        if self._random.takes(thing):
            return self._random.adopt(thing, register)
        if (header := header_of(thing)) is not None:
            return inputs.array(register, array_class(header, path), gpu_of(thing))
        if isinstance(thing, device | Callback | Remote):
            inputs.guard(IsObject(register, thing))
            return thing
        if announces(thing):
            inputs.guard(IsObject(register, thing))
            return Impure(path, thing)
        if array_fields(type(thing)):
            return self._around_arrays(thing, register)
        if isinstance(thing, FunctionType) and not is_pure_module(thing.__module__ or "") and not replacement(thing):
            return self._function(thing, register, self.functions.helper(thing, register))
        if isinstance(thing, MethodType):
            return self.functions.method(thing, register)
        if type(thing) is np.vectorize:
            inputs.guard(IsObject(register, thing))
            function = self.take(thing.pyfunc, Attribute(register, "pyfunc"), f"{path}.pyfunc")
            made = Vectorized(function, thing.otypes, thing.excluded, thing.signature)
            return self._function(thing, register, made)
        if isinstance(thing, partial):
            inputs.guard(IsType(register, partial))
            parts = [self.take(getattr(thing, name), Attribute(register, name), f"{path}.{name}")
                     for name in ("func", "args", "keywords")]  # fmt: skip
            return self._function(thing, register, partial(counterpart(parts[0]), *parts[1], **parts[2]))
        if isinstance(thing, ModuleType):
            return self._module(thing, register)
        if isinstance(thing, enum.Enum | np.ufunc) or (isinstance(thing, type) and is_plain_class(thing)):
            inputs.guard(IsObject(register, thing))
            self._unseen.of(thing, register)
            return self.modules.replace(thing)
        if isinstance(thing, type):
            inputs.guard(IsObject(register, thing))
            if id(thing) not in self._classes:
                self._classes[id(thing)] = ClassProxy(thing, register, path, partial(self._attribute, thing, register))
            return self._classes[id(thing)]
        if isinstance(thing, (FunctionType, *C_METHODS)) or (callable(thing) and is_numpy_function(thing)):
            inputs.guard(IsObject(register, thing))
            return self.modules.replace(thing)
        if replacement(thing) is not None:
            inputs.guard(IsObject(register, thing))
            return replacement(thing)
        if isinstance(thing, set | frozenset) or hasattr(type(thing), "readline"):
            raise located(unsupported(thing, path))
        if not isinstance(getattr(type(thing), "__next__", None), FunctionType | None):
            raise located(unsupported(thing, path))
        inputs.guard(IsType(register, type(thing)))
        read = partial(self._attribute, thing, register)
        return self.stores.meet(thing, register, partial(object_proxy, thing, register, path, read))

    def _function(self, thing: Any, register: int, made: Any) -> Any:
        """What stands for a function, of whose calls ``made`` is the counterpart."""
        read, path = partial(self._attribute, thing, register), self.inputs.path(register)
        return self.stores.meet(thing, register, lambda: FunctionProxy(thing, register, path, read, made))

    def _number(self, thing: Any, register: int) -> Any:
        tracer = self.inputs.number(register, number_class(thing, self.inputs.path(register)), thing)
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
        if kind is list and (passed := passed_numbers(inputs, thing, register)) is not None:
            return passed
        if len(thing) > LARGEST_CONTAINER:
            raise located(too_long(thing, path, LARGEST_CONTAINER))
        if isinstance(thing, dict):
            if kind is not dict:
                raise located(unsupported(thing, path))
            inputs.guard(KeysAre(register, tuple(thing)))
            if variables := frozenset(id(key) for key in thing if type(key) is Variable):
                test = partial(has_keys, variables)  # the dict's own comparison is by value
                inputs.guard(Satisfies(register, test, "has these variables as keys"))
            pairs = ((self._keys.key(key), self._item(item, register, key)) for key, item in thing.items())
            return may_be_passed(self.stores.meet(thing, register, lambda: outside_dict(dict(pairs), register, path)))
        if hasattr(kind, "_fields"):
            inputs.require_fields_alone(thing, register)
            fields = (self.take(getattr(thing, name), Attribute(register, name), f"{path}.{name}")
                      for name in kind._fields)  # fmt: skip
            return tuple.__new__(self._class_of(kind, register, path), fields)
        if kind not in (tuple, list):
            raise located(unsupported(thing, path))
        inputs.guard(HasLength(register, len(thing)))
        items = (self._item(item, register, index) for index, item in enumerate(thing))
        if kind is tuple:
            return tuple(items)
        return may_be_passed(self.stores.meet(thing, register, lambda: outside_list([*items], register, path)))

    def _class_of(self, kind: type, register: int, path: str) -> type:
        """The class of the counterpart of a named tuple: one that traces its methods, if it has some."""
        if not runs_unseen(kind):
            return kind
        proxy = self.take(kind, Attribute(register, "__class__"), f"{path}.__class__")
        return (proxy._jitflow_class() or kind) if isinstance(proxy, ClassProxy) else kind

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

    def _module(self, thing: ModuleType, register: int) -> Any:
        self.inputs.guard(IsObject(register, thing))
        if is_foreign_impure(thing.__name__):
            return Impure(thing.__name__, thing, self.modules.member)
        if is_pure_module(thing.__name__):
            return self.modules.replace(thing)
        path = self.inputs.path(register)
        return ObjectProxy(thing, register, path, partial(self._attribute, thing, register))

    def _attribute(self, thing: Any, register: int, name: str) -> Any:
        if name == "__dict__" and active_stores() is not None and not isinstance(thing, ModuleType | type):
            raise refusal("reading __dict__, behind stores to attributes, of", self.inputs.path(register))
        if (found := self._members.read(thing, register, name, lambda: self._taken[register])) is not MISSING:
            return found
        found = getattr(thing, name, MISSING)
        if found is MISSING:
            self.inputs.guard(Satisfies(register, partial(lacks_attribute, name), f"has no attribute {name}"))
            kind = "module" if isinstance(thing, ModuleType) else f"'{type(thing).__name__}' object"
            raise located(UserAttributeError(f"{kind} {self.inputs.path(register)} has no attribute '{name}'"))
        path = f"{self.inputs.path(register)}.{name}"
        if name == "__globals__" and isinstance(thing, FunctionType):
            refused = refusal("looking into", path, "read the names themselves")
            self.inputs.trace.forget(refused)
            return Unusable(refused)
        if name == "__dataclass_fields__":  # written once, with the class
            self.inputs.guard(IsObject(self.inputs.register(Attribute(register, name), path), found))
            return found
        if isinstance(thing, ModuleType) and thing.__name__ == "builtins":
            return self.modules.replace(found)
        is_made_anew = isinstance(found, (MethodType, *C_METHODS)) and getattr(thing, name) is not found
        if is_made_anew and type(found) is not MethodType and not self._random.takes(found):
            return self.modules.replace(found)
        if type(found) is FunctionType and getattr(thing, name) is not found:
            self.functions.made_anew.add(self.inputs.register(Attribute(register, name), path))
        taken = self.take(found, Attribute(register, name), path)
        if not is_made_anew or type(taken) is not MethodType:
            return taken
        owner: Any = taken.__self__
        is_run_as_it_is = isinstance(owner, ClassProxy) and taken.__func__ is found.__func__
        return MethodType(taken.__func__, owner._jitflow_traced() if is_run_as_it_is else owner)
