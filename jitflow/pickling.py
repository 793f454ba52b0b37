"""Compiled functions in other processes: by reference where their names find them, by value from anywhere else.

What is compiled stays where it is: a function is its Python function and its options, and compiles again where it is
called. By value, with cloudpickle, go functions of ``__main__``, of notebooks and inside of functions, with what they
read of globals and cells. To a pickler that takes functions by value itself (cloudpickle's, and so joblib's and Ray's)
the parts are handed, so that all that they share with the rest of what is pickled is shared there as well. Others get
bytes, and beside them what is theirs to share: variables, arrays and compiled functions.

A function that reaches nothing that can change, only functions, modules, numbers and texts, is as good as any copy of
it: it always goes as bytes, and a process that has made a function of such bytes gives the same one again. So workers
compile it once, though every task brings it along.

The processes of `multiprocessing` run or inherit the script itself, as it takes for granted of all functions: between
them those of a script go by reference, and are compiled once in each.

The text goes along, since control flow is compiled from it: of the function, and of what it calls that goes by value.
So do the names of the files, which cloudpickle takes away from 3.1.3 on.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    EllipsisType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import Any, NamedTuple

import numpy as np

from jitflow.frontend.syntax.source import text_of

__all__ = ["made_once", "reduced", "unpacked"]

_SCRIPTS = ("__main__", "__mp_main__")
"""What the script that runs is called as a module, also in processes that `multiprocessing` has started."""
_CONSTANTS = frozenset({NoneType, EllipsisType, bool, int, float, complex, str, bytes, slice, range, np.dtype, np.ufunc,
                        ModuleType, BuiltinFunctionType})  # fmt: skip


def reduced(function: Any, parts: tuple[FunctionType, Any]) -> str | tuple[Any, ...]:
    """What ``__reduce__`` returns for a compiled function: its name, or how to make it of its ``parts``.

    Raises PicklingError where cloudpickle is needed and not installed.
    """
    from jitflow.api import blank

    pickler, module = _pickler_at_work()
    is_importable = function.__module__ not in _SCRIPTS or (
        module == "multiprocessing.reduction" and hasattr(sys.modules["__main__"], "__file__")
    )
    if is_importable and _has_its_name(function):
        return str(function.__qualname__)
    reach = _Reach(parts[0])
    state = (*parts, reach.texts, reach.files)
    if hasattr(pickler, "of_constants"):
        return blank, (), state
    by_value = getattr(pickler, "reducer_override", None)
    try:
        if reach.is_constant:
            return made_once, (_bytes_of(function),)
        if by_value is None or by_value(parts[0]) is NotImplemented:
            return blank, (), _packed(state)
        return blank, (), state
    except ImportError:
        if by_value is not None:  # a copy of cloudpickle that another package brings along
            return blank, (), state
        raise pickle.PicklingError(
            f"the name of {function.__qualname__} in {function.__module__} means it in this process alone, and to "
            "pickle it by value takes cloudpickle: pip install cloudpickle, or define it in a module to be imported"
        ) from None


_made: OrderedDict[bytes, Any] = OrderedDict()
"""Functions that reach nothing that can change, by the bytes that they came as."""
_MOST_MADE = 256


def made_once(text: bytes) -> Any:
    """The function of these bytes, which reaches nothing that can change: the same one at the next time."""
    function = _made.get(text)
    if function is None:
        function = _made.setdefault(text, pickle.loads(text))
        while len(_made) > _MOST_MADE:
            _made.popitem(last=False)
    return function


def _bytes_of(function: Any) -> bytes:
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        of_constants = True

    file = io.BytesIO()
    Pickler(file).dump(function)
    return file.getvalue()


class _Packed(NamedTuple):
    """A state as bytes, in which there are numbers for what is ``shared``."""

    text: bytes
    shared: list[Any]


def _packed(state: tuple[Any, ...]) -> _Packed:
    import cloudpickle

    from jitflow.runtime.variable import Variable

    shared: dict[int, tuple[int, Any]] = {}

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, thing: Any) -> int | None:
            if not isinstance(thing, Variable | np.ndarray) and not hasattr(type(thing), "__jitflow_compiled__"):
                return None
            return shared.setdefault(id(thing), (len(shared), thing))[0]

    file = io.BytesIO()
    Pickler(file).dump(state)
    return _Packed(file.getvalue(), [thing for _, thing in shared.values()])


def unpacked(state: Any) -> Any:
    """The parts of a function, and the texts where it was written, from the state that `reduced` gave."""

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, number: int) -> Any:
            return state.shared[number]

    if isinstance(state, _Packed):
        state = Unpickler(io.BytesIO(state.text)).load()
    function, options, texts, files = state
    for reached in _Reach(function).functions:
        code = reached.__code__
        if files.get(_mark(code), code.co_filename) != code.co_filename:
            reached.__code__ = _in_file(code, files[_mark(code)])
    return function, options, texts


def _pickler_at_work() -> tuple[Any, str]:
    """Who asks `reduced`, as far as it is Python, and the module where that is written."""
    frame: FrameType = sys._getframe(3)
    return frame.f_locals.get("self"), frame.f_globals.get("__name__", "")


def _has_its_name(function: Any) -> bool:
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


class _Reach:
    """What goes along with a function by value.

    ``functions`` are those of Python among it, itself too. ``is_constant`` says whether nothing of all that can change.
    """

    def __init__(self, function: FunctionType) -> None:
        self.functions: list[FunctionType] = []
        self.is_constant = True
        seen: dict[int, Any] = {}
        pending: list[Any] = [function]
        while pending:
            thing = pending.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                pending += self._behind(thing, is_root=thing is function)

    @property
    def texts(self) -> dict[str, str]:
        """Those of the files in which the functions are written."""
        return {file: text_of(file) for file in {*self.files.values()}}

    @property
    def files(self) -> dict[Any, str]:
        """In which file each function is written, by what is known of its code wherever it is."""
        return {_mark(function.__code__): function.__code__.co_filename for function in self.functions}

    def _behind(self, thing: Any, is_root: bool) -> Iterable[Any]:
        """What a thing holds that goes by value."""
        kind = type(thing)
        if kind in _CONSTANTS or isinstance(thing, np.generic):
            return ()
        if kind is tuple:
            return tuple(thing)
        if kind is CellType:
            return () if thing == CellType() else (thing.cell_contents,)
        if kind is FunctionType or hasattr(kind, "__jitflow_compiled__"):
            is_blank = not hasattr(thing, "__qualname__")  # it is being made, and reads its own files
            if is_blank or (not is_root and _goes_by_reference(thing)):
                return ()
            if kind is FunctionType:
                return self._read_by(thing)
            self._note(thing)
            return (thing._wrapped,)
        if isinstance(thing, type) and _goes_by_reference(thing):
            return ()
        self.is_constant = False
        if isinstance(thing, type):
            return vars(thing).values()
        if isinstance(thing, MethodType | staticmethod | classmethod):
            return (thing.__func__,)
        if isinstance(thing, property):
            return (thing.fget, thing.fset)
        if isinstance(thing, list | tuple):
            return thing
        if isinstance(thing, dict):
            return thing.values()
        return (kind,) if kind.__module__ in _SCRIPTS else ()

    def _read_by(self, function: FunctionType) -> Iterator[Any]:
        code, known = function.__code__, function.__globals__
        self.functions.append(function)
        self._note(function)
        yield from (known[name] for name in _names(code) if name in known)
        yield from (function.__closure__, function.__defaults__, *(function.__kwdefaults__ or {}).values())

    def _note(self, function: Any) -> None:
        """A function with attributes of the user's can change."""
        self.is_constant &= all(name.startswith("_") for name in vars(function))


def _goes_by_reference(thing: Any) -> bool:
    return thing.__module__ not in _SCRIPTS and _has_its_name(thing)


def _mark(code: CodeType) -> tuple[Any, ...]:
    return code.co_qualname, code.co_firstlineno, code.co_code, code.co_names, code.co_varnames


def _in_file(code: CodeType, file: str) -> CodeType:
    """A code, and those inside of it, as written in a file."""
    inner = (_in_file(part, file) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(inner))


def _names(code: CodeType) -> set[str]:
    """The names of globals and attributes in a code and what is defined in it."""
    return {*code.co_names}.union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))
