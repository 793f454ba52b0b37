"""The first half of a native entry: reading registers, checking guards, packing slots.

Arrays of one class (dtype, rank, layout, ones) share one checking function, and dicts share one
that compares all keys and reads all values in a single pass: a call with a dict of twenty arrays
then costs twenty calls, not twenty copies of the code.

A guard of a rare kind is answered by the Python entry's own `guard_holds`.
"""

from __future__ import annotations

from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from jitflow.runtime import object_layout as layout
from jitflow.runtime import plan as p
from jitflow.runtime.dtypes import numpy_dtype, same_layout_dtypes
from jitflow.runtime.entry_frame import EntryFrame
from jitflow.runtime.entry_python import builtins_of, guard_holds, scalar_types
from jitflow.runtime.llvm_text import FunctionText
from jitflow.runtime.python_api import PythonCalls

_COMPARE_EQUAL = 2
"""Python's `Py_EQ`."""

_SIMPLE_CONSTANTS = (str, bytes, int, bool, type(None))
"""Types whose comparison with `==` runs no Python code and is exact."""

_ArrayClass = tuple[str, int, str, bool, tuple[bool, ...]]


class CheckWriter:
    """Writes the reads and checks of a plan in their order."""

    def __init__(self, frame: EntryFrame) -> None:
        self._frame = frame
        self._function = frame.function
        self._python = frame.python
        self._types: dict[int, type] = {}
        self._dict_values: dict[tuple[int, Any], int] = {}
        self.registers: dict[int, str] = {}
        self.array_classes: dict[_ArrayClass, str] = {}
        self.uses_keys = False
        self.array_bytes = "0"

    def write(self) -> None:
        """All checks, then the reads that no check needed."""
        function, frame = self._function, self._frame
        function.require(function.equal("i64", "%count", str(len(frame.plan.parameter_names))), frame.mismatch)
        for check in frame.plan.checks:
            self._check(check, self.register(check.register))
        for number in range(len(frame.plan.reads)):
            self.register(number)

    # -- reads -------------------------------------------------------------------------------------

    def register(self, number: int) -> str:
        """The object in a register, read on first use."""
        if number not in self.registers:
            self.registers[number] = self._read(self._frame.plan.reads[number])
        return self.registers[number]

    def _read(self, read: p.Read) -> str:
        frame, python = self._frame, self._python
        match read:
            case p.Argument(index):
                return self._function.load("ptr", "%call_arguments", 8 * index)
            case p.Global(namespace, name):
                return self._own(self._read_global(namespace, name))
            case p.Cell(cell):
                return self._keep(python.call("ptr", "PyCell_Get", f"ptr {frame.constant(cell)}"))
            case p.Attribute(parent, name):
                thing, name_object = self.register(parent), frame.constant(name)
                return self._keep(python.call("ptr", "PyObject_GetAttr", f"ptr {thing}", f"ptr {name_object}"))
            case p.Item(parent, key):
                return self._read_item(parent, key)

    def _read_global(self, namespace: dict[str, Any], name: str) -> str:
        """Look in the namespace, then among its builtins, as `LOAD_GLOBAL` does."""
        frame, function = self._frame, self._function
        name_object = frame.constant(name)
        scope = frame.constant(namespace)
        found = self._python.call("ptr", "PyDict_GetItemWithError", f"ptr {scope}", f"ptr {name_object}")
        outside, done = function.label("outside"), function.label("found")
        first = function.label("global")
        function.jump(first)
        function.begin(first)
        function.branch(function.is_null(found), outside, done)
        function.begin(outside)
        builtin_scope = frame.constant(builtins_of(namespace))
        builtin = self._python.call("ptr", "PyDict_GetItemWithError", f"ptr {builtin_scope}", f"ptr {name_object}")
        function.jump(done)
        function.begin(done)
        return function.let(f"phi ptr [{found}, %{first}], [{builtin}, %{outside}]")

    def _read_item(self, parent: int, key: Any) -> str:
        thing, container = self.register(parent), self._types.get(parent, object)
        if (parent, key) in self._dict_values:
            return self._function.load("ptr", self._frame.owned, 8 * self._dict_values[parent, key])
        if issubclass(container, tuple):
            item = self._python.call("ptr", "PyTuple_GetItem", f"ptr {thing}", f"i64 {key}")
            self._function.require_not(self._function.is_null(item), self._frame.unreadable)
            return item
        if container is list:
            return self._own(self._python.call("ptr", "PyList_GetItem", f"ptr {thing}", f"i64 {key}"))
        if container is dict:
            key_object = self._frame.constant(key)
            return self._own(self._python.call("ptr", "PyDict_GetItemWithError", f"ptr {thing}", f"ptr {key_object}"))
        raise ValueError(f"an item of register {parent} is read before a guard fixed the type of that register")

    def _own(self, borrowed: str) -> str:
        """Take a reference to what is borrowed from something that may change."""
        self._function.require_not(self._function.is_null(borrowed), self._frame.unreadable)
        self._python.own(borrowed)
        return self._store_owned(borrowed)

    def _keep(self, reference: str) -> str:
        """Keep a new reference until the end."""
        self._function.require_not(self._function.is_null(reference), self._frame.unreadable)
        return self._store_owned(reference)

    def _store_owned(self, reference: str) -> str:
        self._function.store("ptr", reference, self._frame.owned, 8 * self._frame.take_owned())
        return reference

    # -- guards ------------------------------------------------------------------------------------

    def _check(self, check: p.Check, thing: str) -> None:
        match check:
            case p.IsObject(_, expected):
                self._require_same(thing, self._frame.constant(expected))
            case p.IsType(register, expected):
                self._types[register] = expected
                self._require_type(thing, expected)
            case p.HasLength(_, length):
                self._check_length(thing, length)
            case p.KeysAre():
                self._check_keys(check, thing)
            case p.EqualsConstant():
                self._check_constant(check, thing)
            case p.FunctionIs():
                self._check_function(check, thing)
            case p.ArrayLeaf():
                self._pack_array(check, thing)
            case p.ScalarLeaf():
                self._require_scalar_type(check, thing)
                self._pack_scalar(check, thing)

    def _require_same(self, left: str, right: str) -> None:
        self._function.require(self._function.equal("ptr", left, right), self._frame.mismatch)

    def _require_type(self, thing: str, expected: type) -> None:
        self._require_same(self._frame.type_of(thing), self._frame.constant(expected))

    def _check_length(self, thing: str, length: int) -> None:
        found = self._python.call("i64", "PyObject_Size", f"ptr {thing}")
        self._function.require(self._function.equal("i64", found, str(length)), self._frame.unreadable)

    def _check_keys(self, guard: p.KeysAre, thing: str) -> None:
        frame, function = self._frame, self._function
        self.uses_keys = True
        self._types[guard.register] = dict
        self._require_type(thing, dict)
        place = frame.take_owned(len(guard.keys))
        for number, key in enumerate(guard.keys):
            self._dict_values[guard.register, key] = place + number
        values = function.at(frame.owned, 8 * place)
        matches = function.call(
            "i1",
            f"@{frame.name}_read_dict",
            f"ptr {frame.table}",
            f"ptr {thing}",
            f"ptr {frame.constant(guard.keys)}",
            f"ptr {values}",
        )
        function.require(matches, frame.unreadable)

    def _check_constant(self, guard: p.EqualsConstant, thing: str) -> None:
        frame, function = self._frame, self._function
        self._require_type(thing, guard.type)
        value = frame.constant(guard.value)
        if guard.type in (float, complex):
            words = 1 if guard.type is float else 2
            for place in range(layout.VALUE, layout.VALUE + 8 * words, 8):
                bits = function.load("i64", thing, place), function.load("i64", value, place)
                function.require(function.equal("i64", *bits), frame.mismatch)
        elif guard.type in _SIMPLE_CONSTANTS:
            equal = self._python.call(
                "i32", "PyObject_RichCompareBool", f"ptr {thing}", f"ptr {value}", f"i32 {_COMPARE_EQUAL}"
            )
            function.require(function.equal("i32", equal, "1"), frame.unreadable)
        else:
            self._ask_python(guard, thing)

    def _check_function(self, guard: p.FunctionIs, thing: str) -> None:
        """Compare the parts by identity; where that fails, let Python compare them item by item."""
        frame, function, python = self._frame, self._function, self._python
        self._require_type(thing, FunctionType)
        code = python.call("ptr", "PyFunction_GetCode", f"ptr {thing}")
        self._require_same(code, frame.constant(guard.code))
        unsure, done = function.label("unsure"), function.label("same")
        if guard.keyword_defaults:
            function.jump(unsure)
        else:
            parts = (
                ("PyFunction_GetDefaults", guard.defaults),
                ("PyFunction_GetKwDefaults", None),
                ("PyFunction_GetClosure", guard.closure),
            )
            for getter, expected in parts:
                part = python.call("ptr", getter, f"ptr {thing}")
                wanted = "null" if expected is None else frame.constant(expected)
                function.require(function.equal("ptr", part, wanted), unsure)
            function.jump(done)
        function.begin(unsure)
        self._ask_python(guard, thing)
        function.jump(done)
        function.begin(done)

    def _ask_python(self, guard: p.Guard, thing: str) -> None:
        frame, function, python = self._frame, self._function, self._python
        question = frame.constant(partial(guard_holds, guard))
        answer = python.call("ptr", "PyObject_CallOneArg", f"ptr {question}", f"ptr {thing}")
        function.require_not(function.is_null(answer), frame.failed)
        truth = python.call("i32", "PyObject_IsTrue", f"ptr {answer}")
        python.release(answer)
        function.require(function.equal("i32", truth, "1"), frame.mismatch)

    # -- leaves ------------------------------------------------------------------------------------

    def _pack_array(self, leaf: p.ArrayLeaf, thing: str) -> None:
        frame, function = self._frame, self._function
        array_class = (leaf.dtype, leaf.rank, leaf.layout, leaf.writeable, leaf.ones)
        if array_class not in self.array_classes:
            self.array_classes[array_class] = f"{frame.name}_array_{len(self.array_classes)}"
        aliases = same_layout_dtypes(leaf.dtype)
        dtype = numpy_dtype(leaf.dtype)
        nbytes = function.call(
            "i64",
            f"@{self.array_classes[array_class]}",
            f"ptr {thing}",
            f"ptr {frame.constant(np.ndarray)}",
            f"ptr {frame.constant(dtype)}",
            f"ptr {frame.constant(aliases[0] if aliases else dtype)}",
            f"ptr {function.at(frame.arguments, 8 * leaf.slot)}",
        )
        function.require_not(function.let(f"icmp slt i64 {nbytes}, 0"), frame.mismatch)
        self.array_bytes = function.let(f"add i64 {self.array_bytes}, {nbytes}")

    def _require_scalar_type(self, leaf: p.ScalarLeaf, thing: str) -> None:
        function, frame = self._function, self._frame
        found = frame.type_of(thing)
        fits = [function.equal("ptr", found, frame.constant(accepted)) for accepted in scalar_types(leaf)]
        either = fits[0]
        for fit in fits[1:]:
            either = function.let(f"or i1 {either}, {fit}")
        function.require(either, frame.mismatch)

    def _pack_scalar(self, leaf: p.ScalarLeaf, thing: str) -> None:
        function, frame = self._function, self._frame
        if leaf.kind == "python" and leaf.dtype == "bool":
            is_true = function.equal("ptr", thing, frame.constant(True))
            words = [function.let(f"zext i1 {is_true} to i64")]
        elif leaf.kind == "python" and leaf.dtype == "i64":
            words = [self._long_value(thing)]
        else:
            words = _scalar_words(function, thing, numpy_dtype(leaf.dtype))
        for place, word in enumerate(words):
            function.store("i64", word, frame.arguments, 8 * (leaf.slot + place))

    def _long_value(self, thing: str) -> str:
        function, scratch = self._function, self._frame.scratch
        value = self._python.call("i64", "PyLong_AsLongLongAndOverflow", f"ptr {thing}", f"ptr {scratch}")
        function.require(function.equal("i32", function.load("i32", scratch), "0"), self._frame.mismatch)
        return value


