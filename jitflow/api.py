"""What users touch: the decorator, and what compiles functions of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, getattr_static
from pathlib import Path
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

from jitflow.compilation.compiled_function import CacheInfo, CompiledFunction
from jitflow.compilation.specialised import Options
from jitflow.config import CONFIG
from jitflow.errors import UserTypeError, UserValueError

if TYPE_CHECKING:
    from jitflow.machines.hardware import Device
    from jitflow.passes.place import Placement
    from jitflow.passes.schedule.target import Given

__all__ = ["CacheInfo", "CompiledFunction", "blank", "compiled", "derived", "function"]

_WITHOUT_RESULT = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result", covariant=True)
_Owner = TypeVar("_Owner")


class _Decorator(Protocol):
    """`function` with options, to be applied."""

    @overload
    def __call__(self, fn: staticmethod[_Parameters, _Result]) -> staticmethod[_Parameters, _Result]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, fn: classmethod[_Owner, _Parameters, _Result]) -> classmethod[_Owner, _Parameters, _Result]: ...
    @overload
    def __call__(self, fn: Callable[_Parameters, _Result]) -> CompiledFunction[_Parameters, _Result]: ...


@overload
def function(
    fn: None = None, *, static: str | Iterable[str] = (), fastmath: bool = False, sync: str = "ordered",
    device: str | Device | None = None, check: str | None = None, placement: str | Path | Placement = "heuristic",
    transfer: str | None = None, schedule: str | Path | None = None,
) -> _Decorator: ...  # fmt: skip
@overload
def function(fn: staticmethod[_Parameters, _Result]) -> staticmethod[_Parameters, _Result]: ...  # type: ignore[overload-overlap]
@overload
def function(fn: classmethod[_Owner, _Parameters, _Result]) -> classmethod[_Owner, _Parameters, _Result]: ...
@overload
def function(
    fn: Callable[_Parameters, _Result], *, static: str | Iterable[str] = (), fastmath: bool = False,
    sync: str = "ordered", device: str | Device | None = None, check: str | None = None,
    placement: str | Path | Placement = "heuristic", transfer: str | None = None, schedule: str | Path | None = None,
) -> CompiledFunction[_Parameters, _Result]: ...  # fmt: skip
def function(
    fn: Any = None, *, static: str | Iterable[str] = (), fastmath: bool = False, sync: str = "ordered",
    device: str | Device | None = None, check: str | None = None, placement: str | Path | Placement = "heuristic",
    transfer: str | None = None, schedule: str | Path | None = None,
) -> Any:  # fmt: skip
    """Compile a function of NumPy arrays and numbers, at each first call with arguments of a new kind.

    ``static`` names parameters whose values are constants of the code: it is compiled anew for each value.
    ``fastmath`` allows rewriting that changes the rounding. ``sync="unordered"`` lets calls that use the same variables
    run at the same time, so that updates may get lost and reads may find half of one; by default one waits for the
    other. ``device`` is where all is computed that stands in no scope of its own (`jitflow.device`); by default it is
    placed by what it costs. ``placement="search"`` looks for a plan some seconds longer, and never takes a worse one; a
    plan that ``f.placement(...)`` gave is followed, as is the file that it was saved in. Use it as
    ``@jitflow.function`` or with options, as ``@jitflow.function(static=("mode",))``; below or above ``staticmethod``
    and ``classmethod``, and on lambdas.

    ``transfer="bf16"`` sends arrays of float32 to other devices as bfloat16, half as long, with 8 bits of precision.

    ``check="nan"`` finds the line that makes the first nan (of operands of which none is nan) or infinity (of finite
    ones), and raises FloatingPointError there, which no ``try`` inside of the function catches. What is only handed on
    or chosen is not made. Such code is slow, since little of it is fused.

    ``schedule`` is a file with schedules of kernels, as ``jitflow explain --schedule`` prints them, edited: these run
    so, and all others as jitflow chooses. A schedule changes no bits of what is computed.

    A `functools.partial` of a function and a bound method are compiled with the parameters that are left, and an object
    whose class has a ``__call__`` as that method, bound to it.

    Raises TypeError for generator functions, coroutines and what is no Python function, and ValueError for a static
    name that is no parameter, a device that there is not, a placement that is none, or a file without schedules.
    """
    names = (static,) if isinstance(static, str) else tuple(static)
    if sync not in ("ordered", "unordered"):
        raise UserValueError("expected sync to be 'ordered' or 'unordered'", found=repr(sync))
    if check not in (None, "nan"):
        raise UserValueError("expected check to be 'nan' or None", found=repr(check))
    if transfer not in (None, "bf16"):
        raise UserValueError("expected transfer to be 'bf16' or None", found=repr(transfer))
    where = "" if device is None else _device_named(device)
    if placement != "heuristic":
        from jitflow.passes.place import check_placement

        check_placement(placement)
    given = () if schedule is None else _schedules(schedule)
    options = Options(names, fastmath, sync == "ordered", where, check or "", placement, transfer or "", given)
    return functools.partial(compiled, options=options) if fn is None else compiled(fn, options)


def _device_named(device: str | Device) -> str:
    from jitflow.machines.hardware import device_named

    return device_named(device)


def _schedules(path: str | Path) -> tuple[Given, ...]:
    from jitflow.passes.schedule.given import read_given

    return read_given(path)


def compiled(fn: Any, options: Options) -> Any:
    """What is decorated, compiled so; what is compiled already with other options."""
    if isinstance(fn, staticmethod | classmethod):
        return type(fn)(compiled(fn.__func__, options))
    if isinstance(fn, MethodType) and _is_compiled(fn.__func__):
        return MethodType(compiled(fn.__func__, options), fn.__self__)
    if CONFIG.disable:
        return fn
    if _is_compiled(fn):
        return fn if options == Options() else compiled(fn.__wrapped__, options._replace(part=fn._options.part))
    if isinstance(fn, functools.partial | MethodType):
        from jitflow.signatures import called, with_signature

        fn = with_signature(fn, called)
    elif isinstance(method := getattr_static(type(fn), "__call__", None), FunctionType) or _is_compiled(method):
        return compiled(MethodType(method, fn), options)
    if not isinstance(fn, FunctionType):
        raise UserTypeError(
            f"expected a Python function to compile, got {_article(type(fn).__name__)}",
            mend="wrap it: jitflow.function(lambda x: ...)",
        )
    if fn.__code__.co_flags & _WITHOUT_RESULT:
        from jitflow.frontend.entry.compilable import refuse_function_kind

        refuse_function_kind(fn)
    return _function_type()(fn, options)


def _is_compiled(thing: Any) -> bool:
    return getattr(type(thing), "__jitflow_compiled__", False)


def derived(fn: Any, like: Any = None, kind: type[CompiledFunction[..., Any]] = CompiledFunction) -> Any:
    """Compile what has no meaning as plain Python, such as a gradient, with the options of ``like``, if it is compiled.

    It is compiled even where ``JITFLOW_DISABLE`` lets everything else run as Python. It has the methods of ``kind``.
    """
    options = like._options._replace(schedules=()) if _is_compiled(like) else Options()
    make: Any = _function_type
    return make(kind)(fn, options)


def blank() -> Any:
    """A compiled function of nothing yet: a function may reach itself, and is known before what it reads is."""
    kind: Any = _function_type()
    return kind.__new__(kind)


@functools.cache
def _function_type(kind: Any = CompiledFunction) -> type[Any]:
    from jitflow.runtime.entry.dispatcher import make_function_type

    return make_function_type(kind)


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
