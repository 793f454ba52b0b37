"""What Python's objects hold as words, read by native code.

It looks at each object once. Python's own loops in C go through all of them for each question (of which class, how
long, which number), and most of a call that is passed lists was that.

A *shape* says what each of many objects has to be, in groups of three words: what is read, the class, and what else
there is to know. The parts of a tuple follow it.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from jitflow.ir.types import TEXT, Container, Item, Scalar
from jitflow.runtime.native.entry_support import api_table
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.native_code import NativeCode, make_immortal
from jitflow.runtime.native.python_api import PythonCalls

__all__ = ["Shape", "read_words"]

_INT, _FLOAT, _NUMPY, _TUPLE, _OBJECT = range(5)
_GROUP = 24
"""The bytes of three words."""


class Shape:
    """What the items of a type are. Raises TypeError for a type of which no words are read.

    ``classes`` gives the class of a type of containers, whose words are addresses.
    """

    def __init__(self, item: Item | None, classes: Callable[[Container], type]) -> None:
        self.inner: list[tuple[int, tuple[int, ...], Container]] = []
        """Which words are containers, in which parts of parts of an item, and of which type."""
        self._classes = classes
        self.width = 0
        self.words = array("q", () if item is None else self._groups(item, ()))
        self.address = self.words.buffer_info()[0]

    def _groups(self, item: Item, way: tuple[int, ...]) -> Iterator[int]:
        if isinstance(item, tuple):
            yield from (_TUPLE, id(tuple), len(item))
            for number, part in enumerate(item):
                yield from self._groups(part, (*way, number))
            return
        self.width += 1
        if isinstance(item, Container) and item != TEXT:
            self.inner.append((self.width - 1, way, item))
            yield from (_OBJECT, id(self._classes(item)), 0)
        elif type(item) is not Scalar or item.dtype.is_complex:
            raise TypeError("expected numbers of one kind")
        elif item.weak:
            kind = type(item.dtype.numpy.type(0).item())
            yield from (_FLOAT if kind is float else _INT, id(kind), 0)
        else:
            dtype = item.dtype.numpy
            yield from (_NUMPY, id(dtype.type), 64 - 8 * dtype.itemsize if dtype.kind == "i" else 0)


def read_words(things: list[Any], shape: Shape, words: array[int], first: int, step: int) -> None:
    """Put the words of objects into an array, those of the first from a place on, ``step`` places from one to the next.

    Raises TypeError where an object has another shape, where an int has more than 64 bits, and where there are not as
    many as the array has room for: another thread has changed the container that they come from.
    """
    if step * len(things) != len(words):
        raise TypeError("expected containers that stay as they are")
    read, api = _reader()
    if not read(api, things, shape.address, words.buffer_info()[0] + 8 * first, 8 * step):
        raise TypeError("expected things of another type, or ints of up to 64 bits")


@cache
def _reader() -> tuple[Callable[..., int], int]:
    code = NativeCode(_text)
    make_immortal(code)
    address, size, thing = ctypes.c_void_p, ctypes.c_int64, ctypes.py_object
    prototype = ctypes.PYFUNCTYPE(size, address, thing, address, address, size)
    return prototype(code.address("read_items")), api_table()


def _text() -> str:
    return "\n".join([_read_item(), _read_items()])


def _read_items() -> str:
    """Read all objects in a list; 0 where one is not of the shape."""
    function = FunctionText("i64 @read_items(ptr %api, ptr %things, ptr %shape, ptr %words, i64 %step)")
    python = PythonCalls(function, "%api", ahead=True)
    mismatch, place = function.label("mismatch"), function.stack(1)
    count = python.call("i64", "PyList_Size", "ptr %things")
    with function.each_below(count) as index:
        thing = python.call("ptr", "PyList_GetItem", "ptr %things", f"i64 {index}")
        offset = function.let(f"mul i64 {index}, %step")
        function.store("ptr", function.let(f"getelementptr i8, ptr %words, i64 {offset}"), place)
        given = ("ptr %api", f"ptr {thing}", "ptr %shape", f"ptr {place}")
        function.require_not(function.is_null(function.call("ptr", "@read_item", *given)), mismatch)
    function.give("i64", "1")
    function.begin(mismatch)
    function.give("i64", "0")
    return function.text()


def _read_item() -> str:
    """Read one object to a place, which moves on; gives the rest of the shape, null where the object is another."""
    function = FunctionText("internal ptr @read_item(ptr %api, ptr %thing, ptr %shape, ptr %place)")
    python = PythonCalls(function, "%api")
    mismatch, slots = function.label("mismatch"), function.stack(1)
    kind = python.call("ptr", "PyObject_Type", "ptr %thing")
    python.release(kind)  # the object owns it as well
    function.require(function.compare("eq", kind, function.load("ptr", "%shape", 8), "ptr"), mismatch)
    code, about = function.load("i64", "%shape"), function.load("i64", "%shape", 16)
    rest = function.at("%shape", _GROUP)
    with function.when(function.compare("eq", code, str(_TUPLE))):
        size = python.call("i64", "PyTuple_Size", "ptr %thing")
        function.require(function.compare("eq", size, about), mismatch)
        function.store("ptr", rest, slots)
        with function.each_below(about) as index:
            part = python.call("ptr", "PyTuple_GetItem", "ptr %thing", f"i64 {index}")
            given = ("ptr %api", f"ptr {part}", f"ptr {function.load('ptr', slots)}", "ptr %place")
            following = function.call("ptr", "@read_item", *given)
            function.require_not(function.is_null(following), mismatch)
            function.store("ptr", following, slots)
        function.give("ptr", function.load("ptr", slots))
    word = function.load("ptr", "%place")
    function.store("ptr", function.at(word, 8), "%place")
    with function.when(function.compare("eq", code, str(_INT))):
        number = python.call("i64", "PyLong_AsLongLongAndOverflow", "ptr %thing", f"ptr {slots}")
        function.store("i64", number, word)
        fits = function.compare("eq", function.load("i32", slots), "0", "i32")
        function.give("ptr", function.let(f"select i1 {fits}, ptr {rest}, ptr null"))
    with function.when(function.compare("eq", code, str(_FLOAT))):
        function.store("double", python.call("double", "PyFloat_AsDouble", "ptr %thing"), word)
        function.give("ptr", rest)
    with function.when(function.compare("eq", code, str(_NUMPY))):
        function.store("i64", "0", word)
        python.run("PyArray_ScalarAsCtype", "ptr %thing", f"ptr {word}")
        high = function.let(f"shl i64 {function.load('i64', word)}, {about}")
        function.store("i64", function.let(f"ashr i64 {high}, {about}"), word)
        function.give("ptr", rest)
    function.store("ptr", "%thing", word)
    function.give("ptr", rest)
    function.begin(mismatch)
    function.give("ptr", "null")
    return function.text()