def _scalar_words(function: FunctionText, thing: str, dtype: np.dtype[Any]) -> list[str]:
    """The value of a number object as 64-bit words."""
    if dtype.itemsize >= 8:
        return [function.load("i64", thing, layout.VALUE + offset) for offset in range(0, dtype.itemsize, 8)]
    kind = f"i{8 * dtype.itemsize}"
    extension = "sext" if dtype.kind == "i" else "zext"
    return [function.let(f"{extension} {kind} {function.load(kind, thing, layout.VALUE)} to i64")]


# -- functions shared by the checks ----------------------------------------------------------------


def check_functions(name: str, checks: CheckWriter) -> list[str]:
    """The text of the functions that the checks call."""
    functions = [_array_function(symbol, *key) for key, symbol in checks.array_classes.items()]
    return [*functions, _read_dict_function(name)] if checks.uses_keys else functions


def _array_function(
    symbol: str, dtype: str, rank: int, layout_class: str, writeable: bool, ones: tuple[bool, ...]
) -> str:
    """Check an array and pack its slots; returns its bytes, or -1 when it is not of the class."""
    function = FunctionText(f"internal i64 @{symbol}(ptr %array, ptr %array_type, ptr %dtype, ptr %alias, ptr %slots)")
    mismatch = function.label("mismatch")
    itemsize = numpy_dtype(dtype).itemsize
    function.require(function.equal("ptr", function.load("ptr", "%array", 8), "%array_type"), mismatch)
    _require_dtype(function, mismatch)
    found_rank = function.load("i32", "%array", layout.ARRAY_RANK)
    function.require(function.equal("i32", found_rank, str(rank)), mismatch)
    mask, expected = _flags_of_class(layout_class, writeable)
    flags = function.load("i32", "%array", layout.ARRAY_FLAGS)
    function.require(function.equal("i32", function.let(f"and i32 {flags}, {mask}"), str(expected)), mismatch)
    dims_at = function.load("ptr", "%array", layout.ARRAY_DIMS)
    strides_at = function.load("ptr", "%array", layout.ARRAY_STRIDES)
    function.store("i64", function.load("i64", "%array", layout.ARRAY_DATA), "%slots")
    nbytes = str(itemsize)
    for axis, is_one in enumerate(ones):
        dim = function.load("i64", dims_at, 8 * axis)
        is_really_one = function.equal("i64", dim, "1")
        (function.require if is_one else function.require_not)(is_really_one, mismatch)
        function.store("i64", dim, "%slots", 8 * (1 + axis))
        nbytes = function.let(f"mul i64 {nbytes}, {dim}")
    for axis in range(rank):
        stride = function.load("i64", strides_at, 8 * axis)
        if axis == rank - 1 and layout_class in ("unit", "general"):
            touches = function.equal("i64", stride, str(itemsize))
            (function.require if layout_class == "unit" else function.require_not)(touches, mismatch)
        function.store("i64", stride, "%slots", 8 * (1 + rank + axis))
    function.give("i64", nbytes)
    function.begin(mismatch)
    function.give("i64", "-1")
    return function.text()


