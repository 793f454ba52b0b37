"""What may run while tracing: a known set of modules whose functions depend on nothing but their arguments.

Everything else is either Python code, which is traced through, or refused (DESIGN: *never stale*): a call to
``time.time()`` would be answered once, by the tracing, and never again.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from types import FrameType, FunctionType, ModuleType
from typing import Any, NoReturn

from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.recording.trace import active_trace
from jitflow.frontend.tracers import located
from jitflow.frontend.tracers.base import TRACED
from jitflow.frontend.tracers.surface import surface

__all__ = [
    "Impure",
    "Unusable",
    "announces",
    "impure_builtins",
    "impure_call",
    "is_foreign_impure",
    "is_pure_module",
    "is_put_there",
    "named_class",
    "text_inside",
    "without_text",
]

PURE_MODULES = frozenset(
    [
        "__future__",
        "abc",
        "_bisect",
        "_heapq",
        "bisect",
        "builtins",
        "cmath",
        "collections",
        "copy",
        "dataclasses",
        "enum",
        "fractions",
        "functools",
        "heapq",
        "itertools",
        "math",
        "ml_dtypes",
        "numbers",
        "numpy",
        "operator",
        "string",
        "types",
        "typing",
        "typing_extensions",
        "jitflow",
        "scipy.special",
        "scipy.constants",
        "_operator",
        "_collections",
        "_functools",
        "itertools",
        "collections.abc",
    ]
)

_IMPURE_NUMPY = frozenset(
    [
        "random",
        "load",
        "save",
        "savez",
        "savez_compressed",
        "savetxt",
        "loadtxt",
        "genfromtxt",
        "fromfile",
        "fromregex",
        "memmap",
        "seterr",
        "seterrcall",
        "setbufsize",
        "set_printoptions",
        "show_config",
        "show_runtime",
        "test",
        "info",
        "ctypeslib",
        "testing",
        "f2py",
        "distutils",
    ]
)

_IMPURE_BUILTINS = frozenset(
    [
        "compile",
        "copyright",
        "credits",
        "delattr",
        "eval",
        "exec",
        "exit",
        "globals",
        "help",
        "id",
        "input",
        "license",
        "locals",
        "open",
        "quit",
        "vars",
        "__import__",
    ]
)

ADVICE = "do it outside the compiled function and pass the result as an argument"


_PROGRAMS = ("jitflow.optim.lbfgs", "jitflow.frontend.python.written_queues")
"""Modules of jitflow's that are programs as a user's are."""


def is_pure_module(name: str) -> bool:
    """Whether functions of this module may be called while tracing."""
    parts = name.split(".")
    if parts[:2] == ["jitflow", "benchmarks"] or name in _PROGRAMS:
        return False
    if parts[0] == "numpy" and len(parts) > 1 and parts[1] in _IMPURE_NUMPY:
        return False
    return parts[0] in PURE_MODULES or name in PURE_MODULES


def is_foreign_impure(name: str) -> bool:
    """Whether a module belongs to Python's own library and is not known to be pure."""
    return name.split(".")[0] in sys.stdlib_module_names and not is_pure_module(name)


def announces(thing: Any) -> bool:
    """Whether this is a logger, or a class or function of such, of warnings or of progress bars: their calls go out."""
    home = (thing.__module__ or "") if isinstance(thing, type | FunctionType) else type(thing).__module__
    return home in ("logging", "warnings") or home.startswith("tqdm.")


def is_impure_member(module: ModuleType, name: str) -> bool:
    """Whether this member of a pure module is one of its impure ones."""
    return module.__name__ == "numpy" and name in _IMPURE_NUMPY and name != "random"


def impure_builtins() -> dict[str, Any]:
    """What stands for the builtins that do more than compute."""
    return {name: Impure(name, getattr(builtins, name)) for name in _IMPURE_BUILTINS if hasattr(builtins, name)}


def impure_call(what: str) -> UserError:
    """The error for something that would happen once, while tracing, and never again."""
    if what.startswith("numpy.random."):
        return located(
            UserNotImplementedError(
                f"{what} makes or reads what random numbers come from, while tracing",
                mend="make it outside the compiled function, and draw with its numpy.random.Generator inside",
            )
        )
    return located(
        UserNotImplementedError(
            f"{what} is not known to be pure: it would be answered once, while tracing, and never again",
            expected="calls of functions of numpy, math and the like, and of Python functions, which are traced",
            mend=f"{ADVICE}, or name an argument that holds it in static=",
        )
    )


