"""Compiled functions in other processes: by reference where their names find them, by value from anywhere else.

What is compiled stays where it is: a function is its Python function and its options, and compiles again where it is
called. By value, with cloudpickle, go functions of ``__main__``, of notebooks and inside of functions, with what they
read of globals and cells. To a pickler that takes functions by value itself (cloudpickle's, and so joblib's and Ray's)
the parts are handed, so that all that they share with the rest of what is pickled is shared there as well. Others get
bytes, and beside them what is theirs to share: variables, arrays and compiled functions.

The processes of `multiprocessing` run or inherit the script itself, as it takes for granted of all functions: between
them those of a script go by reference, and are compiled once in each.

The text goes along, since control flow is compiled from it: of the function, and of what it calls that goes by value.
"""

from __future__ import annotations

import io
import pickle
import sys
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from jitflow.frontend.syntax.source import text_of

__all__ = ["reduced", "unpacked"]

_SCRIPTS = ("__main__", "__mp_main__")
"""What the script that runs is called as a module, also in processes that `multiprocessing` has started."""


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
    by_value = getattr(pickler, "reducer_override", None)
    state = (*parts, _texts(parts[0]))
    if by_value is not None and by_value(parts[0]) is not NotImplemented:
        return blank, (), state
    try:
        return blank, (), _packed(state)
    except ImportError:
        raise pickle.PicklingError(
            f"the name of {function.__qualname__} in {function.__module__} means it in this process alone, and to "
            "pickle it by value takes cloudpickle: pip install cloudpickle, or define it in a module to be imported"
        ) from None


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
    if not isinstance(state, _Packed):
        return state

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, number: int) -> Any:
            return state.shared[number]

    return Unpickler(io.BytesIO(state.text)).load()


def _pickler_at_work() -> tuple[Any, str]:
    """Who asks `reduced`, as far as it is Python, and the module where that is written."""
    frame: FrameType = sys._getframe(3)
    return frame.f_locals.get("self"), frame.f_globals.get("__name__", "")


def _has_its_name(function: Any) -> bool:
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _texts(function: FunctionType) -> dict[str, str]:
    """The texts of the files in which a function, and those that it reaches and that go by value, are written."""
    files: dict[str, str] = {}
    seen: set[int] = set()
    pending: list[Any] = [function]
    while pending:
        thing = pending.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, MethodType | staticmethod | classmethod):
            pending.append(thing.__func__)
        elif isinstance(thing, property):
            pending += (thing.fget, thing.fset)
        elif isinstance(thing, CellType):
            pending += (thing.cell_contents,) if thing != CellType() else ()
        elif isinstance(thing, list | tuple):
            pending += thing
        elif isinstance(thing, dict):
            pending += thing.values()
        elif isinstance(thing, FunctionType):
            if thing is function or not _goes_by_reference(thing):
                files[thing.__code__.co_filename] = text_of(thing.__code__.co_filename)
                names = _names(thing.__code__)
                pending += (thing.__globals__[name] for name in names if name in thing.__globals__)
                pending += (thing.__closure__, thing.__defaults__, thing.__kwdefaults__)
        elif isinstance(thing, type):
            pending += () if _goes_by_reference(thing) else vars(thing).values()
        elif type(thing).__module__ in _SCRIPTS:
            pending.append(type(thing))
    return files


def _goes_by_reference(thing: Any) -> bool:
    return thing.__module__ not in _SCRIPTS and _has_its_name(thing)


def _names(code: CodeType) -> set[str]:
    """The names of globals and attributes in a code and what is defined in it."""
    return {*code.co_names}.union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))
