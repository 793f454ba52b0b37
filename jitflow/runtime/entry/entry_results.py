"""The second half of a native entry: result slots become Python objects.

New arrays come first, because views refer to them. Until the whole tree stands, everything made
so far is in the `held` slots, so that running out of memory half-way leaks nothing: each new
array, and each container, which takes its children over one by one as they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.entry_frame import EntryFrame
from jitflow.runtime.entry.specialisation import record_offset
from jitflow.runtime.native import object_layout as layout
from jitflow.runtime.native.dtypes import numpy_dtype
from jitflow.runtime.native.pool import pool

Maker = Callable[[p.Result], str]
"""Makes a child of a container."""


class ResultWriter:
    """Writes the results of a plan."""

    def __init__(self, frame: EntryFrame, register: Callable[[int], str]) -> None:
        self._frame = frame
        self._function = frame.function
        self._python = frame.python
        self._register = register
        self._new = p.new_arrays(frame.plan)
        self._arrays: dict[int, str] = {}
        self._places = {leaf: place for place, leaf in enumerate(self._new)}
        self._held = frame.held
        self._next_container = len(self._new)
        self._shared: dict[int, int] = {}
        """From the numbers of shared containers to the places that hold them."""
        self._made: dict[int, str] = {}
        """The shared containers that are made for certain where the text has come to."""
        self._leaf = 0
        self._undo = self._function.label("undo")

    def write(self) -> None:
        """Make everything, then leave with the root of the tree."""
        if self._frame.held_count:
            self._frame.clear(self._held, self._frame.held_count)
        for leaf, node in self._new.items():
            self._arrays[leaf] = self._must(self._new_array(node))
            self._hold(self._places[leaf], self._arrays[leaf])
        root = self._make(self._frame.plan.results)
        first_base = sum(1 for _ in p.leaves(self._frame.plan.results))
        for leaf, array in self._arrays.items():
            if leaf >= first_base:
                self._python.release(array)  # its views keep it alive
        for place in self._shared.values():
            self._python.release(self._function.load("ptr", self._held, 8 * place))
        self._frame.finish_with(root)
        self._write_undo()

    def _write_undo(self) -> None:
        """Give back what was made, and the blocks that no array owns yet."""
        function = self._function
        function.begin(self._undo)
        context = function.load("ptr", "%record", record_offset("context"))
        free = function.load("ptr", context, 8)
        for node in self._new.values():
            block = function.load("ptr", self._frame.results, 8 * node.slot)
            function.run(free, f"ptr {block}", "i64 0")  # null where an array has taken it over
        self._frame.release(self._held, self._frame.held_count)
        function.jump(self._frame.failed)

    def _hold(self, place: int, reference: str) -> None:
        self._function.store("ptr", reference, self._held, 8 * place)

    def _must(self, reference: str) -> str:
        """Go on with a new reference, or undo everything where there is none."""
        self._function.require_not(self._function.is_null(reference), self._undo)
        return reference

    # -- the tree ----------------------------------------------------------------------------------

    def _make(self, node: p.Result) -> str:
        """A new reference to what a node describes."""
        if isinstance(node, p.Container):
            return self._make_container(node, self._make)
        leaf = self._leaf
        self._leaf += 1
        return self._must(self._make_leaf(node, leaf))

    def _make_container(self, node: p.Container, make: Maker) -> str:
        match node:
            case p.TupleOf(children):
                return self._sequence("Tuple", children, make)
            case p.ListOf(children):
                return self._sequence("List", children, make)
            case p.DictOf(keys, children):
                return self._dict(keys, children, make)
            case p.StructOf(struct_type, children, names):
                return self._struct(struct_type, children, names, make)

    def _make_option(self, node: p.Result) -> str:
        """A part of an alternative, which is no leaf of the tree."""
        if isinstance(node, p.Container):
            return self._make_container(node, self._make_option)
        return self._must(self._make_leaf(node, -1))

    def _sequence(self, kind: str, children: tuple[p.Result, ...], make: Maker) -> str:
        python = self._python
        sequence, place = self._container(python.call("ptr", f"Py{kind}_New", f"i64 {len(children)}"))
        for index, child in enumerate(children):
            made = make(child)
            python.call("i32", f"Py{kind}_SetItem", f"ptr {sequence}", f"i64 {index}", f"ptr {made}")
        self._hold(place, "null")
        return sequence

    def _dict(self, keys: tuple[object, ...], children: tuple[p.Result, ...], make: Maker) -> str:
        python, function = self._python, self._function
        mapping, place = self._container(python.call("ptr", "PyDict_New"))
        for key, child in zip(keys, children, strict=True):
            made, key_object = make(child), self._frame.constant(key)
            status = python.call("i32", "PyDict_SetItem", f"ptr {mapping}", f"ptr {key_object}", f"ptr {made}")
            python.release(made)
            function.require(function.compare("eq", status, "0", "i32"), self._undo)
        self._hold(place, "null")
        return mapping

    def _struct(
        self,
        struct_type: Callable[..., object],
        children: tuple[p.Result, ...],
        names: tuple[str, ...] | None,
        make: Maker,
    ) -> str:
        python, frame = self._python, self._frame
        if names is None:
            fields = positional = self._sequence("Tuple", children, make)
            keywords = "null"
        else:
            positional = frame.constant(())
            fields = keywords = self._dict(names, children, make)
        made = python.call(
            "ptr", "PyObject_Call", f"ptr {frame.constant(struct_type)}", f"ptr {positional}", f"ptr {keywords}"
        )
        python.release(fields)
        return self._must(made)

    def _container(self, reference: str) -> tuple[str, int]:
        """Hold a new container while its children are made."""
        place = self._next_container
        self._next_container += 1
        self._hold(place, self._must(reference))
        return reference, place

    def _make_shared(self, node: p.Shared) -> str:
        """The object, which is made if no place before this one has made it; a place holds it until the end."""
        function, number = self._function, node.number
        if number not in self._made:
            if number not in self._shared:
                self._shared[number] = self._next_container
                self._next_container += 1
            place = self._shared[number]
            found, before = function.load("ptr", self._held, 8 * place), function.block
            missing, done = function.label("missing"), function.label("made")
            function.branch(self._function.is_null(found), missing, done)
            function.begin(missing)
            with self._aside():
                made = self._make_option(node.result)
            self._hold(place, made)
            last = function.block
            function.jump(done)
            function.begin(done)
            self._made[number] = function.phi("ptr", (found, before), (made, last))
        return self._owned(self._made[number])

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Text of which only some calls come to what is written within."""
        made = dict(self._made)
        yield
        self._made = made

    # -- leaves ------------------------------------------------------------------------------------

    def _make_leaf(self, node: p.Result, leaf: int) -> str:
        frame = self._frame
        match node:
            case p.NewArray():
                self._hold(self._places[leaf], "null")
                return self._protected(node, self._arrays[leaf])
            case p.SameResult(other):
                return self._owned(self._protected(self._new[other], self._arrays[other]))
            case p.SameObject(register):
                return self._owned(self._register(register))
            case p.ConstantObject(constant):
                return self._owned(frame.constant(constant))
            case p.ViewOfArgument(register=register):
                return self._protected(node, self._must(self._view(node, self._register(register))))
            case p.ViewOfResult(leaf=other):
                return self._protected(node, self._must(self._view(node, self._arrays[other])))
            case p.Remade():
                return self._protected(node, self._must(self._remade(node, leaf)))
            case p.OneOf():
                return self._one_of(node, leaf)
            case p.Shared():
                return self._make_shared(node)
            case p.NumpyScalar(slot, dtype):
                value = self._function.at(frame.results, 8 * slot)
                dtype_object = frame.constant(numpy_dtype(dtype))
                return self._python.call("ptr", "PyArray_Scalar", f"ptr {value}", f"ptr {dtype_object}", "ptr null")
            case p.PythonScalar(slot, dtype):
                return self._python_scalar(slot, dtype)
        raise TypeError(f"unknown result {node!r}")

    def _remade(self, node: p.Remade, leaf: int) -> str:
        made, python = self._frame.constant(node.make), self._python
        if not isinstance(node.make, str):
            arguments = self._sequence("Tuple", (node.array, *node.numbers), self._make_option)
            found = python.call("ptr", "PyObject_Call", f"ptr {made}", f"ptr {arguments}", "ptr null")
            python.release(arguments)
            return found
        shown = self._must(self._make_leaf(node.array, leaf))
        found = python.call("ptr", "PyObject_GetAttr", f"ptr {shown}", f"ptr {made}")
        python.release(shown)
        return found

    def _protected(self, node: p.ArrayResult | p.Remade, array: str) -> str:
        """The array, which nobody may write to if the node says so."""
        if node.read_only:
            function = self._function
            flags = function.load("i32", array, layout.ARRAY_FLAGS)
            function.store("i32", function.let(f"and i32 {flags}, {~layout.WRITEABLE}"), array, layout.ARRAY_FLAGS)
        return array

    def _one_of(self, node: p.OneOf, leaf: int) -> str:
        """The alternative that the slot names; null if it cannot be made."""
        function = self._function
        number, done = function.load("i64", self._frame.results, 8 * node.slot), function.label("chosen")
        made: list[tuple[str, str]] = []
        for position, (key, alternative) in enumerate(node.alternatives):
            other = function.label("other")
            if position + 1 < len(node.alternatives):
                this = function.label("this")
                function.branch(function.compare("eq", number, str(key)), this, other)
                function.begin(this)
            held = isinstance(alternative, p.Container)
            with self._aside():
                reference = self._make_option(alternative) if held else self._make_leaf(alternative, leaf)
            made.append((reference, function.block))
            function.jump(done)
            if position + 1 < len(node.alternatives):
                function.begin(other)
        function.begin(done)
        return function.phi("ptr", *made)

    def _owned(self, reference: str) -> str:
        self._python.own(reference)
        return reference

    def _python_scalar(self, slot: int, dtype: str) -> str:
        function, python, results = self._function, self._python, self._frame.results
        if dtype == "f64":
            return python.call("ptr", "PyFloat_FromDouble", f"double {function.load('double', results, 8 * slot)}")
        if dtype == "c128":
            parts = [f"double {function.load('double', results, 8 * (slot + part))}" for part in range(2)]
            return python.call("ptr", "PyComplex_FromDoubles", *parts)
        word = function.load("i64", results, 8 * slot)
        name = {"i64": "PyLong_FromLongLong", "bool": "PyBool_FromLong"}[dtype]
        return python.call("ptr", name, f"i64 {word}")

    def _new_array(self, node: p.NewArray) -> str:
        handler = self._frame.constant(pool().handler)
        return self._python.call("ptr", "new_array", *self._array_arguments(node), f"ptr {handler}")

    def _view(self, node: p.ArrayResult, base: str) -> str:
        return self._python.call("ptr", "view_array", *self._array_arguments(node), f"ptr {base}")

    def _array_arguments(self, node: p.ArrayResult) -> tuple[str, ...]:
        frame = self._frame
        return (
            f"ptr {frame.table}",
            f"ptr {frame.constant(np.ndarray)}",
            f"ptr {frame.constant(numpy_dtype(node.dtype))}",
            f"i32 {node.rank}",
            f"ptr {self._function.at(frame.results, 8 * node.slot)}",
        )
