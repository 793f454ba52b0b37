"""What users touch: the decorator, and the function object that it makes.

A function object has no state but its options and the specialisations that are linked into it. A call walks them in
native code (`jitflow.runtime.dispatcher`). What nothing matches comes to `_miss`, which compiles, links, calls again.
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from jitflow.config import CONFIG
from jitflow.errors import CompilationWarning, CompilerBug, UserError, UserTypeError, UserValueError
from jitflow.hardware import Device, device_named
from jitflow.user_lines import with_user_frames

if TYPE_CHECKING:
    from jitflow.compiler import Compilation
    from jitflow.explanation import Explanation
    from jitflow.frontend.entry.function import TracedFunction
    from jitflow.naming import Part
    from jitflow.passes.place import Placement
    from jitflow.passes.schedule.target import Given
    from jitflow.runtime.specialisation import Specialisation

__all__ = ["CacheInfo", "CompiledFunction", "blank", "change_sides", "derived", "function"]

_Parameters = ParamSpec("_Parameters")
_Others = ParamSpec("_Others")
_Result = TypeVar("_Result", covariant=True)
_Owner = TypeVar("_Owner")

_ATTEMPTS = 4
"""How often a call compiles when what it reads changes in between."""
_MANY_VALUES = 8
"""A function that is compiled for more values of a number that Python asks for says so."""


_FUNCTIONS: weakref.WeakSet[CompiledFunction[..., Any]] = weakref.WeakSet()
"""All that there are."""


def _renew_locks() -> None:
    """In a process that was forked: threads that held locks do not exist."""
    for one in _FUNCTIONS:
        one._renew_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


class CacheInfo(NamedTuple):
    """How often calls found compiled code. ``misses`` counts compilations; ``maxsize`` bounds ``currsize``."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


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

    Raises TypeError for generator functions, coroutines and objects that are no Python functions, and ValueError for a
    static name that is no parameter, a device that there is not, a placement that is none, or a file without schedules.
    """
    names = (static,) if isinstance(static, str) else tuple(static)
    if sync not in ("ordered", "unordered"):
        raise UserValueError("expected sync to be 'ordered' or 'unordered'", found=repr(sync))
    if check not in (None, "nan"):
        raise UserValueError("expected check to be 'nan' or None", found=repr(check))
    if transfer not in (None, "bf16"):
        raise UserValueError("expected transfer to be 'bf16' or None", found=repr(transfer))
    where = "" if device is None else device_named(device)
    if placement != "heuristic":
        from jitflow.passes.place import check_placement

        check_placement(placement)
    given = () if schedule is None else _schedules(schedule)
    options = _Options(names, fastmath, sync == "ordered", where, check or "", placement, transfer or "", given)
    return functools.partial(_compiled, options=options) if fn is None else _compiled(fn, options)


class _Options(NamedTuple):
    """How a function is compiled."""

    static: tuple[str, ...] = ()
    fastmath: bool = False
    ordered: bool = True
    device: str = ""
    check: str = ""
    placement: str | Path | Placement = "heuristic"
    transfer: str = ""
    schedules: tuple[Given, ...] = ()
    part: Part | None = None
    """What is wanted, if the function is a part of another one."""


def _schedules(path: str | Path) -> tuple[Given, ...]:
    from jitflow.passes.schedule.given import read_given

    return read_given(path)


def _compiled(fn: Any, options: _Options) -> Any:
    if isinstance(fn, staticmethod | classmethod):
        return type(fn)(_compiled(fn.__func__, options))
    if isinstance(fn, MethodType):
        return MethodType(_compiled(fn.__func__, options), fn.__self__)
    if CONFIG.disable:
        return fn
    if getattr(type(fn), "__jitflow_compiled__", False):
        return fn if options == _Options() else _compiled(fn.__wrapped__, options._replace(part=fn._options.part))
    if not isinstance(fn, FunctionType):
        raise UserTypeError(
            f"expected a Python function to compile, got {_article(type(fn).__name__)}",
            mend="wrap it: jitflow.function(lambda x: ...)",
        )
    from jitflow.frontend.entry.compilable import refuse_function_kind

    refuse_function_kind(fn)
    return _function_type()(fn, options)


def derived(fn: Any, like: Any = None) -> Any:
    """Compile what has no meaning as plain Python, such as a gradient, with the options of ``like``, if it is compiled.

    It is compiled even where ``JITFLOW_DISABLE`` lets everything else run as Python.
    """
    options = like._options._replace(schedules=()) if getattr(type(like), "__jitflow_compiled__", False) else _Options()
    return _function_type()(fn, options)


def change_sides(noted: bool) -> None:
    """Let every compiled function have code that tells a profile what it does, or again code that does not."""
    for one in _functions():
        one._change_sides(noted)


def _functions() -> list[CompiledFunction[..., Any]]:
    while True:
        try:
            return list(_FUNCTIONS)
        except RuntimeError:  # another thread has made one meanwhile
            continue


def blank() -> Any:
    """A compiled function of nothing yet: a function may reach itself, and is known before what it reads is."""
    kind: Any = _function_type()
    return kind.__new__(kind)


@functools.cache
def _function_type() -> type[Any]:
    from jitflow.runtime.dispatcher import make_function_type

    return make_function_type(CompiledFunction)


class CompiledFunction(Generic[_Parameters, _Result]):
    """The methods of a compiled function, which is called as the function that it was made of.

    Calling, binding and linking are the dispatcher's.
    """

    __jitflow_compiled__ = True

    if TYPE_CHECKING:  # a function with the types of what it was made of
        __wrapped__: Callable[_Parameters, _Result]

        def __call__(self, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result: ...
        @overload
        def __get__(self, instance: None, owner: type | None = None) -> CompiledFunction[_Parameters, _Result]: ...
        @overload
        def __get__(
            self: CompiledFunction[Concatenate[_Owner, _Others], _Result], instance: _Owner, owner: type | None = None
        ) -> Callable[_Others, _Result]: ...
        def __get__(self, instance: Any, owner: type | None = None) -> Any: ...

    # What `make_function_type` provides.
    _prepare: Callable[[FunctionType], None]
    _bind: Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]
    _call_linked: Callable[[tuple[Any, ...]], Any]
    _link: Callable[[Specialisation], None]
    _unlink: Callable[[Specialisation], None]
    _specialisations: tuple[Specialisation, ...]
    _wrapped: Any  # a FunctionType, which a class attribute would make a method
    __name__: str
    __qualname__: str

    def __init__(self, fn: FunctionType, options: _Options) -> None:
        from jitflow.runtime.parameters import parameters_of

        self._prepare(fn)
        functools.update_wrapper(self, fn)
        self._parameters = parameters_of(fn).names
        unknown = [name for name in options.static if name not in self._parameters]
        if unknown:
            raise UserValueError(
                f"static names {unknown[0]!r}, which is no parameter of {fn.__name__}",
                expected=f"some of {', '.join(self._parameters)}",
            )
        self._options = options
        self._renew_lock()
        _FUNCTIONS.add(self)
        self._misses = 0
        self._missed_calls = 0
        self._pinned = 0
        self._evicted_hits = 0
        self._hits_seen: dict[int, int] = {}
        self._last: tuple[Specialisation, TracedFunction] | None = None
        self._aside: tuple[Specialisation, ...] = ()
        """What was compiled for calls that are profiled while none are, and the other way round."""

    @property
    def __jitflow_device__(self) -> str:
        """The scope that it is wherever another compiled function calls it."""
        return self._options.device

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    # -- calls that nothing matches ----------------------------------------------------------------

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from jitflow.failures import for_the_caller
        from jitflow.frontend.recording.trace import active_trace

        if active_trace() is not None:
            if type(self._wrapped.__globals__) is dict:
                raise _unseen_call(self.__name__)
            return self._wrapped(*args, **kwargs)  # made while tracing, and so it records what it reads
        try:
            return self._compile_and_call(_aligned(self._bind(args, kwargs)))
        except BaseException as error:
            raised = for_the_caller(error)
        try:
            raise raised  # not while another is handled, of which it would come
        finally:
            del raised

    def _compile_and_call(self, flat: tuple[Any, ...]) -> Any:
        from jitflow.runtime.specialisation import NOT_MATCHED

        compiled = 0
        while True:
            known = self._specialisations
            result = self._call_linked(flat)  # not inside of the lock: it may wait for variables
            if result is not NOT_MATCHED:
                return result
            if compiled == _ATTEMPTS:
                break
            with self._lock:  # one compilation at a time: who waited may find what the other one made
                if self._specialisations is known:
                    self._compile(flat)
                    self._missed_calls += not compiled
                    compiled += 1
        raise CompilerBug(f"the code that was compiled for a call of {self.__name__} does not match it")

    def _compile(self, flat: tuple[Any, ...]) -> None:
        from jitflow.compiler import compile_traced
        from jitflow.runtime.notes import is_recording
        from jitflow.runtime.threads import note_compiled

        notes = is_recording()
        compilation = self._trace(flat)
        compilation.notes = notes
        note_compiled(self, compilation.threads)
        try:
            specialisation = compile_traced(compilation)
        except UserError as error:
            raise with_user_frames(error, error.location) from error.__cause__
        self._make_room()
        self._link(specialisation)
        self._last = specialisation, compilation.traced
        self._misses += 1
        if compilation.traced.pins:
            self._note_pins(compilation.traced.pins)

    def _compilation(self) -> Compilation:
        from jitflow.compiler import Compilation
        from jitflow.runtime.threads import most_threads

        options = self._options
        return Compilation(
            options.fastmath, options.check, options.ordered, most_threads(), name=self.__name__,
            placement=options.placement, transfer=options.transfer, schedules=options.schedules,
        )  # fmt: skip

    def _asked(self, args: tuple[Any, ...], kwargs: dict[str, Any], what: str) -> Compilation:
        """What is traced for these arguments; without any, what was compiled last."""
        last = self._last
        if not args and not kwargs and last is not None:
            compilation = self._compilation()
            compilation.traced = last[1]
            return compilation
        try:
            flat = _aligned(self._bind(args, kwargs))
        except TypeError as error:
            if args or kwargs:
                raise
            raise UserTypeError(
                f"{self.__name__} has not been compiled yet, and {what}() without arguments shows what was last",
                mend=f'call it first, or say for which arguments: {what}(jitflow.Spec("f64", ("n",)), ...)',
            ) from error
        return self._trace(flat)

    def _trace(self, flat: tuple[Any, ...]) -> Compilation:
        from jitflow.frontend.entry.function import trace
        from jitflow.naming import extracted

        options, part, compilation = self._options, self._options.part, self._compilation()
        try:
            with compilation.stage("trace"):
                fetch = None if part is None else part.labels
                traced = trace(self._wrapped, self._parameters, flat, static=options.static, fetch=fetch,
                               device=options.device, exact=bool(options.check))  # fmt: skip
                compilation.traced = traced if part is None else extracted(traced, part)
        except UserError as error:
            raise with_user_frames(error, error.location) from error.__cause__
        return compilation

    def _note_pins(self, pins: Sequence[str]) -> None:
        """Warn once of a function that is compiled for more than a few values of what Python asks for."""
        self._pinned += 1
        if self._pinned == _MANY_VALUES + 1:
            shown = " and ".join(pins[:3])
            warnings.warn(
                f"{self.__name__} is compiled anew for each value of {shown}, of which it has met more than "
                f"{_MANY_VALUES}: Python or NumPy needs the number itself there. Call it with fewer values, or write "
                "it so that the number is used in arithmetic, sizes and indices of arrays only",
                CompilationWarning, stacklevel=5,
            )  # fmt: skip

    def _make_room(self) -> None:
        """Evict what has been called least since the last eviction, the oldest of those."""
        while len(self._specialisations) >= CONFIG.cache_size:
            used = [(one.hits - self._hits_seen.get(id(one), 0), age) for age, one in enumerate(self._specialisations)]
            _, position = min(used)
            victim = self._specialisations[position]
            self._hits_seen = {id(one): one.hits for one in self._specialisations}
            self._forget(victim)

    def _forget(self, specialisation: Specialisation) -> None:
        self._unlink(specialisation)
        self._evicted_hits += specialisation.hits
        self._hits_seen.pop(id(specialisation), None)
        if self._last is not None and self._last[0] is specialisation:
            self._last = None

    def _compile_anew(self) -> None:
        """Forget what was compiled, since it would be compiled differently now."""
        with self._lock:
            for specialisation in self._specialisations:
                self._forget(specialisation)
            self._drop_aside()

    def _drop_aside(self) -> None:
        self._evicted_hits += sum(one.hits for one in self._aside)
        self._aside = ()

    def _change_sides(self, noted: bool) -> None:
        """Link what was compiled for calls that are profiled, or for those that are not, in the place of the others."""
        with self._lock:
            waiting, self._aside = self._aside, ()
            for specialisation in self._specialisations:
                if specialisation.noted != noted:
                    self._unlink(specialisation)
                    self._aside += (specialisation,)
            for specialisation in waiting:
                if specialisation.noted == noted:
                    self._link(specialisation)
                else:
                    self._aside += (specialisation,)

    # -- what users call ---------------------------------------------------------------------------

    def partial(
        self, fetch: str | Sequence[str], feed: Mapping[str, Any] | Iterable[str] = (), *, effects: bool = False
    ) -> Any:
        """A compiled function of the part of this one that the values called ``fetch`` need (`jitflow.name`).

        It returns these values: one for a string, a list or a tuple for a list or a tuple of names. ``feed`` names
        values that are given in place of what computes them, of the same dtype and shape: they are keyword arguments,
        called like the names (with ``_`` for what no identifier has), and a dict gives the values to take where a call
        gives none. All arguments of this function may be given, and those that the part needs must be.

        The part changes nothing outside, and prints nothing; with ``effects`` it does all that this function does but
        compute its result. Names in loops and branches, or of several values, cannot be fetched or fed.

        Raises ValueError for names that there are not, and TypeError where an argument is missing, both at its first
        call.
        """
        from jitflow.naming import part_of

        if self._options.part is not None:
            raise UserValueError("a part of a part", mend="ask the function itself for the smaller part")
        fn, part = part_of(self._wrapped, fetch, feed, effects)
        return _compiled(fn, self._options._replace(part=part))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile for these arguments (arrays, numbers or `Spec`), without running."""
        with self._lock:
            self._compile(_aligned(self._bind(args, kwargs)))

    def ir(self, *args: Any, stage: str = "traced", **kwargs: Any) -> str:
        """The program for these arguments (arrays, numbers or `Spec`) as text, at a stage of its compilation.

        Without arguments, the one that was compiled last; so do `graph` and `explain`.

        Stages: ``traced gradient optimized partitioned fused planned kernels llvm asm cuda``. Raises ValueError for any
        other.
        """
        from jitflow.stages import check_stage, stage_text

        check_stage(stage)
        return stage_text(self._asked(args, kwargs, "ir"), stage)

    @overload
    def graph(
        self, *args: Any, stage: str = "optimized", format: Literal["png"], placement: bool = False, **kwargs: Any
    ) -> bytes: ...
    @overload
    def graph(
        self, *args: Any, stage: str = "optimized", format: str = "text", placement: bool = False, **kwargs: Any
    ) -> str: ...
    def graph(
        self, *args: Any, stage: str = "optimized", format: str = "text", placement: bool = False, **kwargs: Any
    ) -> str | bytes:
        """The dataflow graph of the program for these arguments, with data and control edges.

        Stages: ``traced gradient optimized fused``. Formats: ``text``, ``dot``, ``svg``, which needs networkx, and
        ``png``, which needs matplotlib as well and gives bytes.
        ``placement`` shows on which device each op is computed and what is sent, at the stage ``optimized``.
        Raises ValueError for any other, and ImportError where one of these is missing.
        """
        from jitflow.stages import GRAPH_STAGES, check_stage, stage_graph

        check_stage(stage, GRAPH_STAGES)
        return stage_graph(self._asked(args, kwargs, "graph"), stage, format, placement=placement)

    def placement(self, *args: Any, **kwargs: Any) -> Placement:
        """Where each op of the program for these arguments is computed on this machine, why, and what that takes.

        What is returned prints as a table; it can be saved, edited, and followed by `jitflow.simulate`, which also
        tells of other machines. Raises ValueError, at the user's lines, where constraints contradict each other.
        """
        from jitflow.simulation import placement_of

        return placement_of(self, args, kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What the code for these arguments depends on, what was fused, and where compiling spent its time.

        Print it, or ask it: it is an `Explanation`.
        """
        from jitflow.compiler import generate
        from jitflow.explanation import Explanation

        compilation = self._asked(args, kwargs, "explain")
        generate(compilation)
        return Explanation(self.__name__, compilation)

    def cache_info(self) -> CacheInfo:
        """Statistics of the calls so far."""
        with self._lock:
            linked = self._specialisations
            hits = self._evicted_hits + sum(one.hits for one in (*linked, *self._aside)) - self._missed_calls
            return CacheInfo(hits, self._misses, CONFIG.cache_size, len(linked))

    def cache_clear(self) -> None:
        """Forget all compiled code and the statistics."""
        with self._lock:
            for specialisation in self._specialisations:
                self._forget(specialisation)
            self._drop_aside()
            self._misses = self._missed_calls = self._evicted_hits = 0
            self._hits_seen.clear()

    # -- an object like a function -----------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<jitflow.function {self.__module__}.{self.__qualname__}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickled by reference where it is found by its name, else by value; what is compiled stays here."""
        from jitflow.pickling import reduced

        return reduced(self, (self._wrapped, self._options))

    def __setstate__(self, state: Any) -> None:
        """Make what `blank` made a function, and know the texts of the files that it was written in."""
        from jitflow.frontend.syntax.source import bring
        from jitflow.pickling import unpacked

        fn, options, texts = unpacked(state)
        bring(texts)
        CompiledFunction.__init__(self, fn, options)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def _aligned(flat: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments as arrays that native code reads: unaligned ones copied, other libraries' as NumPy's by DLPack."""
    return tuple(_aligned_item(item) for item in flat)


def _aligned_item(item: Any) -> Any:
    kind = type(item)
    if kind is np.ndarray:
        return item if item.flags.aligned else item.copy(order="K")
    if kind is tuple or kind is list:
        items = [_aligned_item(inner) for inner in item]
        return item if all(map(_same, items, item)) else kind(items)
    if kind is dict:
        values = {key: _aligned_item(inner) for key, inner in item.items()}
        return item if all(map(_same, values.values(), item.values())) else values
    if hasattr(kind, "__dlpack_device__") and not isinstance(item, np.ndarray):
        return np.from_dlpack(item) if item.__dlpack_device__()[0] == _ON_HOST else item
    return item


_ON_HOST = 1
"""DLPack's name for the host's memory."""


def _same(one: Any, other: Any) -> bool:
    return one is other


def _unseen_call(name: str) -> UserError:
    from jitflow.errors import UserNotImplementedError
    from jitflow.frontend.tracers import located

    return located(
        UserNotImplementedError(
            f"the compiled function {name} was called from inside another one in a way that cannot be traced",
            mend="call it by its global name, a closure variable or an attribute of an argument",
        )
    )


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
