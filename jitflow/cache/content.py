"""What an object is, by its content: equal in two processes where a trace would have found the same in both.

Guards compare by identity, which ends with the process. A cached specialisation has the content of each object instead,
as a hash, and the object itself is found anew by the path that the plan reads it by. Two objects of equal content are
the same to a trace: it takes nothing from an object that is guarded by identity but what is hashed here, or what it
reads under a guard of its own (the globals of a module, the cells of a function, the attributes of a class).

What has no content that could be compared, an array or a logger, is `Incomparable`: code that depends on it is not
cached. So is code that goes through a set of anything but numbers: its order is another one in each process.

Objects of Python, NumPy, SciPy and jitflow go by their names, since a cache is for one version of each (`key.py`).
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import hashlib
import os
import struct
import sys
from collections.abc import Callable, Iterable, Mapping
from dis import get_instructions
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from jitflow.cache.hash_order import SETS, Incomparable, require_no_order
from jitflow.loaded import loaded
from jitflow.runtime.objects.set_orders import has_lasting_order

__all__ = ["Incomparable", "content_of", "is_of_a_library", "named"]

_DESCRIPTORS = (MethodDescriptorType, WrapperDescriptorType, GetSetDescriptorType, MemberDescriptorType)
_DEEPEST, _MOST = 64, 100_000
"""How deep objects may contain each other, and how many there may be."""
_LIBRARIES = ("numpy", "scipy", "jitflow", "ml_dtypes")
_HOME = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_HEAP_TYPE = 1 << 9
_OF_CODE = (FunctionType, staticmethod, classmethod, property)
_READ_OUTSIDE = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_CLASSDEREF", "IMPORT_NAME", "STORE_GLOBAL"})
_MEMBERS = [(np, name) for name in ("mgrid", "ogrid", "r_", "c_", "s_", "index_exp", "_NoValue")]
_MEMBERS += [(dataclasses, name) for name in ("MISSING", "_HAS_DEFAULT_FACTORY")]
"""Objects that libraries have under names which the objects do not know."""
_OF_NO_MEANING = frozenset(
    ["__dict__", "__weakref__", "__doc__", "__annotations__", "__annotate__", "__annotate_func__",
     "__annotations_cache__", "__static_attributes__", "__abstractmethods__", "_abc_impl"]
)  # fmt: skip


def content_of(thing: Any) -> str:
    """The hash of an object's content. Raises `Incomparable` where it has none."""
    writer = _Writer()
    writer.write(thing)
    return writer.digest()


def is_of_a_library(module: str) -> bool:
    """Whether a module belongs to what a cache is for one version of: Python, NumPy, SciPy, jitflow."""
    top = module.partition(".")[0]
    if top in _LIBRARIES:
        return not module.startswith("jitflow.benchmarks")
    if top not in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)  # which a module of the user's may hide
    return file is None or (file.startswith(_HOME) and "-packages" + os.sep not in file)


def named(module: str | None, name: str | None) -> Any:
    """The object that a module knows by a dotted name; None where there is none."""
    found: Any = sys.modules.get(module or "")
    for part in (name or "?").split("."):
        found = getattr(found, part, None)
    return found


