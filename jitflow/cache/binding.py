"""Plans from files: bound anew to the objects of this process (`plans.py` says how)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import CellType, FunctionType, MappingProxyType
from typing import Any

import numpy as np

from jitflow.cache.codec import Damaged, unpack
from jitflow.cache.content import Incomparable, content_of, is_of_a_library
from jitflow.cache.walk import Mismatch, Walk, contents_of_defaults
from jitflow.interruptions import pass_interruption
from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.python_guards import array_fits, guard_holds, scalar_types

__all__ = ["BOUND", "PlanReader"]


class PlanReader(Walk):
    """Binds the plan that was written to the objects that ``function`` reads in this process, at a call."""

    def __init__(self, data: Mapping[str, Any], function: FunctionType, arguments: Sequence[Any]) -> None:
        super().__init__(function, arguments, len(data["reads"]))
        self._data = data
        self.guarded: dict[tuple[str, int], Any] = {}
        """What guards compare by identity: the object in a register, or its type."""
        self._shared: dict[int, p.Shared] = {}
        self._types: dict[int, str] = {}

    def plan(self) -> p.Plan:
        """The plan. Raises `Mismatch` if what it reads is not what it was written for.

        Anything else is raised where the data makes no sense.
        """
        data = self._data
        checks = self._checks()
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

    def _checks(self) -> tuple[p.Check, ...]:
        """All checks, in their order. What is made ready is looked at last: nothing is made for what cannot fit."""
        checks, late = self._data["checks"], self._behind_slots()
        are_late = [not late.isdisjoint(_registers_of(check)) for check in checks]
        made: dict[int, p.Check] = {}
        for turn in (False, True):
            if turn:
                self._prepare()
            for place, check in enumerate(checks):
                if are_late[place] is turn:
                    made[place] = self._check(check)
        return tuple(made[place] for place in range(len(made)))

    def _behind_slots(self) -> set[int]:
        """The registers that are read by way of a variable that is made ready."""
        late: set[int] = set()
        for number, (kind, *parts) in enumerate(self._data["reads"]):
            parents = _numbers(parts[1:2]) if kind == "record" else _numbers(parts[1]) if kind == "Made" else set()
            if (kind == "Cell" and parts[0] == "slot") or not late.isdisjoint(parents):
                late.add(number)
        return late

    def _prepare(self) -> None:
        """Have made ready what the trace has had made ready, by objects that have been compared."""
        for owner, method, variables, answer in self._data["prepared"]:
            thing, others = self.guarded["object", owner], [self.guarded["object", number] for number in variables]
            if method not in getattr(type(thing), "__jitflow_prepares__", ()):
                raise Damaged(f"expected a method that makes something ready, got {method!r}")
            try:
                found = getattr(thing, method)(others)
            except Exception as error:
                pass_interruption(error)
                raise Mismatch("an object refuses what it made ready before") from error
            if found != unpack(answer):
                raise Mismatch("an object makes something else ready")

    def read(self, number: int) -> p.Read:
        kind, *parts = self._data["reads"][number]
        match kind:
            case "Global":
                namespace, name = parts
                _import_late(namespace, name)
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
            case "slot", owner, attribute, keys:
                return CellType(_item_of(self.guarded["object", owner], attribute, unpack(keys)))
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
        if kind not in BOUND:
            check: p.Check = unpack(data)
            if not isinstance(check, p.Check):
                raise Damaged("expected a check")
            self._require(check)
            return check
        register, *rest = parts
        return BOUND[kind](self, register, self.register(register), *rest)

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
            if (self._content_of_type(thing) if isinstance(thing, type) else content_of(thing)) == content:
                return
        except Incomparable:
            pass
        raise Mismatch("an object has other content")

    def _content_of_type(self, kind: type) -> str:
        """The content of a class, of which one plan has many objects. What has it lives in a register."""
        if id(kind) not in self._types:
            self._types[id(kind)] = content_of(kind)
        return self._types[id(kind)]

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
        if contents_of_defaults(thing.__defaults__, pairs) != (tuple(defaults), tuple(keyword_defaults)):
            raise Mismatch("a function has other defaults")
        if cells is None:
            return p.FunctionIs(register, thing.__code__, thing.__defaults__, pairs, None, any_closure=True)
        found = thing.__closure__ or ()
        if len(found) != len(cells) or any(
            self._cell(*data) is not cell for data, cell in zip(cells, found, strict=True)
        ):
            raise Mismatch("a function has other cells")
        return p.FunctionIs(register, thing.__code__, thing.__defaults__, pairs, thing.__closure__)


def _import_late(namespace: Any, name: str) -> None:
    """Have a library's module ready what it imports when it is first asked for, as the trace did by asking."""
    match namespace:
        case ["module", str(module)] if module in sys.modules and is_of_a_library(module):
            if name not in vars(sys.modules[module]):
                getattr(sys.modules[module], name, None)


def _registers_of(check: Any) -> set[int]:
    """The registers that a check is about."""
    if check[0] != "record":
        return _numbers(check[1:2])
    return _numbers(check[2:4] if check[1] in ("IsSame", "IsOther") else check[2:3])


def _numbers(data: Any) -> set[int]:
    return {number for number in data if type(number) is int}


def _item_of(thing: Any, attribute: str, keys: tuple[Any, ...]) -> Any:
    found = getattr(thing, attribute)
    for key in keys:
        found = found[key]
    return found


BOUND: Mapping[str, Callable[..., p.Check]] = {
    "IsObject": PlanReader._is_object,
    "IsType": PlanReader._is_type,
    "EqualsConstant": PlanReader._equals,
    "KeysAre": PlanReader._keys_are,
    "Satisfies": PlanReader._satisfies,
    "FunctionIs": PlanReader._function_is,
}
"""Guards that compare identities, or ask functions: with what they are bound anew."""
