"""What a compiled function keeps, and what it does where a call finds nothing that fits.

A function object has no state but its options and the specialisations that are linked into it. A call walks them in
native code (`jitflow.runtime.entry.dispatcher`). What nothing matches comes to `_miss`, which compiles, links, calls
again.
"""

from __future__ import annotations

import functools
import gc
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from jitflow.aligned import aligned
from jitflow.config import CONFIG
from jitflow.errors import CompilationWarning, CompilerBug, UserError, UserTypeError, UserValueError
from jitflow.loaded import is_tracing
from jitflow.user_lines import with_user_frames

if TYPE_CHECKING:
    from jitflow.compilation.compiler import Compilation
    from jitflow.compilation.naming import Part
    from jitflow.frontend.entry.function import TracedFunction
    from jitflow.machines.processor import CodeTarget
    from jitflow.passes.place import Placement
    from jitflow.passes.schedule.target import Given
    from jitflow.runtime.entry.specialisation import Specialisation

__all__ = ["Options", "Specialised", "change_sides"]

_ATTEMPTS = 4
"""How often a call compiles when what it reads changes in between."""
_MANY_VALUES = 8
"""A function that is compiled for more values of a number that Python asks for says so."""


_FUNCTIONS: weakref.WeakSet[Specialised] = weakref.WeakSet()
"""All that there are."""


def _renew_locks() -> None:
    """In a process that was forked: threads that held locks do not exist."""
    for one in _FUNCTIONS:
        one._renew_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


class Options(NamedTuple):
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


def change_sides(noted: bool) -> None:
    """Let every compiled function have code that tells a profile what it does, or again code that does not."""
    for one in _functions():
        one._change_sides(noted)


def _functions() -> list[Specialised]:
    while True:
        try:
            return list(_FUNCTIONS)
        except RuntimeError:  # another thread has made one meanwhile
            continue