class Unusable:
    """Stands for an item of a container outside that cannot be read: whoever uses it gets the error."""

    __slots__ = ("_error",)
    _error: UserError

    def __init__(self, error: UserError) -> None:
        object.__setattr__(self, "_error", error)

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        error = self._error
        raise located(type(error)(error.message, found=error.found, expected=error.expected, mend=error.mend))

    __call__ = __getattr__ = __setattr__ = __getitem__ = __setitem__ = __iter__ = __len__ = __contains__ = _refuse
    __bool__ = __enter__ = __next__ = __array__ = __float__ = __index__ = __add__ = __radd__ = __mul__ = _refuse
    __rmul__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __eq__ = __lt__ = _refuse
    __repr__ = _refuse
    __hash__ = object.__hash__


class Impure:
    """Stands for an object that may be named, but neither called nor looked into, while tracing.

    A class may be asked what is of it, and a class or module whether it is this one.
    `jitflow.callback` may call it when the compiled code runs, and what is known to be announcements is called then.
    Of a module, ``read`` gives the constants, ``sys.maxsize``, and what is imported, ``sys.modules``.
    """

    __slots__ = ("_name", "_read", "_thing")

    def __init__(self, name: str, thing: Any = None, read: Callable[[ModuleType, str, Any], Any] | None = None) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_thing", thing)
        object.__setattr__(self, "_read", read)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorded = surface.called_out(self._thing)
        if recorded is None:
            raise impure_call(f"{self._name}()")
        return recorded(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._thing, name, None)
        if name.startswith("__"):
            if isinstance(self._thing, type) and isinstance(member, str):
                return member
            raise AttributeError(name)
        is_known = isinstance(member, type) or member is sys.modules or _is_constant(member)
        is_known = is_known or surface.replacement(member) is not None
        if self._read is not None and is_known and hasattr(self._thing, name):
            return self._read(self._thing, name, member)
        return Impure(f"{self._name}.{name}", member)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._thing)

    def __subclasscheck__(self, subclass: Any) -> bool:
        return issubclass(named_class(subclass), self._thing)

    def __or__(self, other: Any) -> Any:
        return self._class() | named_class(other)

    def __ror__(self, other: Any) -> Any:
        return named_class(other) | self._class()

    def __eq__(self, other: object) -> bool:
        return (self._thing if isinstance(self._thing, ModuleType) else self._class()) is named_class(other)

    def __hash__(self) -> int:
        return hash(self._thing) if isinstance(self._thing, type | ModuleType) else object.__hash__(self)

    def _class(self) -> type:
        """The class that it stands for, which may be compared."""
        if not isinstance(self._thing, type):
            self._refuse()
        return self._thing

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise impure_call(self._name)

    __setattr__ = __getitem__ = __setitem__ = __iter__ = __len__ = __contains__ = __bool__ = _refuse
    __enter__ = __exit__ = __next__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __neg__ = __float__ = __index__ = _refuse

    def __repr__(self) -> str:
        return f"<{self._name}, not callable while tracing>"


def named_class(kind: Any) -> Any:
    """The class that something stands for which may only be named, ``kind`` if it stands for none."""
    return kind._thing if type(kind) is Impure else kind


def _is_constant(thing: Any) -> bool:
    """Whether it is a number, a text or a tuple of such."""
    if isinstance(thing, tuple):
        return all(map(_is_constant, thing))
    return isinstance(thing, bool | int | float | complex | str | bytes)


def is_put_there(member: Any, module: ModuleType) -> bool:
    """Whether a member of a pure module is what a user has put in the place of its own, or none of its pure ones."""
    if isinstance(member, ModuleType):
        return member.__name__ == "numpy.random"
    home = getattr(member, "__module__", None) or type(member).__module__
    return not is_pure_module(home) and home.split(".")[0] != module.__name__.split(".")[0]


def text_inside(thing: Any, name: str) -> str:
    """What stands for an object is in texts of jitflow's, and in none that the program has Python make."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") in ("dataclasses", "reprlib"):
        frame = frame.f_back
    module = "jitflow." if frame is None else str(frame.f_globals.get("__name__"))  # of written `__repr__`s as well
    if active_trace() is not None and frame is not None and not module.startswith("jitflow."):
        raise without_text(thing)
    return f"{TRACED}{name}>"


def without_text(thing: Any) -> UserError:
    """The error for a text that would show where an object lies in memory, or run code of the user's unseen."""
    return located(
        UserNotImplementedError(
            f"the text of an object of type {thing.__class__.__name__} in a compiled function",
            expected="numbers, arrays, strings, and tuples, lists, dicts and records of them",
            mend="show its attributes one by one",
        )
    )
