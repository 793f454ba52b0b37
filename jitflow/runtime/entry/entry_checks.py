"""The first half of a native entry: reading registers, checking guards, packing slots.

A dict whose keys are guarded is read in one pass, keys and values together. A guard of a rare kind
is answered by the Python entry's own `guard_holds`.

Names that must stand for certain objects, as `np` and `np.sin` do, are looked up only if a namespace has changed since
they did. Python gives each state of a dict a version of its own; where it does not (`object_layout`), names are looked
up at every call.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from types import FunctionType
from typing import Any

import numpy as np

from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.entry_frame import EntryFrame
from jitflow.runtime.entry.python_guards import builtins_of, scalar_types
from jitflow.runtime.native import object_layout as layout
from jitflow.runtime.native.dtypes import numpy_dtype, same_layout_dtypes
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.python_api import COMPARE_EQUAL, PythonCalls

_SIMPLE_CONSTANTS = (str, bytes, int, bool, type(None))
"""Types whose comparison with `==` runs no Python code and is exact."""


class CheckWriter:
    """Writes the reads and checks of a plan in their order."""

    def __init__(self, frame: EntryFrame) -> None:
        self._frame = frame
        self._function = frame.function
        self._python = frame.python
        self._types: dict[int, type] = {}
        self._dict_values: dict[tuple[int, Any], int] = {}
        self._names = p.named_objects(frame.plan)
        self._found: set[p.IsObject] = set()
        self._registers: dict[int, str] = {}
        self.array_bytes = "0"

    def write(self) -> None:
        """All checks, then the reads that no check needed."""
        function, frame = self._function, self._frame
        function.require(function.compare("eq", "%count", str(len(frame.plan.parameter_names))), frame.mismatch)
        for are_names, checks in groupby(frame.plan.checks, lambda check: self._names.get(check.register) is check):
            if are_names:
                self._check_names([self._names[check.register] for check in checks])
            else:
                for check in checks:
                    self._check(check, self.register(check.register))
        for number in range(len(frame.plan.reads)):
            if number not in self._names:
                self.register(number)

    # -- reads -------------------------------------------------------------------------------------

    def register(self, number: int) -> str:
        """The object in a register, read on first use."""
        if number not in self._registers:
            name = self._names.get(number)
            self._registers[number] = self._read(self._frame.plan.reads[number]) if name is None else self._named(name)
        return self._registers[number]

    def _read(self, read: p.Read) -> str:
        frame, python = self._frame, self._python
        match read:
            case p.Argument(index):
                return self._function.load("ptr", "%call_arguments", 8 * index)
            case p.Global():
                return self._own(self._look_up(read, python, frame.constant))
            case p.Cell(cell):
                return self._keep(python.call("ptr", "PyCell_Get", f"ptr {frame.constant(cell)}"))
            case p.Attribute(parent, name):
                thing, name_object = self.register(parent), frame.constant(name)
                return self._keep(python.call("ptr", "PyObject_GetAttr", f"ptr {thing}", f"ptr {name_object}"))
            case p.Item(parent, key):
                return self._read_item(parent, key)
            case p.Contents(parent):
                return self._read_contents(parent)
            case p.Made(made_by, parents):
                return self._make(made_by, [self.register(parent) for parent in parents])

    def _look_up(self, read: p.Global, python: PythonCalls, constant: Callable[[Any], str]) -> str:
        """Look in the namespace, then among its builtins, as `LOAD_GLOBAL` does; borrowed, or null."""
        function, found = self._function, []
        done, name = function.label("found"), constant(read.name)
        for place in (read.namespace, builtins_of(read.namespace)):
            item = python.call("ptr", "PyDict_GetItemWithError", f"ptr {constant(place)}", f"ptr {name}")
            found.append((item, function.block))
            function.require(function.is_null(item), done)
        found.append(("null", function.block))
        function.jump(done)
        function.begin(done)
        return function.phi("ptr", *found)

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

    def _read_contents(self, parent: int) -> str:
        """The array of a variable, which lives as long as that."""
        from jitflow.runtime.variable import Variable

        if self._types.get(parent) is not Variable:
            raise ValueError(f"the contents of register {parent} are read before a guard fixed its type")
        return self._function.load("ptr", self.register(parent), layout.FIRST_SLOT)

    def _make(self, made_by: Callable[..., Any], things: list[str]) -> str:
        function, stack = self._function, self._frame.made
        for number, thing in enumerate(things):
            function.store("ptr", thing, stack, 8 * number)
        call = (f"ptr {self._frame.constant(made_by)}", f"ptr {stack}", f"i64 {len(things)}", "ptr null")
        return self._keep(self._python.call("ptr", "PyObject_Vectorcall", *call))

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

    # -- names -------------------------------------------------------------------------------------

    def _named(self, guard: p.IsObject) -> str:
        """What a name stands for, which the specialisation keeps alive."""
        if guard not in self._found:
            self._check_names([guard])
        return self._frame.constant(guard.object)

    def _check_names(self, guards: list[p.IsObject]) -> None:
        """Look names up, if their namespaces are not as they were when the names stood for the right objects."""
        function, frame = self._function, self._frame
        names = {guard.register: frame.plan.reads[guard.register] for guard in guards}
        reads = [read for read in names.values() if isinstance(read, p.Global)]
        places = [place for read in reads for place in (read.namespace, builtins_of(read.namespace))]
        versions: list[str] = []
        done = function.label("known")
        if layout.dicts_have_versions():
            namespaces = {id(place): place for place in places}.values()
            versions += [function.load("i64", frame.constant_here(place), layout.DICT_VERSION) for place in namespaces]
            seen, changed = frame.take_versions(len(versions)), function.label("changed")
            for number, version in enumerate(versions):
                is_same = function.compare("eq", version, function.load("i64", seen, 8 * number))
                function.require(is_same, changed)
            function.jump(done)
            function.begin(changed)
        for guard, read in zip(guards, reads, strict=True):
            found, expected = self._look_up(read, frame.rarely, frame.constant_here), frame.constant_here(guard.object)
            function.require(function.compare("eq", found, expected, "ptr"), frame.unreadable)
        for number, version in enumerate(versions):
            function.store("i64", version, seen, 8 * number)
        function.jump(done)
        function.begin(done)
        self._found.update(guards)

    # -- guards ------------------------------------------------------------------------------------

    def _check(self, check: p.Check, thing: str) -> None:
        match check:
            case p.IsObject(_, expected):
                self._require_same(thing, self._frame.constant(expected))
            case p.IsSame(_, other):
                self._require_same(thing, self.register(other))
            case p.IsOther(_, other):
                different = self._function.compare("ne", thing, self.register(other), "ptr")
                self._function.require(different, self._frame.mismatch)
            case p.IsType(register, expected):
                self._types[register] = expected
                self._require_type(thing, expected)
            case p.HasLength(_, length):
                self._check_length(thing, length)
            case p.KeysAre():
                self._check_keys(check, thing)
            case p.Satisfies():
                self._ask_python(check, thing)
            case p.EqualsConstant():
                self._check_constant(check, thing)
            case p.FunctionIs():
                self._check_function(check, thing)
            case p.ArrayLeaf():
                self._pack_array(check, thing)
            case p.ScalarLeaf():
                self._require_scalar_type(check, thing)
                self._pack_scalar(check, thing)
            case p.ObjectLeaf():
                self._pack_object(check, thing)

    def _require_same(self, left: str, right: str) -> None:
        self._function.require(self._function.compare("eq", left, right, "ptr"), self._frame.mismatch)

    def _require_type(self, thing: str, expected: type) -> None:
        self._require_same(self._frame.type_of(thing), self._frame.constant(expected))

    def _check_length(self, thing: str, length: int) -> None:
        found = self._python.call("i64", "PyObject_Size", f"ptr {thing}")
        self._function.require(self._function.compare("eq", found, str(length)), self._frame.unreadable)

    def _check_keys(self, guard: p.KeysAre, thing: str) -> None:
        frame, function = self._frame, self._function
        self._types[guard.register] = dict
        self._require_type(thing, dict)
        place = frame.take_owned(len(guard.keys))
        for number, key in enumerate(guard.keys):
            self._dict_values[guard.register, key] = place + number
        arguments = (frame.table, thing, frame.constant(guard.keys), function.at(frame.owned, 8 * place))
        matches = self._python.call("i1", "read_dict", *(f"ptr {argument}" for argument in arguments))
        function.require(matches, frame.unreadable)

    def _check_constant(self, guard: p.EqualsConstant, thing: str) -> None:
        frame, function = self._frame, self._function
        self._require_type(thing, guard.type)
        value = frame.constant(guard.value)
        if guard.type in (float, complex):
            words = 1 if guard.type is float else 2
            for place in range(layout.VALUE, layout.VALUE + 8 * words, 8):
                bits = function.load("i64", thing, place), function.load("i64", value, place)
                function.require(function.compare("eq", *bits), frame.mismatch)
        elif guard.type in _SIMPLE_CONSTANTS:
            equal = self._python.call(
                "i32", "PyObject_RichCompareBool", f"ptr {thing}", f"ptr {value}", f"i32 {COMPARE_EQUAL}"
            )
            function.require(function.compare("eq", equal, "1", "i32"), frame.unreadable)
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
            parts = [("PyFunction_GetDefaults", guard.defaults), ("PyFunction_GetKwDefaults", None)]
            if not guard.any_closure:
                parts.append(("PyFunction_GetClosure", guard.closure))
            for getter, expected in parts:
                part = python.call("ptr", getter, f"ptr {thing}")
                wanted = "null" if expected is None else frame.constant(expected)
                function.require(function.compare("eq", part, wanted, "ptr"), unsure)
            function.jump(done)
        function.begin(unsure)
        self._ask_python(guard, thing)
        function.jump(done)
        function.begin(done)

    def _ask_python(self, guard: p.Guard, thing: str) -> None:
        frame, function, python = self._frame, self._function, self._python
        question = frame.constant(frame.constants.question(guard))
        answer = python.call("ptr", "PyObject_CallOneArg", f"ptr {question}", f"ptr {thing}")
        function.require_not(function.is_null(answer), frame.failed)
        truth = python.call("i32", "PyObject_IsTrue", f"ptr {answer}")
        python.release(answer)
        function.require(function.compare("eq", truth, "1", "i32"), frame.mismatch)

    def _pack_object(self, leaf: p.ObjectLeaf, thing: str) -> None:
        function = self._function
        function.store("i64", function.let(f"ptrtoint ptr {thing} to i64"), self._frame.arguments, 8 * leaf.slot)

    # -- leaves ------------------------------------------------------------------------------------

    def _pack_array(self, leaf: p.ArrayLeaf, thing: str) -> None:
        frame, function = self._frame, self._function
        aliases = same_layout_dtypes(leaf.dtype)
        dtype = numpy_dtype(leaf.dtype)
        objects = (np.ndarray, dtype, aliases[0] if aliases else dtype)
        mask, flags = _flags_of_class(leaf)
        ones = sum(1 << axis for axis, is_one in enumerate(leaf.ones) if is_one)
        touching = {"unit": 1, "general": 0}.get(leaf.layout, 2)
        nbytes = self._python.call(
            "i64",
            "check_array",
            f"ptr {thing}",
            *(f"ptr {frame.constant(constant)}" for constant in objects),
            f"ptr {function.at(frame.arguments, 8 * leaf.slot)}",
            f"i32 {leaf.rank}",
            f"i64 {dtype.itemsize}",
            f"i32 {mask}",
            f"i32 {flags}",
            f"i64 {ones}",
            f"i64 {touching}",
        )
        function.require(function.compare("sge", nbytes, "0"), frame.mismatch)
        self.array_bytes = function.let(f"add i64 {self.array_bytes}, {nbytes}")

    def _require_scalar_type(self, leaf: p.ScalarLeaf, thing: str) -> None:
        function, frame = self._function, self._frame
        found = frame.type_of(thing)
        fits = [function.compare("eq", found, frame.constant(accepted), "ptr") for accepted in scalar_types(leaf)]
        either = fits[0]
        for fit in fits[1:]:
            either = function.let(f"or i1 {either}, {fit}")
        function.require(either, frame.mismatch)

    def _pack_scalar(self, leaf: p.ScalarLeaf, thing: str) -> None:
        function, frame = self._function, self._frame
        if leaf.kind == "python" and leaf.dtype == "bool":
            is_true = function.compare("eq", thing, frame.constant(True), "ptr")
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
        function.require(function.compare("eq", function.load("i32", scratch), "0", "i32"), self._frame.mismatch)
        return value


def _scalar_words(function: FunctionText, thing: str, dtype: np.dtype[Any]) -> list[str]:
    """The value of a number object as 64-bit words."""
    if dtype.itemsize >= 8:
        return [function.load("i64", thing, layout.VALUE + offset) for offset in range(0, dtype.itemsize, 8)]
    kind = f"i{8 * dtype.itemsize}"
    extension = "sext" if dtype.kind == "i" else "zext"
    return [function.let(f"{extension} {kind} {function.load(kind, thing, layout.VALUE)} to i64")]


def _flags_of_class(leaf: p.ArrayLeaf) -> tuple[int, int]:
    """The flags that tell the class of an array, and what they must be."""
    contiguous = {
        "C": (layout.C_CONTIGUOUS, layout.C_CONTIGUOUS),
        "F": (layout.C_CONTIGUOUS | layout.F_CONTIGUOUS, layout.F_CONTIGUOUS),
    }
    mask, expected = contiguous.get(leaf.layout, (layout.C_CONTIGUOUS | layout.F_CONTIGUOUS, 0))
    always = layout.ALIGNED | (layout.WRITEABLE if leaf.writeable else 0)
    return mask | always, expected | always