def _require_dtype(function: FunctionText, mismatch: str) -> None:
    """The very dtype object, or another of the same number and native byte order."""
    other, fits = function.label("other"), function.label("fits")
    found = function.load("ptr", "%array", layout.ARRAY_DTYPE)
    function.branch(function.equal("ptr", found, "%dtype"), fits, other)
    function.begin(other)
    number = function.load("i32", found, layout.DTYPE_NUMBER)
    is_number, is_alias = (
        function.equal("i32", number, function.load("i32", wanted, layout.DTYPE_NUMBER))
        for wanted in ("%dtype", "%alias")
    )
    order = function.load("i8", found, layout.DTYPE_BYTE_ORDER)
    is_native = function.let(f"icmp ne i8 {order}, {ord('>')}")
    same = function.let(f"and i1 {is_native}, {function.let(f'or i1 {is_number}, {is_alias}')}")
    function.branch(same, fits, mismatch)
    function.begin(fits)


def _flags_of_class(layout_class: str, writeable: bool) -> tuple[int, int]:
    """The flags that tell the class, and what they must be."""
    contiguous = {
        "C": (layout.C_CONTIGUOUS, layout.C_CONTIGUOUS),
        "F": (layout.C_CONTIGUOUS | layout.F_CONTIGUOUS, layout.F_CONTIGUOUS),
    }
    mask, expected = contiguous.get(layout_class, (layout.C_CONTIGUOUS | layout.F_CONTIGUOUS, 0))
    always = layout.ALIGNED | (layout.WRITEABLE if writeable else 0)
    return mask | always, expected | always


