"""Names for the variables in a structure of dicts, lists and objects: the path that leads to each.

``{"model": model, "steps": steps}`` gives names such as ``model.layers.0.weight``. A variable that several paths lead
to has the name of the first. Entered are dicts, lists, tuples and objects of the user's and of jitflow's classes, their
attributes in the order in which they were set; not entered are classes, functions, modules, and objects of Python's and
NumPy's libraries. A weak reference leads nowhere: an object that only works on variables holds them by those.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

from jitflow.errors import UserNotImplementedError, UserValueError
from jitflow.random import Generator
from jitflow.random.machine import Machine, machine
from jitflow.remote import Remote
from jitflow.runtime.variable import Variable

__all__ = [
    "announce",
    "attributes_of",
    "has_variables_at",
    "named_objects",
    "named_variables",
    "variable_paths",
    "variables",
]

_LEAVES = (
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
    np.ndarray,
    np.generic,
    type,
    ModuleType,
    FunctionType,
    MethodType,
)


def variables(objects: Any, trainable: bool | None = None) -> list[Variable]:
    """The variables in any structure of dicts, lists, tuples and objects, each once, in the order of the structure.

    With ``trainable`` only those that an optimiser may update, or may not. It works in compiled functions as well.
    """
    found = [thing for _, thing in named_objects(objects) if isinstance(thing, Variable | Remote)]
    return [cast(Variable, variable) for variable in found if trainable in (None, variable.trainable)]


def named_variables(objects: Any, *, elsewhere: bool = False) -> dict[str, Variable]:
    """Every variable in a structure by name, the states of random generators among them.

    Raises ValueError if two of them have one name, if there are none, and for variables that lie on several servers,
    which have checkpoints of their own. With ``elsewhere`` these are left out, and there may be no others.
    """
    if type(machine()) is not Machine:
        raise UserNotImplementedError(
            "a checkpoint in a compiled function would be written or read once, while tracing",
            mend="save and restore outside the compiled function",
        )
    found: dict[str, Variable] = {}
    for path, thing in named_objects(objects):
        if isinstance(thing, Generator):
            path, thing = f"{path}.state" if path else "state", thing.state
        elif isinstance(thing, Remote) and not elsewhere:
            raise UserValueError(
                f"{path or 'the variable'} lies on several servers", expected="variables of this process alone",
                mend="save and restore such models with jitflow.cluster.save and jitflow.cluster.restore",
            )  # fmt: skip
        elif not isinstance(thing, Variable):
            continue
        name = path or thing.name or "variable"
        if name in found:
            raise UserValueError(
                f"two variables have the name {name!r}", mend="use keys and attributes without dots between them"
            )
        found[name] = thing
    if not found and not elsewhere:
        raise UserValueError(
            "there are no variables in these objects",
            expected="jitflow.Variable, optimisers or random generators in dicts, lists and objects",
        )
    return found


def named_objects(objects: Any) -> Iterator[tuple[str, Any]]:
    """Every object in a structure that is no plain value, with the path that leads to it, each once."""
    # A stack of our own: a linked list of layers may be deeper than Python's recursion.
    waiting: list[tuple[str, Any]] = [("", objects)]
    seen: set[int] = set()
    while waiting:
        path, thing = waiting.pop()
        if isinstance(thing, _LEAVES) or thing is None or id(thing) in seen:
            continue
        seen.add(id(thing))
        yield path, thing
        if isinstance(thing, Variable | Generator | Remote):
            continue
        inside = [(f"{path}.{key}" if path else str(key), item) for key, item in _items(thing)]
        waiting += reversed(inside)


def announce(objects: Any, kinds: Mapping[str, tuple[Any, tuple[int, ...]]]) -> None:
    """Tell objects that make variables late, as optimisers do, what there is to restore for them: dtypes and shapes."""
    for path, thing in named_objects(objects):
        hook = getattr(type(thing), "__jitflow_restoring__", None)
        if hook is not None:
            prefix = f"{path}." if path else ""
            hook(thing, {name.removeprefix(prefix): kind for name, kind in kinds.items() if name.startswith(prefix)})


def _items(thing: Any) -> list[tuple[Any, Any]]:
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return list(zip(thing._fields, thing, strict=True))
    inside: list[tuple[Any, Any]] = []
    if isinstance(thing, dict):
        inside += thing.items()
    elif isinstance(thing, list | tuple):
        inside += enumerate(thing)
    return [*inside, *attributes_of(thing)]  # classes of the user's may have both


def attributes_of(thing: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object that is no library's, with their names."""
    library = type(thing).__module__.split(".")[0]
    if library in ("numpy", "scipy") or (library in sys.stdlib_module_names and type(thing) is not SimpleNamespace):
        return
    if getattr(type(thing), "__jitflow_compiled__", False):
        return
    yield from getattr(thing, "__dict__", {}).items()
    for kind in reversed(type(thing).__mro__):
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name.startswith("__") and not name.endswith("__"):  # Python's own spelling of a private name
                name = f"_{kind.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__") and hasattr(thing, name):
                yield name, getattr(thing, name)


def variable_paths(thing: Any) -> tuple[str, ...]:
    """The paths that lead to variables."""
    return tuple(path for path, found in named_objects(thing) if isinstance(found, Variable))


def has_variables_at(paths: tuple[str, ...], thing: Any) -> bool:
    """Whether these paths lead to variables, and no others."""
    return variable_paths(thing) == paths
