"""The objects that a native entry refers to, in an order that its plan fixes.

The text names them by their places in a table, so it contains no address, and code from disk is joined with the objects
of this process without being written again: all that the text depends on is the plan and which of its objects are the
same one, which `EntryConstants.arrangement` tells.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.python_guards import builtins_of, guard_holds, scalar_types
from jitflow.runtime.native.dtypes import numpy_dtype, same_layout_dtypes
from jitflow.runtime.native.pool import pool

__all__ = ["NOT_RAISED", "EntryConstants"]

NOT_RAISED = "jitflow: the error handler of a failed call did not raise"
"""What a SystemError says of that."""
_VALUES = frozenset({str, bytes, int, float, complex})
_OF_ALL = (Exception, SystemError, NOT_RAISED, np.ndarray, FunctionType, dict, True, ())


class EntryConstants:
    """The table of an entry's constants. It keeps them alive.

    Texts and numbers are one where they are equal, whatever objects a process has made of them, but for those that a
    guard looks for themselves.
    """

    def __init__(self, plan: p.Plan) -> None:
        self._questions: dict[int, partial[bool]] = {}
        self._shared: set[int] = set()
        self._things: dict[Hashable, Any] = {}
        self._themselves = {id(check.object) for check in plan.checks if isinstance(check, p.IsObject)}
        places: dict[Hashable, int] = {}
        arrangement = []
        for thing in self._needed(plan):
            key = self._key(thing)
            self._things.setdefault(key, thing)
            arrangement.append(places.setdefault(key, len(places)))
        self._places = places
        self.arrangement = arrangement
        """For each object that the plan needs, its place in the table: another one only if it is another object."""

    @property
    def things(self) -> tuple[Any, ...]:
        """The objects in the order of the table."""
        return (*self._things.values(),)

    def place(self, thing: Any) -> int:
        """Where the table has an object."""
        return self._places[self._key(thing)]

    def _key(self, thing: Any) -> Hashable:
        """What two objects have in common that are one in the table."""
        kind = type(thing)
        if id(thing) in self._themselves or not (kind in _VALUES or isinstance(thing, np.generic)):
            return id(thing)
        return kind, thing.tobytes() if isinstance(thing, np.generic) else repr(thing)

    def question(self, guard: p.Guard) -> partial[bool]:
        """The function that tells whether a guard holds of an object."""
        return self._questions[id(guard)]

    def _needed(self, plan: p.Plan) -> Iterator[Any]:
        yield from _OF_ALL
        yield pool().handler
        if plan.draws:
            from jitflow.runtime.generators.drawing import begin

            yield begin
        types = {check.register: check.type for check in plan.checks if isinstance(check, p.IsType)}
        for read in plan.reads:
            match read:
                case p.Global(namespace, name):
                    yield from (namespace, builtins_of(namespace), name)
                case p.Cell(cell):
                    yield cell
                case p.Attribute(name=name):
                    yield name
                case p.Item(parent, key) if not issubclass(types.get(parent, object), tuple | list):
                    yield key
                case p.Made(function):
                    yield function
        for check in plan.checks:
            yield from self._of_check(check)
        for result in (plan.results, *plan.bases):
            yield from self._of_result(result)

    def _of_check(self, check: p.Check) -> Iterator[Any]:
        match check:
            case p.IsObject(_, expected) | p.IsType(_, expected) | p.KeysAre(_, expected):
                yield expected
            case p.EqualsConstant(_, value, kind):
                yield from (kind, value, self._ask(check))
            case p.FunctionIs():
                yield from (check.code, check.defaults, check.closure, self._ask(check))
            case p.Satisfies():
                yield self._ask(check)
            case p.ArrayLeaf(dtype=dtype):
                yield from (numpy_dtype(dtype), *same_layout_dtypes(dtype))
            case p.ScalarLeaf():
                yield from scalar_types(check)

    def _ask(self, guard: p.Guard) -> partial[bool]:
        return self._questions.setdefault(id(guard), partial(guard_holds, guard))

    def _of_result(self, node: p.Result) -> Iterator[Any]:
        match node:
            case p.NewArray(dtype=dtype) | p.ViewOfArgument(dtype=dtype) | p.ViewOfResult(dtype=dtype):
                yield numpy_dtype(dtype)
            case p.NumpyScalar(dtype=dtype):
                yield numpy_dtype(dtype)
            case p.Remade(array, make):
                yield make
                yield from self._of_result(array)
            case p.ConstantObject(constant):
                yield constant
            case p.OneOf(alternatives=alternatives):
                for _, alternative in alternatives:
                    yield from self._of_result(alternative)
            case p.Shared(number, result) if number not in self._shared:
                self._shared.add(number)
                yield from self._of_result(result)
            case p.TupleOf() | p.ListOf() | p.DictOf() | p.StructOf():
                if isinstance(node, p.DictOf):
                    yield from node.keys
                elif isinstance(node, p.StructOf):
                    yield from (node.type, *(node.field_names or ()))
                for child in node.children:
                    yield from self._of_result(child)