def _read_dict_function(name: str) -> str:
    """Compare the keys of a dict with a tuple, in order, and take references to the values."""
    function = FunctionText(f"internal i1 @{name}_read_dict(ptr %api, ptr %dict, ptr %keys, ptr %values)")
    python = PythonCalls(function, "%api")
    following, compare, agree, matched, mismatch = (
        function.label(hint) for hint in ("following", "compare", "agree", "matched", "mismatch")
    )
    cursor, key_place, number_place = function.stack(1), function.stack(1), function.stack(1)
    value_place = function.stack(1)
    function.store("i64", "0", cursor)
    function.store("i64", "0", number_place)
    count = python.call("i64", "PyTuple_Size", "ptr %keys")
    size = python.call("i64", "PyDict_Size", "ptr %dict")
    function.require(function.equal("i64", count, size), mismatch)
    function.jump(following)

    function.begin(following)
    number = function.load("i64", number_place)
    function.require(function.let(f"icmp slt i64 {number}, {count}"), matched)
    more = python.call("i32", "PyDict_Next", "ptr %dict", f"ptr {cursor}", f"ptr {key_place}", f"ptr {value_place}")
    function.require_not(function.equal("i32", more, "0"), mismatch)
    key, value = function.load("ptr", key_place), function.load("ptr", value_place)
    python.own(value)
    function.store("ptr", value, function.let(f"getelementptr ptr, ptr %values, i64 {number}"))
    expected = function.load("ptr", function.let(f"getelementptr ptr, ptr %keys, i64 {number}"), layout.TUPLE_ITEMS)
    function.branch(function.equal("ptr", key, expected), agree, compare)

    function.begin(compare)
    types = function.load("ptr", key, layout.OBJECT_TYPE), function.load("ptr", expected, layout.OBJECT_TYPE)
    function.require(function.equal("ptr", *types), mismatch)
    python.own(key)
    equal = python.call("i32", "PyObject_RichCompareBool", f"ptr {key}", f"ptr {expected}", f"i32 {_COMPARE_EQUAL}")
    python.release(key)
    function.branch(function.equal("i32", equal, "1"), agree, mismatch)

    function.begin(agree)
    function.store("i64", function.let(f"add i64 {number}, 1"), number_place)
    function.jump(following)
    function.begin(matched)
    function.give("i1", "true")
    function.begin(mismatch)
    function.give("i1", "false")
    return function.text()
