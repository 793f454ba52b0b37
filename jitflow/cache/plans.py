"""Plans in files: written with the content of what their guards compare by identity, bound anew to what there is now.

A plan is walked as an entry walks it (`plan.py`): check by check, each register read when a check first names it. While
it is written, the objects of the call that it was compiled for are at hand; while it is bound, those of the call that
looks for code. Both walks go the same way, so both know the same objects at each step:

    reads    the namespace of a `Global` is that of the root function, of a function that was guarded before, or of a
             module; a `Cell` is one of the root function's, or of a function that was guarded before
    guards   what is found must have the content (`content.py`) that was written; then the guard is for this very object

So a plan that was bound compares with the identities of this process, as one that was traced here does. Whatever is not
found, or is of other content, is a `Mismatch`: the code is no candidate for this call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from types import CellType, FunctionType, MappingProxyType
from typing import Any

import numpy as np

from jitflow.cache.codec import Damaged, Unstorable, pack, unpack
from jitflow.cache.content import Incomparable, content_of
from jitflow.runtime import plan as p
from jitflow.runtime.python_guards import array_fits, found_by, guard_holds, scalar_types

__all__ = ["Mismatch", "PlanReader", "PlanWriter"]

ROOT = -1
"""Stands for the register of the function that was compiled."""


class Mismatch(Exception):
    """What the plan reads is not what it was compiled for."""


class _Walk:
    """What is known of the objects around a plan, at one step of the walk."""

    def __init__(self, function: FunctionType, arguments: Sequence[Any], reads: int) -> None:
        self.function, self._arguments, self._count = function, arguments, reads
        self._found: dict[int, Any] = {}
        self._reads: dict[int, p.Read] = {}
        self.functions: dict[int, FunctionType] = {ROOT: function}
        """Those whose code was compared, by their registers."""

    def read(self, register: int) -> p.Read:
        """The read of a register, as this process knows it."""
        raise NotImplementedError

    def register(self, number: int) -> Any:
        """What a register holds, read when it is first asked for."""
        if number not in self._found:
            if not 0 <= number < self._count:
                raise Damaged(f"expected one of {self._count} registers, got {number}")
            self._reads[number] = read = self.read(number)
            try:
                self._found[number] = found_by(read, self._arguments, self.register)
            except (Damaged, Unstorable, Mismatch):
                raise
            except Exception as error:
                raise Mismatch(f"what register {number} reads is not there") from error
        return self._found[number]


# -- to data ---------------------------------------------------------------------------------------


class PlanWriter(_Walk):
    """Writes a plan of ``function`` as JSON, at the call that it was compiled for.

    ``computed`` are the registers of arrays that the trace made, ``paths`` how the program spells registers.
    """

    def __init__(
        self, plan: p.Plan, function: FunctionType, arguments: Sequence[Any], computed: Collection[int],
        paths: Sequence[str],
    ) -> None:  # fmt: skip
        super().__init__(function, arguments, len(plan.reads))
        self._plan, self._computed, self._paths = plan, computed, paths
        self._namespaces: dict[int, Any] = {}
        self._cells: dict[int, Any] = {}
        self._guarded: dict[int, Any] = {}
        """From the ids of objects that guards compare by identity to where they are found."""
        self._read_data: dict[int, Any] = {}
        self._shared: dict[int, Any] = {}
        """What stands in several places of the results, by its number."""
        self._meet(ROOT, function)

    def plan(self) -> dict[str, Any]:
        """The plan. Raises `Unstorable` with what is in the way, and `Mismatch` if what it reads has changed."""
        plan = self._plan
        if plan.gpus or plan.wanted or plan.made:
            raise Unstorable("a program for GPUs")
        checks = [self._check(check) for check in plan.checks]
        for number in range(len(plan.reads)):
            self.register(number)
        results = pack(plan.results, self.outside)
        return {
            "parameter_names": list(plan.parameter_names),
            "reads": [self._read_data[number] for number in range(len(plan.reads))],
            "checks": checks,
            "argument_slots": plan.argument_slots,
            "result_slots": plan.result_slots,
            "results": results,
            "shared": [[number, data] for number, data in self._shared.items()],
            "bases": pack(plan.bases),
            "uses": pack(plan.uses),
            "releases_gil_bytes": plan.releases_gil_bytes,
            "draws": plan.draws,
        }

    def read(self, number: int) -> p.Read:
        read = self._plan.reads[number]
        try:
            self._read_data[number] = self._as_data(read, number)
        except (Unstorable, Incomparable) as error:
            raise Unstorable(f"{self._paths[number]}: {error}") from error
        return read

    def _as_data(self, read: p.Read, number: int) -> Any:
        match read:
            case p.Global(namespace, name):
                return ["Global", self._namespace(namespace), name]
            case p.Cell(cell):
                return ["Cell", *self._cell(cell, number)]
            case p.Made(function, parents):
                return ["Made", pack(function), list(parents)]
        return pack(read)

    def _meet(self, register: int, function: FunctionType) -> None:
        """Know a namespace and cells by the function that has them."""
        self._namespaces.setdefault(id(function.__globals__), ["of", register])
        for place, cell in enumerate(function.__closure__ or ()):
            self._cells.setdefault(id(cell), ["of", register, place])

    def _namespace(self, namespace: dict[str, Any]) -> Any:
        if id(namespace) in self._namespaces:
            return self._namespaces[id(namespace)]
        if namespace is sys.modules:
            return ["modules"]
        name = namespace.get("__name__")
        if type(name) is str and vars(sys.modules.get(name, sys)) is namespace:
            return ["module", name]
        raise Unstorable(f"a namespace called {name!r}, which is no module's")

    def _cell(self, cell: CellType, number: int) -> Any:
        if id(cell) in self._cells:
            return self._cells[id(cell)]
        contents = cell.cell_contents
        if number in self._computed:
            return ["array", pack(contents)]
        if contents is self.function:
            return ["function"]
        if type(contents) is dict:
            return ["namespace", self._namespace(contents)]
        if type(contents) is CellType and id(contents) in self._cells:
            return ["cell", self._cells[id(contents)]]
        if contents is None:
            return ["nothing"]
        raise Unstorable("it is found in no function")

    def outside(self, thing: Any) -> Any:
        """Where an object is found that a guard compares by identity, or what is shared; None for any other."""
        if type(thing) is p.Shared:
            if thing.number not in self._shared:
                self._shared[thing.number] = pack(thing.result, self.outside)
            return ["shared", thing.number]
        return self._guarded.get(id(thing))

    def _check(self, check: p.Check) -> Any:
        thing = self.register(check.register)
        try:
            return self._check_data(check, thing)
        except (Unstorable, Incomparable) as error:
            raise Unstorable(f"{self._paths[check.register]}: {error}") from error

    def _check_data(self, check: p.Check, thing: Any) -> Any:
        register = check.register
        match check:
            case p.IsObject(_, expected):
                self._guarded.setdefault(id(expected), ["object", register])
                return ["IsObject", register, content_of(expected)]
            case p.IsType(_, expected):
                self._guarded.setdefault(id(expected), ["type", register])
                return ["IsType", register, content_of(expected)]
            case p.EqualsConstant(_, value, _):
                return ["EqualsConstant", register, content_of(value)]
            case p.KeysAre(_, keys):
                return ["KeysAre", register, content_of(keys)]
            case p.Satisfies(_, test, text):
                return ["Satisfies", register, pack(test), text]
            case p.FunctionIs():
                return self._function(check, thing)
        return pack(check)

    def _function(self, guard: p.FunctionIs, function: Any) -> Any:
        if type(function) is not FunctionType or function.__code__ is not guard.code:
            raise Mismatch("the function is another one by now")
        self._meet(guard.register, function)
        cells = None if guard.any_closure else [self._cells[id(cell)] for cell in guard.closure or ()]
        return [
            "FunctionIs", guard.register, content_of(guard.code), self._namespace(function.__globals__),
            *map(list, _defaults(guard.defaults, guard.keyword_defaults)), cells,
        ]  # fmt: skip


def _defaults(
    defaults: tuple[Any, ...] | None, keyword_defaults: tuple[tuple[str, Any], ...] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The content of a function's defaults. What can change, a trace reads by guards of its own."""
    pairs = [(f"{name} ", value) for name, value in keyword_defaults or ()]
    return tuple(_default(value) for value in defaults or ()), tuple(name + _default(value) for name, value in pairs)


