"""The record of a call site: all that the fast way of `host_call_text` knows of it, in memory."""

from __future__ import annotations

import ctypes
import inspect
import struct
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from jitflow.ir.dtypes import DType
from jitflow.ir.routines import flags_ignored, is_quick, is_silent, options_of, quiet_function, routine_function
from jitflow.runtime.calls.host_call_fields import ARRAY_FIELDS, NUMBER_KINDS, RESULT_FIELDS, SITE_FIELDS
from jitflow.runtime.native.entry_support import api_table
from jitflow.runtime.native.object_layout import layout_is_known
from jitflow.runtime.native.pool import pool
from jitflow.runtime.native.python_api import numpy_function

__all__ = ["CallRecord"]


class CallRecord:
    """What one ``invoke`` runs, as native code reads it. ``slow`` is the function for what the fast way does not do."""

    def __init__(self, attributes: Mapping[str, Any], slow: int) -> None:
        gives, takes = attributes["gives"], attributes["takes"]
        routine = attributes["routine"]
        self._dtypes = [dtype.numpy for dtype, _ in gives]
        self._ranks = [len(dims) for _, dims in gives]
        self._is_slow = not layout_is_known() or not is_quick(routine) or not gives
        names = [*attributes["keywords"], *[""] * (len(takes) - len(attributes["keywords"]))]
        self._order = sorted(range(len(takes)), key=lambda place: bool(names[place]))
        """The operands in the order in which they are handed over: those by position first."""
        options = {} if self._is_slow else _unlike_defaults(routine, options_of(attributes["options"]))
        self._options = tuple(options.values())
        self._keywords = (*filter(None, names), *options)
        self._taken = [dtype.numpy for dtype, _ in takes]
        self._places = [place for place, (_, kind) in enumerate(takes) if isinstance(kind, int)]
        starts = list(accumulate((1 + 2 * (kind if isinstance(kind, int) else 0) for _, kind in takes), initial=0))
        rows = [self._number(place, takes[place], starts[place]) for place in range(len(takes))
                if place not in self._places]  # fmt: skip
        self._numbers = _table(rows)
        self._arrays = _table([(0, starts[place], 2 * takes[place][1]) for place in self._places])
        self._words = _table([(0,) * starts[-1]])
        self._described = _table([(0,) * len(RESULT_FIELDS)] * len(gives))
        self._firsts = _table([_first_words([dims for _, dims in gives])])
        self._kept: tuple[Any, ...] = ()
        self._writing = threading.Lock()
        variable, value = (None, None) if is_silent(routine) else flags_ignored()
        self._owned = (None if self._is_slow else quiet_function(routine), variable, value)
        self._fields = (ctypes.c_int64 * len(SITE_FIELDS))()
        self._set(
            api=api_table(),
            slow=slow,
            callable=id(self._owned[0]),
            positional=names.count(""),
            keywords=id(self._keywords) if self._keywords else 0,
            operand_words=starts[-1],
            results=len(gives),
            firsts=ctypes.addressof(self._firsts),
            variable=0 if variable is None else id(variable),
            value=0 if variable is None else id(value),
            allocate=pool().allocate_address,
            handler=id(pool().handler),
            described=ctypes.addressof(self._described),
            words=ctypes.addressof(self._words),
            array_count=len(self._places),
            arrays=ctypes.addressof(self._arrays),
            number_count=len(rows),
            numbers=ctypes.addressof(self._numbers),
            update_flags=numpy_function("PyArray_UpdateFlags"),
        )

    @property
    def address(self) -> int:
        """Where it lies."""
        return ctypes.addressof(self._fields)

    def note(self, words: bytes, arguments: Sequence[Any], result: Any) -> None:
        """Keep the arguments of a call for the next one, if the fast way can do it."""
        if self._is_slow or not self._writing.acquire(blocking=False):
            return
        try:
            self._write(words, arguments, result)
        finally:
            self._writing.release()

    def _write(self, words: bytes, given: Sequence[Any], result: Any) -> None:
        """Native code reads all of this at once, while it holds the GIL: so first there is nothing, then all is new."""
        items = (result,) if len(self._dtypes) == 1 else tuple(result)
        described = [self._description(*item) for item in zip(items, self._dtypes, self._ranks, strict=True)]
        if not all(described) or not isinstance(result, tuple | np.ndarray | np.generic):
            self._is_slow = True
            return
        arguments = (*(given[place] for place in self._order), *self._options)
        self._set(arguments=0)
        before, self._kept = self._kept, (arguments, type(result))
        self._described[:] = [word for fields in described for word in fields]
        for row, place in enumerate(self._places):
            self._arrays[row * len(ARRAY_FIELDS)] = id(given[place])
        self._words[:] = list(struct.unpack(f"{len(words) // 8}q", words)) or [0]
        self._set(result_type=id(type(result)) if len(self._dtypes) != 1 else 0)
        self._set(arguments=id(arguments))
        del before  # what another thread is about to use is owned by it

    def _number(self, operand: int, taken: tuple[DType, str], start: int) -> tuple[int, ...]:
        """The `NUMBER_FIELDS` of an operand."""
        dtype, kind = taken
        chosen = NUMBER_KINDS.index("numpy" if kind == "numpy" else dtype.name)
        return (chosen, id(self._taken[operand]), start, self._order.index(operand))

    def _description(self, item: Any, dtype: np.dtype[Any], rank: int) -> tuple[int, ...]:
        if type(item) is np.ndarray:
            return (id(np.ndarray), id(dtype), dtype.num, rank, dtype.itemsize)
        if type(item) is dtype.type and not rank:
            return (id(dtype.type), 0, 0, 0, dtype.itemsize)
        return ()

    def _set(self, **fields: int) -> None:
        for name, value in fields.items():
            self._fields[SITE_FIELDS.index(name)] = value


def _unlike_defaults(routine: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a routine has to be told: what goes by keyword takes time."""
    known = _defaults(routine)
    return {name: value for name, value in options.items()
            if name not in known or type(value) is not type(known[name]) or value != known[name]}  # fmt: skip


@cache
def _defaults(routine: str) -> Mapping[str, Any]:
    try:
        parameters = inspect.signature(routine_function(routine)).parameters.values()
    except (TypeError, ValueError):  # a function in C that does not say what it takes
        return {}
    return {parameter.name: parameter.default for parameter in parameters}


def _table(rows: Sequence[Sequence[int]]) -> Any:
    """Rows of 64-bit words, one after the other."""
    words = [word for row in rows for word in row] or [0]
    return (ctypes.c_int64 * len(words))(*words)


def _first_words(results: Sequence[Sequence[int]]) -> list[int]:
    """For each word of the results the place of the first word of that size; -1 where the call binds none."""
    firsts: dict[int, int] = {}
    words: list[int] = []
    for sizes in results:
        words.append(-1)
        for size in sizes:
            words.append(-1 if size < 0 else firsts.setdefault(size, len(words)))
    return words
