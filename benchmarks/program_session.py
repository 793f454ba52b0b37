"""One process's side of the program benchmark: compile a program for a peer, and call it on fresh arguments.

Programs write into their arguments, so each call gets copies, made while the clock stands still.
"""

from __future__ import annotations

import copy
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .gallery import helpers_of, load
from .machine import on_all_cores, usable_cores

__all__ = ["PEERS", "Prepared", "ProgramSession", "flatten"]

WARM_CALL_LIMIT = 0.05
"""Calls shorter than this many seconds are timed with caches warm: an untimed call goes before."""


@dataclass
class Prepared:
    """What came of a program's first calls."""

    first_call: float = float("nan")
    """Seconds of the first call, on small arguments: compiling, mostly."""
    seconds: float = float("nan")
    """Seconds of the first call on large ones."""
    outcome: tuple[Any, ...] = ()
    """Results and arguments after that call, in a row."""
    error: str = ""


class ProgramSession:
    """What happens inside of a peer's process: one program is prepared at a time."""

    def __init__(self, peer: str) -> None:
        self._compile = PEERS[peer]
        self._function: Callable[..., Any] | None = None
        self._arguments: tuple[Any, ...] = ()
        self._last = 0.0

    def prepare_program(self, name: str, small: bool) -> Prepared:
        """Make the first calls. Whatever a peer raises is in what is returned."""
        prepared = Prepared()
        try:
            self._function, example = self._compile(name)
            self._arguments = example("small")
            with on_all_cores():
                prepared.first_call = self._timed(self._arguments)[0]
            self._arguments = example("small" if small else "large")
            arguments = copy.deepcopy(self._arguments)
            prepared.seconds, result = self._timed(arguments)
            prepared.outcome = flatten((result, arguments))
        except Exception as error:
            prepared.error = f"{type(error).__name__}: {error}".splitlines()[0]
        self._last = prepared.seconds
        return prepared

    def turn(self) -> float:
        """Return the seconds of one call."""
        if self._last < WARM_CALL_LIMIT:
            self._timed(copy.deepcopy(self._arguments))
        self._last, result = self._timed(copy.deepcopy(self._arguments))
        del result
        return self._last

    def warm_up(self) -> None:
        """Compile something, so that no first call pays for the compiler's own start."""
        self.prepare_program("integer_clip", True)

    def _timed(self, arguments: tuple[Any, ...]) -> tuple[float, Any]:
        assert self._function is not None
        start = time.perf_counter()
        result = self._function(*arguments)
        return time.perf_counter() - start, result


def flatten(value: Any) -> tuple[Any, ...]:
    """The arrays and numbers of a nest of containers, in order, and the state of generators; None is nothing."""
    if isinstance(value, np.random.Generator):
        return flatten(value.bit_generator.state)
    if isinstance(value, dict):
        return flatten(tuple(value.items()))
    if isinstance(value, tuple | list | set | deque):
        return tuple(leaf for item in value for leaf in flatten(item))
    return () if value is None else (value,)


Compiled = tuple[Callable[..., Any], Callable[[str], tuple[Any, ...]]]


def _numpy(name: str) -> Compiled:
    module = load(name, lambda fn: fn)
    return getattr(module, name), module.example


def _jitflow(name: str) -> Compiled:
    module = load(name)
    return getattr(module, name), module.example


def _numba(name: str) -> Compiled:
    """The same source; numba wants the helpers compiled too, which it finds by their global names.

    With more than one core it may share array expressions among them, as ``parallel=True`` does without `prange`.
    """
    import numba

    compiler = numba.njit(parallel=True) if usable_cores() > 1 else numba.njit
    module = load(name, compiler)
    for helper, function in helpers_of(module).items():
        setattr(module, helper, compiler(function))
    return getattr(module, name), module.example


PEERS: dict[str, Callable[[str], Compiled]] = {"numpy": _numpy, "numba": _numba, "jitflow": _jitflow}
