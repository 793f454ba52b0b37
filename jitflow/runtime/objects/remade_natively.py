"""Python's lists, tuples and dicts of numbers and of each other, made by native code of the words that a call has told.

A *recipe* says what a type of containers is: its kind, then in pairs of words what the key and the item of an entry
are, and how many parts a tuple has, or where the recipe of a container is. Lists and dicts are filled in the order in
which they were come to, so that what several hold is made once; tuples are made with all that is in them, as deep as
their type is.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from jitflow.ir.named_types import Named
from jitflow.ir.types import Container, Item, Scalar
from jitflow.runtime.native.entry_support import api_table
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.native_code import NativeCode, make_immortal
from jitflow.runtime.native.python_api import PythonCalls

__all__ = ["Remaking", "recipe_of"]

_KINDS = ("list", "tuple", "dict")
_LIST, _TUPLE, _DICT = range(3)
_INT, _FLOAT, _BOOL, _PARTS, _CONTAINER = range(5)
_CODES = {bool: _BOOL, int: _INT, float: _FLOAT}
_GIVEN = ("ptr %api", "ptr %objects", "ptr %state")
_WORDS, _TABLES, _QUEUE, _QUEUED = 0, 8, 16, 24
"""Where the state has the addresses of the words, of where the entries of each container begin and how many there are,
and of the containers that are to be filled, and how many of these there have been."""


class _NotNative(Exception):
    """A type of what native code does not make."""


@cache
def recipe_of(held: Container) -> array[int] | None:
    """The recipe of a type of containers; None where Python makes them."""
    if held.kind not in _KINDS:
        return None
    try:
        words = [_KINDS.index(held.kind), *_pairs(held.key), *_pairs(held.item)]
    except _NotNative:
        return None
    return array("q", words)


def _pairs(item: Item | None) -> Iterator[int]:
    if isinstance(item, tuple) and item and not isinstance(item, Named):
        yield from (_PARTS, len(item))
        for part in item:
            yield from _pairs(part)
    elif isinstance(item, Container):
        if (recipe := recipe_of(item)) is None:
            raise _NotNative
        yield from (_CONTAINER, recipe.buffer_info()[0])
    elif type(item) is Scalar and item.weak and not item.dtype.is_complex:
        yield from (_CODES[type(item.dtype.numpy.type(0).item())], 0)
    elif item is not None:
        raise _NotNative


class Remaking:
    """Makes the containers of one call, each once: by its number in ``words``, behind the first ``count``."""

    def __init__(self, words: Any, count: int) -> None:
        index, self._make, self._api = _functions()
        first = words.__array_interface__["data"][0]
        self._tables = array("q", bytes(8 * len(words)))
        told = index(first, count, len(words), self._tables.buffer_info()[0])
        self._objects: list[Any] = [None] * (told + 1)
        self._queue = array("q", bytes(16 * told + 16))
        self._state = array("q", (first, self._tables.buffer_info()[0], self._queue.buffer_info()[0], 0))

    def make(self, recipe: array[int], number: int) -> Any:
        """A container, with all that it leads to; None for 0."""
        recipe_address, state = recipe.buffer_info()[0], self._state.buffer_info()[0]
        return self._make(self._api, self._objects, state, recipe_address, number)


@cache
def _functions() -> tuple[Callable[..., int], Callable[..., Any], int]:
    code = NativeCode(_text)
    make_immortal(code)
    address, size, thing = ctypes.c_void_p, ctypes.c_int64, ctypes.py_object
    index = ctypes.PYFUNCTYPE(size, address, size, size, address)(code.address("index_tables"))
    make = ctypes.PYFUNCTYPE(thing, address, thing, address, address, size)(code.address("make_root"))
    return index, make, api_table()


def _text() -> str:
    return "\n".join([_index_tables(), _make_item(), _make_object(), _fill(), _make_root()])


def _index_tables() -> str:
    """Note where the entries of each container begin, and how many there are; gives the number of containers."""
    function = FunctionText("i64 @index_tables(ptr %words, i64 %first, i64 %end, ptr %tables)")
    slots = function.stack(2)
    function.store("i64", "%first", slots)
    function.store("i64", "0", slots, 8)
    head, done = function.label("head"), function.label("done")
    function.jump(head)
    function.begin(head)
    place = function.load("i64", slots)
    function.require(function.compare("slt", place, "%end"), done)
    told = function.element("%words", place)
    width, rows, start = function.load("i64", told), function.load("i64", told, 8), function.let(f"add i64 {place}, 2")
    table = function.element("%tables", function.load("i64", slots, 8))
    function.store("i64", start, table)
    function.store("i64", rows, table, 8)
    function.add_to(slots, 8, "2")
    function.store("i64", function.let(f"add i64 {start}, {function.let(f'mul i64 {width}, {rows}')}"), slots)
    function.jump(head)
    function.begin(done)
    function.give("i64", function.let(f"lshr i64 {function.load('i64', slots, 8)}, 1"))
    return function.text()


def _entries(function: FunctionText, number: str) -> tuple[str, str]:
    """Where the entries of a container begin, and how many there are."""
    index = function.let(f"shl i64 {function.let(f'sub i64 {number}, 1')}, 1")
    table = function.element(function.load("ptr", "%state", _TABLES), index)
    return function.element(function.load("ptr", "%state", _WORDS), function.load("i64", table)), function.load(
        "i64", table, 8
    )


def _make_item() -> str:
    """A new reference to what the next pairs and words say; both pointers move on. Null where Python has raised."""
    function = FunctionText(f"internal ptr @make_item({', '.join(_GIVEN)}, ptr %pairs, ptr %places)")
    python = PythonCalls(function, "%api")
    pair = function.load("ptr", "%pairs")
    code, about = function.load("i64", pair), function.load("i64", pair, 8)
    function.store("ptr", function.at(pair, 16), "%pairs")
    with function.when(function.compare("eq", code, str(_PARTS))):
        _give_tuple(function, python, about, lambda: ("ptr %pairs", "ptr %places"))
    word = function.load("ptr", "%places")
    function.store("ptr", function.at(word, 8), "%places")
    with function.when(function.compare("eq", code, str(_INT))):
        function.give("ptr", python.call("ptr", "PyLong_FromLongLong", f"i64 {function.load('i64', word)}"))
    with function.when(function.compare("eq", code, str(_FLOAT))):
        function.give("ptr", python.call("ptr", "PyFloat_FromDouble", f"double {function.load('double', word)}"))
    with function.when(function.compare("eq", code, str(_BOOL))):
        truth = function.let(f"zext i8 {function.load('i8', word)} to i64")
        function.give("ptr", python.call("ptr", "PyBool_FromLong", f"i64 {truth}"))
    recipe = function.let(f"inttoptr i64 {about} to ptr")
    number = function.load("i64", word)
    function.give("ptr", function.call("ptr", "@make_object", *_GIVEN, f"ptr {recipe}", f"i64 {number}"))
    return function.text()


def _give_tuple(
    function: FunctionText, python: PythonCalls, count: str, pointers: Callable[[], tuple[str, str]], number: str = ""
) -> None:
    """Return a tuple of so many things, noted as the container of a number."""
    failed, gone = function.label("failed"), function.label("gone")
    made = python.call("ptr", "PyTuple_New", f"i64 {count}")
    function.require_not(function.is_null(made), gone)
    with function.each_below(count) as index:
        item = function.call("ptr", "@make_item", *_GIVEN, *pointers())
        function.require_not(function.is_null(item), failed)
        python.call("i32", "PyTuple_SetItem", f"ptr {made}", f"i64 {index}", f"ptr {item}")
    if number:
        _note(python, made, number)
    function.give("ptr", made)
    function.begin(failed)
    python.release(made)
    function.jump(gone)
    function.begin(gone)
    function.give("ptr", "null")


def _note(python: PythonCalls, made: str, number: str) -> None:
    """The list of objects has a container under its number."""
    python.own(made)
    python.call("i32", "PyList_SetItem", "ptr %objects", f"i64 {number}", f"ptr {made}")


def _make_object() -> str:
    """A new reference to a container, in which nothing is yet unless it is a tuple. Null where Python has raised."""
    function = FunctionText(f"internal ptr @make_object({', '.join(_GIVEN)}, ptr %recipe, i64 %number)")
    python, slots, gone = PythonCalls(function, "%api"), function.stack(3), function.label("gone")
    nothing = python.call("ptr", "PyList_GetItem", "ptr %objects", "i64 0")
    known = python.call("ptr", "PyList_GetItem", "ptr %objects", "i64 %number")
    is_none = function.compare("eq", "%number", "0")
    is_made = function.let(f"or i1 {is_none}, {function.compare('ne', known, nothing, 'ptr')}")
    with function.when(is_made):
        python.own(known)
        function.give("ptr", known)
    start, rows = _entries(function, "%number")
    kind = function.load("i64", "%recipe")
    with function.when(function.compare("eq", kind, str(_TUPLE))):
        function.store("ptr", start, slots, 8)

        def pointers() -> tuple[str, str]:
            function.store("ptr", function.at("%recipe", 8), slots)
            return f"ptr {slots}", f"ptr {function.at(slots, 8)}"

        _give_tuple(function, python, rows, pointers, "%number")
    function.store("ptr", "null", slots, 16)
    with function.when(function.compare("eq", kind, str(_LIST))):
        function.store("ptr", python.call("ptr", "PyList_New", f"i64 {rows}"), slots, 16)
    with function.when(function.compare("eq", kind, str(_DICT))):
        function.store("ptr", python.call("ptr", "PyDict_New"), slots, 16)
    made = function.load("ptr", slots, 16)
    function.require_not(function.is_null(made), gone)
    _note(python, made, "%number")
    place = function.let(f"shl i64 {function.load('i64', '%state', _QUEUED)}, 1")
    waiting = function.element(function.load("ptr", "%state", _QUEUE), place)
    function.store("i64", "%number", waiting)
    function.store("ptr", "%recipe", waiting, 8)
    function.add_to("%state", _QUEUED, "1")
    function.give("ptr", made)
    function.begin(gone)
    function.give("ptr", "null")
    return function.text()


def _fill() -> str:
    """Put its items into a list or dict; 0 where Python has raised."""
    function = FunctionText(f"internal i64 @fill({', '.join(_GIVEN)}, ptr %recipe, i64 %number)")
    python, slots, gone = PythonCalls(function, "%api"), function.stack(2), function.label("gone")
    made = python.call("ptr", "PyList_GetItem", "ptr %objects", "i64 %number")
    start, rows = _entries(function, "%number")
    function.store("ptr", start, slots, 8)
    given = (*_GIVEN, f"ptr {slots}", f"ptr {function.at(slots, 8)}")
    with function.when(function.compare("eq", function.load("i64", "%recipe"), str(_LIST))):
        with function.each_below(rows) as index:
            function.store("ptr", function.at("%recipe", 8), slots)
            item = function.call("ptr", "@make_item", *given)
            function.require_not(function.is_null(item), gone)
            python.call("i32", "PyList_SetItem", f"ptr {made}", f"i64 {index}", f"ptr {item}")
        function.give("i64", "1")
    with function.each_below(rows):
        function.store("ptr", function.at("%recipe", 8), slots)
        key = function.call("ptr", "@make_item", *given)
        function.require_not(function.is_null(key), gone)
        item = function.call("ptr", "@make_item", *given)
        with function.when(function.is_null(item)):
            python.release(key)
            function.jump(gone)
        status = python.call("i32", "PyDict_SetItem", f"ptr {made}", f"ptr {key}", f"ptr {item}")
        python.release(key)
        python.release(item)
        function.require(function.compare("eq", status, "0", "i32"), gone)
    function.give("i64", "1")
    function.begin(gone)
    function.give("i64", "0")
    return function.text()


def _make_root() -> str:
    """A new reference to a container with all that is in it. Null where Python has raised."""
    function = FunctionText(f"ptr @make_root({', '.join(_GIVEN)}, ptr %recipe, i64 %number)")
    python, slots = PythonCalls(function, "%api"), function.stack(1)
    gone, head, done, failed = (function.label(hint) for hint in ("gone", "head", "done", "failed"))
    function.store("i64", function.load("i64", "%state", _QUEUED), slots)
    made = function.call("ptr", "@make_object", *_GIVEN, "ptr %recipe", "i64 %number")
    function.require_not(function.is_null(made), gone)
    function.jump(head)
    function.begin(head)
    filled = function.load("i64", slots)
    function.require(function.compare("slt", filled, function.load("i64", "%state", _QUEUED)), done)
    waiting = function.element(function.load("ptr", "%state", _QUEUE), function.let(f"shl i64 {filled}, 1"))
    number, recipe = function.load("i64", waiting), function.load("ptr", waiting, 8)
    is_full = function.call("i64", "@fill", *_GIVEN, f"ptr {recipe}", f"i64 {number}")
    function.require(function.compare("ne", is_full, "0"), failed)
    function.add_to(slots, 0, "1")
    function.jump(head)
    function.begin(done)
    function.give("ptr", made)
    function.begin(failed)
    python.release(made)
    function.jump(gone)
    function.begin(gone)
    function.give("ptr", "null")
    return function.text()
