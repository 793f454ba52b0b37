"""Functions that call themselves and remember their results: `functools.cache` and `lru_cache`.

    @cache
    def paths(r, c):
        return 1 if r == 0 or c == 0 else paths(r - 1, c) + paths(r, c - 1)

Written out, such a function has a dict of Python's for calls whose arguments are known. Where the running program knows
them, or what is remembered was computed on a path that does not lead here, the trace starts anew with a dict of the
running program, for keys of numbers. Each call of the compiled function begins with nothing remembered, so what the
function reads from outside is never stale. What cannot be a key or an item is computed each time, as is a function that
does not call itself: that is what compiled code is for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import CodeType, FunctionType
from typing import Any

from jitflow.frontend.containers import container_programs as programs
from jitflow.frontend.containers.containers import made
from jitflow.frontend.containers.item_types import item_type
from jitflow.frontend.control.leaves import flatten
from jitflow.frontend.control.recursive import names_itself
from jitflow.frontend.outside.objects import CACHED_FUNCTION
from jitflow.frontend.outside.proxies import counterpart
from jitflow.frontend.python.list_functions import holds_tracer
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers import Tracer

__all__ = ["CACHES", "remembering"]


class _Memory:
    """What a function has given: in a dict of Python's, with the region that computed it, or in one of the run."""

    __slots__ = ("known", "program", "site")

    def __init__(self, code: CodeType) -> None:
        self.site = Site(Choice.GROWING, code.co_filename, code.co_firstlineno, f"the cache of {code.co_name}")
        self.known: dict[Any, tuple[Any, Scope]] = {}
        answer = current_trace().choices.answer(self.site)
        self.program = None if answer is None else made("dict", self.site, answer)

    def ask(self, key: Any, compute: Callable[[], Any]) -> Any:
        """What the function gives for a key."""
        if self.program is not None:
            return compute() if item_type(key) is None else programs.remembered(self.program, key, compute)
        trace = current_trace()
        if holds_tracer(key):
            self._restart()
            return compute()
        try:
            found = self.known.get(key)
        except TypeError:  # Python's cache would not take it
            return compute()
        if found is None:
            self.known[key] = found = compute(), trace.scope
        elif any(isinstance(leaf, Tracer) for leaf in flatten(found[0]).items) and found[1] not in trace.scope.around():
            self._restart()
            return compute()
        return found[0]

    def _restart(self) -> None:
        """Start the trace anew with a dict of the running program, unless that has been tried."""
        trace = current_trace()
        if not trace.choices.is_settled(self.site) and not any(s.is_differentiated for s in trace.scope.around()):
            raise trace.begin_anew(Restart(self.site, is_wish=True))


def remembering(inner: Any, function: Any, *, anywhere: bool = False) -> Any:
    """``inner``, which is what ``function`` is while tracing, with a memory if that has one and calls itself.

    ``anywhere``: it may be called from all over the program, and not only from here.
    """
    trace = current_trace()
    code = getattr(inspect.unwrap(function), "__code__", None)
    if not isinstance(function, CACHED_FUNCTION) or code is None or not names_itself(code, code.co_name):
        return inner
    with trace.region(trace.root if anywhere else trace.scope):
        memory = _Memory(code)

    @wraps(inner)
    def call(*args: Any, **keywords: Any) -> Any:
        if keywords or not args:
            return inner(*args, **keywords)
        return memory.ask(args[0] if len(args) == 1 else args, lambda: inner(*args))

    return call


def _cache(function: Any) -> Any:
    function = counterpart(function)
    cached = functools.cache(function)
    is_of_program = active_trace() is not None and isinstance(function, FunctionType)
    return remembering(function, cached) if is_of_program else cached


def _lru_cache(maxsize: Any = 128, typed: Any = False) -> Any:
    return _cache(maxsize) if callable(maxsize) else _cache


CACHES: Mapping[Any, Any] = {functools.cache: _cache, functools.lru_cache: _lru_cache}
"""What runs in the place of Python's."""