class Specialised:
    """A function with what was compiled of it."""

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

    def __init__(self, fn: FunctionType, options: Options) -> None:
        from jitflow.runtime.entry.parameters import parameters_of

        self._prepare(fn)
        functools.update_wrapper(cast(Any, self), fn)
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
        self._last_call: Any = None
        """The call for which code was found on disk, if no other was compiled since."""
        self._uncached = ""
        """Why what was compiled last is not in the cache on disk."""
        self._aside: tuple[Specialisation, ...] = ()
        """What was compiled for calls that are profiled while none are, and the other way round."""

    @property
    def __jitflow_device__(self) -> str:
        """The scope that it is wherever another compiled function calls it."""
        return self._options.device

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if is_tracing():
            if type(self._wrapped.__globals__) is dict:
                raise _unseen_call(self.__name__)
            return self._wrapped(*args, **kwargs)  # made while tracing, and so it records what it reads
        try:
            return self._compile_and_call(aligned(self._bind(args, kwargs)))
        except BaseException as error:
            from jitflow.compilation.failures import for_the_caller

            raised = for_the_caller(error)
        try:
            raise raised  # not while another is handled, of which it would come
        finally:
            del raised

    def _compile_and_call(self, flat: tuple[Any, ...]) -> Any:
        from jitflow.runtime.entry.specialisation import NOT_MATCHED

        compiled = 0
        while True:
            known = self._specialisations
            result = self._call_linked(flat)  # not inside of the lock: it may wait for variables
            if result is not NOT_MATCHED:
                return result
            if compiled == _ATTEMPTS:
                break
            with self._lock, _uncollected():  # one compilation at a time: who waited may find what the other one made
                if self._specialisations is known and not self._find(flat):
                    self._compile(flat)
                    self._missed_calls += not compiled
                    compiled += 1
        raise CompilerBug(f"the code that was compiled for a call of {self.__name__} does not match it")

    def _find(self, flat: tuple[Any, ...]) -> bool:
        """Link code for a call from the cache on disk, if there is some; another thing is whether it fits."""
        if not CONFIG.cache:
            return False
        from jitflow.cache.calls import remembered
        from jitflow.cache.lookup import find
        from jitflow.runtime.parallel.threads import most_threads, note_compiled

        known = {one.file for one in self._specialisations if one.file is not None}
        found = find(self._wrapped, self._options, most_threads(), flat, known)
        if found is None:
            return False
        note_compiled(self, most_threads())
        self._make_room()
        self._link(found)
        self._last, self._last_call = None, remembered(flat)
        return True

    def _compile(self, flat: tuple[Any, ...]) -> None:
        from jitflow.compilation.compiler import compile_traced
        from jitflow.runtime.native.notes import is_recording
        from jitflow.runtime.parallel.threads import note_compiled

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
        self._last, self._last_call = (specialisation, compilation.traced), None
        self._misses += 1
        self._uncached = self._keep(compilation, specialisation, flat)
        if compilation.traced.pins:
            self._note_pins(compilation.traced.pins)

    def _keep(self, compilation: Compilation, specialisation: Specialisation, flat: tuple[Any, ...]) -> str:
        """Keep what was compiled on disk. Returns why it is not there, or nothing."""
        if not CONFIG.cache:
            return "JITFLOW_CACHE=0"
        from jitflow.cache.lookup import keep

        return keep(self._wrapped, self._options, compilation, specialisation, flat)

    def _on_disk(self) -> str:
        """Whether the code of the last call that linked some is in the cache on disk, for `explain`."""
        if not CONFIG.cache:
            return ""
        if self._last_call is not None:
            return "found there, compiled by an earlier process"
        return f"not kept: {self._uncached}" if self._uncached else "kept for later processes"

    def _compilation(self) -> Compilation:
        from jitflow.compilation.compiler import Compilation
        from jitflow.runtime.parallel.threads import most_threads

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
        if not args and not kwargs and self._last_call is not None:
            from jitflow.cache.calls import recalled

            call = recalled(self._last_call)
            if call is not None:
                return self._trace(call)
        if args or kwargs:
            return self._trace(self._given(args, kwargs))
        try:
            flat = self._given(args, kwargs)
        except TypeError as error:
            raise UserTypeError(
                f"{self.__name__} has not been compiled yet, and {what}() without arguments shows what was last",
                mend=f'call it first, or say for which arguments: {what}(jitflow.Spec("f64", ("n",)), ...)',
            ) from error
        return self._trace(flat)

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The flat arguments that something is asked for. Raises Python's own TypeError for others."""
        try:
            return aligned(self._bind(args, kwargs))
        except TypeError as error:
            if self._parameters[:1] == ("self",):
                error.add_note(f"the method is that of all objects: say of which one, {self.__qualname__}.ir(model, x)")
            raise

    def _for_export(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], target: CodeTarget
    ) -> tuple[Compilation, tuple[Any, ...]]:
        """What is traced to run elsewhere, on one thread, and for which arguments."""
        from jitflow.machines.hardware import HOME

        flat = self._given(args, kwargs)
        compilation = self._compilation()
        compilation.target, compilation.threads, compilation.devices = target, 1, (HOME,)
        return self._trace(flat, compilation), flat

    def _trace(self, flat: tuple[Any, ...], compilation: Compilation | None = None) -> Compilation:
        from jitflow.compilation.naming import extracted
        from jitflow.frontend.entry.function import trace

        compilation = compilation or self._compilation()
        options, part = self._options, self._options.part
        try:
            with compilation.stage("trace"):
                fetch = None if part is None else part.labels
                traced = trace(self._wrapped, self._parameters, flat, static=options.static, fetch=fetch,
                               device=options.device, exact=bool(options.check),
                               includes_ones=compilation.target is not None)  # fmt: skip
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


_PAUSES: list[bool] = []
"""Of each compilation that keeps the garbage collector from running, whether it had to be stopped."""


@contextmanager
def _uncollected() -> Iterator[None]:
    """Compile without the garbage collector.

    What a compilation makes lives until its end, and is walked again and again for nothing meanwhile, with all else
    that the process has: a twentieth of the compiler's time in a process that has little, several times as much beside
    torch. No collection is lost: what was due is done once the outermost pause ends.
    """
    _PAUSES.append(gc.isenabled())
    gc.disable()
    try:
        yield
    finally:
        if _PAUSES.pop() and not any(_PAUSES):
            gc.enable()


def _unseen_call(name: str) -> UserError:
    from jitflow.errors import UserNotImplementedError
    from jitflow.frontend.tracers import located

    return located(
        UserNotImplementedError(
            f"the compiled function {name} was called from inside another one in a way that cannot be traced",
            mend="call it by its global name, a closure variable or an attribute of an argument",
        )
    )