def _default(value: Any) -> str:
    try:
        return content_of(value)
    except Incomparable:
        return type(value).__qualname__


# -- and back --------------------------------------------------------------------------------------


class PlanReader(_Walk):
    """Binds the plan that was written to the objects that ``function`` reads in this process, at a call."""

    def __init__(self, data: Mapping[str, Any], function: FunctionType, arguments: Sequence[Any]) -> None:
        super().__init__(function, arguments, len(data["reads"]))
        self._data = data
        self.guarded: dict[tuple[str, int], Any] = {}
        """What guards compare by identity: the object in a register, or its type."""
        self._shared: dict[int, p.Shared] = {}

    def plan(self) -> p.Plan:
        """The plan. Raises `Mismatch` if what it reads is not what it was written for.

        Anything else is raised where the data makes no sense.
        """
        data = self._data
        checks = tuple(self._check(check) for check in data["checks"])
        for number in range(self._count):
            self.register(number)
        return p.Plan(
            tuple(data["parameter_names"]),
            tuple(self._reads[number] for number in range(self._count)),
            checks,
            int(data["argument_slots"]),
            int(data["result_slots"]),
            unpack(data["results"], self.outside),
            unpack(data["bases"]),
            unpack(data["uses"]),
            data["releases_gil_bytes"],
            draws=bool(data["draws"]),
            wanted=MappingProxyType({}),
            made=MappingProxyType({}),
        )

    def read(self, number: int) -> p.Read:
        kind, *parts = self._data["reads"][number]
        match kind:
            case "Global":
                namespace, name = parts
                return p.Global(self._namespace(namespace), sys.intern(name))
            case "Cell":
                return p.Cell(self._cell(*parts))
            case "Made":
                function, parents = parts
                return p.Made(unpack(function), tuple(map(int, parents)))
        read: p.Read = unpack([kind, *parts])
        if isinstance(read, p.Attribute):
            return p.Attribute(read.parent, sys.intern(read.name))
        if isinstance(read, p.Item) and type(read.key) is str:
            return p.Item(read.parent, sys.intern(read.key))
        if not isinstance(read, p.Read):
            raise Damaged("expected a read")
        return read

    def _namespace(self, data: Any) -> dict[str, Any]:
        match data:
            case ["of", int(register)]:
                return self.functions[register].__globals__
            case ["modules"]:
                return sys.modules
            case ["module", str(name)] if name in sys.modules:
                return vars(sys.modules[name])
        raise Mismatch("a namespace is not there")

    def _cell(self, kind: str, *parts: Any) -> CellType:
        match kind, *parts:
            case "of", int(register), int(place):
                return (self.functions[register].__closure__ or ())[place]
            case ("function",):
                return CellType(self.function)
            case "namespace", data:
                return CellType(self._namespace(data))
            case "cell", [str(inner), *rest]:
                return CellType(self._cell(inner, *rest))
            case ("nothing",):
                return CellType(None)
            case "array", data:
                array = unpack(data)
                if type(array) is np.ndarray:
                    return CellType(array)
        raise Damaged("expected a cell")

    def outside(self, data: Any) -> Any:
        """The object that is found there, or what is shared by that number."""
        kind, register = data
        if kind == "shared":
            return self._shared_by(int(register))
        return self.guarded[kind, register]

    def _shared_by(self, number: int) -> p.Shared:
        if number not in self._shared:
            (data,) = [data for known, data in self._data["shared"] if known == number]
            self._shared[number] = p.Shared(number, unpack(data, self.outside))
        return self._shared[number]

    def _check(self, data: Any) -> p.Check:
        kind, *parts = data
        if kind not in _BOUND:
            check: p.Check = unpack(data)
            if not isinstance(check, p.Check):
                raise Damaged("expected a check")
            self._require(check)
            return check
        register, *rest = parts
        return _BOUND[kind](self, register, self.register(register), *rest)

    def _require(self, check: p.Check) -> None:
        """See whether a check holds that compares no identities."""
        thing = self.register(check.register)
        if isinstance(check, p.IsSame | p.IsOther):
            if (thing is self.register(check.other)) != isinstance(check, p.IsSame):
                raise Mismatch("what should be one object is not, or the other way round")
        elif isinstance(check, p.ArrayLeaf):
            if not array_fits(check, thing):
                raise Mismatch("an array is of another class")
        elif isinstance(check, p.ScalarLeaf):
            if type(thing) not in scalar_types(check):
                raise Mismatch("a number is of another type")
        elif isinstance(check, p.Guard) and not guard_holds(check, thing):
            raise Mismatch("a guard does not hold")

    def _same(self, thing: Any, content: str) -> None:
        try:
            if content_of(thing) == content:
                return
        except Incomparable:
            pass
        raise Mismatch("an object has other content")

    def _is_object(self, register: int, thing: Any, content: str) -> p.Check:
        self._same(thing, content)
        self.guarded["object", register] = thing
        return p.IsObject(register, thing)

    def _is_type(self, register: int, thing: Any, content: str) -> p.Check:
        self._same(type(thing), content)
        self.guarded["type", register] = type(thing)
        return p.IsType(register, type(thing))

    def _equals(self, register: int, thing: Any, content: str) -> p.Check:
        self._same(thing, content)
        return p.EqualsConstant(register, thing, type(thing))

    def _keys_are(self, register: int, thing: Any, content: str) -> p.Check:
        if type(thing) is not dict:
            raise Mismatch("expected a dict")
        self._same(tuple(thing), content)
        return p.KeysAre(register, tuple(thing))

    def _satisfies(self, register: int, thing: Any, test: Any, text: str) -> p.Check:
        check = p.Satisfies(register, unpack(test), text)
        self._require(check)
        return check

    def _function_is(
        self, register: int, thing: Any, content: str, namespace: Any, defaults: list[str],
        keyword_defaults: list[str], cells: list[Any] | None,
    ) -> p.Check:  # fmt: skip
        if type(thing) is not FunctionType:
            raise Mismatch("expected a function")
        self._same(thing.__code__, content)
        self.functions[register] = thing
        if self._namespace(namespace) is not thing.__globals__:
            raise Mismatch("a function has other globals")
        pairs = tuple((thing.__kwdefaults__ or {}).items()) or None
        if _defaults(thing.__defaults__, pairs) != (tuple(defaults), tuple(keyword_defaults)):
            raise Mismatch("a function has other defaults")
        if cells is None:
            return p.FunctionIs(register, thing.__code__, thing.__defaults__, pairs, None, any_closure=True)
        found = thing.__closure__ or ()
        if len(found) != len(cells) or any(
            self._cell(*data) is not cell for data, cell in zip(cells, found, strict=True)
        ):
            raise Mismatch("a function has other cells")
        return p.FunctionIs(register, thing.__code__, thing.__defaults__, pairs, thing.__closure__)


_BOUND: Mapping[str, Callable[..., p.Check]] = {
    "IsObject": PlanReader._is_object,
    "IsType": PlanReader._is_type,
    "EqualsConstant": PlanReader._equals,
    "KeysAre": PlanReader._keys_are,
    "Satisfies": PlanReader._satisfies,
    "FunctionIs": PlanReader._function_is,
}
"""Guards that compare identities, or ask functions: with what they are bound anew."""