class _Writer:
    """Hashes objects, each with its kind and length in front, so that no two of them give the same bytes."""

    def __init__(self, around: _Writer | None = None) -> None:
        self._hash = hashlib.sha256()
        self._open: dict[int, int] = {} if around is None else dict(around._open)
        """The objects that what is written is inside of, by their ids: how deep each stands."""
        self._left: list[int] = [_MOST] if around is None else around._left
        """How many more objects there may be; one count for all writers of one content."""

    def digest(self) -> str:
        return self._hash.hexdigest()[:32]

    def _put(self, kind: str, *texts: str | bytes) -> None:
        pieces = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in texts]
        self._hash.update(f"{kind} {' '.join(str(len(piece)) for piece in pieces)}\n".encode())
        for piece in pieces:
            self._hash.update(piece)

    def write(self, thing: Any) -> None:
        """Add an object."""
        if id(thing) in self._open:
            self._put("again", str(self._open[id(thing)]))
            return
        self._left[0] -= 1
        if len(self._open) > _DEEPEST or self._left[0] < 0:
            raise Incomparable("too many objects that contain each other")
        self._open[id(thing)] = len(self._open)
        try:
            writer = _WRITERS.get(type(thing))
            if writer is not None:
                writer(self, thing)
            else:
                self._object(thing)
        finally:
            del self._open[id(thing)]

    def _all(self, kind: str, things: Iterable[Any]) -> None:
        items = list(things)
        self._put(kind, str(len(items)))
        for item in items:
            self.write(item)

    # -- values ------------------------------------------------------------------------------------

    def _singleton(self, thing: Any) -> None:
        self._put(type(thing).__name__)

    def _simple(self, thing: Any) -> None:
        self._put(type(thing).__name__, repr(thing))

    def _text(self, thing: str) -> None:
        self._put("str", thing)

    def _bytes(self, thing: bytes) -> None:
        self._put("bytes", thing)

    def _float(self, thing: float) -> None:
        self._put("float", struct.pack("<d", thing))

    def _complex(self, thing: complex) -> None:
        self._put("complex", struct.pack("<dd", thing.real, thing.imag))

    def _tuple(self, thing: tuple[Any, ...]) -> None:
        self._all("tuple", thing)

    def _list(self, thing: list[Any]) -> None:
        self._all("list", thing)

    def _dict(self, thing: dict[Any, Any]) -> None:
        self._all("dict", (part for item in thing.items() for part in item))

    def _frozenset(self, thing: frozenset[Any]) -> None:
        if not has_lasting_order(thing):
            raise Incomparable("a set of other things than numbers, whose order is another one in each process")
        self._all("frozenset", thing)

    def _slice(self, thing: slice) -> None:
        self._all("slice", (thing.start, thing.stop, thing.step))

    def _range(self, thing: range) -> None:
        self._all("range", (thing.start, thing.stop, thing.step))

    # -- code --------------------------------------------------------------------------------------

    def _code(self, code: CodeType, *, is_traced: bool = True) -> None:
        self._put("code", code.co_filename, code.co_name, code.co_qualname, code.co_code, code.co_linetable,
                  code.co_exceptiontable)  # fmt: skip
        self._simple((code.co_firstlineno, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
                      code.co_flags))  # fmt: skip
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self.write(names)
        if is_traced and self._is_inside():  # else a trace has looked into its sets (`PlanWriter`)
            require_no_order(code)
        self._put("constants", str(len(code.co_consts)))
        for constant in code.co_consts:
            if type(constant) is frozenset:
                items = [content_of(item) for item in constant]
                self._put("set", *(items if has_lasting_order(constant) else sorted(items)))  # of others code only asks
            elif type(constant) is CodeType:
                self._code(constant, is_traced=is_traced)
            else:
                self.write(constant)

    def _function(self, function: FunctionType) -> None:
        """A function that is guarded by identity: a trace calls it as it is, so all that it has is part of it.

        A library's that is found by its name has nothing else. Of one of the user's, what it reads is part as well
        where it is inside of another object; elsewhere a trace has guards for that.
        """
        module, name = function.__module__ or "", function.__qualname__
        is_librarys = is_of_a_library(module)
        if not is_librarys and (function.__closure__ or self._is_inside()):
            raise Incomparable(f"the function {name}, which has cells or is inside of an object")
        self._put("function", module, name)
        self.write(function.__code__)
        if is_librarys and named(module, name) is function:
            return
        self.write([function.__defaults__, function.__kwdefaults__])
        for cell in function.__closure__ or ():
            try:
                contents = cell.cell_contents
            except ValueError:
                self._put("empty cell")
            else:
                self.write(contents)

    def _is_inside(self) -> bool:
        """Whether what is written is inside of another object."""
        return len(self._open) > 1

    def _if_possible(self, thing: Any) -> None:
        """What a trace reads by a guard of its own, if it reads it: an object of no content is known by its class."""
        inside = _Writer(self)
        try:
            inside.write(thing)
        except Incomparable:
            self._put("class of a part", type(thing).__module__, type(thing).__qualname__)
        else:
            self._put("part", inside.digest())

    # -- classes and modules -------------------------------------------------------------------------

    def _module(self, module: ModuleType) -> None:
        if sys.modules.get(module.__name__) is not module:
            raise Incomparable(f"the module {module.__name__}, which is not imported by its name")
        self._put("module", module.__name__)

    def _class(self, kind: type) -> None:
        module = kind.__module__
        if not kind.__flags__ & _HEAP_TYPE or (is_of_a_library(module) and named(module, kind.__qualname__) is kind):
            self._put("type", module, kind.__qualname__)
            return
        self._put("class", module, kind.__qualname__)
        self.write(type(kind))
        self._all("bases", kind.__bases__)
        if issubclass(kind, BaseException | enum.Enum):
            self._shown_class(kind)
            return
        for name, member in vars(kind).items():
            if name not in _OF_NO_MEANING:
                self._text(name)
                self._member(member)

    def _shown_class(self, kind: type) -> None:
        """An exception or an enumeration, which programs use as it is: without guards, so all of it counts."""
        members = getattr(kind, "__members__", {})
        for name, member in members.items():
            self._text(name)
            self.write({key: value for key, value in vars(member).items() if not key.startswith("__")})
        for name, member in vars(kind).items():
            if name not in members and (isinstance(member, _OF_CODE) or not name.startswith("_")):
                self._text(name)
                self._shown_member(member)

    def _shown_member(self, member: Any) -> None:
        if isinstance(member, staticmethod | classmethod):
            self._put(type(member).__name__)
            self._shown_member(member.__func__)
        elif isinstance(member, property):
            self._all("property", ())
            for function in (member.fget, member.fset, member.fdel):
                self._shown_member(function)
        elif isinstance(member, FunctionType) and not is_of_a_library(member.__module__ or ""):
            known = vars(builtins).keys() - member.__globals__.keys()
            reads = [one.argval for one in get_instructions(member.__code__) if one.opname in _READ_OUTSIDE]
            if not known.issuperset(reads) or any(isinstance(one, CodeType) for one in member.__code__.co_consts):
                raise Incomparable(f"{member.__qualname__}, which a program calls as it is, and which reads globals")
            self._put("function", member.__qualname__)
            self.write([member.__code__, member.__defaults__, member.__kwdefaults__])
        elif isinstance(member, FunctionType):
            self._put("function", str(member.__module__), member.__qualname__)
        else:
            self.write(member)

    def _member(self, member: Any) -> None:
        """A member of a class: its code if it has some. What else there is, a trace reads by a guard of its own."""
        if isinstance(member, staticmethod | classmethod):
            self._put(type(member).__name__)
            self._member(member.__func__)
        elif isinstance(member, property):
            self._put("property")
            for function in (member.fget, member.fset, member.fdel):
                self._member(function)
        elif isinstance(member, functools.cached_property):
            self._put("cached property")
            self._member(member.func)
        elif isinstance(member, FunctionType):
            self._put("method", member.__qualname__)
            self._code(member.__code__, is_traced=False)  # what is traced of it has a guard of its own
            for value in member.__defaults__ or ():
                self._if_possible(value)
            for name, value in (member.__kwdefaults__ or {}).items():
                self._text(name)
                self._if_possible(value)
        elif "__wrapped__" in getattr(member, "__dict__", {}):
            self._put("wrapping", type(member).__qualname__)
            self._member(member.__wrapped__)
        else:
            self._if_possible(member)

    # -- all else ----------------------------------------------------------------------------------

    def _object(self, thing: Any) -> None:
        kind = type(thing)
        if thing is hash or (self._is_inside() and any(thing is one for one in SETS)):
            raise Incomparable(f"{thing.__name__}: the order of sets is another one in each process")
        if isinstance(thing, type):
            self._class(thing)
        elif isinstance(thing, np.dtype) and (thing.isbuiltin or thing.names is not None):
            self._put("dtype", repr(thing), kind.__qualname__)
        elif isinstance(thing, enum.Enum):
            self.write(kind)
            self._put("member", str(thing._name_))
        elif isinstance(thing, np.generic) and is_of_a_library(kind.__module__):
            self._put("number", kind.__name__, thing.dtype.str, thing.tobytes())
        elif isinstance(thing, _DESCRIPTORS):
            self._class(thing.__objclass__)
            self._put("descriptor", thing.__name__)
        elif isinstance(thing, BuiltinFunctionType | MethodWrapperType) and not self._is_found(thing):
            self._put("method", thing.__name__)
            self.write(thing.__self__)
        elif isinstance(thing, MethodType) and isinstance(thing.__self__, type | ModuleType):
            self._put("bound")
            self.write(thing.__func__)
            self.write(thing.__self__)
        elif isinstance(thing, dataclasses.Field):
            self._put("field", thing.name, repr((thing.init, thing.kw_only, thing.compare, thing.hash)))
            self._if_possible(thing.default)
            self._if_possible(thing.default_factory)
        elif getattr(kind, "__jitflow_compiled__", False) and not self._is_inside():
            self._put("compiled", str(thing.__module__), thing.__qualname__, repr(thing._options))
        elif _is_variable(kind) and not self._is_inside():  # inside of an object, which one it is would matter
            self._put("variable", repr(thing.dtype), thing.device)
        elif getattr(kind, "__jitflow_prepares__", ()) and not self._is_inside():
            self.write(kind)
            self.write(thing.__jitflow_content__())
        elif isinstance(thing, functools._lru_cache_wrapper) and not self._is_inside():
            self._put("remembering", repr(thing.cache_parameters()))
        elif self._is_found(thing):
            self._put("named", thing.__module__, getattr(thing, "__qualname__", thing.__name__))
        elif isinstance(thing, np.ufunc):
            self._ufunc(thing)
        else:
            self._member_of_a_library(thing)

    def _is_found(self, thing: Any) -> bool:
        module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
        name = name or getattr(thing, "__name__", None)
        return isinstance(module, str) and is_of_a_library(module) and named(module, name) is thing

    def _ufunc(self, thing: np.ufunc) -> None:
        for module in ("numpy", "scipy.special", "numpy.linalg._umath_linalg", "numpy._core.umath"):
            if named(module, thing.__name__) is thing:
                self._put("ufunc", module, thing.__name__)
                return
        raise Incomparable(f"the ufunc {thing.__name__}, which is none of NumPy's or SciPy's")

    def _member_of_a_library(self, thing: Any) -> None:
        for module, name in _MEMBERS:
            if getattr(module, name, None) is thing:
                self._put(module.__name__, name)
                return
        raise Incomparable(f"an object of the class {type(thing).__qualname__}")


_WRITERS: Mapping[type, Callable[[_Writer, Any], None]] = {
    type(None): _Writer._singleton, type(...): _Writer._singleton, type(NotImplemented): _Writer._singleton,
    bool: _Writer._simple, int: _Writer._simple, float: _Writer._float, complex: _Writer._complex,
    str: _Writer._text, bytes: _Writer._bytes, tuple: _Writer._tuple, list: _Writer._list, dict: _Writer._dict,
    frozenset: _Writer._frozenset, slice: _Writer._slice, range: _Writer._range, CodeType: _Writer._code,
    FunctionType: _Writer._function, ModuleType: _Writer._module,
}  # fmt: skip


def _is_variable(kind: type) -> bool:
    return kind is loaded("jitflow.runtime.variable", "Variable")
